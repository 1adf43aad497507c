// SPDX-License-Identifier: MIT
//
// The bench commands from outside. Their results are right, complete, and in the requested file.
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/device.hpp"
#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

// Few and small shapes: 256 rows in all, 64 columns.
const std::string smallPrefill = "prefill --tokens 256 --width 64 --dims 32 --rows 64 --seconds 0.01 --runs 3";
// A driver without usable subgroup operations has no path coopmat, whatever else it has.
const std::string withoutCoopmat = " --quirk no-subgroup-shuffle";

} // namespace

TEST_CASE("bench times only results that are right and reports them as JSON", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const auto [text, json] = benchReport(place, "--rows 33,64 --dims 40 --types f16 --heads 2 --seconds 0.05");
    CHECK(json["bench"] == "grid");
    REQUIRE(json["results"].size() == 4); // two sizes on two paths
    for (const Json& result : json["results"]) {
        checkTimed(result);
    }
    // One result a line.
    const std::string file = place.read("b.json");
    size_t lines = 0;
    for (size_t at = file.find("\n    {\"batch\""); at != std::string::npos;
         at = file.find("\n    {\"batch\"", at + 1)) {
        CHECK(file.find('}', at) < file.find('\n', at + 1));
        lines++;
    }
    CHECK(lines == 4);
}

TEST_CASE("bench takes paths of every kind and checks lse as well", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const auto [text, json] =
        benchReport(place, "--rows 50 --dims 24 --types f32 --paths auto --kv-heads 2 --lse --causal --seconds 0.01");
    REQUIRE(json["results"].size() == 1);
    CHECK(json["results"][0]["path"] != "auto"); // the chosen path
}

TEST_CASE("bench reports a combination that is impossible as a row with its reason", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const auto [text, json] = benchReport(
        place, "--rows 20 --dims 16,600 --types f32 --paths scalar,coopmat --heads 2 --seconds 0.01" + withoutCoopmat);
    REQUIRE(json["results"].size() == 1);
    CHECK(json["results"][0]["headDim"] == 16);
    REQUIRE(json["leftOut"].size() == 3);
    for (const Json& entry : json["leftOut"])
        CHECK_FALSE(entry["reason"].get<std::string>().empty());
    CHECK_THAT(text.out, ContainsSubstring("left out: ") && ContainsSubstring("600"));
    checkRefusal(place, {"bench --dims 600,700 --paths scalar", "600|256"});
}

TEST_CASE("bench decode compares every shape with a plain read and checks it", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    place.write("torch.json", peerFile("Imaginary GPU 9", {peer("flash", {{"queryHeads", 32},
                                                                          {"kvHeads", 8},
                                                                          {"queryRows", 1},
                                                                          {"keys", 64},
                                                                          {"headDim", 128},
                                                                          {"microseconds", 30}})}));
    const auto [text, json] = benchReport(place, "decode --keys 64,200 --batch 1,3 --rows 1,2 --types f16 --runs 1 "
                                                 "--tokens 200 --sample-heads 0 --compare torch.json");
    CHECK(json["bench"] == "decode");
    REQUIRE(json["results"].size() == 6); // 3 x 200 keys are over --tokens
    CHECK(json["leftOut"].empty());
    for (const Json& result : json["results"]) {
        INFO(result.dump());
        CHECK(result["path"] == "decode");
        CHECK(result["error"].get<double>() <= result["bound"].get<double>());
        const double bytes = 2.0 * result["batch"].get<double>() * 8 * result["keys"].get<double>() * 128 * 2;
        CHECK(result["cacheBytes"] == bytes);
        CHECK(result["bufferSets"].get<size_t>() > 1);
        const double seconds = result["medianSeconds"].get<double>();
        CHECK(result["gigabytesPerSecond"].get<double>() == Approx(bytes / seconds * 1e-9));
        CHECK(result["shareOfRead"].get<double>() == Approx(result["readSeconds"].get<double>() / seconds));
        CHECK(result["readSeconds"].get<double>() > 0);
    }
    const Json& peers = json["results"][0]["peers"];
    REQUIRE(peers.size() == 1);
    CHECK(peers[0]["seconds"].get<double>() == Approx(30e-6));
    CHECK(json["results"][1]["peers"].empty());
}

