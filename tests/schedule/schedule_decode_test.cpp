// SPDX-License-Identifier: MIT
//
// Tiles of path decode, how it splits the keys and merges them. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "schedule/schedule.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/schedules.hpp"
#include "tiles/decode_tile.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::matrixCaps;
using vkf::test::problemOf;
using vkf::test::schedule;

} // namespace

TEST_CASE("a decode tile fits every device from the minimum limits on, for every head dimension", "[schedule]") {
    for (const uint32_t subgroup : {1U, 4U, 8U, 16U, 32U, 64U, 128U}) {
        for (const uint32_t bytes : {16384U, 49152U}) {
            for (const uint32_t invocations : {128U, 1024U}) {
                const vkf::Caps caps = capsOf(subgroup, bytes, invocations);
                for (uint32_t dim = 1; dim <= 256; dim++) {
                    for (const uint64_t rows : {1U, 4U, 7U, 64U, 200U}) {
                        const VkfType type = dim % 2 == 0 ? VKF_TYPE_F32 : VKF_TYPE_F16;
                        const auto plan = std::get<vkf::DecodePlan>(vkf::chooseDecodeTile(
                            caps, nullptr, {dim, 257 - dim, type, VKF_TYPE_F32, rows, 4, dim * 40}));
                        const vkf::DecodeTile& tile = plan.tile;
                        INFO("subgroup " << subgroup << ", " << bytes << " bytes, dim " << dim << ", rows " << rows);
                        REQUIRE(tile.workgroupSize > 0);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.workgroupSize <= invocations);
                        REQUIRE(tile.workgroupSize % tile.lanes == 0);
                        REQUIRE((rows + tile.rows() - 1) / tile.rows() * tile.rows() < rows + tile.rows());
                        REQUIRE(plan.splits >= 1);
                        REQUIRE(plan.splits <= VKF_MAX_SPLITS);
                        if (caps.subgroupReductions()) {
                            REQUIRE(tile.lanes <= subgroup);
                            REQUIRE(tile.workgroupSize % subgroup == 0);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("decoding splits the keys into whole waves of workgroups, each part a tile at least", "[schedule]") {
    struct Expected {
        uint64_t items;
        uint32_t keys;
        uint32_t slots;
        uint32_t splits;
    };
    const Expected table[] = {
        {8, 65536, 264, 33}, // 264 workgroups: all run at once
        {8, 1024, 264, 16},  // no more parts than tiles of 64 keys
        {8, 1, 264, 1},
        {8, 0, 264, 1},
        {0, 1024, 264, 1},
        {64, 16384, 264, 4},   // 256 of 264
        {200, 16384, 264, 5},  // 200, 400, 600, 800 leave too much of their last wave idle; 1000 is 95 %
        {512, 16384, 264, 1},  // 1024 of 1056 would do as well; 512 is 97 % of two waves
        {5000, 16384, 264, 1}, // so many waves that the last does not matter
        {1, 1U << 29, 2112, 1024},
    };
    for (const Expected& expected : table) {
        INFO(expected.items << " tiles, " << expected.keys << " keys");
        CHECK(vkf::chooseDecodeSplits(expected.items, expected.keys, 64, expected.slots) == expected.splits);
    }
}

TEST_CASE("heads of a KV head are packed, into matrices where there are several", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    const auto made = [&](uint32_t heads, uint32_t rows, uint32_t dim, VkfType type) {
        VkfProblem problem = problemOf({1, heads, 8, rows, 65536, dim, 0, type});
        return schedule(caps, problem);
    };
    // One row has nothing to share.
    vkf::Schedule plain = made(8, 1, 128, VKF_TYPE_F16);
    CHECK(plain.path == VKF_PATH_DECODE);
    CHECK(plain.phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(plain.tile.rows == 1);
    CHECK(plain.phases[0].items == 8 * plain.splits);
    CHECK(plain.productType == VKF_TYPE_F32);
    // 4 of them: once over K and V for all, in one matrix of rows; in fp32 without.
    vkf::Schedule matrix = made(32, 1, 128, VKF_TYPE_F16);
    CHECK(matrix.phases[0].variant.kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(matrix.tile.rows == 8);
    CHECK(matrix.phases[0].items == 8 * matrix.splits);
    CHECK(matrix.productType == VKF_TYPE_F16);
    CHECK(made(32, 1, 128, VKF_TYPE_F32).tile.rows == 4);
    CHECK(made(32, 4, 128, VKF_TYPE_F16).tile.rows == 16);
    CHECK(made(32, 16, 128, VKF_TYPE_F16).tile.rows == 64);
    // What spills, and what matrices do not multiply.
    CHECK(made(32, 3, 256, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 3, 128, VKF_TYPE_F32).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 17, 128, VKF_TYPE_F16).path == VKF_PATH_COOPMAT);
}

TEST_CASE("tiles on matrices have the state of all their rows where a packed sequence may have more than the mean",
          "[schedule]") {
    const auto states = [](uint32_t longestRows) {
        VkfProblem problem = problemOf({4, 8, 8, 8, 400, 128, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_DECODE;
        problem.packed = 1;
        problem.longestRows = longestRows;
        const vkf::Schedule made = schedule(matrixCaps(), problem);
        const auto isAttention = [](const vkf::Phase& phase) {
            return phase.variant.kernel == vkf::Kernel::attentionDecodeMatrix;
        };
        const auto attention = std::find_if(made.phases.begin(), made.phases.end(), isAttention);
        REQUIRE(attention != made.phases.end());
        return attention->variant.constants[VKF_ID_THREAD_ROWS];
    };
    CHECK(states(2) == 1);
    CHECK(states(0) == 2);
}

TEST_CASE("wide heads share tiles of keys on matrices, fp16 and bf16, in pages or not", "[schedule]") {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    VkfProblem problem = problemOf({1, 16, 1, 1, 16384, 576, 512, VKF_TYPE_F16});
    const vkf::Schedule latent = schedule(caps, problem);
    CHECK(latent.path == VKF_PATH_DECODE);
    CHECK(latent.phases[0].variant.kernel == vkf::Kernel::attentionDecodeWide);
    CHECK_FALSE(latent.phases[0].variant.bf16);
    CHECK(latent.tile.rows == 16);
    CHECK(latent.tile.keys == 32);
    CHECK(latent.tile.workgroupSize == 256);
    CHECK(latent.tile.sharedBytes <= 49152);
    CHECK(latent.splits == 132);
    CHECK(latent.inputAlignment == 16);
    // A row of o of 128 words in 8 pieces, one for each workgroup of 16 lanes and 16 groups.
    CHECK(latent.phases[1].items == 16 * 8);
    problem.q.type = problem.k.type = problem.v.type = VKF_TYPE_BF16;
    CHECK(schedule(caps, problem).phases[0].variant.bf16);
    problem.paging = {1, 16, 1024, 1024};
    CHECK(schedule(caps, problem).phases[0].variant.kernel == vkf::Kernel::attentionDecodeWide);
    caps.maxSharedMemoryBytes = 32768;
    CHECK(schedule(caps, problem).tile.keys == 16);
    // Two workgroups of the smaller tile on a multiprocessor.
    CHECK(schedule(caps, problem).tile.sharedBytes <= 24576);

    const auto kernelOf = [&caps](const vkf::test::Shape& shape, VkfType kType) {
        VkfProblem other = problemOf(shape);
        other.k.type = other.v.type = kType;
        return schedule(caps, other).phases[0].variant.kernel;
    };
    caps.maxSharedMemoryBytes = 49152;
    CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F16}, VKF_TYPE_Q8_0) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F32}, VKF_TYPE_F32) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 300, 300, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 256, 512, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
    caps.features &= ~static_cast<VkfFeatures>(VKF_FEATURE_COOPERATIVE_MATRIX);
    CHECK(kernelOf({1, 16, 1, 1, 4096, 576, 512, VKF_TYPE_F16}, VKF_TYPE_F16) == vkf::Kernel::attentionDecode);
}

TEST_CASE("tiles for wide heads fit every device whose matrices suit", "[schedule]") {
    constexpr std::array<std::array<uint32_t, 4>, 5> shapes = {
        {{8, 8, 8, 8}, {32, 16, 16, 16}, {64, 16, 16, 16}, {16, 8, 16, 16}, {32, 16, 8, 16}}};
    for (const auto& [lanes, rows, columns, depth] : shapes) {
        const vkf::MatrixLayout layout = vkf::exchangedMatrixLayout(lanes, rows, columns, depth);
        for (const uint32_t bytes : {16384U, 32768U, 49152U}) {
            for (const uint32_t dim : {264U, 512U, 576U}) {
                const vkf::Caps caps = capsOf(lanes, bytes, 1024);
                const vkf::DecodeChoice chosen = vkf::chooseDecodeTile(
                    caps, &layout, {dim, std::min(dim, 512U), VKF_TYPE_F16, VKF_TYPE_F16, 16, 1, 4096});
                INFO(rows << " x " << columns << " x " << depth << ", " << bytes << " bytes, dim " << dim);
                const auto* wide = std::get_if<vkf::DecodeWidePlan>(&chosen);
                if (columns != depth) {
                    CHECK(wide == nullptr); // left to plain arithmetic
                    continue;
                }
                const vkf::DecodeWideTile smallest = {layout, 1, dim, std::min(dim, 512U)};
                REQUIRE((wide == nullptr) == (smallest.sharedBytes() > bytes));
                if (wide == nullptr) {
                    continue;
                }
                CHECK(wide->tile.sharedBytes() <= bytes);
                CHECK(wide->tile.workgroupSize() == wide->tile.rows() * wide->tile.keys() / 2);
                CHECK(wide->tile.keys() / 2 <= lanes);
                CHECK((lanes == 8 || wide->tile.registers() <= 180)); // of a software driver
            }
        }
    }
}

TEST_CASE("the merge has a place for every split and fits every device", "[schedule]") {
    for (const uint32_t invocations : {128U, 256U, 1024U}) {
        for (const uint32_t dim : {1U, 64U, 128U, 256U, 288U, 512U}) {
            for (const uint32_t splits : {2U, 8U, 9U, 33U, 1024U}) {
                VkfProblem problem = problemOf({3, 4, 2, 2, 70000, dim});
                problem.path = VKF_PATH_DECODE;
                problem.kvSplits = splits;
                const vkf::Schedule made = schedule(capsOf(32, 49152, invocations), problem);
                REQUIRE(made.phases.size() == 2);
                const vkf::Constants& c = made.phases[1].variant.constants;
                const uint32_t perRow = c[VKF_ID_LANES] * c[VKF_ID_MERGE_GROUPS];
                INFO(invocations << " invocations, D " << dim << ", " << splits << " splits");
                CHECK(c[VKF_ID_WORKGROUP_SIZE] <= invocations);
                CHECK(c[VKF_ID_WORKGROUP_SIZE] % perRow == 0);
                const uint32_t pieces = (dim + c[VKF_ID_LANES] * 4 - 1) / (c[VKF_ID_LANES] * 4);
                CHECK((pieces == 1 || dim > 256));
                CHECK(made.phases[1].items * (c[VKF_ID_WORKGROUP_SIZE] / perRow) >= 3 * 4 * 2 * pieces);
                CHECK(made.scratchBytes == uint64_t{3} * splits * 4 * 2 * ((dim + 3) / 4 * 4 + 2) * sizeof(float));
            }
        }
    }
}

TEST_CASE("tiles of path decode say what stood against them", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    const vkf::MatrixLayout layout = caps.matrixOf(VKF_TYPE_F16);
    vkf::ConsideredTiles tiles;
    const auto choose = [&](const vkf::MatrixLayout* matrices, uint64_t rows, uint32_t keys, uint32_t dim = 128) {
        return vkf::chooseDecodeTile(caps, matrices, {dim, dim, VKF_TYPE_F16, VKF_TYPE_F16, rows, 8, keys}, &tiles);
    };
    const auto stands = [&](size_t index, VkfTileReason reason, uint64_t value, uint64_t limit) {
        const vkf::Objection& objection = tiles.at(index).objection;
        return objection.reason == reason && objection.value == value && objection.limit == limit;
    };

    // Without matrices; 8 x 65536 / 64 tiles are enough without the first one's small ones.
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(nullptr, 8, 65536)));
    REQUIRE(tiles.size() == 12);
    CHECK(stands(0, VKF_TILE_MANY_KEYS, 8192, 132));
    CHECK(stands(1, VKF_TILE_REGISTERS, tiles[1].registers, 160));
    CHECK(tiles[2].taken);
    CHECK(tiles[2].tile == "groups=8 lanes=16 threadRows=8 threadKeys=4 splits=" + std::to_string(tiles[2].splits));
    CHECK(tiles[2].workgroups == 8 * tiles[2].splits);
    CHECK(stands(3, VKF_TILE_NOT_NEEDED, 0, 0));
    choose(nullptr, 8, 1024);
    CHECK(tiles[0].taken);
    // One row has no use for a matrix of rows.
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(&layout, 1, 65536)));
    REQUIRE(tiles.size() == 13);
    CHECK(stands(0, VKF_TILE_FEW_ROWS, 1, 1));
    CHECK(tiles[0].rows == 8);

    // More rows fill matrices; whatever is plain comes after them.
    CHECK(std::holds_alternative<vkf::DecodeMatrixPlan>(choose(&layout, 9, 65536)));
    REQUIRE(tiles.size() == 13);
    CHECK(tiles[0].taken);
    CHECK(stands(0, VKF_TILE_SUITS, 0, 0));
    CHECK(stands(1, VKF_TILE_NOT_NEEDED, 0, 0));
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(nullptr, 9, 65536)));
    CHECK(tiles.size() == 12);
    const vkf::MatrixLayout exchanged = vkf::exchangedMatrixLayout(32, 16, 16, 16);
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(&exchanged, 9, 65536)));
    CHECK(stands(0, VKF_TILE_LAYOUT, 0, 0));
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(&layout, 9, 65536, 256)));
    CHECK(stands(0, VKF_TILE_REGISTERS, tiles[0].registers, 180));

    // A small device.
    vkf::chooseDecodeTile(capsOf(4, 16384, 64), nullptr, {64, 64, VKF_TYPE_F16, VKF_TYPE_F16, 8, 8, 65536}, &tiles);
    CHECK(stands(0, VKF_TILE_INVOCATIONS, 128, 64));
    vkf::chooseDecodeTile(capsOf(4, 16384, 128), nullptr, {64, 64, VKF_TYPE_F16, VKF_TYPE_F16, 8, 8, 65536}, &tiles);
    CHECK(stands(1, VKF_TILE_SUBGROUPS, 8, 4));
    vkf::chooseDecodeTile(capsOf(32, 1024, 1024), nullptr, {64, 64, VKF_TYPE_F16, VKF_TYPE_F16, 8, 8, 65536}, &tiles);
    CHECK(stands(0, VKF_TILE_SHARED_MEMORY, tiles[0].sharedBytes, 1024));
}

