// SPDX-License-Identifier: MIT
//
// Score terms and sinks: every kernel and every reference algorithm.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/probabilities.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::algorithms;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Variation;

constexpr double infinity = std::numeric_limits<double>::infinity();

void alibi(VkfProblem& p) { p.use |= VKF_USE_ALIBI; }
void customAlibi(VkfProblem& p) {
    p.use |= VKF_USE_ALIBI;
    vkf::enable(p, VKF_USE_ALIBI_SLOPES);
}
void sinks(VkfProblem& p) { vkf::enable(p, VKF_USE_SINKS); }
void customAlibiAndSinks(VkfProblem& p) {
    customAlibi(p);
    sinks(p);
}

constexpr std::array terms = {alibi, customAlibi, sinks, customAlibiAndSinks};

// One row with all scores 0: o and lse by hand.
Inputs zeroScores(const VkfProblem& problem, const Data& data = {}) {
    Inputs inputs = vkf::test::makeInputs(problem, data);
    std::memset(inputs.k.data(), 0, inputs.k.size());
    for (uint64_t key = 0; key < problem.keys; key++) {
        vkfStoreElement(problem.v.type, inputs.v.data(), key, static_cast<double>(key + 1));
    }
    return inputs;
}

} // namespace

TEST_CASE("ALiBi and sinks combine with softcap, masks and heads that share keys", "[score_terms]") {
    constexpr std::array<VkfType, terms.size()> types = {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16, VKF_TYPE_F16};
    for (size_t i = 0; i < terms.size(); i++) {
        VkfProblem few = problemOf({2, 12, 4, 3, 150, 40, 24, types[i]});
        terms[i](few);
        few.scale = -0.3F;
        checkEverywhere(few);
        VkfProblem many = problemOf({2, 12, 4, 77, 150, 40, 24, types[i]});
        terms[i](many);
        many.softcap = 15.0F;
        many.use |= VKF_USE_CAUSAL;
        vkf::enable(many, VKF_USE_KEY_LENGTHS);
        many.alignment = i % 2 == 0 ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
        Data data;
        data.keyLengths = {33, 150};
        checkEverywhere(many, data);
    }
}

TEST_CASE("a sink counts once however the keys are split", "[score_terms]") {
    for (const uint32_t splits : {1U, 5U}) {
        for (const uint32_t rows : {1U, 40U}) {
            VkfProblem problem = problemOf({1, 4, 2, rows, 203, 64, 0, VKF_TYPE_F16});
            customAlibiAndSinks(problem);
            problem.kvSplits = splits;
            const Inputs inputs = vkf::test::makeInputs(problem, {});
            for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 5U, 6U, 7U}, problem)) {
                checkOn(vkf::test::variations[variation], problem, inputs);
            }
        }
    }
}

TEST_CASE("pages and block masks find their tables together with slopes and sinks", "[score_terms]") {
    for (const auto& add : {sinks, customAlibiAndSinks}) {
        VkfProblem paged = problemOf({2, 4, 2, 9, 130, 64, 0, VKF_TYPE_F16});
        vkf::test::setPages(paged, 16, 3);
        add(paged);
        paged.use |= VKF_USE_WINDOW;
        paged.window.left = 60;
        paged.window.right = 2;
        for (const uint32_t variation : vkf::test::inTurn({0U, 1U, 4U, 5U, 6U, 8U}, paged)) {
            checkOn(vkf::test::variations[variation], paged, vkf::test::makeInputs(paged, {}));
        }
        VkfProblem blocked = problemOf({1, 2, 2, 100, 130, 64, 0, VKF_TYPE_F16});
        blocked.blockMask.blockSize = 32;
        vkf::enable(blocked, VKF_USE_BLOCK_MASK);
        add(blocked);
        blocked.use |= VKF_USE_CAUSAL;
        checkEverywhere(blocked);
    }
}

