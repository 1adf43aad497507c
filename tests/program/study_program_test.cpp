// SPDX-License-Identifier: MIT
//
// `vkflash_lab algorithms`, `vkflash_lab recompute` and `vkflash plan --explain` from outside.
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;

namespace {

nlohmann::json jsonOf(const Workplace& place, const std::string& arguments) {
    const ProgramResult result = place.run(arguments);
    INFO("vkflash " << arguments << "\n" << result.err);
    REQUIRE(result.status == 0);
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    REQUIRE(document.is_object());
    return document;
}

void writeQkv(const Workplace& place) {
    using vkf::tools::ElementType;
    writeNpy(place, "q.npy", ElementType::f32, {2, 17, 24}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {1, 33, 24}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {1, 33, 24}, 3);
}

const std::string files = " --q q.npy --k k.npy --v v.npy";

} // namespace

TEST_CASE("study algorithms: all give the same result, on random tensors and on files", "[study]") {
    const Workplace place("vkflash_lab");
    writeQkv(place);
    for (const std::string& arguments :
         {std::string(" --rows 70 --keys 90 --dim 24 --causal --random-lengths --batch 2"),
          std::string(" --rows 5 --window 3,1 --softcap 4 --type bf16 --tile-rows 2 --tile-keys 3"),
          files + " --causal top-left", std::string(" --rows 70 --mask-block 16 --block-density 0.3"),
          std::string(" --rows 3 --keys 0"), std::string(" --rows 0")}) {
        const nlohmann::json document = jsonOf(place, "algorithms --json" + arguments);
        REQUIRE(document["algorithms"].size() == 6);
        for (const auto& algorithm : document["algorithms"]) {
            CHECK(algorithm["oDifference"] <= 1e-12);
            CHECK(algorithm["lseDifference"] <= 1e-12);
        }
    }
    const ProgramResult text = place.run("algorithms --rows 40 --heads 1");
    CHECK(text.status == 0);
    CHECK_THAT(text.out, ContainsSubstring("1 head, 40 rows, 40 keys, D = 64, f16"));
    CHECK_THAT(text.out, ContainsSubstring("tiled, keys outer"));
    CHECK_THAT(text.out, ContainsSubstring("all agree within 1e-12"));
}

TEST_CASE("study recompute: P from lse is P, for 4 bytes a row", "[study]") {
    needDevice();
    const Workplace place("vkflash_lab");
    writeQkv(place);
    for (const std::string& arguments :
         {std::string(" --rows 70 --keys 90 --dim 24 --causal --random-lengths --batch 2 --path scalar"),
          files + " --causal", std::string(" --rows 3 --keys 0"), std::string(" --rows 0")}) {
        const nlohmann::json document = jsonOf(place, "recompute --json" + arguments);
        REQUIRE(document["recomputed"].size() == 3);
        CHECK(document["recomputed"][0]["probabilitiesDifference"] <= 1e-12);
        CHECK(document["recomputed"][1]["probabilitiesDifference"] <= 1e-6);
        CHECK(document["recomputed"][2]["probabilitiesDifference"] <= 1e-4);
        CHECK(document["recomputed"][2]["rowSumDifference"] <= 1e-4);
    }
    // 64 rows of two heads: 512 bytes; 64 x 64 fp16 probabilities of two heads: 16 KiB.
    const nlohmann::json bytes = jsonOf(place, "recompute --json --rows 64");
    CHECK(bytes["lseBytes"] == 512);
    CHECK(bytes["stateBytes"] == 1024);
    CHECK(bytes["probabilitiesBytes"] == 16384);
    CHECK(bytes["recomputed"][1]["lseDifference"] > 0);
}

TEST_CASE("study recompute takes some rows at a time where P is large, and misses none", "[study]") {
    needDevice();
    const Workplace place("vkflash_lab");
    // 4 heads of 700 x 4096 fp64 probabilities are 88 MiB, so there are two rounds.
    const nlohmann::json document = jsonOf(place, "recompute --json --rows 700 --keys 4096 --heads 4 --dim 8");
    CHECK(document["recomputed"][0]["probabilitiesDifference"] <= 1e-12);
    CHECK(document["recomputed"][0]["probabilitiesDifference"] > 0);
    CHECK(document["probabilitiesBytes"] == 4 * 700 * 4096 * 2);
}

TEST_CASE("study refuses wrong inputs in one line", "[study]") {
    const Workplace place("vkflash_lab");
    writeQkv(place);
    for (const std::string study : {"algorithms", "recompute"}) {
        checkRefusals(place, {{study + " --q q.npy", "--k"},
                              {study + files + " --rows 5", "--rows: is about random tensors|--q q.npy"},
                              {study + files + " --seed 5", "--seed: is about random tensors"},
                              {study + " --q absent.npy --k k.npy --v v.npy", "--q absent.npy|no such file"},
                              {study + " --type f64", "--type f64: takes one of f32, f16, bf16"},
                              {study + " --dim 0", "headDim"},
                              {study + " --heads 3 --kv-heads 2", "kvHeads"},
                              {study + " --window 1", "--window 1: takes LEFT,RIGHT"},
                              {study + " --block-density 0.5", "--block-density"},
                              {study + files + " --mask-block 16", "--block-mask: is missing"},
                              {study + " --lse", "--lse"}});
    }
    checkRefusals(place, {{"algorithms --tile-rows 0", "--tile-rows 0: takes a number of at least 1"},
                          {"algorithms --tile-keys 0", "--tile-keys 0: takes a number of at least 1"},
                          {"algorithms --path scalar", "--path"},
                          {"recompute --path gpu", "--path gpu: takes one of"}});
    needDevice();
    checkRefusal(place, {"recompute --device no-such-device", "--device no-such-device"}, 1);
}