TEST_CASE("bench decode checks caches of block types in pages", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result =
        place.run("bench decode --heads 4 --kv-heads 2 --dim 32 --keys 100 --batch 2 --rows 1,3 "
                  "--types f16 --kv-type q5_0 --page-size 8 --runs 1 --sample-heads 0 "
                  "--json d.json");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const auto json = nlohmann::json::parse(place.read("d.json"));
    REQUIRE(json["results"].size() == 2);
    for (const auto& one : json["results"]) {
        CHECK(one["kvType"] == "q5_0");
        CHECK(one["pageSize"] == 8);
        CHECK(one["cacheBytes"] == 2.0 * 2 * 2 * 100 * 22);
        CHECK(one["error"] <= one["bound"]);
    }
}

TEST_CASE("bench decode measures v with its own head dimension, and v as columns of k", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const std::string small = "decode --keys 90 --batch 2 --rows 1,2 --types f16 --runs 1 --sample-heads 0 ";
    const Json latent =
        benchReport(place, small + "--heads 16 --kv-heads 1 --dim 576 --value-dim 512 --shared-kv").second["results"];
    REQUIRE(latent.size() == 2);
    for (const Json& result : latent) {
        CHECK(result["valueDim"] == 512);
        CHECK(result["cacheBytes"] == 2.0 * 90 * 576 * 2); // k counts once
        CHECK(result["path"] == "decode");
    }
    const Json apart = benchReport(place, small + "--heads 4 --kv-heads 2 --dim 64 --value-dim 40").second["results"];
    REQUIRE(apart.size() == 2);
    CHECK(apart[0]["cacheBytes"] == 2.0 * 2 * 90 * (64 + 40) * 2);
}

TEST_CASE("bench decode fills caches that are longer than what it generates, and checks them", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    // Over 2^20 tokens, which only --keys selects. k has 2 x 1.1 million elements, and the first million of them is
    // generated.
    const Json results =
        benchReport(place, "decode --keys 1100000 --batch 1,2 --rows 1 --types f16 --heads 1 --kv-heads 1 "
                           "--dim 2 --runs 1 --sample-heads 0")
            .second["results"];
    REQUIRE(results.size() == 1);
    CHECK(results[0]["keys"] == 1100000);
    CHECK(results[0]["error"].get<double>() <= results[0]["bound"].get<double>());
}

TEST_CASE("bench decode takes splits and paths", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const std::string small =
        "decode --keys 100 --batch 1 --rows 1 --types f32 --heads 4 --kv-heads 2 --dim 40 --runs 1 ";
    const Json split = benchReport(place, small + "--paths decode --splits 3").second["results"];
    REQUIRE(split.size() == 1);
    CHECK(split[0]["splits"] == 3);
    CHECK(benchReport(place, small + "--paths scalar").second["results"][0]["path"] == "scalar");
}

TEST_CASE("bench prefill covers both numbers of sequences and both masks", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const auto [text, json] = benchReport(place, smallPrefill + " --paths scalar,standard");
    CHECK(json["bench"] == "prefill");
    REQUIRE(json["results"].size() == 8);
    CHECK(json["leftOut"].empty());
    std::vector<std::string> shapes;
    for (const Json& result : json["results"]) {
        checkTimed(result);
        shapes.push_back(fmt::format("B{} {} {}", result["batch"].get<int>(),
                                     result["causal"].get<bool>() ? "causal" : "full",
                                     result["path"].get<std::string>()));
        const double pairs = result["causal"].get<bool>() ? 0.5 : 1.0;
        CHECK(result["operations"] == 4.0 * result["batch"].get<double>() * 2 * 64 * 64 * 32 * pairs);
        CHECK(result["tensorBytes"] == 4 * result["batch"].get<uint64_t>() * 64 * 64 * 2);
        CHECK((result["scratchBytes"] > 0) == (result["path"] == "standard"));
    }
    CHECK(shapes == std::vector<std::string>{"B4 full scalar", "B4 full standard", "B4 causal scalar",
                                             "B4 causal standard", "B1 full scalar", "B1 full standard",
                                             "B1 causal scalar", "B1 causal standard"});
}

TEST_CASE("bench prefill measures the subset that is asked for, equal shapes once", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const std::string small = "prefill --tokens 64 --width 64 --seconds 0.01 --runs 1 --dims 16 ";
    CHECK(benchReport(place, small + "--rows 64 --causal no").second["results"].size() == 1);
    CHECK(benchReport(place, small + "--rows 64,128 --causal yes").second["results"].size() == 2);
    const Json json =
        benchReport(place, small + "--rows 32 --causal no --batch-one yes --types f16,f32,bf16").second["results"];
    REQUIRE(json.size() == 3);
    CHECK(json[0]["batch"] == 1);
    CHECK(json[0]["type"] == "f16");
    CHECK(json[1]["type"] == "f32");
    CHECK(json[2]["type"] == "bf16");
}

