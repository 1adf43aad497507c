// SPDX-License-Identifier: MIT
//
// Documents, and first keys with a window: every kernel and every reference algorithm.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "problem/problem.hpp"
#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::algorithms;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;
using vkf::test::setWindow;

// The keys that each row sees, '1' or '0' for each key. Scores are 0 and v is 2^key.
std::vector<std::string> seenByReference(const VkfProblem& problem, const std::vector<int32_t>& documents,
                                         VkfReferenceAlgorithm algorithm) {
    Inputs inputs = vkf::test::makeInputs(problem, {});
    std::memset(inputs.k.data(), 0, inputs.k.size());
    for (uint64_t key = 0; key < problem.keys; key++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), key, std::exp2(static_cast<double>(key)));
    }
    inputs.documentIds = documents;
    const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
    std::vector<std::string> rows;
    for (size_t row = 0; row < problem.queryRows; row++) {
        const auto bits = static_cast<uint64_t>(std::llround(result.o[row] * std::exp(result.lse[row])));
        std::string text;
        for (uint64_t key = 0; key < problem.keys; key++) {
            text += (bits >> key & 1U) != 0 ? '1' : '0';
        }
        rows.push_back(text);
    }
    return rows;
}

} // namespace

TEST_CASE("first keys are visible with windows at any position", "[per_key_masks]") {
    uint32_t seed = 1;
    for (const uint32_t rows : {4U, 90U}) {
        for (const bool causal : {false, true}) {
            VkfProblem problem = problemOf({2, 4, 2, rows, 333, 40, 0, causal ? VKF_TYPE_F16 : VKF_TYPE_F32});
            setWindow(problem, 20, causal ? -1 : 5, rows == 4 ? 3 : 70);
            vkf::enable(problem, VKF_USE_CAUSAL, causal);
            problem.alignment = rows == 90 && !causal ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
            problem.use |= VKF_USE_ALIBI;
            Data data;
            data.seed = seed++;
            checkEverywhere(problem, data);
            if (causal && rows == 90) {
                // A subgroup on matrices passes over tiles between the first keys and its window.
                checkOn(vkf::test::variations[4], problem, vkf::test::makeInputs(problem, data));
            }
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            problem.kvSplits = 4;
            data.keyLengths = {150, 2};
            const Inputs inputs = vkf::test::makeInputs(problem, data);
            for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 5U, 7U, 8U})) {
                checkOn(vkf::test::variations[variation], problem, inputs);
            }
        }
    }
}

TEST_CASE("a row sees its own document", "[per_key_masks]") {
    uint32_t seed = 10;
    for (const uint32_t rows : {5U, 131U, 150U}) { // with the last one, some rows stand before the first key
        VkfProblem problem = problemOf({2, 4, 2, rows, 131, 40, 24, rows == 5 ? VKF_TYPE_F32 : VKF_TYPE_F16});
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
        Data data;
        data.seed = seed++;
        checkEverywhere(problem, data);
        problem.use |= VKF_USE_CAUSAL;
        vkf::enable(problem, VKF_USE_SINKS);
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        data.keyLengths = {77, 131};
        checkEverywhere(problem, data);
    }
}

TEST_CASE("documents and first keys work with pages, block masks and wide heads", "[per_key_masks]") {
    VkfProblem paged = problemOf({2, 4, 2, 3, 190, 64, 0, VKF_TYPE_F16});
    vkf::test::setPages(paged, 16, 3);
    setWindow(paged, 30, 0, 20);
    vkf::enable(paged, VKF_USE_DOCUMENT_IDS);
    VkfProblem wide = problemOf({1, 16, 1, 2, 300, 576, 512, VKF_TYPE_F16});
    setWindow(wide, 60, 0, 33);
    wide.use |= VKF_USE_ALIBI;
    for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 8U})) {
        checkOn(vkf::test::variations[variation], paged, vkf::test::makeInputs(paged, {}));
    }
    checkOn(vkf::test::variations[6], wide, vkf::test::makeInputs(wide, {}));
    vkf::enable(wide, VKF_USE_DOCUMENT_IDS);
    checkOn(vkf::test::variations[6], wide, vkf::test::makeInputs(wide, {}));
    VkfProblem blocked = problemOf({1, 2, 2, 150, 333, 64, 0, VKF_TYPE_F16});
    blocked.blockMask.blockSize = 32;
    vkf::enable(blocked, VKF_USE_BLOCK_MASK);
    setWindow(blocked, 40, 10, 70);
    vkf::enable(blocked, VKF_USE_DOCUMENT_IDS);
    checkEverywhere(blocked);
}

TEST_CASE("all reference algorithms agree on documents and first keys", "[reference]") {
    VkfProblem problem = problemOf({2, 6, 2, 31, 53, 20, 0, VKF_TYPE_F32});
    setWindow(problem, 9, 2, 5);
    for (const bool documents : {false, true}) {
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS, documents);
        const Inputs inputs = vkf::test::makeInputs(problem, {});
        const auto direct = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const VkfReferenceAlgorithm algorithm : algorithms) {
            INFO(vkf::test::describe(problem) << ", algorithm " << static_cast<int>(algorithm));
            const double bound = algorithm == VKF_REFERENCE_TILED_FP32 ? 1e-4 : 1e-12;
            const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm, 24, 16));
            for (size_t i = 0; i < direct.o.size(); i++) {
                CHECK(std::abs(direct.o[i] - result.o[i]) <= bound);
            }
        }
    }
}

TEST_CASE("first keys follow the matrices in the header", "[reference]") {
    VkfProblem problem = problemOf({1, 1, 1, 6, 6, 1, 0, VKF_TYPE_F32});
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        setWindow(problem, 1, 0, 2);
        problem.use |= VKF_USE_CAUSAL;
        CHECK(seenByReference(problem, {}, algorithm) ==
              std::vector<std::string>{"100000", "110000", "111000", "111100", "110110", "110011"});
        vkf::enable(problem, VKF_USE_CAUSAL, false);
        CHECK(seenByReference(problem, {}, algorithm) ==
              std::vector<std::string>{"110000", "110000", "111000", "111100", "110110", "110011"});
        setWindow(problem, -1, 0, 2);
        CHECK(seenByReference(problem, {}, algorithm) ==
              std::vector<std::string>{"110000", "110000", "111000", "111100", "111110", "111111"});
    }
}

TEST_CASE("documents follow the matrix in the header", "[reference]") {
    VkfProblem problem = problemOf({1, 1, 1, 5, 5, 1, 0, VKF_TYPE_F32});
    vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        CHECK(seenByReference(problem, {7, 7, 3, 3, 3}, algorithm) ==
              std::vector<std::string>{"11000", "11000", "00111", "00111", "00111"});
    }
}

TEST_CASE("pairs of first keys count among the visible ones", "[problem]") {
    const auto pairsOf = [](int64_t left, int64_t right, bool causal) {
        VkfProblem problem = problemOf({1, 1, 1, 6, 6, 1, 0, VKF_TYPE_F32});
        setWindow(problem, left, right, 2);
        vkf::enable(problem, VKF_USE_CAUSAL, causal);
        vkf::CheckedProblem checked{};
        REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
        return vkf::visiblePairs(checked);
    };
    CHECK(pairsOf(1, 0, true) == 18.0);
    CHECK(pairsOf(1, 0, false) == 19.0);
    CHECK(pairsOf(-1, 0, false) == 22.0);
}