TEST_CASE("heads too wide for other paths have slopes and sinks too", "[score_terms]") {
    for (const auto& add : {alibi, customAlibiAndSinks}) {
        VkfProblem problem = problemOf({1, 16, 1, 2, 300, 576, 512, VKF_TYPE_F16});
        problem.path = VKF_PATH_DECODE;
        add(problem);
        for (const uint32_t splits : {1U, 3U}) {
            if (splits != (vkf::has(problem, VKF_USE_SINKS) ? 3U : 1U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            problem.kvSplits = splits;
            const Inputs inputs = vkf::test::makeInputs(problem, {});
            checkOn(vkf::test::variations[6], problem, inputs);
        }
    }
}

TEST_CASE("probabilities are shares of the keys and the sink", "[score_terms]") {
    VkfProblem problem = problemOf({1, 3, 1, 20, 33, 16, 0, VKF_TYPE_F32});
    const bool without = vkf::test::leavesOut(vkf::test::testDevice(), VKF_PATH_STANDARD);
    const Variation& variation = vkf::test::variations[without ? 0 : 3];
    apply(variation, problem);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    customAlibiAndSinks(problem);
    const Inputs inputs = vkf::test::makeInputs(problem, {});
    const Outcome outcome = vkf::test::runCall(deviceOf(variation), problem, inputs);
    CHECK(outcome.passed());
    VkfProbabilitiesVerdict verdict{};
    verdict.structSize = sizeof verdict;
    const VkfReferenceInputs memory = inputs.reference();
    REQUIRE(vkfReferenceVerifyProbabilities(&problem, &memory, nullptr, outcome.probabilities.data(), &verdict,
                                            nullptr) == VKF_SUCCESS);
    CHECK(verdict.passed == 1);
    for (size_t row = 0; row < 60; row++) {
        double sum = 0.0;
        for (size_t key = 0; key < 33; key++) {
            sum += static_cast<double>(outcome.probabilities[row * 33 + key]);
        }
        const auto sink = static_cast<double>(inputs.sinks[row / 20]);
        CHECK(std::abs(sum + std::exp(sink - static_cast<double>(outcome.lse[row])) - 1.0) < 1e-5);
    }
}

TEST_CASE("a row that sees only its sink is exactly zero, and its lse is the sink", "[score_terms]") {
    VkfProblem problem = problemOf({1, 2, 1, 5, 3, 8, 0, VKF_TYPE_F16}); // rows 0 and 1 see no key
    problem.use |= VKF_USE_CAUSAL;
    vkf::enable(problem, VKF_USE_SINKS);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    inputs.sinks = {-2.5F, 130.0F};
    for (const Variation* inTurn : vkf::test::variationsInTurn(problem, 2)) {
        const Variation& variation = *inTurn;
        apply(variation, problem);
        for (const uint32_t splits : {0U, 3U}) {
            problem.kvSplits = variation.path == VKF_PATH_STANDARD || variation.path == VKF_PATH_KEY_OUTER ? 0 : splits;
            const auto possible = vkf::test::fittedToInputs(deviceOf(variation), problem);
            REQUIRE(possible.has_value());
            const Outcome outcome = vkf::test::runCall(deviceOf(variation), *possible, inputs);
            INFO(variation.name << ": " << outcome.text());
            CHECK(outcome.passed());
            for (size_t head = 0; head < 2; head++) {
                for (size_t row = 0; row < 2; row++) {
                    CHECK(std::abs(outcome.lse[head * 5 + row] - inputs.sinks[head]) < 2e-5F);
                    for (size_t d = 0; d < 8; d++) {
                        CHECK(vkfLoadElement(VKF_TYPE_F16, outcome.o.data(), (head * 5 + row) * 8 + d) == 0.0);
                    }
                }
            }
        }
    }
}

TEST_CASE("a sink of minus infinity changes nothing, one of plus infinity and NaN make rows NaN", "[score_terms]") {
    VkfProblem problem = problemOf({1, 4, 2, 5, 4, 8, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    vkf::enable(problem, VKF_USE_SINKS);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    const auto inf = static_cast<float>(infinity);
    inputs.sinks = {-inf, 1.0F, inf, std::numeric_limits<float>::quiet_NaN()};
    Inputs onDevice = inputs;
    if (vkf::test::losesNan(vkf::test::testDevice())) {
        onDevice.sinks = {-inf, 1.0F, -inf, 3.0F};
    }
    for (const Variation* variation : vkf::test::variationsInTurn(problem, 2)) {
        checkOn(*variation, problem, onDevice);
    }
    const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
    CHECK(result.lse[0] == -infinity);
    CHECK(std::isfinite(result.lse[1]));
    CHECK(std::isnan(result.lse[11]));
    CHECK(std::isnan(result.lse[16]));
}

TEST_CASE("bias factors multiply the bias of their heads on every kernel", "[score_terms]") {
    constexpr std::array<VkfType, 3> types = {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16};
    for (size_t i = 0; i < types.size(); i++) {
        for (const uint32_t rows : {3U, 77U}) { // few rows share tiles with those of other heads
            if (rows != (i == 1 ? 77U : 3U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({2, 8, 2, rows, 150, 40, 24, VKF_TYPE_F16});
            problem.bias = vkf::test::broadcast(problem, types[i], i == 0, i != 1, true, 2);
            vkf::enable(problem, VKF_USE_BIAS);
            vkf::enable(problem, VKF_USE_BIAS_FACTORS);
            problem.softcap = i == 1 ? 12.0F : 0.0F; // the kernel on matrices begins with the bias only without it
            vkf::enable(problem, VKF_USE_ALIBI, i == 2);
            vkf::enable(problem, VKF_USE_CAUSAL, rows == 77);
            checkEverywhere(problem);
        }
    }
}

TEST_CASE("bias factors work with splits, sinks, pages and probabilities", "[score_terms]") {
    VkfProblem problem = problemOf({1, 8, 1, 2, 203, 64, 0, VKF_TYPE_F16});
    problem.bias = vkf::test::broadcast(problem, VKF_TYPE_F16, false, true, true);
    vkf::enable(problem, VKF_USE_BIAS);
    vkf::enable(problem, VKF_USE_BIAS_FACTORS | VKF_USE_SINKS | VKF_USE_PROBABILITIES);
    checkEverywhere(problem);
    problem.kvSplits = 3;
    for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 7U})) {
        checkOn(vkf::test::variations[variation], problem, vkf::test::makeInputs(problem, {}));
    }
    vkf::enable(problem, VKF_USE_PROBABILITIES, false);
    vkf::test::setPages(problem, 16, 3);
    for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 8U})) {
        checkOn(vkf::test::variations[variation], problem, vkf::test::makeInputs(problem, {}));
    }
    VkfProblem wide = problemOf({1, 16, 1, 2, 300, 576, 512, VKF_TYPE_F16});
    wide.bias = vkf::test::broadcast(wide, VKF_TYPE_F32, false, true, true);
    vkf::enable(wide, VKF_USE_BIAS);
    vkf::enable(wide, VKF_USE_BIAS_FACTORS);
    wide.path = VKF_PATH_DECODE;
    checkOn(vkf::test::variations[6], wide, vkf::test::makeInputs(wide, {}));
}

