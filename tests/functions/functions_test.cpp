// SPDX-License-Identifier: MIT
//
// Masks and scores of the caller's own, fused into every kernel: the examples against their formulas in fp64.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "functions/compiled_example.hpp"
#include "functions/situations.hpp"
#include "support/call.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::CompiledExample;
using vkf::test::Data;
using vkf::test::Example;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Situation;
using vkf::test::Variation;

// scalar, coopmat, decode, key_outer and standard.
constexpr std::array<uint32_t, 5> paths = {0, 4, 6, 9, 3};
// The variants of these paths.
constexpr std::array<uint32_t, 5> variants = {1, 5, 7, 2, 8};

// The variation of an example, and in whole sweeps all.
std::vector<uint32_t> variationsOf(size_t turn) {
    if (!vkf::test::wholeSweeps()) {
        return {paths[turn % paths.size()]};
    }
    std::vector<uint32_t> chosen(paths.begin(), paths.end());
    chosen.insert(chosen.end(), variants.begin(), variants.end());
    return chosen;
}

bool fits(const Variation& variation, VkfProblem problem) {
    if (!takes(variation, problem)) {
        return false;
    }
    apply(variation, problem);
    return vkfCheckSupport(deviceOf(variation).context(), &problem, nullptr) == VKF_SUCCESS;
}

// Runs an example in the first situation from number `turn` on that the variation takes.
void check(const CompiledExample& compiled, const Example& example, const Variation& variation, size_t turn) {
    const std::vector<Situation>& situations = vkf::test::situations();
    for (size_t i = 0; i < situations.size(); i++) {
        const Situation& situation = situations[(turn + i) % situations.size()];
        VkfProblem problem = problemOf({2, 4, 2, example.rows, example.keys, 32, 0, VKF_TYPE_F16});
        Data data;
        situation.change(problem, data);
        compiled.use(problem, data);
        if (!fits(variation, problem)) {
            continue;
        }
        apply(variation, problem);
        INFO(example.file << " on " << variation.name << ", " << situation.name << ": "
                          << vkf::test::describe(problem));
        const Outcome outcome = runCall(deviceOf(variation), problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
        return;
    }
    FAIL("no situation fits " << variation.name);
}

// A problem whose functions are a text.
struct TextCall {
    TextCall(const std::string& text, const VkfReferenceFunctions& formulas) : compiled(text, formulas) {
        problem = problemOf({1, 2, 1, 70, 131, 32, 0, VKF_TYPE_F16});
        compiled.use(problem, data);
    }

    CompiledExample compiled;
    VkfProblem problem;
    Data data;
};

constexpr const char* nanText = "float score(float s, Position at) {\n"
                                "    return at.row == 66 && at.key == 5 ? uintBitsToFloat(0x7fc00000u) : s;\n"
                                "}\n";

constexpr const char* hiddenText = "float score(float s, Position at) {\n"
                                   "    bool isHidden = at.key > at.row || (at.key & 3) == 1;\n"
                                   "    return isHidden ? uintBitsToFloat(0x7fc00000u) : 0.5 * s;\n"
                                   "}\n";

VkfReferenceFunctions scoreOf(double (*score)(double s, const VkfPosition* at, void* user)) {
    VkfReferenceFunctions formulas{};
    formulas.score = score;
    return formulas;
}

} // namespace

TEST_CASE("every example of a mask or score agrees with its formulas", "[functions_forward]") {
    size_t turn = 0;
    for (const Example& example : vkf::test::examples()) {
        INFO(example.file);
        const CompiledExample compiled(example);
        size_t situation = 7 * turn;
        for (const uint32_t number : variationsOf(turn)) {
            const Variation& variation = vkf::test::variations[number];
            if (!vkf::test::leavesOut(deviceOf(variation), variation.path)) {
                check(compiled, example, variation, situation++);
            }
        }
        turn++;
    }
}

