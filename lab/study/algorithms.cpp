// SPDX-License-Identifier: MIT
//
// vkflash_lab algorithms: runs every algorithm of docs/algorithm.md on one problem on the CPU. All must give one
// result.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/error.hpp"
#include "cli/text.hpp"
#include "study/studies.hpp"
#include "study/study_inputs.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

struct AlgorithmsOptions {
    StudyInputOptions inputs;
    uint32_t tileRows = 64;
    uint32_t tileKeys = 64;
    bool json = false;
};

struct NamedAlgorithm {
    const char* name;
    VkfReferenceAlgorithm algorithm;
};

// The others are compared with the first one.
constexpr std::array<NamedAlgorithm, 6> subjects = {{{"direct", VKF_REFERENCE_DIRECT},
                                                     {"standard", VKF_REFERENCE_STANDARD},
                                                     {"online, row by row", VKF_REFERENCE_ONLINE},
                                                     {"tiled, keys outer", VKF_REFERENCE_TILED_KEYS_OUTER},
                                                     {"tiled, queries outer", VKF_REFERENCE_TILED},
                                                     {"recomputed from lse", VKF_REFERENCE_RECOMPUTE}}};

// Limit for the difference in fp64, relative to the largest number. Different orders of summation differ by less.
constexpr double agreement = 1e-12;

struct Difference {
    double largest = 0;   // largest difference of the two results
    double magnitude = 1; // largest magnitude of the compared numbers; at least 1
};

Difference differenceOf(const std::vector<double>& a, const std::vector<double>& b) {
    Difference difference;
    for (size_t i = 0; i < a.size(); ++i) {
        const bool finite = std::isfinite(a[i]) && std::isfinite(b[i]);
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        const double apart = finite ? std::abs(a[i] - b[i]) : std::numeric_limits<double>::infinity();
        difference.largest = std::max(difference.largest, same ? 0.0 : apart);
        difference.magnitude = std::max(difference.magnitude, finite ? std::abs(b[i]) : 0.0);
    }
    return difference;
}

struct Outcome {
    const char* name;
    double seconds;
    Difference o;
    Difference lse;

    bool agrees() const { return o.largest <= agreement * o.magnitude && lse.largest <= agreement * lse.magnitude; }
};

std::vector<Outcome> compareAll(StudyInputs& inputs, const AlgorithmsOptions& options) {
    std::vector<Outcome> outcomes;
    ReferenceResult first;
    for (const NamedAlgorithm& subject : subjects) {
        auto reference = make<VkfReferenceOptions>();
        reference.algorithm = subject.algorithm;
        reference.tileRows = options.tileRows;
        reference.tileKeys = options.tileKeys;
        reference.savedLse = first.lse.data();
        const auto start = std::chrono::steady_clock::now();
        ReferenceResult result = runReference(inputs, reference, subject.name);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (outcomes.empty())
            first = result;
        outcomes.push_back(
            {subject.name, seconds.count(), differenceOf(result.o, first.o), differenceOf(result.lse, first.lse)});
    }
    return outcomes;
}

void printText(const StudyInputs& inputs, const AlgorithmsOptions& options, const std::vector<Outcome>& outcomes) {
    fmt::print("problem  {}\ntiles    {} query rows x {} keys\n\n", inputs.text(), options.tileRows, options.tileKeys);
    fmt::print("{:<22}{:>12}{:>22}{:>22}\n", "algorithm, fp64", "time, CPU", "o: error to direct", "lse: error");
    for (const Outcome& outcome : outcomes)
        fmt::print("{:<22}{:>12}{:>22.2g}{:>22.2g}\n", outcome.name, timeText(outcome.seconds), outcome.o.largest,
                   outcome.lse.largest);
    fmt::print("\nall agree within {:g}\n", agreement);
}

void printJson(const StudyInputs& inputs, const AlgorithmsOptions& options, const std::vector<Outcome>& outcomes) {
    nlohmann::ordered_json document = {
        {"problem", inputs.text()}, {"tileRows", options.tileRows}, {"tileKeys", options.tileKeys}};
    for (const Outcome& outcome : outcomes)
        document["algorithms"].push_back({{"name", outcome.name},
                                          {"seconds", outcome.seconds},
                                          {"oDifference", outcome.o.largest},
                                          {"lseDifference", outcome.lse.largest}});
    fmt::print("{}\n", document.dump(2));
}

void study(const AlgorithmsOptions& options) {
    if (options.tileRows == 0 || options.tileKeys == 0)
        failInput("{} 0: takes a number of at least 1", options.tileRows == 0 ? "--tile-rows" : "--tile-keys");
    StudyInputs inputs(options.inputs);
    const std::vector<Outcome> outcomes = compareAll(inputs, options);
    for (const Outcome& outcome : outcomes)
        if (!outcome.agrees())
            fail("{}: differs from direct by {:.3g} in o and {:.3g} in lse", outcome.name, outcome.o.largest,
                 outcome.lse.largest);
    options.json ? printJson(inputs, options, outcomes) : printText(inputs, options, outcomes);
}

} // namespace

void addStudyAlgorithmsCommand(CLI::App& group, Action& action) {
    const auto [command, options] = addCommand<AlgorithmsOptions>(
        group, action, "algorithms", "Runs every algorithm on one problem on the CPU and compares the results.",
        "vkflash_lab algorithms --rows 1024 --causal", study);
    addStudyInputOptions(*command, options->inputs);
    addMaskOptions(*command, options->inputs.math);
    command->remove_option(command->get_option("--precision")); // all algorithms here are fp64
    addValue(*command, "--tile-rows", options->tileRows, "query rows of a tile (Br)");
    addValue(*command, "--tile-keys", options->tileKeys, "keys of a tile (Bc)");
    command->add_flag("--json", options->json, "print JSON");
}

} // namespace vkf::tools