TEST_CASE("bench prefill compares its results with other implementations", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    place.write("torch.json",
                peerFile("Imaginary GPU 9", {peer("flash", {{"batch", 4}, {"teraflops", 0.5}}),
                                             peer("cudnn", {{"batch", 4}, {"teraflops", 2}}),
                                             peer("flash", {{"batch", 4}, {"backward", true}, {"teraflops", 9}}),
                                             peer("flash", {{"batch", 5}, {"teraflops", 7}}),
                                             peer("flash", {{"batch", 4}, {"headDim", 64}, {"teraflops", 7}})}));
    place.write("ggml.json", peerFile("Other GPU", {peer("ggml", {{"microseconds", 1}})}));
    const auto [text, json] =
        benchReport(place, smallPrefill + " --causal no --compare torch.json --compare ggml.json");
    REQUIRE(json["results"].size() == 2);
    const Json& many = json["results"][0]["peers"];
    REQUIRE(many.size() == 2);
    CHECK(many[0]["name"] == "flash");
    CHECK(many[0]["file"] == "torch.json");
    CHECK(many[0]["teraflops"] == 0.5);
    CHECK(many[0]["ratio"].get<double>() == Approx(json["results"][0]["teraflops"].get<double>() / 0.5));
    CHECK(many[1]["name"] == "cudnn");
    const Json& one = json["results"][1]["peers"];
    REQUIRE(one.size() == 1);
    CHECK(one[0]["name"] == "ggml");
    CHECK(one[0]["teraflops"].get<double>() == Approx(4.0 * 2 * 64 * 64 * 32 / 1e-6 * 1e-12));
    REQUIRE(json["comparisons"].size() == 2);
    CHECK(json["comparisons"][0]["device"] == "Imaginary GPU 9");
    CHECK(json["comparisons"][1]["device"] == "Other GPU");
    CHECK(json["comparisons"][1]["matched"] == 1);
    CHECK_THAT(text.out, ContainsSubstring("flash 0.5 (") && ContainsSubstring("compared with ggml.json"));
}

TEST_CASE("bench prefill leaves out shapes that a path refuses, with the reason", "[bench][gpu]") {
    needDevice();
    const Workplace place;
    const auto [text, json] = benchReport(
        place, smallPrefill + " --causal no --batch-one no --types f32 --paths auto,coopmat" + withoutCoopmat);
    CHECK(json["results"].size() == 1);
    REQUIRE(json["leftOut"].size() == 1);
    CHECK(json["leftOut"][0]["path"] == "coopmat");
    CHECK_THAT(json["leftOut"][0]["reason"].get<std::string>(), ContainsSubstring("coopmat"));
    CHECK_THAT(text.out, ContainsSubstring("left out: "));
    const ProgramResult nothing =
        place.run("bench " + smallPrefill + " --types f32 --paths coopmat --json none.json" + withoutCoopmat);
    CHECK(nothing.status == 2);
    CHECK(isOneLine(nothing.err));
    CHECK_THAT(nothing.err, ContainsSubstring("nothing was measured") && ContainsSubstring("coopmat"));
    CHECK(place.files() == std::vector<std::string>{"b.json"});
}

namespace {

// Two heads of D = 16. k and v move once. q and a state of 18 floats move for each key tile. The first state comes on
// top.
double keyOuterBytes(const Json& result) {
    unsigned tileRows = 0, tileKeys = 0;
    const auto plan = result["plan"].get<std::string>();
    REQUIRE(std::sscanf(plan.c_str() + plan.find("tile "), "tile %ux%u", &tileRows, &tileKeys) == 2);
    const auto rows = result["queryRows"].get<double>();
    const double tiles = std::ceil(rows / tileKeys);
    const double elementBytes = result["type"] == "f32" ? 4 : 2;
    return 2 * rows * ((2 + tiles) * 16 * elementBytes + (2 * tiles + 1) * 18 * 4);
}

} // namespace

