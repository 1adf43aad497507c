// SPDX-License-Identifier: MIT
//
// `vkflash tune` and --tuning from outside. A file that tune writes is accepted, and bad files are refused.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/device.hpp"
#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

const std::string tensors = std::string("run --q ") + VKFLASH_SAMPLES_DIR + "/q.npy --k " + VKFLASH_SAMPLES_DIR +
                            "/k.npy --v " + VKFLASH_SAMPLES_DIR + "/v.npy -o o.npy --causal --verify ";

ProgramResult succeed(const Workplace& place, const std::string& arguments) {
    INFO("vkflash " << arguments);
    ProgramResult result = place.run(arguments);
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    return result;
}

} // namespace

TEST_CASE("tune writes a file that every command takes", "[program][gpu]") {
    needDevice();
    const Workplace place;
    // With such a negative margin, nearly every class gets an entry.
    const std::string validation = vkf::test::validationIsOn() ? " --validation" : "";
    const ProgramResult tuned =
        succeed(place, "tune --quick --types f16,f32 --dims 16 --causal yes --paths scalar --margin -0.99 -o t.txt" +
                           validation);
    CHECK_THAT(tuned.out, ContainsSubstring("best other") && ContainsSubstring("of 2 classes"));
    const std::string text = place.read("t.txt");
    CHECK_THAT(text, ContainsSubstring("vkflash tuning 1\n#") && ContainsSubstring("\ndevice vendor="));
    CHECK_THAT(succeed(place, "info --tuning t.txt").out, ContainsSubstring("entries of the file are for this device"));
    succeed(place,
            "bench --rows 64 --dims 16 --types f16 --paths scalar --heads 4 --causal --seconds 0.01 --tuning t.txt");
    CHECK(place.files() == std::vector<std::string>{"t.txt"});
}

TEST_CASE("tune writes element layouts that are tested before they are used", "[program][matrices][gpu]") {
    needDevice();
    if (testDevice().measureMatrixLayouts().empty()) {
        SKIP("this device has no matrices whose layout kernels can use");
    }
    const Workplace place;
    // Path decode has no other tiles to measure.
    CHECK_THAT(succeed(place, "tune --quick --types f16 --paths decode -o t.txt").out,
               ContainsSubstring("element layouts of cooperative matrices were measured"));
    const std::string text = place.read("t.txt");
    REQUIRE_THAT(text, ContainsSubstring("\nmatrix type=f16 rows="));
    CHECK_THAT(succeed(place, "info --tuning t.txt").out, ContainsSubstring("element layout measured"));
    succeed(place, tensors + "--tuning t.txt");

    // A right operand with the first two bits of the lane exchanged.
    const size_t first = text.find('/', text.find(" right=")) + 1;
    const size_t second = text.find(',', first) + 1;
    const size_t end = text.find_first_of(",\n", second);
    const std::string one = text.substr(first, second - 1 - first);
    const std::string other = text.substr(second, end - second);
    std::string wrong = text;
    wrong.replace(first, end - first, other + "," + one);
    place.write("wrong.txt", wrong);
    wrong.replace(first, end - first, one + "," + one);
    place.write("twice.txt", wrong);
    place.write("short.txt", text.substr(0, second - 1) + text.substr(text.find('\n', second)));
    checkRefusals(place,
                  {{tensors + "--tuning twice.txt", "--tuning twice.txt|right: not a permutation"},
                   {tensors + "--tuning short.txt", "--tuning short.txt|right: not a permutation"},
                   {tensors + "--tuning wrong.txt",
                    "tuning: the element layout of f16 matrices|is not that of this device|right|vkflash tune"}});
}

TEST_CASE("a tuning file selects the tile of run and plan", "[program][matrices][gpu]") {
    needDevice();
    const Workplace place;
    const Json device = Json::parse(succeed(place, "info --json").out)["devices"][0];
    place.write("none.txt", "vkflash tuning 1\n");
    const std::string shape = "plan --heads 4 --rows 256 --dim 64 --type f16 --causal --path scalar --json ";
    const Json builtIn = Json::parse(succeed(place, shape + "--tuning none.txt").out);
    CHECK(builtIn["tuned"] == false);
    const std::string tile = "groups=8 lanes=8 threadRows=1 threadKeys=2 chunkDim4=2 chunkKeys=8";
    CHECK(builtIn["tile"] != tile);
    // The device line comes from tune. Path decode has no other tiles to measure.
    succeed(place, "tune --quick --types f16 --causal yes --paths decode -o t.txt");
    std::string text = place.read("t.txt");
    text.resize(text.find('\n', text.find("\ndevice") + 1) + 1);
    place.write("t.txt", text +
                             "scalar type=f16 masked=yes headDim=64 valueDim=64 rows=1..256 keys=1..256 heads=1..9 " +
                             tile + "\n");
    const Json tuned = Json::parse(succeed(place, shape + "--tuning t.txt").out);
    CHECK(tuned["tuned"] == true);
    CHECK(tuned["tile"] == tile);
    CHECK_THAT(succeed(place, tensors + "--path scalar --tuning t.txt").out,
               ContainsSubstring(", tuned") && ContainsSubstring("wrote"));
    CHECK(Json::parse(succeed(place, "info --json --tuning t.txt").out)["devices"][0]["tuningEntries"] == 1);
}

