// SPDX-License-Identifier: MIT
//
// Plans at the limits of all sizes: the numbers of work items and steps are right, and one row more is refused in
// words. No device is needed, and a plan needs no memory.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <string>

#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"
#include "reference/backward_cases.hpp"
#include "shared/work_items.h"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::Kernel;
using vkf::test::hopperCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

constexpr uint64_t maxCount = VKF_MAX_COUNT; // 65535 * 65536
constexpr VkfPath allPaths[] = {VKF_PATH_SCALAR,   VKF_PATH_COOPMAT,   VKF_PATH_DECODE,
                                VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA};

uint64_t divided(uint64_t count, uint64_t by) { return count / by + (count % by != 0 ? 1 : 0); }

// A device that takes nearly as many workgroups at once as 32 bits can count. Its steps are as large as possible.
vkf::Caps largeCaps() {
    vkf::Caps caps = hopperCaps();
    caps.maxGroupCount = UINT32_MAX;
    return caps;
}

VkfProblem largeProblem(VkfPath path, uint32_t batch, uint32_t heads, uint32_t kvHeads, uint32_t rows) {
    VkfProblem problem = problemOf({batch, heads, kvHeads, rows, 1, 8, 0, VKF_TYPE_F16});
    problem.path = path;
    problem.kvSplits = 1;
    problem.maxStepOperations = UINT64_MAX;
    return problem;
}

template <typename Made> uint64_t stepsOf(const Made& made) {
    uint64_t steps = 0;
    for (const vkf::Phase& phase : made.phases) {
        steps += phase.rounds * divided(phase.items / phase.rounds, phase.itemsPerStep);
    }
    return steps;
}

// Work items of the phase that computes attention, or its last part.
void checkItems(const vkf::AttentionPlan& made, const VkfProblem& p) {
    const bool packs = p.path == VKF_PATH_COOPMAT || p.path == VKF_PATH_DECODE || p.path == VKF_PATH_WGMMA;
    const uint64_t packed = packs ? p.queryHeads / p.kvHeads : 1;
    const uint64_t rowTiles = divided(packed * p.queryRows, made.tile.rows) * (p.queryHeads / packed) * p.batch;
    INFO(vkfPathName(p.path) << ", tile " << made.tile.rows);
    CHECK(made.phases.front().items == rowTiles * std::max(p.kvSplits, 1U));
    if (p.path == VKF_PATH_STANDARD) {
        CHECK(made.phases[1].items == uint64_t{p.batch} * p.queryHeads * p.queryRows);
        CHECK(made.phases[2].items == rowTiles);
    }
    for (const vkf::Phase& phase : made.phases) {
        CHECK(phase.items != 0);
        CHECK(phase.steps() == divided(phase.items, phase.itemsPerStep));
    }
    CHECK(made.steps() == stepsOf(made));
}

std::string textOf(const vkf::Caps& caps, const VkfProblem& problem) {
    VkfMessage message{};
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    return message.text;
}

std::string checkText(const VkfProblem& problem) {
    VkfMessage message{};
    CHECK(vkfCheckProblem(&problem, &message) == VKF_ERROR_UNSUPPORTED);
    return message.text;
}

VkfResult make(const vkf::Caps& caps, const VkfBackwardProblem& problem, vkf::BackwardPlan* made, VkfMessage* message) {
    vkf::CheckedBackward checked{};
    const VkfResult result = vkf::checkBackward(&problem, &checked, message);
    return result == VKF_SUCCESS ? vkf::makeBackwardPlan({caps}, checked, made, message) : result;
}

// Rows that a workgroup of the backward pass owns.
uint64_t ownedRows(const vkf::Phase& phase) {
    const vkf::Constants& c = phase.variant.constants;
    return phase.variant.kernel == Kernel::backwardScalar
               ? c[VKF_ID_WORKGROUP_SIZE] / c[VKF_ID_OWNED_LANES] * c[VKF_ID_THREAD_OWNED]
               : c[VKF_ID_WORKGROUP_SIZE] / c[VKF_ID_SUBGROUP_LANES] / c[VKF_ID_DEPTH_SUBGROUPS] *
                     c[VKF_ID_OWNED_MATRICES] * c[VKF_ID_MATRIX_ROWS];
}

} // namespace