TEST_CASE("plan --explain names tiles with reasons, and the bytes moved", "[study]") {
    needDevice();
    const Workplace place;
    const std::string shape = "plan --explain --path scalar --rows 512 --dim 128 --type f32 --heads 4";
    const ProgramResult text = place.run(shape);
    REQUIRE(text.status == 0);
    for (const char* words :
         {"  scalar     taken      the problem asks for path scalar", "Algorithm 1, M = ", "(Bq + 2 Bk) D",
          "Tiles that the library considered", "not needed", "standard, three passes", "keys in the outer loop",
          "this plan, path scalar", "theorem 2", "P stored by the forward pass", "P recomputed, keys outside"}) {
        CHECK_THAT(text.out, ContainsSubstring(words));
    }
    const nlohmann::json document = jsonOf(place, shape + " --json");
    const nlohmann::json& explanation = document["explanation"];
    int taken = 0;
    for (const auto& candidate : explanation["candidates"]) {
        CHECK(!candidate["reason"].get<std::string>().empty());
        if (candidate["taken"]) {
            taken++;
            CHECK(candidate["tileRows"] == document["tileRows"]);
            CHECK(candidate["tile"] == document["tile"]);
        }
    }
    CHECK(taken == 1);
    REQUIRE(explanation["traffic"].size() == 4);
    CHECK(explanation["traffic"][0]["bytes"] == 4.0 * 4 * (4 * 512 * 128 + 4 * 512 * 512));
    CHECK(explanation["traffic"][3]["bytes"] >= document["minimumBytes"]);
    REQUIRE(explanation["backwardTraffic"].size() == 3);
    CHECK(explanation["backwardTraffic"][0]["bytes"] == 4.0 * 4 * (8 * 512 * 128 + 7 * 512 * 512));
    CHECK_FALSE(jsonOf(place, "plan --json").contains("explanation"));
    // Few rows make the library look at the tiles of path coopmat twice, without and with key splits.
    const std::string fewRows = "plan --explain --json --path coopmat --rows 128 --keys 512 --dim 64 --type f16";
    if (const ProgramResult coopmat = place.run(fewRows); coopmat.status == 0) {
        std::set<std::string> tiles;
        const nlohmann::json lookedAt = jsonOf(place, fewRows);
        for (const auto& candidate : lookedAt["explanation"]["candidates"]) {
            const std::string tile = candidate["tile"];
            CHECK(tiles.insert(tile.substr(0, tile.find(" splits="))).second);
        }
    }
    // Every path lists tiles, and one of them is taken.
    for (const std::string path : {"coopmat", "decode", "standard", "key_outer"}) {
        const ProgramResult other = place.run("plan --explain --rows 64 --dim 64 --type f16 --path " + path);
        INFO(other.err);
        if (other.status == 0) {
            CHECK_THAT(other.out, ContainsSubstring(path) && ContainsSubstring("  taken"));
        }
    }
}

TEST_CASE("plan --explain says why each path is taken or not", "[study]") {
    needDevice();
    const Workplace place;
    const std::string decode = "plan --explain --type f32 --rows 4 --keys 512 --dim 64";
    const nlohmann::json document = jsonOf(place, decode + " --json");
    const nlohmann::json& paths = document["explanation"]["paths"];
    REQUIRE(paths.size() == 6);
    int taken = 0;
    for (const auto& [path, verdict] : paths.items()) {
        INFO(path);
        CHECK(!verdict["reason"].get<std::string>().empty());
        CHECK(verdict["taken"] == (path == document["path"]));
        taken += verdict["taken"] ? 1 : 0;
    }
    CHECK(taken == 1);
    CHECK(paths["standard"]["rule"] == "for comparisons");
    if (document["path"] == "decode") {
        CHECK(paths["decode"]["rule"] == "few query rows");
        CHECK_THAT(
            place.run(decode).out,
            ContainsSubstring("  decode     taken      decode is the fastest for up to 16 query rows (here 4)") &&
                ContainsSubstring("  standard   not taken  AUTO never takes it"));
    }
    // A path that the library refuses has the message of a run that asks for it.
    const std::string paged = "plan --explain --rows 64 --dim 64 --page-size 16";
    CHECK_THAT(place.run(paged).out,
               ContainsSubstring("  standard   refused    ") && ContainsSubstring("paging on paths standard"));
    // The backward pass.
    const std::string backward = "plan --backward --explain --type f32 --rows 64 --dim 64";
    CHECK_THAT(place.run(backward).out,
               ContainsSubstring("  coopmat    refused    the backward pass on path coopmat: ") &&
                   ContainsSubstring("  scalar     taken      ") && ContainsSubstring("P recomputed, keys outside"));
    const nlohmann::json explanation = jsonOf(place, backward + " --json")["explanation"];
    CHECK(explanation["paths"].size() == 3);
    CHECK(explanation["paths"]["scalar"]["taken"] == true);
    CHECK(explanation["backwardTraffic"].size() == 3);
}
