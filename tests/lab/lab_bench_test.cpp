// SPDX-License-Identifier: MIT
//
// The benches of vkflash_lab from outside. Their results are right, complete, and in the requested file.
#include <set>
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

// Squares of 256: a mask has four, and two of them are closed. One head, and 64 keys to decode.
const std::string smallVariants = "variants --rows 512 --heads 1 --dim 16 --decode-keys 64 --seconds 0.01 --runs 2 "
                                  "--sample-rows 4 ";

void checkVariant(const Json& result) {
    checkTimed(result);
    CHECK(result["error"].get<double>() > 0);
    const std::set<std::string> bases = {"plain", "decode", "sequences", "drafts"};
    CHECK(result.contains("base") != bases.contains(result["variant"].get<std::string>()));
    CHECK(result.contains("met") == result.contains("aimLimit"));
    if (!result.contains("base"))
        return;
    const double ratio = result["medianSeconds"].get<double>() / result["baseSeconds"].get<double>();
    CHECK(result["timeRatio"].get<double>() == Approx(ratio));
    if (result.contains("met"))
        CHECK(result["met"] == (result["aim"] == "time" ? result["timeRatio"] <= result["aimLimit"]
                                                        : result["rateRatio"] >= result["aimLimit"]));
}

} // namespace

TEST_CASE("variants compares every row with its base and checks it", "[lab][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] = benchReport(place, smallVariants + "--paths scalar");
    CHECK(json["bench"] == "variants");
    CHECK(json["leftOut"].empty());
    constexpr double pairs = 512.0 * 512;
    constexpr double causalPairs = 512.0 * 513 / 2;
    const std::vector<std::pair<std::string, double>> rows = {{"plain", pairs},
                                                              {"causal", causalPairs},
                                                              {"alibi", pairs},
                                                              {"softcap", pairs},
                                                              {"sinks", pairs},
                                                              {"bias", pairs},
                                                              {"bias-heads", pairs},
                                                              {"bias-causal", causalPairs},
                                                              {"mask", pairs / 2},
                                                              {"mask-bits", pairs / 2},
                                                              {"mask-random", pairs / 2},
                                                              {"window", causalPairs},
                                                              {"window-first-keys", causalPairs},
                                                              {"documents", 16.0 * 32 * 33 / 2},
                                                              {"dropout", pairs},
                                                              {"sequences", 64.0 * 128 * 128},
                                                              {"packed", 64.0 * 256 * 256 / 3},
                                                              {"decode", 32 * 64},
                                                              {"decode-alibi", 32 * 64},
                                                              {"decode-sinks", 32 * 64},
                                                              {"decode-bias", 32 * 64},
                                                              {"decode-window", 32 * 64},
                                                              {"decode-split-keys", 32 * 64},
                                                              {"drafts", 32 * 64.0 * 65 / 2},
                                                              {"draft-tree", 32 * 328}};
    REQUIRE(json["results"].size() == rows.size());
    size_t aims = 0, met = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const Json& result = json["results"][i];
        checkVariant(result);
        CHECK(result["variant"] == rows[i].first);
        // Random numbers of pairs are only about right.
        const double share = rows[i].first == "mask-random" ? 0.01 : rows[i].first == "packed" ? 0.3 : 0;
        CHECK(result["operations"].get<double>() == Approx(rows[i].second * 4 * 16).epsilon(share));
        aims += result.contains("met") ? 1 : 0;
        met += result.value("met", false) ? 1 : 0;
    }
    CHECK(aims == 16);
    CHECK(json["aims"] == aims);
    CHECK(json["aimsMet"] == met);
    CHECK_THAT(text.out, ContainsSubstring(fmt::format("{} of 16 aims met", met)));
}

TEST_CASE("variants measures the requested rows and their bases", "[lab][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] =
        benchReport(place, smallVariants + "--paths scalar,standard --only documents,decode-window --decode-keys 65");
    std::vector<std::string> measured;
    for (const Json& result : json["results"])
        measured.push_back(fmt::format("{} {} {}", result["path"].get<std::string>(), result["keys"].get<int>(),
                                       result["variant"].get<std::string>()));
    CHECK(measured == std::vector<std::string>{"scalar 512 plain", "scalar 512 causal", "scalar 512 documents",
                                               "standard 512 plain", "standard 512 causal", "decode 64 decode",
                                               "decode 64 decode-window", "decode 65 decode",
                                               "decode 65 decode-window"});
    REQUIRE(json["leftOut"].size() == 1);
    CHECK(json["leftOut"][0]["variant"] == "documents");
    CHECK(json["leftOut"][0]["path"] == "standard");
    CHECK_THAT(json["leftOut"][0]["reason"].get<std::string>(), ContainsSubstring("documents"));
    CHECK_THAT(text.out, ContainsSubstring("left out: "));
}

