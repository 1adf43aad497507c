// SPDX-License-Identifier: MIT
//
// What AMD's compiler makes of the library's kernels, on a machine without AMD hardware: no kernel of a plan that the
// library chooses by itself spills. VKFLASH_TEST_RADV names the script that starts a program with a driver that
// describes chips; ./dev test fetches it.
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/device.hpp"
#include "support/program.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;

namespace {

constexpr int registersOfAmd = 256; // that an instruction can name

ProgramResult drivers(const std::vector<std::string>& flags) {
    const char* const script = std::getenv("VKFLASH_TEST_RADV");
    if (script == nullptr || *script == 0) {
        SKIP("no RADV that describes chips (./dev test fetches it on Debian)");
    }
    std::vector<std::string> words = {script, VKFLASH_TEST_LAB, "drivers"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Workplace place;
    return place.runWords(words);
}

// No kernel spills unless the library says so beforehand, which it does only where the caller asks for the path.
void checkKernels(const Json& chip) {
    for (const Json& kernel : chip["kernels"]) {
        INFO(chip["chip"] << ": " << kernel.dump());
        CHECK(kernel["registers"] > 0);
        CHECK(kernel["registers"] <= registersOfAmd);
        CHECK(kernel["sharedMemoryBytes"] <= 65536);
        CHECK(kernel["compileSeconds"] < 5);
        if (!kernel["announced"]) {
            CHECK(kernel["spilledRegisters"] == 0);
            CHECK(kernel["scratchBytes"] == 0);
        }
        const std::string problem = kernel["problem"];
        CHECK((!kernel["announced"] || problem.starts_with("coopmat f16 D=256 ") || problem.ends_with(" backward")));
        CHECK((kernel["spilledRegisters"] == 0 || !problem.starts_with("auto ")));
    }
}

} // namespace

// A whole sweep compiles for the chips of the next test too.
TEST_CASE("no kernel that the library chooses by itself spills on AMD chips", "[drivers]") {
    std::vector<std::string> flags = {"--types", "f32,f16", "--extras", "none,backward", "--json"};
    if (!wholeSweeps()) {
        flags.insert(flags.end(), {"--chips", "navi21,gfx1201"});
    }
    const ProgramResult result = drivers(flags);
    INFO(result.err);
    const Json report = Json::parse(result.out);
    INFO(report["verdict"]);
    CHECK(result.status == 0);
    REQUIRE(report["chips"].size() == (wholeSweeps() ? 4 : 2));
    for (const Json& chip : report["chips"]) {
        CHECK(chip["plans"] > 100);
        checkKernels(chip);
    }
}

// The other test has few head dimensions. Each tile has a largest one, where it needs the most registers. vega10 spills
// first, and navi31 has matrices. A whole sweep compiles for the other chips too.
TEST_CASE("no tile that the library chooses by itself spills on AMD chips, whatever the head dimension",
          "[drivers_tiles]") {
    std::vector<std::string> flags = {"--each-tile", "--json"};
    if (!wholeSweeps()) {
        flags.insert(flags.end(), {"--chips", "vega10,navi31"});
    }
    const ProgramResult result = drivers(flags);
    INFO(result.err);
    const Json report = Json::parse(result.out);
    INFO(report["verdict"]);
    CHECK(result.status == 0);
    REQUIRE(report["chips"].size() == (wholeSweeps() ? 4 : 2));
    for (const Json& chip : report["chips"]) {
        CHECK(chip["plans"] > 100);
        checkKernels(chip);
        std::set<std::string> extras;
        for (const Json& kernel : chip["kernels"]) {
            const std::string problem = kernel["problem"];
            extras.insert(problem.substr(problem.rfind(' ') + 1));
        }
        CHECK(extras == std::set<std::string>{"backward-terms", "causal", "terms"});
    }
}

TEST_CASE("the list of kernels ends in a verdict, and unknown chips are refused", "[drivers]") {
    const std::vector<std::string> small = {"--paths", "auto", "--types", "f16", "--dims", "64", "--sizes", "decode"};
    std::vector<std::string> flags = small;
    flags.insert(flags.end(), {"--chips", "vega10"});
    const ProgramResult listed = drivers(flags);
    CHECK(listed.status == 0);
    CHECK_THAT(listed.out, ContainsSubstring("vega10 (GCN 5)") && ContainsSubstring("attention_decode"));
    CHECK_THAT(listed.out, ContainsSubstring("\npassed: "));
    flags.back() = "vega99";
    const ProgramResult refused = drivers(flags);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("vega99"));
}