TEST_CASE("a plan with the most rows has the right work items and steps on every path", "[planning]") {
    for (const VkfPath path : allPaths) {
        // Heads that share a KV head, many heads, many sequences.
        for (const VkfProblem& problem : {largeProblem(path, 1, 4, 1, VKF_MAX_ROWS),
                                          largeProblem(path, 1, 5, 1, static_cast<uint32_t>(maxCount / 5)),
                                          largeProblem(path, 1, 65535, 65535, 65536),
                                          largeProblem(path, 65536, 1, 1, 65535), largeProblem(path, 65536, 3, 1, 1)}) {
            checkItems(planOf(largeCaps(), problem), problem);
        }
        VkfProblem problem = largeProblem(path, 1, 5, 1, static_cast<uint32_t>(maxCount / 5) + 1);
        CHECK(textOf(largeCaps(), problem) == "batch * queryHeads * queryRows is over the limit of 4294901760");
        problem = largeProblem(path, 65536, 65535, 65535, 2);
        CHECK(textOf(largeCaps(), problem) == "batch * queryHeads * queryRows is over the limit of 4294901760");
        problem = largeProblem(path, 1, 4, 1, VKF_MAX_ROWS + 1);
        CHECK(checkText(problem) == "queryRows 1073676289 is over the limit of 1073676288");
        problem.queryRows = (1U << 30) - 1;
        CHECK(checkText(problem) == "queryRows 1073741823 is over the limit of 1073676288");
        problem = largeProblem(path, VKF_MAX_ROWS + 1, 1, 1, 1);
        CHECK(checkText(problem) == "batch 1073676289 is over the limit of 1073676288");
    }
}

TEST_CASE("key splits count rows up to the limit", "[planning]") {
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_WGMMA}) {
        VkfProblem problem = largeProblem(path, 1, 6, 2, static_cast<uint32_t>(maxCount / 12));
        problem.keys = 4096;
        problem.kvSplits = 2;
        const vkf::AttentionPlan made = planOf(largeCaps(), problem);
        checkItems(made, problem);
        REQUIRE(made.phases.size() == 2);
        const vkf::Phase& merge = made.phases[1];
        const vkf::Constants& constants = merge.variant.constants;
        const uint64_t rows =
            constants[VKF_MERGE_ID_WORKGROUP_SIZE] / constants[VKF_MERGE_ID_LANES] / constants[VKF_MERGE_ID_GROUPS];
        CHECK(merge.items == divided(maxCount / 2, rows));
        problem.queryRows++;
        CHECK(textOf(largeCaps(), problem) ==
              "batch * queryHeads * queryRows * kvSplits is over the limit of 4294901760");
    }
    // Rows of over 256 columns are merged in pieces of 64 columns.
    VkfProblem wide = largeProblem(VKF_PATH_DECODE, 1, 1, 1, static_cast<uint32_t>(maxCount / 8));
    wide.headDim = 576;
    wide.valueDim = 512;
    wide.keys = 4096;
    wide.kvSplits = 2;
    const vkf::Phase merge = planOf(largeCaps(), wide).phases.back();
    const vkf::Constants& constants = merge.variant.constants;
    const uint64_t pieces =
        constants[VKF_MERGE_ID_WORKGROUP_SIZE] / constants[VKF_MERGE_ID_LANES] / constants[VKF_MERGE_ID_GROUPS];
    CHECK(merge.items == divided(uint64_t{wide.queryRows} * 8, pieces));
    wide.queryRows++;
    CHECK(textOf(largeCaps(), wide) == "with valueDim 512 and key splits, queryHeads * queryRows of all sequences is "
                                       "over the limit of 536862720");
}

TEST_CASE("packed sequences have tiles up to the limit", "[planning]") {
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_WGMMA}) {
        VkfProblem problem = largeProblem(path, 1000, 5, 1, static_cast<uint32_t>(maxCount / 5));
        vkf::enable(problem, VKF_USE_CU_SEQLENS);
        const vkf::AttentionPlan made = planOf(largeCaps(), problem);
        const uint64_t packed = path == VKF_PATH_SCALAR ? 1 : 5;
        INFO(vkfPathName(path));
        CHECK(made.tileSequences.count == packed * problem.queryRows / made.tile.rows + 1000);
        CHECK(made.phases.back().items == made.tileSequences.count * (5 / packed));
        problem.queryRows++;
        CHECK(textOf(largeCaps(), problem) == "queryHeads * queryRows is over the limit of 4294901760");
        problem = largeProblem(path, VKF_MAX_ROWS, 8, 8, 1);
        vkf::enable(problem, VKF_USE_CU_SEQLENS);
        CHECK_THAT(textOf(largeCaps(), problem), ContainsSubstring("workgroups are over the limit of 4294901760"));
    }
}