TEST_CASE("lab study compares every algorithm with the standard one", "[bench][matrices][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] =
        benchReport(place, "study --rows 128,64 --dims 16 --types f32,f16 --seconds 0.01 --runs 2");
    CHECK(json["bench"] == "study");
    uint64_t standardBytes = 0;
    size_t standards = 0;
    size_t keyOuters = 0;
    for (const Json& result : json["results"]) {
        checkTimed(result);
        const auto peak = result["peakBytes"].get<uint64_t>();
        CHECK(peak == result["tensorBytes"].get<uint64_t>() + result["scratchBytes"].get<uint64_t>());
        CHECK(result["largestDifference"] > 0.0); // sums in another order differ
        CHECK(result["largestDifference"] <= result["differenceBound"]);
        CHECK(result["predictedBytes"] >= result["tensorBytes"]);
        CHECK(result["planBytes"] >= result["tensorBytes"]);
        if (result["path"] == "key_outer") {
            ++keyOuters;
            CHECK(result["predictedBytes"] == keyOuterBytes(result));
            // m, l and o go out and in at least once.
            CHECK(result["planBytes"] >=
                  result["tensorBytes"].get<double>() + 2 * result["scratchBytes"].get<double>());
        }
        CHECK(result["bytesPerSecond"].get<double>() ==
              Approx(result["predictedBytes"].get<double>() / result["medianSeconds"].get<double>()));
        // Matrices take f32 forward where they have bf16.
        const bool backward = result["path"] == "scalar" || (result["path"] == "coopmat" && result["type"] != "f32");
        REQUIRE(result.contains("backwardSeconds") == backward);
        if (backward) {
            CHECK(result["backwardSeconds"].get<double>() > 0);
            CHECK(result["backwardError"].get<double>() <= result["backwardBound"].get<double>());
            // q, k, v, dO twice, dq, dk and dv; P twice, dP in and out, dS twice in and once out. B = 2, D = 16.
            const double rows = result["queryRows"];
            const double bytes = result["type"] == "f32" ? 4 : 2;
            CHECK(result["backwardStoredBytes"] == 2 * bytes * (8 * rows * 16 + 7 * rows * rows));
            CHECK(result["backwardStoredBytesPerSecond"].get<double>() ==
                  Approx(result["backwardStoredBytes"].get<double>() / result["backwardSeconds"].get<double>()));
            CHECK(result["backwardRecomputedBytes"] > result["backwardTensorBytes"]);
        }
        if (result["path"] == "standard") {
            standardBytes = peak;
            ++standards;
            CHECK(result["fasterThanStandard"] == 1.0);
        }
        CHECK(result["memorySavedPercent"].get<double>() ==
              Approx(100 - 100 * static_cast<double>(peak) / static_cast<double>(standardBytes)));
    }
    CHECK(standards == 4);
    CHECK(keyOuters == 4);
    CHECK(json["results"][0]["queryRows"] == 64); // in rising order
    CHECK_THAT(text.out,
               ContainsSubstring("at most (standard and ") && ContainsSubstring("with P stored it would move"));
    // A path that does not support a type is listed once, not for every length.
    for (const Json& stop : json["leftOut"]) {
        CHECK(stop["path"] == "coopmat");
        CHECK(stop["queryRows"] == 64);
    }
}

TEST_CASE("lab study stops an algorithm where it needs too much memory", "[bench][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] =
        benchReport(place, "study --rows 64,128,256 --dims 16 --types f32 --paths scalar,standard --most-memory 200KiB "
                           "--seconds 0.01 --runs 1");
    // Scores of two heads in fp32: 32 KiB, 128 KiB, 512 KiB; tensors 32, 64 and 128 KiB.
    std::vector<std::string> measured;
    for (const Json& result : json["results"])
        measured.push_back(fmt::format("{} {}", result["path"].get<std::string>(), result["queryRows"].get<int>()));
    CHECK(measured == std::vector<std::string>{"standard 64", "scalar 64", "standard 128", "scalar 128", "scalar 256"});
    CHECK(json["results"][4]["memorySavedPercent"].is_null());
    CHECK(json["results"][4]["largestDifference"].is_null());
    REQUIRE(json["leftOut"].size() == 1);
    CHECK(json["leftOut"][0]["queryRows"] == 256);
    CHECK_THAT(json["leftOut"][0]["reason"].get<std::string>(),
               ContainsSubstring("516 KiB of scratch") && ContainsSubstring("200 KiB of --most-memory"));
    CHECK_THAT(text.out, ContainsSubstring("left out: "));
    const ProgramResult nothing = place.run("study --rows 64 --dims 16 --types f32 --most-memory 1KiB");
    CHECK(nothing.status == 2);
    CHECK(isOneLine(nothing.err));
}