TEST_CASE("no bias factor revives a key whose bias is minus infinity", "[score_terms]") {
    for (const float softcap : {0.0F, 10.0F}) {
        VkfProblem problem = problemOf({1, 4, 2, 6, 40, 16, 0, VKF_TYPE_F16});
        problem.bias = vkf::test::broadcast(problem, VKF_TYPE_F16, false, false, true);
        vkf::enable(problem, VKF_USE_BIAS);
        vkf::enable(problem, VKF_USE_BIAS_FACTORS);
        problem.softcap = softcap;
        Inputs inputs = vkf::test::makeInputs(problem, {});
        inputs.biasFactors = {0.0F, -1.5F, 1.0F, 0.25F};
        for (uint64_t i = 0; i < 6; i++) {
            for (uint64_t j = 0; j < 40; j++) {
                if (i == 2 || (i + j) % 3 == 0) { // row 2 has none but these
                    vkfStoreElement(VKF_TYPE_F16, inputs.bias.data(), i * 40 + j, -infinity);
                }
            }
        }
        for (const Variation* variation : vkf::test::variationsInTurn(problem, 2)) {
            checkOn(*variation, problem, inputs);
        }
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (size_t head = 0; head < 4; head++) {
            CHECK(result.lse[head * 6 + 2] == -infinity);
            CHECK(std::isfinite(result.lse[head * 6 + 3]));
        }
    }
}

// Scores are 0, v is 1, 2, 3; the bias is ln 2 for the last key.
TEST_CASE("a factor of 0 leaves a bias out, one of 2 counts it twice", "[reference]") {
    VkfProblem problem = problemOf({1, 3, 1, 1, 3, 1, 0, VKF_TYPE_F32});
    problem.bias = {VKF_TYPE_F32, 0, 0, 0, 0};
    vkf::enable(problem, VKF_USE_BIAS);
    vkf::enable(problem, VKF_USE_BIAS_FACTORS);
    Inputs inputs = zeroScores(problem);
    inputs.biasFactors = {0.0F, 1.0F, 2.0F};
    for (uint64_t key = 0; key < 3; key++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), key, key == 2 ? std::log(2.0) : 0.0);
    }
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
        for (size_t head = 0; head < 3; head++) {
            const double last = std::exp2(static_cast<double>(head));
            CHECK(std::abs(result.o[head] - (1.0 + 2.0 + 3.0 * last) / (2.0 + last)) < 1e-6);
            CHECK(std::abs(result.lse[head] - std::log(2.0 + last)) < 1e-6);
        }
    }
}