TEST_CASE("more steps than 32 bits count are refused", "[planning]") {
    VkfProblem problem = largeProblem(VKF_PATH_STANDARD, 65536, 1, 1, 65535);
    problem.maxStepOperations = 1;
    CHECK_THAT(textOf(largeCaps(), problem), ContainsSubstring("steps are over the limit of 4294967295; a larger "
                                                               "maxStepOperations makes fewer"));
    // As many items as a step can have, and one more.
    vkf::Phase phase;
    phase.itemsPerStep = VKF_MAX_COUNT - 1;
    phase.items = VKF_MAX_COUNT - 1;
    CHECK(phase.steps() == 1);
    phase.items = VKF_MAX_COUNT;
    CHECK(phase.steps() == 2);
}

TEST_CASE("probabilities count tiles up to the limit", "[planning]") {
    VkfProblem problem = largeProblem(VKF_PATH_SCALAR, 1, 65535, 65535, 65536);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    const vkf::Phase phase = planOf(largeCaps(), problem).phases.back();
    REQUIRE(phase.variant.kernel == Kernel::attentionProbabilities);
    const vkf::Constants& constants = phase.variant.constants;
    const uint64_t rows =
        constants[VKF_ID_WORKGROUP_SIZE] / constants[VKF_ID_ROW_LANES] * constants[VKF_ID_THREAD_ROWS];
    CHECK(phase.items == divided(65536, rows) * 65535);
}

TEST_CASE("a backward pass with the most rows has the right work items and steps", "[planning]") {
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_COOPMAT}) {
        for (const auto& [batch, heads, rows] :
             {std::array{1U, 5U, static_cast<uint32_t>(maxCount / 5)}, std::array{1U, 4U, uint32_t{VKF_MAX_ROWS}},
              std::array{65536U, 1U, 65535U}}) {
            VkfProblem forward = largeProblem(path, batch, heads, 1, rows);
            forward.keys = 4096;
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.maxScratchBytes = 1;
            vkf::BackwardPlan made;
            VkfMessage message{};
            INFO(vkfPathName(path) << ", " << batch << " sequences, " << heads << " heads");
            const VkfResult result = make(largeCaps(), problem, &made, &message);
            INFO(message.text);
            REQUIRE(result == VKF_SUCCESS);
            REQUIRE(made.phases.size() >= 4);
            const uint64_t all = uint64_t{batch} * heads * rows;
            const vkf::Phase& state = made.phases[1];
            CHECK(state.variant.kernel == Kernel::backwardRows);
            CHECK(state.items == divided(all, state.variant.constants[VKF_ID_WORKGROUP_SIZE] /
                                                  state.variant.constants[VKF_ID_STATE_LANES]));
            const vkf::Phase& dq = made.phases[2];
            REQUIRE(dq.variant.constants[VKF_ID_OWNER] == VKF_OWNS_ROWS);
            CHECK(dq.items == divided(rows, ownedRows(dq)) * heads * batch);
            CHECK(made.steps() == stepsOf(made));
            forward.queryRows++;
            CHECK(make(largeCaps(), problem, &made, &message) == VKF_ERROR_UNSUPPORTED);
            CHECK_THAT(std::string(message.text), ContainsSubstring("over the limit of"));
        }
    }
}

TEST_CASE("bands of stored pairs lie within what kernels index", "[planning]") {
    VkfProblem forward = problemOf({1, 64, 64, 1U << 18, 1U << 18, 128, 0, VKF_TYPE_F16});
    forward.path = VKF_PATH_COOPMAT;
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.maxScratchBytes = UINT64_MAX;
    vkf::BackwardPlan made;
    REQUIRE(make(largeCaps(), problem, &made, nullptr) == VKF_SUCCESS);
    REQUIRE(made.bandKeys() != 0);
    CHECK(made.scratch.offset(vkf::ScratchRange::partialSums) - made.scratch.offset(vkf::ScratchRange::storedDs) <=
          uint64_t{INT32_MAX} * 16);
}

TEST_CASE("strides up to 2^63 bytes are carried exactly, and no larger ones", "[planning]") {
    VkfProblem problem = problemOf({2, 1, 1, 4, 4, 64});
    for (VkfTensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.o}) {
        tensor->rowStride = tensor->headStride = 64;
        tensor->batchStride = (uint64_t{1} << 61) - (uint64_t{1} << 29);
    }
    const vkf::AttentionPlan made = planOf(hopperCaps(), problem);
    CHECK(made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT] == 31);
    CHECK(made.phases[0].params.batch_stride[VKF_O] == UINT32_MAX);
    for (VkfTensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.o}) {
        tensor->batchStride = uint64_t{1} << 61;
    }
    CHECK(textOf(hopperCaps(), problem) == "a head or batch stride of q is over 2^63 - 1 bytes");
}