TEST_CASE("the table of examples has every file of examples/functions", "[functions_forward]") {
    std::set<std::string> files;
    for (const char* folder : {"masks", "scores"}) {
        for (const auto& entry : std::filesystem::directory_iterator(std::string("examples/functions/") + folder)) {
            files.insert(std::string(folder) + "/" + entry.path().filename().string());
        }
    }
    std::set<std::string> rows;
    for (const Example& example : vkf::test::examples()) {
        rows.insert(example.file);
    }
    CHECK(rows == files);
}

TEST_CASE("the tanh of files of functions is exact enough", "[functions_forward]") {
    const std::string text =
        "float score(float s, Position at) {\n"
        "    vec4 x = vec4(tanh(vec2(0.5, s)), tanh(vec3(s, 8.0, -40.0)).xz);\n"
        "    return 4.0 * tanh(10.0 * s) * x[0] - x[3] * x[1] + tanh(x - vec4(0.0, 0.0, s, 0.0)).z;\n"
        "}\n";
    TextCall call(text, scoreOf([](double s, const VkfPosition*, void*) {
                      return 4.0 * std::tanh(10.0 * s) * std::tanh(0.5) + std::tanh(s) + std::tanh(std::tanh(s) - s);
                  }));
    for (const uint32_t number : paths) {
        const Variation& variation = vkf::test::variations[number];
        if (!fits(variation, call.problem)) {
            continue;
        }
        apply(variation, call.problem);
        INFO(variation.name);
        const Outcome outcome = runCall(deviceOf(variation), call.problem, call.data);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

TEST_CASE("a score of NaN stays in its row", "[functions_forward]") {
    vkf::test::needNan(vkf::test::testDevice());
    TextCall call(nanText, scoreOf([](double s, const VkfPosition*, void*) { return s; }));
    for (const uint32_t number : paths) {
        const Variation& variation = vkf::test::variations[number];
        if (!fits(variation, call.problem)) {
            continue;
        }
        apply(variation, call.problem);
        INFO(variation.name);
        const Inputs inputs = makeInputs(call.problem, call.data);
        const Outcome outcome = runUnjudged(deviceOf(variation), call.problem, inputs);
        // Row 66 of the positions is query row 5 of both heads.
        std::vector<double> o(size_t{2} * 70 * 32);
        const vkf::test::Result reference =
            vkf::test::reference(call.problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (size_t i = 0; i < o.size(); i++) {
            o[i] = vkfLoadElement(call.problem.o.type, outcome.o.data(), i);
            const bool isNanRow = i / 32 % 70 == 5;
            INFO("element " << i << " is " << o[i] << " for " << reference.o[i]);
            REQUIRE(isNanRow == std::isnan(o[i]));
            REQUIRE((isNanRow || std::abs(o[i] - reference.o[i]) < 0.01));
        }
    }
}

TEST_CASE("functions change nothing for pairs that other masks hide", "[functions_forward]") {
    TextCall call(hiddenText, scoreOf([](double s, const VkfPosition*, void*) { return 0.5 * s; }));
    call.data.poisonInvisibleKeys = false; // the mask changes below
    call.problem.use |= VKF_USE_CAUSAL;
    vkf::enable(call.problem, VKF_USE_MASK);
    call.problem.mask = vkf::test::broadcast(call.problem, VKF_TYPE_BOOL8, false, false, true);
    for (const uint32_t number :
         vkf::test::wholeSweeps() ? std::vector(paths.begin(), paths.end()) : std::vector{0U, 4U}) {
        const Variation& variation = vkf::test::variations[number];
        if (!fits(variation, call.problem)) {
            continue;
        }
        apply(variation, call.problem);
        Inputs inputs = makeInputs(call.problem, call.data);
        for (size_t i = 0; i < inputs.mask.size(); i++) { // every fourth key is dropped
            inputs.mask[i] = static_cast<std::byte>((i % 131 & 3) == 1 ? 0 : 1);
        }
        const Outcome outcome = runCall(deviceOf(variation), call.problem, inputs);
        INFO(variation.name << ": " << outcome.text());
        CHECK(outcome.passed());
    }
}
