// SPDX-License-Identifier: MIT
//
// Masks and scores of the caller's own in `backward`, `plan`, `verify` and `bench functions`, from outside.
#include <string>
#include <utility>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/tensor_file.hpp"

using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

constexpr const char* causalText = "bool keep(Position at) { return at.key <= at.row && seen(at.key) != 0; }\n"
                                   "float score(float s, Position at) { return s; }\n"
                                   "float scoreDerivative(float s, Position at) { return 1.0; }\n";

void writeCausal(const Workplace& place) {
    place.write("causal.glsl", causalText);
    place.write("halved.glsl", "float score(float s, Position at) { return 0.5 * s; }\n");
    place.write("seen.npy", npyOf(Tensor{ElementType::u8, {9}, std::vector<std::byte>(9, std::byte{1})}));
}

} // namespace

TEST_CASE("backward takes functions", "[functions_program][gpu]") {
    needDevice();
    const Workplace place;
    writeCausal(place);
    int seed = 1;
    for (const char* name : {"q.npy", "k.npy", "v.npy", "do.npy"})
        writeNpy(place, name, ElementType::f32, {1, 2, 9, 8}, seed++);
    const std::string inputs = "backward --q q.npy --k k.npy --v v.npy --do do.npy --path scalar ";
    const auto gradients = [&](const std::string& name, const std::string& flags) {
        const ProgramResult result = place.run(inputs + "--dq " + name + "q.npy --dk " + name + "k.npy " + flags);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return std::pair(place.read(name + "q.npy"), place.read(name + "k.npy"));
    };
    const std::string array = " --function-array seen=seen.npy";
    const auto causal = gradients("causal", "--causal");
    CHECK((gradients("own", "--functions causal.glsl" + array) == causal));
    CHECK((gradients("all", "") != causal));
    checkRefusals(place, {
                             {inputs + "--dq no.npy --functions causal.glsl --verify" + array,
                              "--functions causal.glsl|the reference has no formulas"},
                             {inputs + "--dq no.npy" + array, "needs --functions"},
                             {inputs + "--dq no.npy --functions halved.glsl", "SCORE_DERIVATIVE"},
                         });
}

TEST_CASE("plan says which functions it has, and whether it has a map", "[functions_program][gpu]") {
    needDevice();
    const Workplace place;
    writeCausal(place);
    place.write("byHead.glsl", "bool keep(Position at) { return at.head != 0 || at.key <= at.row; }\n");
    const std::string flags = "plan --rows 100 --dim 32 --type f32 --explain ";
    const std::string causal = "--functions causal.glsl --function-array seen=seen.npy ";
    CHECK_THAT(place.run(flags + causal + "--path scalar").out,
               ContainsSubstring("functions  keep, score, scoreDerivative") &&
                   ContainsSubstring("the same for all heads") && ContainsSubstring("\ntile map    "));
    CHECK_THAT(place.run(flags + "--functions byHead.glsl --path scalar").out,
               ContainsSubstring("each head has its own"));
    CHECK_THAT(place.run(flags + causal + "--path key_outer").out, ContainsSubstring("map        none"));
    CHECK_THAT(place.run(flags + causal + "--backward").out, ContainsSubstring("functions  keep, score"));
    CHECK_THAT(place.run(flags + "--path scalar").out, !ContainsSubstring("Functions of"));

    const Json json = Json::parse(place.run(flags + causal + "--path scalar --json").out);
    CHECK(json["tileMapBytes"].get<uint64_t>() > 0);
    CHECK(json["explanation"]["functions"]["functions"] == Json({"keep", "score", "scoreDerivative"}));
    CHECK(json["explanation"]["functions"]["keepByHead"] == false);
    CHECK_FALSE(Json::parse(place.run(flags + "--json").out)["explanation"].contains("functions"));
    checkRefusal(place, {flags + "--backward --functions halved.glsl", "--backward|SCORE_DERIVATIVE"});
}

TEST_CASE("verify checks the examples", "[functions_program][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run("verify --functions --path scalar --type f32 --sample-rows 5");
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("masks/natten.glsl") && ContainsSubstring("scores/stress.glsl") &&
                               ContainsSubstring("\nright\n"));
    checkRefusal(place, {"verify --functions --rows 7", "--rows|--functions"});
}

TEST_CASE("bench functions measures functions beside features and masks", "[functions_program][gpu]") {
    needDevice();
    const Workplace place;
    const std::string small = "functions --heads 2 --rows 64 --dim 16 --type f32 --paths scalar --seconds 0.01 "
                              "--runs 2 --sample-rows 0 --backward ";
    const auto [text, json] = benchReport(place, small + "--only documents,natten,alibi");
    CHECK(json["bench"] == "functions");
    REQUIRE(json["results"].size() == 3);
    for (const Json& result : json["results"]) {
        const std::string name = result["function"];
        INFO(name);
        checkTimed(result);
        CHECK(result["compileSeconds"].get<double>() > 0);
        CHECK(result["planSeconds"].get<double>() > 0);
        CHECK(result["backward"]["error"].get<double>() <= result["backward"]["bound"].get<double>());
        for (const Json& pass : {result, result["backward"]}) {
            CHECK(pass.contains("builtIn") == (name != "natten"));
            CHECK(pass.contains("mask") == (name != "alibi"));
            if (pass.contains("mask"))
                CHECK(pass["mask"]["ratio"].get<double>() ==
                      Catch::Approx(pass["medianSeconds"].get<double>() / pass["mask"]["seconds"].get<double>()));
        }
        CHECK(result.contains("mapSeconds") == (name != "alibi"));
        CHECK(result.contains("keptMapSeconds") == (name != "alibi"));
    }
    CHECK(json["results"][0]["function"] == "alibi");
    CHECK_THAT(text.out, ContainsSubstring("kept map") && ContainsSubstring("  backward"));
    checkRefusals(place, {{"bench " + small + "--only nothing", "--only nothing|natten"},
                          {"bench " + small + "--keys 32", "--keys 32|as many keys as rows"}});
}
