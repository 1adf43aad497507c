// SPDX-License-Identifier: MIT
//
// Plans of path decode: its kernels and the merge of its splits. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <utility>

#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;

} // namespace

TEST_CASE("heads of a KV head are packed, into matrices where there are several", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    const auto made = [&](uint32_t heads, uint32_t rows, uint32_t dim, VkfType type) {
        VkfProblem problem = problemOf({1, heads, 8, rows, 65536, dim, 0, type});
        return planOf(caps, problem);
    };
    // One row does not share keys.
    vkf::AttentionPlan plain = made(8, 1, 128, VKF_TYPE_F16);
    CHECK(plain.path == VKF_PATH_DECODE);
    CHECK(plain.phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(plain.tile.rows == 1);
    CHECK(plain.phases[0].items == 8 * plain.splits);
    CHECK(plain.productType == VKF_TYPE_F32);
    // 4 rows read K and V once for all, in one matrix of rows. fp32 uses no matrices.
    vkf::AttentionPlan matrix = made(32, 1, 128, VKF_TYPE_F16);
    CHECK(matrix.phases[0].variant.kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(matrix.tile.rows == 8);
    CHECK(matrix.phases[0].items == 8 * matrix.splits);
    CHECK(matrix.productType == VKF_TYPE_F16);
    CHECK(made(32, 1, 128, VKF_TYPE_F32).tile.rows == 4);
    CHECK(made(32, 4, 128, VKF_TYPE_F16).tile.rows == 16);
    CHECK(made(32, 16, 128, VKF_TYPE_F16).tile.rows == 64);
    // Tiles that spill, and types that matrices do not multiply.
    CHECK(made(32, 3, 256, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    // The widest heads whose tiles do not spill, with up to 8 packed rows and with more.
    CHECK(made(32, 2, 192, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(made(32, 2, 200, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 3, 128, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(made(32, 3, 136, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 3, 128, VKF_TYPE_F32).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 17, 128, VKF_TYPE_F16).path == VKF_PATH_COOPMAT);
}

TEST_CASE("few keys are not split, and eight subgroups share them", "[planning]") {
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q8_0}) {
        for (const uint32_t keys : {100U, 256U, 257U}) {
            VkfProblem problem = problemOf({1, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
            problem.k.type = problem.v.type = type;
            const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
            CHECK(made.splits == (keys <= 256 ? 1 : 8));
            CHECK(made.tile.workgroupSize == (keys <= 256 ? 256 : 128));
        }
    }
}

TEST_CASE("a bias that all heads share needs no table on path decode", "[planning]") {
    VkfProblem problem = problemOf({2, 8, 2, 3, 1000, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_DECODE;
    problem.bias = {VKF_TYPE_F16, 0, 0, 0, 1000};
    vkf::enable(problem, VKF_USE_BIAS);
    const auto slot = [](const VkfProblem& asked) {
        const vkf::AttentionPlan made = planOf(matrixCaps(), asked);
        const bool writes = made.phases[0].variant.kernel == vkf::Kernel::writeTable;
        const uint32_t is = made.phases[writes ? 1 : 0].variant.constants[VKF_ID_EXTRA_SLOT];
        CHECK(writes == (is == VKF_EXTRA_SLOT_HAS_TABLE));
        return is;
    };
    CHECK(slot(problem) == VKF_EXTRA_SLOT_HAS_BIAS);
    const auto changed = [&](const auto& change) {
        VkfProblem other = problem;
        change(other);
        return slot(other);
    };
    CHECK(changed([](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }) == VKF_EXTRA_SLOT_HAS_BIAS);
    CHECK(changed([](VkfProblem& p) { p.bias.heads = 1, p.bias.headStride = 7; }) == VKF_EXTRA_SLOT_HAS_BIAS);
    CHECK(changed([](VkfProblem& p) { p.bias.headStride = 3000; }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { p.bias.batchStride = 3000; }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { p.batch = 1, p.bias.batchStride = 3000; }) == VKF_EXTRA_SLOT_HAS_BIAS);
    CHECK(changed([](VkfProblem& p) { p.bias.rowStride = 1001; }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { p.bias.rowStride = 0; }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { p.queryRows = 1, p.bias.rowStride = 0; }) == VKF_EXTRA_SLOT_HAS_BIAS);
    CHECK(changed([](VkfProblem& p) { vkf::enable(p, VKF_USE_SINKS); }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { vkf::enable(p, VKF_USE_BIAS_FACTORS); }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { vkf::enable(p, VKF_USE_PROBABILITIES); }) == VKF_EXTRA_SLOT_HAS_TABLE);
    CHECK(changed([](VkfProblem& p) { p.path = VKF_PATH_SCALAR; }) == VKF_EXTRA_SLOT_HAS_TABLE);
}

TEST_CASE("matrix tiles keep the state of all their rows if a packed sequence may have more rows than the mean",
          "[planning]") {
    const auto states = [](uint32_t longestRows) {
        VkfProblem problem = problemOf({4, 8, 8, 8, 400, 128, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_DECODE;
        vkf::enable(problem, VKF_USE_CU_SEQLENS);
        problem.longestRows = longestRows;
        const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
        const auto isAttention = [](const vkf::Phase& phase) {
            return phase.variant.kernel == vkf::Kernel::attentionDecodeMatrix;
        };
        const auto attention = std::find_if(made.phases.begin(), made.phases.end(), isAttention);
        REQUIRE(attention != made.phases.end());
        return attention->variant.constants[VKF_ID_LANE_ROWS];
    };
    CHECK(states(2) == 1);
    CHECK(states(0) == 2);
}

TEST_CASE("matrices have two columns of each key if the rows fill half of their columns", "[planning]") {
    const auto keyColumns = [](uint32_t queryHeads, uint32_t rows, uint32_t dim = 128) {
        VkfProblem problem = problemOf({1, queryHeads, 1, rows, 4000, dim, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_DECODE;
        return planOf(matrixCaps(), problem).phases[0].variant.constants[VKF_ID_KEY_COLUMNS];
    };
    CHECK(keyColumns(4, 1) == 2);
    CHECK(keyColumns(2, 2) == 2);
    CHECK(keyColumns(5, 1) == 1);
    CHECK(keyColumns(4, 2) == 1);
    CHECK(keyColumns(4, 1, 96) == 1);
}

TEST_CASE("rows of k and v are counted from their head if it has at most 4 GiB, whole words and no pages",
          "[planning]") {
    VkfProblem problem = problemOf({1, 8, 2, 1, 1024, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_DECODE;
    const auto near = [&problem] {
        return planOf(matrixCaps(), problem).phases[0].variant.constants[VKF_ID_KEY_OFFSETS_32] != 0;
    };
    CHECK(near());
    for (VkfTensor* tensor : {&problem.k, &problem.v}) {
        const uint64_t elements = (uint64_t{1} << 32) / 1024 / 2; // of a row, if 1024 rows have 4 GiB
        tensor->rowStride = elements;
        tensor->headStride = tensor->rowStride * problem.keys;
        CHECK(near());
        tensor->rowStride = elements + 8;
        tensor->headStride = tensor->rowStride * problem.keys;
        CHECK_FALSE(near());
        tensor->rowStride = tensor->headStride = 0;
    }
    problem.q.rowStride = problem.q.headStride = 129; // then addresses need not be multiples of 16
    CHECK_FALSE(near());
    problem.q.rowStride = problem.q.headStride = 0;
    CHECK(near());
    vkf::test::setPages(problem, 16, 3);
    CHECK_FALSE(near());
}

TEST_CASE("wide heads share tiles of keys on matrices, fp16 and bf16, in pages or not", "[planning]") {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    VkfProblem problem = problemOf({1, 16, 1, 1, 16384, 576, 512, VKF_TYPE_F16});
    const vkf::AttentionPlan latent = planOf(caps, problem);
    CHECK(latent.path == VKF_PATH_DECODE);
    CHECK(latent.phases[0].variant.kernel == vkf::Kernel::attentionLatent);
    CHECK_FALSE(latent.phases[0].variant.bf16);
    CHECK(latent.tile.rows == 16);
    CHECK(latent.tile.keys == 32);
    CHECK(latent.tile.workgroupSize == 256);
    CHECK(latent.tile.sharedBytes <= 49152);
    CHECK(latent.splits == 132);
    CHECK(latent.inputAlignment == 16);
    // A row of o has 128 words in 8 pieces. Each piece has one workgroup of 16 lanes and 16 groups.
    CHECK(latent.phases[1].items == 16 * 8);
    problem.q.type = problem.k.type = problem.v.type = VKF_TYPE_BF16;
    CHECK(planOf(caps, problem).phases[0].variant.bf16);
    problem.paging = {16, 1024, 1024};
    vkf::enable(problem, VKF_USE_BLOCK_TABLE);
    CHECK(planOf(caps, problem).phases[0].variant.kernel == vkf::Kernel::attentionLatent);
    caps.maxSharedMemoryBytes = 32768;
    CHECK(planOf(caps, problem).tile.keys == 16);
    // Two workgroups of the smaller tile on a multiprocessor.
    CHECK(planOf(caps, problem).tile.sharedBytes <= 24576);

    const auto kernelOf = [&caps](const vkf::test::Shape& shape, VkfType kType) {
        VkfProblem other = problemOf(shape);
        other.k.type = other.v.type = kType;
        return planOf(caps, other).phases[0].variant.kernel;
    };
    caps.maxSharedMemoryBytes = 49152;
    for (const VkfType type : {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1}) {
        CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F16}, type) == vkf::Kernel::attentionLatent);
        CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_BF16}, type) == vkf::Kernel::attentionLatent);
        CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F32}, type) == vkf::Kernel::attentionLatent);
        CHECK(kernelOf({1, 16, 1, 1, 4096, 320, 512, VKF_TYPE_F32}, type) == vkf::Kernel::attentionDecode);
    }
    // Rows of 340 and 306 bytes. The second are not whole words of 4 bytes.
    CHECK(kernelOf({1, 16, 1, 1, 4096, 320, 320, VKF_TYPE_F32}, VKF_TYPE_Q8_0) == vkf::Kernel::attentionLatent);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 288, 288, VKF_TYPE_F32}, VKF_TYPE_Q8_0) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F32}, VKF_TYPE_F32) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 300, 300, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 256, 512, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
    caps.features &= ~static_cast<VkfFeatures>(VKF_FEATURE_COOPERATIVE_MATRIX);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
}

TEST_CASE("a merge loads all partial results of a row in one turn, up to 64 of them, and few at once", "[planning]") {
    struct Expected {
        uint32_t splits;
        uint32_t groups;
        uint32_t atOnce;
    };
    for (const Expected& expected :
         {Expected{2, 1, 2}, {4, 1, 4}, {5, 2, 3}, {16, 4, 4}, {33, 8, 5}, {64, 8, 8}, {66, 8, 5}, {132, 8, 6}}) {
        VkfProblem problem = problemOf({1, 32, 8, 1, 70000, 128, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_DECODE;
        problem.kvSplits = expected.splits;
        const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
        const vkf::Constants& c = made.phases.at(1).variant.constants;
        INFO(expected.splits << " splits");
        CHECK(c[VKF_MERGE_ID_GROUPS] == expected.groups);
        CHECK(c[VKF_MERGE_ID_AT_ONCE] == expected.atOnce);
    }
}

TEST_CASE("one row against many keys has workgroups of eight subgroups where the device allows them", "[planning]") {
    vkf::Caps caps = matrixCaps();
    const auto tileOf = [&caps](uint32_t keys, VkfType type) {
        VkfProblem problem = problemOf({1, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
        problem.k.type = problem.v.type = type;
        const vkf::AttentionPlan made = planOf(caps, problem);
        CHECK(made.phases[0].variant.kernel == vkf::Kernel::attentionDecodeMatrix);
        return std::pair(made.tile.workgroupSize, made.splits);
    };
    CHECK(tileOf(16384, VKF_TYPE_F16) == std::pair(128U, 33U));
    CHECK(tileOf(65536, VKF_TYPE_F16) == std::pair(256U, 16U));
    CHECK(tileOf(65536, VKF_TYPE_Q8_0) == std::pair(128U, 66U));
    caps.maxInvocations = 128;
    CHECK(tileOf(65536, VKF_TYPE_F16).first == 128);
}

TEST_CASE("the merge has a place for every split and fits every device", "[planning]") {
    for (const uint32_t invocations : {128U, 256U, 1024U}) {
        for (const uint32_t dim : {1U, 64U, 128U, 256U, 288U, 512U}) {
            for (const uint32_t splits : {2U, 8U, 9U, 33U, 1024U}) {
                VkfProblem problem = problemOf({3, 4, 2, 2, 70000, dim});
                problem.path = VKF_PATH_DECODE;
                problem.kvSplits = splits;
                const vkf::AttentionPlan made = planOf(capsOf(32, 49152, invocations), problem);
                REQUIRE(made.phases.size() == 2);
                const vkf::Constants& c = made.phases[1].variant.constants;
                const uint32_t perRow = c[VKF_MERGE_ID_LANES] * c[VKF_MERGE_ID_GROUPS];
                INFO(invocations << " invocations, D " << dim << ", " << splits << " splits");
                CHECK(c[VKF_MERGE_ID_WORKGROUP_SIZE] <= invocations);
                CHECK(c[VKF_MERGE_ID_WORKGROUP_SIZE] % perRow == 0);
                CHECK(c[VKF_MERGE_ID_AT_ONCE] >= 1);
                CHECK(c[VKF_MERGE_ID_AT_ONCE] <= 8);
                CHECK(c[VKF_MERGE_ID_GROUPS] <= splits);
                const uint32_t pieces = (dim + c[VKF_MERGE_ID_LANES] * 4 - 1) / (c[VKF_MERGE_ID_LANES] * 4);
                CHECK((pieces == 1 || dim > 256));
                CHECK(made.phases[1].items * (c[VKF_MERGE_ID_WORKGROUP_SIZE] / perRow) >= 3 * 4 * 2 * pieces);
                CHECK(made.scratch.bytes() == uint64_t{3} * splits * 4 * 2 * ((dim + 3) / 4 * 4 + 2) * sizeof(float));
            }
        }
    }
}

TEST_CASE("blocks that can be spread over the lanes fill fp16 matrices on path decode", "[planning]") {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    const auto phaseOf = [&](uint32_t dim, VkfType type, VkfType ofQ = VKF_TYPE_F16, uint64_t rowStride = 0) {
        VkfProblem problem = problemOf({1, 32, 8, 1, 4096, dim, 0, ofQ});
        problem.k.type = problem.v.type = type;
        if (rowStride != 0) {
            problem.v.rowStride = rowStride;
            problem.v.headStride = rowStride * problem.keys;
            problem.v.batchStride = problem.v.headStride * problem.kvHeads;
        }
        return planOf(caps, problem).phases[0].variant;
    };
    for (const VkfType type :
         {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL}) {
        CHECK(phaseOf(128, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(64, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(96, type).kernel == vkf::Kernel::attentionDecode); // a row of v for eight lanes
        CHECK(phaseOf(128, type, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecode);
        // Uses words of 8 bytes if rows are multiples of 8 bytes.
        CHECK(phaseOf(128, type).constants[VKF_ID_BLOCK_LOAD_WORDS] == 2);
    }
    for (const VkfType type : {VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2}) {
        CHECK(phaseOf(128, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(64, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(96, type).kernel == vkf::Kernel::attentionDecode);
        CHECK(phaseOf(80, type).kernel == vkf::Kernel::attentionDecode);
        CHECK(phaseOf(128, type, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecode);
    }
    CHECK(phaseOf(128, VKF_TYPE_BF16, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(phaseOf(128, VKF_TYPE_BF16, VKF_TYPE_BF16).bf16);
    CHECK_FALSE(phaseOf(128, VKF_TYPE_F16).bf16);
    CHECK(phaseOf(64, VKF_TYPE_Q8_0).constants[VKF_ID_BLOCK_LOAD_WORDS] == 1);
    CHECK(phaseOf(64, VKF_TYPE_Q4_1).constants[VKF_ID_BLOCK_LOAD_WORDS] == 2);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 192).constants[VKF_ID_BLOCK_LOAD_WORDS] == 1);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 160).kernel == vkf::Kernel::attentionDecode); // 170 bytes
}
