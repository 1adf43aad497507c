// SPDX-License-Identifier: MIT
//
// When path coopmat converts k and v of block types before attention, and the phases of such a plan. No device is
// needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

#include "planning/plan.hpp"
#include "problem/strides.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using vkf::AttentionPlan;
using vkf::Kernel;
using vkf::Operand;
using vkf::Phase;
using vkf::test::matrixCaps;
using vkf::test::planOf;

constexpr uint64_t none = 1;

// 512 rows of 32 query heads over 8 KV heads, or other sizes.
VkfProblem problemOf(vkf::test::Shape shape = {1, 32, 8, 512, 16384, 128}) {
    shape.type = VKF_TYPE_F16;
    shape.Dv = shape.D;
    VkfProblem problem = vkf::test::problemOf(shape);
    problem.path = VKF_PATH_COOPMAT;
    problem.k.type = VKF_TYPE_Q8_0;
    problem.v.type = VKF_TYPE_Q4_0;
    return problem;
}

std::vector<Kernel> kernels(const AttentionPlan& made) {
    std::vector<Kernel> kernels(made.phases.size());
    std::transform(made.phases.begin(), made.phases.end(), kernels.begin(),
                   [](const Phase& phase) { return phase.variant.kernel; });
    return kernels;
}

bool dequantizes(const AttentionPlan& made) {
    const std::vector<Kernel> all = kernels(made);
    return std::find(all.begin(), all.end(), Kernel::dequantizeKeys) != all.end();
}

bool dequantizes(const VkfProblem& problem) { return dequantizes(planOf(matrixCaps(), problem)); }

// Bytes of the converted k and v.
uint64_t dequantizedBytes(const VkfProblem& p) {
    return uint64_t{2} * p.batch * p.kvHeads * p.keys * (p.headDim + p.valueDim);
}

} // namespace

TEST_CASE("many packed rows that read k and v of block types convert them once", "[planning]") {
    const VkfProblem problem = problemOf();
    const AttentionPlan made = planOf(matrixCaps(), problem);
    CHECK(kernels(made) == std::vector{Kernel::dequantizeKeys, Kernel::attentionCoopmat, Kernel::mergeSplits});
    const Phase& dequantize = made.phases[0];
    CHECK(dequantize.operands == std::array{Operand::dequantizedK, Operand::k, Operand::v, Operand::dequantizedV});
    CHECK(dequantize.variant.constants[VKF_ID_TYPE_K] == VKF_STORED_Q8_0);
    CHECK(dequantize.variant.constants[VKF_ID_TYPE_V] == VKF_STORED_Q4_0);
    CHECK(dequantize.variant.constants[VKF_ID_DEQUANTIZED_KEYS] % made.tile.keys == 0);
    CHECK(dequantize.items == 8 * 16384 / dequantize.variant.constants[VKF_ID_DEQUANTIZED_KEYS]);
    const Phase& attention = made.phases[1];
    CHECK(attention.operands == std::array{Operand::q, Operand::dequantizedK, Operand::dequantizedV, Operand::scratch});
    CHECK(attention.barrierBefore); // it waits for the converted k and v
    CHECK(attention.variant.constants[VKF_ID_TYPE_K] == VKF_STORED_F16);
    CHECK(attention.variant.constants[VKF_ID_TYPE_V] == VKF_STORED_F16);
    CHECK(attention.params.row_stride[VKF_K] == 128 * 2);
    CHECK(attention.params.head_stride[VKF_V] == 16384 * 128 * 2);
    CHECK(made.scratch.offset(vkf::ScratchRange::dequantizedV) ==
          made.scratch.offset(vkf::ScratchRange::dequantizedK) + dequantizedBytes(problem) / 2);
    CHECK(made.scratch.bytes() == made.scratch.offset(vkf::ScratchRange::dequantizedV) + dequantizedBytes(problem) / 2);

    VkfProblem without = problem;
    without.maxScratchBytes = none;
    const AttentionPlan plain = planOf(matrixCaps(), without);
    CHECK(kernels(plain) == std::vector{Kernel::attentionCoopmat, Kernel::mergeSplits});
    CHECK(plain.phases[0].variant.constants[VKF_ID_TYPE_K] == VKF_STORED_Q8_0);
    CHECK(plain.scratch.bytes() + dequantizedBytes(problem) == made.scratch.bytes());
    CHECK(plain.tileText == made.tileText);
}

TEST_CASE("k and v are converted for 512 packed rows and more, or where the caller allows memory", "[planning]") {
    VkfProblem problem = problemOf({1, 32, 8, 128, 4096, 128});
    CHECK(dequantizes(problem));
    problem.queryRows--;
    CHECK_FALSE(dequantizes(problem));
    problem.maxScratchBytes = uint64_t{1} << 30;
    CHECK(dequantizes(problem));
    problem = problemOf({1, 32, 32, 128, 4096, 128});
    CHECK_FALSE(dequantizes(problem)); // 128 packed rows of each KV head
    problem = problemOf({1, 32, 8, 4096, 4096, 128});
    CHECK(dequantizes(problem));
    problem.window = {126, 0, 0};
    problem.use |= VKF_USE_WINDOW; // no key is seen by more than 4 * 127 packed rows
    CHECK_FALSE(dequantizes(problem));
    problem.window = {127, 0, 0};
    problem.use |= VKF_USE_WINDOW;
    CHECK(dequantizes(problem));
    problem.window = {126, -1, 0};
    problem.use |= VKF_USE_WINDOW;
    CHECK(dequantizes(problem));
}