TEST_CASE("blocks that can be dealt to the lanes fill matrices of fp16 on path decode", "[schedule]") {
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
        return schedule(caps, problem).phases[0].variant;
    };
    for (const VkfType type : {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1}) {
        CHECK(phaseOf(128, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(64, type).kernel == vkf::Kernel::attentionDecodeMatrix);
        CHECK(phaseOf(96, type).kernel == vkf::Kernel::attentionDecode); // a row of v for eight lanes
        CHECK(phaseOf(128, type, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecode);
        // In words of 8 bytes where rows are such.
        CHECK(phaseOf(128, type).constants[VKF_ID_BLOCK_UNIT] == 2);
    }
    CHECK(phaseOf(128, VKF_TYPE_BF16, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecodeMatrix);
    CHECK(phaseOf(128, VKF_TYPE_BF16, VKF_TYPE_BF16).bf16);
    CHECK_FALSE(phaseOf(128, VKF_TYPE_F16).bf16);
    CHECK(phaseOf(64, VKF_TYPE_Q8_0).constants[VKF_ID_BLOCK_UNIT] == 1);
    CHECK(phaseOf(64, VKF_TYPE_Q4_1).constants[VKF_ID_BLOCK_UNIT] == 2);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 192).constants[VKF_ID_BLOCK_UNIT] == 1);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 160).kernel == vkf::Kernel::attentionDecode); // 170 bytes
}