TEST_CASE("all reference algorithms agree with slopes and sinks", "[reference]") {
    for (const auto& add : terms) {
        VkfProblem problem = problemOf({2, 6, 2, 31, 53, 20, 0, VKF_TYPE_F32});
        add(problem);
        problem.softcap = 9;
        problem.use |= VKF_USE_CAUSAL;
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        Data data;
        data.keyLengths = {20, 53};
        const Inputs inputs = vkf::test::makeInputs(problem, data);
        const auto direct = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const VkfReferenceAlgorithm algorithm : algorithms) {
            INFO(vkf::test::describe(problem) << ", algorithm " << static_cast<int>(algorithm));
            const double bound = algorithm == VKF_REFERENCE_TILED_FP32 ? 1e-4 : 1e-12;
            const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm, 24, 16));
            for (size_t i = 0; i < direct.o.size(); i++) {
                CHECK(std::abs(direct.o[i] - result.o[i]) <= bound);
            }
            for (size_t i = 0; i < direct.lse.size(); i++) {
                const bool same = direct.lse[i] == result.lse[i]; // both -infinity
                CHECK((same || std::abs(direct.lse[i] - result.lse[i]) <= bound));
            }
        }
    }
}

// Scores are 0, so p is 2^-distance for a slope of ln 2.
TEST_CASE("slopes count from the row's position among the keys of its own length", "[reference]") {
    VkfProblem problem = problemOf({1, 1, 1, 2, 4, 1, 0, VKF_TYPE_F32});
    problem.use |= VKF_USE_ALIBI;
    vkf::enable(problem, VKF_USE_ALIBI_SLOPES);
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    problem.alignment = VKF_ALIGNMENT_TOP_LEFT; // moves the diagonal of masks, not the row
    Data data;
    data.keyLengths = {3};
    data.poisonInvisibleKeys = false;
    Inputs inputs = zeroScores(problem, data);
    inputs.alibiSlopes = {static_cast<float>(std::log(2.0))};
    // Row 0 stands at key 1, row 1 at key 2; v is 1, 2, 3.
    const std::array<double, 2> o = {(0.5 * 1 + 1.0 * 2 + 0.5 * 3) / 2.0, (0.25 * 1 + 0.5 * 2 + 1.0 * 3) / 1.75};
    const std::array<double, 2> l = {2.0, 1.75};
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
        for (size_t row = 0; row < 2; row++) {
            CHECK(std::abs(result.o[row] - o[row]) < 1e-6);
            CHECK(std::abs(result.lse[row] - std::log(l[row])) < 1e-6);
        }
    }
}

TEST_CASE("a sink takes its share of the probability", "[reference]") {
    VkfProblem problem = problemOf({1, 2, 1, 1, 3, 1, 0, VKF_TYPE_F32});
    vkf::enable(problem, VKF_USE_SINKS);
    Inputs inputs = zeroScores(problem);
    inputs.sinks = {0.0F, static_cast<float>(std::log(5.0))};
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
        CHECK(std::abs(result.o[0] - 6.0 / 4.0) < 1e-6);
        CHECK(std::abs(result.o[1] - 6.0 / 8.0) < 1e-6);
        CHECK(std::abs(result.lse[0] - std::log(4.0)) < 1e-6);
        CHECK(std::abs(result.lse[1] - std::log(8.0)) < 1e-6);
    }
}

// One key at distance 1: lse is -slope.
TEST_CASE("the standard slopes are those of the paper, for any number of heads", "[reference]") {
    for (const auto& [heads, exponents] :
         {std::pair{8U, std::array{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0, 0.0, 0.0, 0.0}},
          std::pair{12U, std::array{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5, 1.5, 2.5, 3.5}},
          std::pair{3U, std::array{4.0, 8.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}}}) {
        VkfProblem problem = problemOf({1, heads, 1, 1, 2, 1, 0, VKF_TYPE_F32});
        problem.use |= VKF_USE_ALIBI;
        problem.use |= VKF_USE_WINDOW;
        problem.window.left = -1;
        problem.window.right = 0;
        problem.alignment = VKF_ALIGNMENT_TOP_LEFT; // the row stands at key 1 and sees key 0
        const Inputs inputs = zeroScores(problem);
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (uint32_t head = 0; head < heads; head++) {
            CHECK(std::abs(result.lse[head] + std::exp2(-exponents[head])) < 1e-12);
        }
    }
}