TEST_CASE("the converted k and v fit the limit of the memory", "[planning]") {
    VkfProblem problem = problemOf({4, 32, 8, 512, 32768, 128});
    REQUIRE(dequantizedBytes(problem) == VKF_DEFAULT_SCRATCH_BYTES);
    CHECK(dequantizes(problem));
    problem.keys++;
    CHECK_FALSE(dequantizes(problem));
    problem.maxScratchBytes = dequantizedBytes(problem);
    CHECK(dequantizes(problem));
    problem.maxScratchBytes--;
    CHECK_FALSE(dequantizes(problem));
}

TEST_CASE("only path coopmat with block types of k and v converts them", "[planning]") {
    const VkfProblem problem = problemOf();
    VkfProblem other = problem;
    other.k.type = VKF_TYPE_F16;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    other.v.type = VKF_TYPE_F16;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    other.path = VKF_PATH_SCALAR;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    other.path = VKF_PATH_DECODE;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    other.q.rowStride = 129; // rows of q are not whole words
    other.q.headStride = other.q.rowStride * 512;
    other.q.batchStride = other.q.headStride * 32;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    other.keys = 0;
    CHECK_FALSE(dequantizes(other));
    other = problem;
    vkf::enable(other, VKF_USE_CU_SEQLENS);
    CHECK_FALSE(dequantizes(other));
}

TEST_CASE("pages are resolved where k and v are converted, and the call table stays", "[planning]") {
    VkfProblem problem = problemOf();
    vkf::test::setPages(problem, 16, 3);
    const AttentionPlan paged = planOf(matrixCaps(), problem);
    REQUIRE(kernels(paged) == std::vector{Kernel::dequantizeKeys, Kernel::attentionCoopmat, Kernel::mergeSplits});
    CHECK(paged.phases[0].variant.constants[VKF_ID_PAGE_ROWS] == 16);
    CHECK(paged.phases[0].variant.constants[VKF_ID_PAGES_ARE_COPIED] == 0);
    CHECK(paged.phases[1].variant.constants[VKF_ID_PAGE_ROWS] == 16); // which says which keys are absent
    CHECK(paged.phases[1].variant.constants[VKF_ID_PAGES_ARE_COPIED] == 1);
    CHECK(paged.phases[1].params.batch_stride[VKF_K] == 0);

    // The kernels of a call have the same content in the extra slot.
    vkf::enable(problem, VKF_USE_SINKS);
    const AttentionPlan withTable = planOf(matrixCaps(), problem);
    REQUIRE(kernels(withTable) ==
            std::vector{Kernel::writeTable, Kernel::dequantizeKeys, Kernel::attentionCoopmat, Kernel::mergeSplits});
    CHECK(withTable.phases[1].barrierBefore);
    for (const size_t phase : {1U, 2U}) {
        CHECK(withTable.phases[phase].variant.constants[VKF_ID_EXTRA_SLOT] == VKF_EXTRA_SLOT_HAS_TABLE);
    }
}

TEST_CASE("block types are loaded in words where their rows and addresses are multiples of 4 bytes", "[planning]") {
    const auto inWords = [](const VkfProblem& problem) {
        const AttentionPlan made = planOf(matrixCaps(), problem);
        REQUIRE(made.phases[0].variant.kernel == Kernel::dequantizeKeys);
        CHECK((made.phases[1].variant.constants[VKF_ID_WHOLE_WORDS] != 0) == (made.inputAlignment == 16));
        return made.phases[0].variant.constants[VKF_ID_WHOLE_WORDS] != 0;
    };
    CHECK(inWords(problemOf()));
    CHECK_FALSE(inWords(problemOf({1, 32, 8, 512, 16384, 96}))); // 102 bytes of q8_0
    VkfProblem problem = problemOf();
    problem.v.rowStride = 160; // 90 bytes of q4_0
    problem.v.headStride = problem.v.rowStride * problem.keys;
    problem.v.batchStride = problem.v.headStride * problem.kvHeads;
    CHECK_FALSE(inWords(problem));
    problem = problemOf();
    problem.q.headStride = 128;
    problem.q.rowStride = uint64_t{1} << 24; // too far apart for words: no address need be aligned
    problem.q.batchStride = problem.q.rowStride * problem.queryRows;
    CHECK_FALSE(inWords(problem));
}

TEST_CASE("the map of tiles is made while k and v are converted", "[planning]") {
    VkfProblem problem = problemOf({1, 32, 8, 512, 1024, 128});
    problem.kvSplits = 1;
    problem.mask.type = VKF_TYPE_BOOL8;
    vkf::enable(problem, VKF_USE_MASK);
    const AttentionPlan made = planOf(matrixCaps(), problem);
    REQUIRE(kernels(made) == std::vector{Kernel::writeTable, Kernel::dequantizeKeys, Kernel::mapTiles,
                                         Kernel::orderTiles, Kernel::attentionCoopmat});
    CHECK(made.phases[1].barrierBefore);
    CHECK_FALSE(made.phases[2].barrierBefore);
    CHECK(made.phases[3].barrierBefore);
}