TEST_CASE("lab study stops an algorithm where the device has no room for it", "[bench][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    // Scores of two heads: 32 KiB, then 671 GiB.
    const auto [text, json] =
        benchReport(place, "study --rows 64,300000 --dims 8 --types f32 --paths standard --seconds 0.01 --runs 1");
    CHECK(json["results"].size() == 1);
    REQUIRE(json["leftOut"].size() == 1);
    CHECK(json["leftOut"][0]["queryRows"] == 300000);
    CHECK_THAT(text.out, ContainsSubstring("left out: ") && ContainsSubstring("does not fit into the memory of"));
}

TEST_CASE("bench commands are clean under the validation layer", "[bench][gpu]") {
    needDevice();
    if (!validationIsOn()) {
        SKIP("without the validation layer");
    }
    const Workplace place;
    for (const std::string& bench : {smallPrefill + " --paths auto,standard"}) {
        const ProgramResult result = place.run("bench " + bench + " --validation");
        INFO(bench << "\n" << result.out << result.err);
        CHECK(result.status == 0);
    }
}

TEST_CASE("benches refuse flags and files that make no sense before the work", "[bench]") {
    const Workplace place;
    place.write("bad.json", peerFile("GPU", {peer("flash", {{"batch", 0}})}));
    place.write("none.json", "nothing\n");
    for (const std::string bench : {"bench", "bench prefill", "bench decode"})
        checkRefusals(place, {{bench + " --runs 0", "--runs 0: takes a number of at least 1"},
                              {bench + " --seconds -1", "--seconds -1: takes a time of at least 0"},
                              {bench + " --seconds nan", "--seconds nan"},
                              {bench + " --seconds inf", "--seconds inf"}});
    checkRefusals(place, {{"bench --paths fast", "--paths fast|scalar"},
                          {"bench --types f64", "--types f64|f32, f16, bf16"},
                          {"bench --json absent/b.json", "--json absent/b.json|no folder absent"},
                          {"bench --rows 64 prefill", "--rows|prefill"},
                          {"bench prefill --rows 100", "--rows 100|16384|--tokens"},
                          {"bench prefill --rows 0", "--rows 0"},
                          {"bench prefill --dims 48", "--dims 48|2048|--width"},
                          {"bench prefill --types f64", "--types f64|f32, f16, bf16"},
                          {"bench prefill --paths fast", "--paths fast|auto, scalar"},
                          {"bench prefill --causal maybe", "--causal maybe|no, yes or both"},
                          {"bench prefill --batch-one 1", "--batch-one 1|no, yes or both"},
                          {"bench prefill --json absent/b.json", "--json absent/b.json"},
                          {"bench prefill --tuning bad.json --json ./bad.json", "./bad.json: is the file of --tuning"},
                          {"bench prefill --compare absent.json", "--compare absent.json"},
                          {"bench prefill --compare none.json", "--compare none.json|holds no times|bench/peers.py"},
                          {"bench prefill --compare bad.json", "--compare bad.json|result 1|\"batch\" must be"},
                          {"bench decode --keys 0", "--keys 0"},
                          {"bench decode --rows 0", "--rows 0"},
                          {"bench decode --heads 4 --kv-heads 3", "--heads 4|--kv-heads 3"},
                          {"bench decode --tokens 50", "--tokens 50"},
                          {"bench decode --shared-kv --value-dim 130", "--shared-kv|--value-dim 130|--dim 128"},
                          {"bench decode --causal maybe", "--causal maybe|yes or no"},
                          {"bench decode --json absent/d.json", "--json absent/d.json"}});
    checkRefusals(Workplace("vkflash_lab"),
                  {{"study --paths fast", "--paths fast|auto, scalar"},
                   {"study --paths decode", "--paths decode|not in the study|standard, key_outer, scalar"},
                   {"study --types f64", "--types f64|f32, f16, bf16"},
                   {"study --rows 0", "--rows 0"},
                   {"study --dims 600", "600|576"},
                   {"study --heads 0", "--heads"},
                   {"study --most-memory much", "--most-memory|much"},
                   {"study --most-memory -1", "--most-memory"},
                   {"study --most-memory 99999999999999999999", "--most-memory"},
                   {"study --batch 0", "--batch"},
                   {"study --dims 0", "headDim is 0"},
                   {"study --rows 4000000000", "queryRows 4000000000|1073676288"},
                   {"study --sample-rows x", "--sample-rows"},
                   {"study --quirk rubble", "--quirk rubble|takes one of"},
                   {"study --json absent/s.json", "--json absent/s.json"}});
}