TEST_CASE("tune writes tiles of the backward pass that backward and bench take", "[program][matrices][gpu]") {
    needDevice();
    const Workplace place;
    const std::string shape = "--types f16 --dims 32 --rows 64 --tokens 64 --width 32 --causal no --batch-one no ";
    const std::string tune = "tune --backward --quick --margin -0.99 --seconds 0.01 --paths coopmat -o t.txt " + shape;
    const ProgramResult tuned = place.run(tune + (vkf::test::validationIsOn() ? "--validation" : ""));
    INFO(tuned.out << tuned.err);
    if (tuned.status != 0 && tuned.err.find("nothing was measured") != std::string::npos) {
        SKIP("the device has no cooperative matrices");
    }
    REQUIRE(tuned.status == 0);
    CHECK_THAT(tuned.out, ContainsSubstring("2 entries for kernels of the backward pass of 1 classes") &&
                              ContainsSubstring("dk, dv"));
    const std::string text = place.read("t.txt");
    // The rows are those of a class, or those measured if a corner of the class was slower.
    const std::string dq = "\ncoopmat-dq type=f16 masked=no headDim=32 valueDim=32 rows=";
    CHECK_THAT(text, (ContainsSubstring(dq + "46..90 ") || ContainsSubstring(dq + "64 ")) &&
                         ContainsSubstring("\ncoopmat-dk-dv type=f16"));
    const auto [output, json] =
        benchReport(place, "backward --paths coopmat --runs 1 --sample-rows 2 --tuning t.txt " + shape);
    const std::string tile = json["results"][0]["rowTile"];
    CHECK_THAT(text, ContainsSubstring(" heads=1 " + tile));
    CHECK_THAT(json["results"][0]["plan"].get<std::string>(), ContainsSubstring(", tuned"));
    // Path scalar has no tuning data.
    const ProgramResult scalar = place.run("tune --backward --quick --paths scalar " + shape);
    CHECK(scalar.status == 2);
    CHECK_THAT(scalar.err,
               ContainsSubstring("nothing was measured") && ContainsSubstring("backward pass on path scalar"));
}

TEST_CASE("tuning files that make no sense are refused by flag and name, before the work", "[program]") {
    const Workplace place;
    place.write("empty.txt", "");
    place.write("newer.txt", "vkflash tuning 9\n");
    place.write("bad.txt", "vkflash tuning 1\ndevice vendor=1 device=1 driver=1\nscalar type=f99\n");
    for (const std::string& command :
         {tensors, std::string("plan"), std::string("info"), std::string("verify --rows 8"),
          std::string("bench --rows 8 --dims 8"), std::string("bench prefill --rows 512")}) {
        checkRefusals(place, {{command + " --tuning absent.txt", "--tuning absent.txt|no such file"},
                              {command + " --tuning empty.txt", "--tuning empty.txt|line 1"},
                              {command + " --tuning newer.txt", "--tuning newer.txt|version 9|reads version 1"},
                              {command + " --tuning bad.txt", "--tuning bad.txt|line 3|masked is missing"}});
    }
    checkRefusals(place, {{"tune -o absent/t.txt", "-o absent/t.txt|no folder absent"},
                          {"tune --types f64", "--types f64|f32, f16, bf16"},
                          {"tune --dims 48", "--dims 48|2048|--width"},
                          {"tune --margin x", "--margin"}});
}

TEST_CASE("tune has no other tile for a path without tuning data", "[program][matrices][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult tuned = succeed(place, "tune --quick --paths decode --margin -0.99 -o t.txt");
    CHECK_THAT(tuned.out, ContainsSubstring("built-in stays") && ContainsSubstring("0 of 1 classes"));
    succeed(place, "info --tuning t.txt");
}

TEST_CASE("tune that can measure nothing fails with the reason and writes no file", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result =
        place.run("tune --quick --types f32 --paths coopmat --quirk no-subgroup-shuffle -o t.txt");
    CHECK(result.status == 2);
    CHECK(isOneLine(result.err));
    CHECK_THAT(result.err, ContainsSubstring("nothing was measured") && ContainsSubstring("path coopmat"));
    CHECK(place.files().empty());
}
