// SPDX-License-Identifier: MIT
//
// `bench backward` from outside. Its results are right, complete, and in the requested file.
#include <filesystem>
#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

TEST_CASE("bench backward measures, checks and compares the backward pass", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    place.write("torch.json",
                peerFile("Imaginary GPU 9", {peer("flash", {{"batch", 4}, {"teraflops", 7}}),
                                             peer("flash", {{"batch", 4}, {"backward", true}, {"teraflops", 0.5}}),
                                             peer("cudnn", {{"batch", 4}, {"backward", true}, {"teraflops", 2}})}));
    const std::string small = "backward --tokens 256 --width 64 --dims 32 --rows 64 --seconds 0.01 --runs 3 ";
    const auto [text, json] = benchReport(place, small + "--types f16,f32 --sample-rows 0 --compare torch.json");
    CHECK(json["bench"] == "backward");
    REQUIRE(json["results"].size() == 4);
    CHECK(json["leftOut"].empty());
    for (const Json& result : json["results"]) {
        checkTimed(result);
        const double pairs = result["causal"].get<bool>() ? 0.5 : 1.0;
        CHECK(result["operations"] == 10.0 * 4 * 2 * 64 * 64 * 32 * pairs);
        // q, k, v, o and their gradients, and lse.
        const uint64_t bytes = result["type"] == "f16" ? 2 : 4;
        CHECK(result["tensorBytes"] == 8 * 4 * 64 * 64 * bytes + uint64_t{4} * 2 * 64 * 4);
        // q, k, v and dout twice in, dq, dk and dv out; P twice in, dP in and out, dS twice in and once out.
        const double stored = 4.0 * 2 * static_cast<double>(bytes) * (8 * 64 * 32 + 7 * 64 * 64);
        CHECK(result["storedBytes"] == stored);
        CHECK(result["storedBytesPerSecond"].get<double>() ==
              Catch::Approx(stored / result["medianSeconds"].get<double>()));
        for (const char* gradient : {"dq", "dk", "dv"}) {
            INFO(gradient);
            const Json& one = result["gradients"][gradient];
            CHECK(one["error"].get<double>() > 0);
            CHECK(one["error"].get<double>() <= one["bound"].get<double>());
        }
    }
    const Json& peers = json["results"][0]["peers"];
    REQUIRE(peers.size() == 2);
    CHECK(peers[0]["name"] == "flash");
    CHECK(peers[0]["teraflops"] == 0.5);
    CHECK(json["results"][1]["peers"].empty()); // causal
    CHECK_THAT(text.out, ContainsSubstring("flash 0.5 (") && ContainsSubstring("compared with torch.json"));
}

TEST_CASE("bench backward takes KV heads and samples, and leaves out what a path refuses", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const std::string small =
        "backward --tokens 64 --width 64 --dims 16 --rows 64 --seconds 0.01 --runs 1 --causal no ";
    const auto [text, json] =
        benchReport(place, small + "--kv-heads 2 --types f32 --paths scalar,standard --sample-rows 4");
    REQUIRE(json["results"].size() == 1);
    CHECK(json["results"][0]["kvHeads"] == 2);
    CHECK(json["results"][0]["path"] == "scalar");
    REQUIRE(json["leftOut"].size() == 1);
    CHECK_THAT(json["leftOut"][0]["reason"].get<std::string>(), ContainsSubstring("standard"));
    checkRefusals(place, {{"bench " + small + "--kv-heads 3", "--kv-heads 3|4 query heads"},
                          {"bench " + small + "--page-size 16", "--page-size"}});
}

TEST_CASE("the page of results has a table of a bench of the backward pass", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    place.write(
        "torch.json",
        peerFile("Imaginary GPU 9",
                 {peer("flash",
                       {{"batch", 2}, {"queryHeads", 1}, {"kvHeads", 1}, {"backward", true}, {"teraflops", 0.5}})}));
    benchReport(place, "backward --tokens 128 --width 32 --dims 32 --rows 64,128 --types f16 --causal no "
                       "--paths scalar --seconds 0.01 --runs 1 --sample-rows 2 --compare torch.json");
    std::filesystem::create_directory(place / "in");
    std::filesystem::rename(place / "b.json", place / "in/b.json");
    const ProgramResult run = place.run("report --results in -o page.html");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const std::string page = place.read("page.html");
    CHECK_THAT(page, ContainsSubstring("Backward pass, f16") && ContainsSubstring("tile of dk, dv") &&
                         ContainsSubstring("stored P would move") && ContainsSubstring("flash 0.5 ("));
}