TEST_CASE("long runs step by step and accounts for its memory", "[lab][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] = benchReport(place, "long --heads 2 --rows 700 --dim 32 --step-operations 10000000");
    CHECK(json["bench"] == "long");
    const Json& result = json["results"].at(0);
    INFO(result.dump());
    CHECK(result["causal"] == true);
    CHECK(result["steps"] > 1);
    CHECK(result["longestStepSeconds"] >= result["medianStepSeconds"]);
    CHECK(result["deviceSeconds"] >= result["longestStepSeconds"]);
    CHECK(result["wallSeconds"] >= result["deviceSeconds"]);
    CHECK(result["scratchBytes"] < 2 * 700 * 700 * 4); // partial results of key splits perhaps, but no scores
    CHECK(result["tensorBytes"] == 4 * 2 * 700 * 32 * 2);
    CHECK(result["error"] <= result["bound"]);
    CHECK_THAT(text.out, ContainsSubstring("right"));
    CHECK(benchReport(place, "long --heads 1 --rows 64 --dim 8 --causal no").second["results"][0]["causal"] == false);
}

TEST_CASE("shared attends to a prefix once and checks the merged result", "[lab][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] =
        benchReport(place, "shared --batch 5 --heads 4 --kv-heads 2 --dim 32 --shared 96 --own 32 --runs 2");
    CHECK(json["bench"] == "shared");
    CHECK(json["sharedSeconds"] > 0.0);
    CHECK(json["timeRatio"] > 0.0);
    CHECK(json["plans"].size() == 3);
    CHECK(json["error"] > 0.0);
    CHECK(json["error"] <= json["bound"]);
    CHECK_THAT(text.out, ContainsSubstring("two, merged"));
}

TEST_CASE("host measures recording and plans without running anything", "[lab][gpu]") {
    needDevice();
    const Workplace place("vkflash_lab");
    const auto [text, json] = benchReport(place, "host --dims 32 --types f16,f32 --paths auto,standard --calls 500");
    CHECK(json["bench"] == "host");
    REQUIRE(json["results"].size() == 4);
    for (const Json& result : json["results"]) {
        INFO(result.dump());
        CHECK(result["recordedCalls"] == 500);
        CHECK(result["recordNanoseconds"] >= result["recordLeastNanoseconds"]);
        for (const char* name : {"contextSeconds", "coldPlanSeconds", "filledCachePlanSeconds",
                                 "sameContextPlanSeconds", "recordNanoseconds"}) {
            CHECK(result[name] > 0.0);
        }
    }
}

TEST_CASE("benches of the lab are clean under the validation layer", "[lab][gpu]") {
    needDevice();
    if (!validationIsOn()) {
        SKIP("without the validation layer");
    }
    const Workplace place("vkflash_lab");
    for (const std::string& bench : {smallVariants + "--only bias,mask,decode-sinks",
                                     std::string("long --rows 300 --dim 16 --step-operations 3000000"),
                                     std::string("host --dims 16 --calls 10")}) {
        const ProgramResult result = place.run(bench + " --validation");
        INFO(bench << "\n" << result.out << result.err);
        CHECK(result.status == 0);
        CHECK(result.err.empty());
    }
}

TEST_CASE("help of the lab has an example of each command", "[lab]") {
    const Workplace place("vkflash_lab");
    for (const std::string command : {"host", "long", "shared", "study", "variants", "algorithms", "recompute"}) {
        CHECK_THAT(place.run(command + " --help").out, ContainsSubstring("\nExample: vkflash_lab " + command + " "));
    }
}

TEST_CASE("benches of the lab refuse flags that make no sense before the work", "[lab]") {
    const Workplace place("vkflash_lab");
    checkRefusals(place, {{"variants --runs 0", "--runs 0: takes a number of at least 1"},
                          {"long --rows 8 --tuning absent.txt", "--tuning absent.txt|no such file"},
                          {"host --dims 8 --tuning absent.txt", "--tuning absent.txt|no such file"},
                          {"variants --causl", "`vkflash_lab variants` has no such flag"},
                          {"long --causal both", "--causal both|yes or no"},
                          {"long --rows 0", "--rows"},
                          {"long --path fast", "--path fast"},
                          {"long --json absent/l.json", "--json absent/l.json"},
                          {"variants --only alibi,rubble", "--only rubble|takes some of plain, causal"},
                          {"variants --rows 0", "--rows 0"},
                          {"variants --paths fast", "--paths fast|auto, scalar"},
                          {"variants --decode-paths fast", "--decode-paths fast|auto, scalar"},
                          {"variants --decode-keys 0", "--decode-keys 0"},
                          {"variants --type f64", "--type f64|f32, f16, bf16"},
                          {"variants --dim 0", "headDim is 0"},
                          {"variants --json absent/v.json", "--json absent/v.json"},
                          {"host --calls 0", "--calls 0"},
                          {"host --dims 600", "600|576"},
                          {"host --paths fast", "--paths fast|scalar"},
                          {"host --json absent/h.json", "--json absent/h.json"}});
}
