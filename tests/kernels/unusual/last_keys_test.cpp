// SPDX-License-Identifier: MIT
//
// Boolean masks over the last keys of each sequence, on every path, forward and backward.
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::checkEverywhere;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::lastKeysMask;
using vkf::test::problemOf;

void setLastKeysMask(VkfProblem& problem, VkfType type, uint32_t last, bool heads = false) {
    problem.mask = lastKeysMask(problem, type, last, true, heads, true, 3);
    vkf::enable(problem, VKF_USE_MASK);
}

} // namespace

// A mask of all keys with these bytes at the last keys drops the same pairs.
TEST_CASE("columns of a mask are the last keys of each sequence", "[last_keys]") {
    VkfProblem problem = problemOf({2, 2, 1, 3, 10, 8, 0, VKF_TYPE_F32});
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    Data data;
    data.keyLengths = {9, 2}; // the second sequence is shorter than the mask
    Inputs inputs = vkf::test::makeInputs(problem, data);
    problem.mask = {VKF_TYPE_BOOL8, 0, 0, 0, 4, 0, 4, 0};
    vkf::enable(problem, VKF_USE_MASK);
    // clang-format off
    const bool rows[3][4] = {{true, false, true, true},
                             {false, true, false, true},
                             {true, true, false, false}};
    // clang-format on
    VkfProblem whole = problem;
    whole.mask = {VKF_TYPE_BOOL8, 0, 30, 0, 10, 0, 0, 0};
    Inputs wholeInputs = inputs;
    wholeInputs.mask.assign(60, std::byte{1});
    inputs.mask.resize(12);
    for (size_t row = 0; row < 3; row++) {
        for (size_t column = 0; column < 4; column++) {
            const std::byte value{rows[row][column]};
            inputs.mask[row * 4 + column] = value;
            wholeInputs.mask[row * 10 + 5 + column] = value; // keys 5 to 8 of 9
            if (column >= 2) {
                wholeInputs.mask[30 + row * 10 + column - 2] = value; // keys 0 and 1 of 2
            }
        }
    }
    const auto options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    CHECK(vkf::test::reference(problem, inputs, options).o == vkf::test::reference(whole, wholeInputs, options).o);
}

TEST_CASE("masks of the last keys are right on every path", "[last_keys]") {
    size_t number = 0;
    for (const uint32_t rows : {3U, 64U, 150U}) {
        for (const uint32_t last : {1U, 64U, 129U, 900U}) {
            number++;
            const VkfType type = number % 2 == 0 ? VKF_TYPE_F16 : VKF_TYPE_F32;
            VkfProblem problem = problemOf({2, 4, 2, rows, 333, 64, 0, type});
            setLastKeysMask(problem, number % 3 == 0 ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1, last, number % 4 == 0);
            Data data;
            data.seed = static_cast<uint32_t>(number);
            if (number % 3 != 1) {
                vkf::enable(problem, VKF_USE_KEY_LENGTHS);
                data.keyLengths = {57, 300};
            }
            vkf::enable(problem, VKF_USE_CAUSAL, number % 5 == 0);
            if (number % 4 == 3) {
                vkf::test::setWindow(problem, 140, -1, number % 2 == 0 ? 0 : 20);
            }
            if (number % 5 == 1) {
                problem.use |= VKF_USE_ALIBI;
            }
            checkEverywhere(problem, data);
        }
    }
}

// The masks of draft trees, which need no table.
TEST_CASE("dense square masks of the last keys are right on every path", "[last_keys]") {
    for (const uint32_t batch : {1U, 3U}) {
        VkfProblem problem = problemOf({batch, 4, 2, batch == 1 ? 64U : 5U, 333, 64, 0, VKF_TYPE_F16});
        problem.mask =
            lastKeysMask(problem, batch == 1 ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1, problem.queryRows, true, false, true);
        vkf::enable(problem, VKF_USE_MASK);
        problem.mask.batchStride = uint64_t{problem.queryRows} * problem.queryRows;
        Data data;
        if (batch == 3) {
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            data.keyLengths = {57, 300, 3};
        }
        const Inputs inputs = vkf::test::makeInputs(problem, data);
        for (const uint32_t variation : {0U, 4U, 6U, 7U}) {
            vkf::test::checkOn(vkf::test::variations[variation], problem, inputs);
        }
    }
}

// Few columns need no map of tiles; more of them have one, and so have documents.
TEST_CASE("tiles before the last keys are full, with a map and without", "[last_keys]") {
    for (const uint32_t last : {70U, 700U}) {
        for (const bool documents : {false, true}) {
            VkfProblem problem = problemOf({1, 4, 2, 70, 1500, 64, 0, VKF_TYPE_F16});
            setLastKeysMask(problem, VKF_TYPE_BOOL1, last, documents);
            vkf::enable(problem, VKF_USE_DOCUMENT_IDS, documents);
            Data data;
            data.documentKeys = 400;
            data.maskSquare = 32;
            const Inputs inputs = vkf::test::makeInputs(problem, data);
            for (const uint32_t variation : {0U, 4U}) {
                vkf::test::checkOn(vkf::test::variations[variation], problem, inputs);
            }
        }
    }
}

TEST_CASE("masks of the last keys of packed and paged sequences", "[last_keys]") {
    for (const uint32_t rows : {4U, 60U}) {
        VkfProblem packed = problemOf({4, 4, 2, rows, 200, 64, 0, VKF_TYPE_F16});
        Data data;
        vkf::test::setPacked(packed, data, {static_cast<int32_t>(rows), 1, 0, 7}, {200, 33, 12, 64});
        setLastKeysMask(packed, VKF_TYPE_BOOL8, 60);
        checkEverywhere(packed, data);
        for (const uint32_t variation : {0U, 4U, 6U}) {
            vkf::test::checkOn(vkf::test::variations[variation], packed, vkf::test::makeInputs(packed, data));
        }
        VkfProblem paged = problemOf({3, 4, 2, rows, 200, 64, 0, VKF_TYPE_F16});
        vkf::test::setPages(paged, 13, 2);
        vkf::enable(paged, VKF_USE_KEY_LENGTHS);
        setLastKeysMask(paged, VKF_TYPE_BOOL1, 60);
        Data pages;
        pages.keyLengths = {200, 59, 0};
        checkEverywhere(paged, pages);
    }
}

TEST_CASE("gradients under masks of the last keys", "[last_keys]") {
    for (const uint32_t number : {0U, 4U}) {
        const vkf::test::Variation& variation = vkf::test::variations[number];
        vkf::host::Device& device = deviceOf(variation);
        if (vkf::test::leavesOut(device, variation.path)) {
            continue;
        }
        for (const bool lengths : {false, true}) {
            VkfProblem forward = problemOf({2, 4, 2, 40, 130, 64, 0, VKF_TYPE_F16});
            setLastKeysMask(forward, VKF_TYPE_BOOL1, 70);
            Data data;
            vkf::enable(forward, VKF_USE_KEY_LENGTHS, lengths);
            data.keyLengths = lengths ? std::vector<int32_t>{130, 31} : std::vector<int32_t>{};
            forward = vkf::test::fittedBackward(device, forward);
            apply(variation, forward);
            const VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
            const Inputs inputs = vkf::test::makeInputs(forward, data);
            const vkf::test::BackwardOutcome outcome =
                runBackward(device, problem, inputs, vkf::test::makeBackwardInputs(problem, data.seed));
            INFO(variation.name << ": " << outcome.text());
            CHECK(outcome.passed());
        }
    }
}
