// SPDX-License-Identifier: MIT
//
// Tiles and steps as pure functions: they fit every device that the library promises to run on. No
// device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>

#include "decode_tuning.hpp"
#include "matrix_tuning.hpp"
#include "product_tuning.hpp"
#include "schedule.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "tuning.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::problemOf;

vkf::CheckedProblem checked(const VkfProblem& problem) {
    vkf::CheckedProblem c{};
    REQUIRE(vkf::checkProblem(&problem, &c, nullptr) == VKF_SUCCESS);
    return c;
}

vkf::Schedule schedule(const vkf::Caps& caps, const VkfProblem& problem) {
    vkf::Schedule made;
    VkfMessage message{};
    const VkfResult result = vkf::makeSchedule(caps, checked(problem), &made, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return made;
}

// With the matrices of an H200, for fp16.
vkf::Caps matrixCaps() {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix.known = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    return caps;
}

VkfResult refusal(const vkf::Caps& caps, const VkfProblem& problem, VkfMessage* message) {
    vkf::Schedule made;
    return vkf::makeSchedule(caps, checked(problem), &made, message);
}

} // namespace

TEST_CASE("a tile fits every device from the minimum limits on, for every head dimension", "[schedule]") {
    for (const uint32_t subgroup : {1U, 4U, 8U, 16U, 32U, 64U, 128U}) {
        for (const uint32_t bytes : {16384U, 32768U, 49152U, 65536U}) {
            for (const uint32_t invocations : {128U, 256U, 1024U}) {
                const vkf::Caps caps = capsOf(subgroup, bytes, invocations);
                for (uint32_t dim = 1; dim <= 256; dim++) {
                    for (const uint32_t rows : {1U, 16U, 4096U}) {
                        const vkf::Tile tile = vkf::chooseScalarTile(caps, {dim, 257 - dim, rows, 4, dim % 2 == 0});
                        INFO("subgroup " << subgroup << ", " << bytes << " bytes, dim " << dim << ", rows " << rows);
                        REQUIRE(tile.workgroupSize > 0);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.workgroupSize <= invocations);
                        REQUIRE(tile.lanes * tile.threadColumns4 * 4 >= 257 - dim);
                        REQUIRE(tile.keys() % tile.chunkKeys == 0);
                        REQUIRE(tile.chunkKeys % 4 == 0);
                        REQUIRE(tile.chunkKeys % tile.lanes == 0);
                        REQUIRE(tile.keys() >= tile.lanes);
                        REQUIRE(tile.registers() <= 255);
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

TEST_CASE("a tile's rows follow the rows, the heads and the output's type", "[schedule]") {
    struct Expected {
        vkf::TileProblem problem;
        uint32_t rows;
    };
    const Expected table[] = {
        {{128, 128, 4096, 16, true}, 64},
        {{128, 128, 512, 1, true}, 64}, // this tile was not measured with few workgroups
        {{256, 256, 4096, 16, true}, 128},
        {{256, 256, 4096, 16, false}, 32},
        {{256, 256, 512, 32, true}, 128}, // 128 workgroups
        {{256, 256, 512, 31, true}, 32},  // 124
        {{256, 256, 512, 8, true}, 32},   // 32
        {{256, 256, 385, 32, true}, 128}, // a part of a tile is a workgroup too
        {{256, 256, 4096, 0, true}, 32},  // no sequences at all
        {{256, 256, 16, 1000, true}, 16}, // many workgroups, each all but empty
        {{64, 192, 1U << 30, 1, true}, 128},
    };
    for (const Expected& expected : table) {
        const vkf::TileProblem& p = expected.problem;
        INFO("D " << p.headDim << "/" << p.valueDim << ", " << p.queryRows << " rows, " << p.heads << " heads");
        CHECK(vkf::chooseScalarTile(capsOf(32, 49152, 1024), p).rows() == expected.rows);
    }
    // Sequences count as heads do.
    CHECK(schedule(capsOf(32, 49152, 1024), problemOf({4, 8, 8, 512, 64, 256})).tile.rows == 128);
    CHECK(schedule(capsOf(32, 49152, 1024), problemOf({1, 8, 8, 512, 64, 256})).tile.rows == 32);
}

TEST_CASE("keys are split where rows and heads leave a device idle", "[schedule]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    struct Expected {
        vkf::TileProblem problem;
        uint32_t rows;
        uint32_t splits;
    };
    const Expected table[] = {
        {{128, 128, 8192, 32, false, 8192, false}, 256, 1}, {{64, 64, 8192, 64, false, 8192, false}, 128, 1},
        {{256, 256, 8192, 16, false, 8192, false}, 128, 1}, {{128, 128, 1024, 16, false, 1024, false}, 256, 2},
        {{128, 128, 1024, 16, false, 1024, true}, 128, 1},  {{256, 256, 1024, 8, false, 1024, true}, 128, 2},
        {{256, 256, 512, 8, false, 512, false}, 128, 4},    {{256, 256, 512, 8, false, 512, true}, 128, 4},
        {{128, 128, 512, 512, false, 512, true}, 128, 1},   {{128, 128, 512, 512, false, 512, false}, 256, 1},
        {{128, 128, 1, 32, false, 65536, true}, 64, 8}, // one row sees all keys
        {{128, 128, 1, 1, false, 255, false}, 16, 1},
    };
    for (const Expected& expected : table) {
        const vkf::TileProblem& p = expected.problem;
        INFO("D " << p.headDim << ", " << p.queryRows << " rows, " << p.keys << " keys, " << p.heads << " heads");
        const vkf::MatrixPlan plan = vkf::chooseMatrixTile(caps, layout, p);
        CHECK(plan.tile.rows() == expected.rows);
        CHECK(plan.splits == expected.splits);
        CHECK(plan.tile.sharedBytes() <= caps.maxSharedMemoryBytes);
    }
}

TEST_CASE("the portable kernel splits keys until its workgroups fill a device, and then takes fewer rows",
          "[schedule]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    struct Expected {
        uint32_t dim;
        uint32_t rows;
        uint32_t keys;
        uint64_t heads;
        uint32_t tileRows;
        uint32_t splits;
    };
    const Expected table[] = {
        {128, 4096, 4096, 2, 64, 2},    // 256 workgroups of 264 that run at once
        {128, 2048, 2048, 2, 64, 4},    // the same
        {128, 512, 512, 2, 64, 8},      // 128: parts are no shorter than 64 keys
        {128, 256, 256, 2, 32, 4},      // even so only 32 of 64 rows
        {128, 64, 63, 1, 32, 1},        // nothing to split
        {128, 512, 512, 16, 64, 2},     // 128 whole ones leave half of each multiprocessor idle
        {128, 1024, 1024, 16, 64, 1},   // 256 fill it
        {128, 4096, 4096, 16, 64, 1},   // 1024 do for nearly all the time
        {128, 1100, 4096, 16, 64, 4},   // 288: a second wave for 24 of them
        {64, 512, 512, 2, 64, 8},       // half the work, but more than the merge
        {256, 1024, 1024, 2, 128, 8},   // 128 of 132, of one that runs at once
        {256, 512, 512, 2, 32, 8},      // 64 of 128 rows would be too few
        {8, 64, 128, 2, 32, 1},         // less than the merge takes
        {128, 1, 1U << 20, 1, 32, 254}, // one row
        {128, 512, 512, 0, 32, 1},
    };
    for (const Expected& expected : table) {
        const vkf::TileProblem problem = {expected.dim, expected.dim,  expected.rows, expected.heads,
                                          true,         expected.keys, false,         VKF_PATH_SCALAR};
        const vkf::Tile tile = vkf::chooseScalarTile(caps, problem);
        INFO("D " << expected.dim << ", " << expected.rows << " rows, " << expected.keys << " keys, " << expected.heads
                  << " heads");
        CHECK(tile.rows() == expected.tileRows);
        CHECK(tile.splits == expected.splits);
    }
}

TEST_CASE("path scalar splits as asked, and neither without a merge nor on the paths that share its tile",
          "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 2, 2, 2048, 2048, 128});
    problem.path = VKF_PATH_SCALAR;
    const vkf::Schedule own = schedule(caps, problem);
    CHECK(own.splits == 4);
    CHECK_THAT(own.tileText, ContainsSubstring(" splits=4"));
    REQUIRE(own.phases.size() == 2);
    CHECK(own.phases[0].items == 4 * 2 * 2048 / 64);
    CHECK_FALSE(own.phases[0].variant.storage16);
    CHECK(own.phases[1].variant.kernel == vkf::Kernel::mergeSplits);
    CHECK(own.scratchBytes == uint64_t{4} * 2 * 2048 * (128 + 2) * sizeof(float));
    problem.kvSplits = 7;
    CHECK(schedule(caps, problem).splits == 7);
    CHECK_THAT(schedule(caps, problem).tileText, ContainsSubstring(" splits=7"));
    problem.kvSplits = 1;
    CHECK(schedule(caps, problem).phases.size() == 1);
    CHECK_THAT(schedule(caps, problem).tileText, !ContainsSubstring("splits"));

    problem.kvSplits = 0;
    for (const VkfPath path : {VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER}) {
        problem.path = path;
        CHECK(schedule(caps, problem).splits == 1);
        CHECK(schedule(caps, problem).tile.rows == 64);
        CHECK_THAT(schedule(caps, problem).tileText, !ContainsSubstring("splits"));
    }

    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    problem.path = VKF_PATH_SCALAR;
    CHECK(schedule(caps, problem).scratchBytes == 0);
    problem.kvSplits = 2;
    VkfMessage message{};
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("kvSplits over 1 needs storageBuffer16BitAccess"));
}

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

TEST_CASE("matrices through shared memory have a tile on every device of 32 KiB, for every head dimension",
          "[schedule]") {
    constexpr std::array<std::array<uint32_t, 4>, 6> shapes = {
        {{8, 8, 8, 8}, {32, 16, 16, 16}, {64, 16, 16, 16}, {32, 16, 8, 16}, {16, 8, 16, 16}, {32, 16, 16, 8}}};
    for (const auto& [lanes, rows, columns, depth] : shapes) {
        const vkf::MatrixLayout layout = vkf::exchangedMatrixLayout(lanes, rows, columns, depth);
        REQUIRE(layout.rows == rows);
        for (const uint32_t bytes : {32768U, 49152U, 65536U}) {
            for (const uint32_t invocations : {128U, 1024U}) {
                const vkf::Caps caps = capsOf(lanes, bytes, invocations);
                for (uint32_t dim = 1; dim <= 256; dim++) {
                    const vkf::MatrixTile tile =
                        vkf::chooseMatrixTile(caps, layout, {dim, 257 - dim, 4096, 16, false, 4096, false}).tile;
                    INFO(lanes << " lanes, " << bytes << " bytes, " << invocations << " invocations, D " << dim);
                    REQUIRE(tile.subgroups > 0);
                    REQUIRE(tile.sharedBytes() <= bytes);
                    REQUIRE(tile.workgroupSize() <= invocations);
                    REQUIRE(tile.keys() % depth == 0);
                }
            }
        }
    }
}

TEST_CASE("scores pass through shared memory where the layout is not known, or must not be", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    const VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    CHECK(schedule(caps, problem).path == VKF_PATH_SCALAR);

    caps.f16Matrix.exchanged = vkf::exchangedMatrixLayout(32, 16, 8, 16);
    const vkf::Schedule exchanged = schedule(caps, problem);
    CHECK(exchanged.path == VKF_PATH_COOPMAT);
    CHECK(exchanged.phases[0].variant.exchange);
    CHECK(exchanged.phases[0].variant.constants[VKF_ID_MATRIX_COLUMNS] == 8);
    CHECK(exchanged.phases[0].variant.constants[VKF_ID_MATRIX_DEPTH] == 16);
    // Four subgroups. Rows of 9 words for 64 keys of k and of v, of 18 for the scores of 16 rows, and a word for flags.
    CHECK(exchanged.tile.rows == 128);
    CHECK(exchanged.tile.sharedBytes == 16 * (64 * (9 + 9) + 4 * 16 * 18 + 1));

    caps.f16Matrix.known = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    const vkf::Schedule known = schedule(caps, problem);
    CHECK_FALSE(known.phases[0].variant.exchange);
    caps.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    CHECK(schedule(caps, problem).phases[0].variant.exchange);

    // What no tile fits is left to the other kernel, unless it is asked for.
    VkfProblem large = problemOf({1, 16, 16, 4096, 4096, 256, 0, VKF_TYPE_F16});
    caps.maxSharedMemoryBytes = 16384;
    CHECK(schedule(caps, large).path == VKF_PATH_SCALAR);
    large.path = VKF_PATH_COOPMAT;
    VkfMessage message{};
    CHECK(refusal(caps, large, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("16384 bytes of shared memory"));
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
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix.known = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
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
    CHECK(matrix.tile.rows == 16);
    CHECK(matrix.phases[0].items == 8 * matrix.splits);
    CHECK(matrix.productType == VKF_TYPE_F16);
    CHECK(made(32, 1, 128, VKF_TYPE_F32).tile.rows == 4);
    CHECK(made(32, 16, 128, VKF_TYPE_F16).tile.rows == 64);
    // What spills, and what matrices do not multiply.
    CHECK(made(32, 3, 256, VKF_TYPE_F16).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 3, 128, VKF_TYPE_F32).phases[0].variant.kernel == vkf::Kernel::attentionDecode);
    CHECK(made(32, 17, 128, VKF_TYPE_F16).path == VKF_PATH_COOPMAT);
}

TEST_CASE("wide heads share tiles of keys on matrices, fp16 and bf16, in pages or not", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX | VKF_FEATURE_BFLOAT16_MATRIX;
    caps.f16Matrix.known = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    caps.bf16Matrix.known = caps.f16Matrix.known;
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

TEST_CASE("each tile that was considered says what stood against it", "[schedule]") {
    vkf::ConsideredTiles tiles;
    const auto reasons = [&tiles] {
        std::vector<VkfTileReason> list;
        for (const vkf::ConsideredTile& tile : tiles) {
            list.push_back(tile.objection.reason);
        }
        return list;
    };
    const auto taken = [&tiles] {
        std::vector<size_t> list;
        for (size_t i = 0; i < tiles.size(); i++) {
            if (tiles[i].taken) {
                list.push_back(i);
            }
        }
        return list;
    };
    const vkf::Caps caps = capsOf(32, 49152, 1024);

    // fp16 outputs of D = 256: the first is for smaller heads, the second for fp32, the third suits.
    vkf::chooseScalarTile(caps, {256, 256, 4096, 16, false}, &tiles);
    REQUIRE(tiles.size() == 10);
    CHECK(reasons() == std::vector{VKF_TILE_DIMENSIONS, VKF_TILE_OUTPUT_TYPE, VKF_TILE_SUITS, VKF_TILE_NOT_NEEDED,
                                   VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED,
                                   VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED});
    CHECK(tiles[0].objection.value == 256);
    CHECK(tiles[0].objection.limit == 128);
    CHECK(taken() == std::vector<size_t>{2});
    CHECK(tiles[2].rows == 32);
    CHECK(tiles[2].workgroups == 128 * 16);

    // fp32 of few workgroups.
    vkf::chooseScalarTile(caps, {256, 256, 512, 31, true}, &tiles);
    CHECK(tiles[1].objection.reason == VKF_TILE_FEW_WORKGROUPS);
    CHECK(tiles[1].objection.value == 124);
    CHECK(tiles[1].objection.limit == 128);
    CHECK(taken() == std::vector<size_t>{2});

    // One row: tiles of 16 rows and more are half empty, none has fewer, so the last that fits is taken.
    vkf::chooseScalarTile(caps, {64, 64, 1, 16, true}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(tiles[0].objection.value == 64);
    CHECK(tiles[0].objection.limit == 16);
    CHECK(tiles.back().objection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(taken() == std::vector<size_t>{9});

    // A small device.
    vkf::chooseScalarTile(capsOf(4, 16384, 64), {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_INVOCATIONS);
    CHECK(tiles[0].objection.value == 128);
    CHECK(tiles[0].objection.limit == 64);
    CHECK(tiles[8].taken);
    vkf::chooseScalarTile(capsOf(8, 49152, 1024), {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_SUBGROUPS);
    CHECK(tiles[0].objection.value == 16);
    CHECK(tiles[0].objection.limit == 8);
    vkf::chooseScalarTile(capsOf(32, 1024, 1024), {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_SHARED_MEMORY);
    CHECK(tiles[0].objection.value > 1024);
    CHECK(tiles[0].objection.limit == 1024);
    CHECK(taken().empty());
}

TEST_CASE("tiles of matrices and of tuning data say what stood against them too", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    vkf::ConsideredTiles tiles;
    const auto choose = [&](const vkf::TileProblem& problem) {
        return vkf::chooseMatrixTile(caps, layout, problem, &tiles);
    };
    const vkf::TileProblem problem = {128, 128, 1024, 16, false, 1024, true, VKF_PATH_COOPMAT, VKF_TYPE_F16};
    choose(problem);
    REQUIRE(tiles.size() == 9);
    CHECK(tiles[0].objection.reason == VKF_TILE_DIMENSIONS);
    CHECK(tiles[1].taken);
    CHECK(tiles[1].objection.reason == VKF_TILE_SUITS);
    vkf::TileProblem longer = problem;
    longer.keys = longer.queryRows = 2048;
    longer.heads = 8;
    choose(longer);
    CHECK(tiles[1].objection.reason == VKF_TILE_MASK);
    CHECK(tiles[1].objection.value == 2048);
    CHECK(tiles[1].objection.limit == 1024);
    CHECK(tiles[2].objection.reason == VKF_TILE_FEW_WORKGROUPS);
    CHECK(tiles[2].objection.value == 64);
    CHECK(tiles[2].objection.limit == 120);
    CHECK(tiles[3].taken);

    // Matrices of 8 x 8 take twice the registers.
    vkf::chooseMatrixTile(caps, vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8), problem, &tiles);
    CHECK(tiles[1].objection.reason == VKF_TILE_REGISTERS);
    CHECK(tiles[1].objection.value > 232);
    CHECK(tiles[1].objection.limit == 232);

    // An entry that does not fit, one that does, and the built-in ones after them.
    vkf::TuningEntry entry;
    entry.path = VKF_PATH_COOPMAT;
    entry.type = VKF_TYPE_F16;
    entry.masked = true;
    entry.headDim = entry.valueDim = entry.rows = entry.keys = entry.heads = {0, 4294967295U};
    entry.matrix = {64, 1, 2, 1};
    caps.tuning.push_back(entry);
    entry.matrix = {2, 1, 2, 3};
    caps.tuning.push_back(entry);
    const vkf::MatrixPlan plan = choose(problem);
    REQUIRE(tiles.size() == 11);
    CHECK(plan.tuned);
    CHECK(plan.splits == 3);
    CHECK(tiles[0].objection.reason == VKF_TILE_INVOCATIONS);
    CHECK(tiles[0].fromTuning);
    CHECK(tiles[1].taken);
    CHECK(tiles[1].fromTuning);
    CHECK(tiles[1].splits == 3);
    CHECK(tiles[2].objection.reason == VKF_TILE_NOT_NEEDED);
    CHECK_FALSE(tiles[2].fromTuning);
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
    CHECK(tiles[0].rows == 16);

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

TEST_CASE("tiles of the unfused products say what stood against them", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    vkf::ConsideredTiles tiles;
    vkf::chooseProductTile(caps, caps.matrixOf(VKF_TYPE_F16), {128, 128, 60, 16, false}, &tiles);
    REQUIRE(tiles.size() == 5);
    CHECK(tiles[0].objection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(tiles[0].objection.value == 128);
    CHECK(tiles[0].objection.limit == 120);
    CHECK(tiles[0].tile == "subgroups=8 rowTiles=1 keyTiles=8 chunkKeys=32");
    CHECK(tiles[1].taken);
    CHECK(tiles[1].workgroups == 16);
    CHECK(tiles[1].registers == 64);
    CHECK(tiles[2].objection.reason == VKF_TILE_NOT_NEEDED);
    vkf::chooseProductTile(capsOf(32, 49152, 128), caps.matrixOf(VKF_TYPE_F16), {128, 128, 60, 16, false}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_INVOCATIONS);
    vkf::chooseProductTile(capsOf(32, 16384, 1024), caps.matrixOf(VKF_TYPE_F16), {256, 256, 999, 16, false}, &tiles);
    CHECK(tiles[0].objection.reason == VKF_TILE_SHARED_MEMORY);
    CHECK(tiles[0].objection.value > 16384);
}

TEST_CASE("lanes do without subgroups where they cannot be trusted", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(caps.subgroupReductions());
    for (const auto spoil :
         {+[](vkf::Caps& c) { c.quirks = VKF_QUIRK_NO_SUBGROUP_SHUFFLE; },
          +[](vkf::Caps& c) { c.features &= ~VkfFeatures{VKF_FEATURE_FULL_SUBGROUPS}; },
          +[](vkf::Caps& c) { c.subgroupShuffle = false; }, +[](vkf::Caps& c) { c.subgroupSizeRequired = false; }}) {
        vkf::Caps spoiled = caps;
        spoil(spoiled);
        CHECK_FALSE(spoiled.subgroupReductions());
        CHECK_FALSE(schedule(spoiled, problemOf({1, 1, 1, 64, 64, 64})).phases[0].variant.subgroups);
    }
}

TEST_CASE("too little shared memory is refused with the limit", "[schedule]") {
    VkfMessage message{};
    CHECK(refusal(capsOf(32, 1024, 1024), problemOf({1, 1, 1, 64, 64, 256}), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("1024 bytes of shared memory"));
}

TEST_CASE("16-bit tensors need 16-bit storage, 32-bit ones do not", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    VkfMessage message{};
    CHECK(refusal(caps, problemOf({1, 1, 1, 8, 8, 64, 0, VKF_TYPE_BF16}), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("storageBuffer16BitAccess"));
    CHECK(refusal(caps, problemOf({1, 1, 1, 8, 8, 64}), &message) == VKF_SUCCESS);
}

TEST_CASE("a kernel has 16-bit storage where one of its own tensors is stored in 16 bits", "[schedule]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    for (const auto tensor : {&VkfProblem::q, &VkfProblem::k, &VkfProblem::v, &VkfProblem::o}) {
        VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64});
        CHECK_FALSE(schedule(caps, problem).phases[0].variant.storage16);
        (problem.*tensor).type = VKF_TYPE_BF16;
        CHECK(schedule(caps, problem).phases[0].variant.storage16);
    }
}

TEST_CASE("paths decode and standard need 16-bit storage whatever the types", "[schedule]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 1, 1, 4, 64, 64});
    CHECK(schedule(caps, problem).path == VKF_PATH_DECODE);
    problem.path = VKF_PATH_STANDARD;
    const vkf::Schedule standard = schedule(caps, problem);
    CHECK(standard.phases[0].variant.storage16);
    CHECK_FALSE(standard.phases[1].variant.storage16); // the softmax has no tensor of the caller's types
    CHECK(standard.phases[2].variant.storage16);

    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    VkfMessage message{};
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("path standard needs storageBuffer16BitAccess"));
    problem.path = VKF_PATH_DECODE;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("path decode needs storageBuffer16BitAccess"));
    problem.path = VKF_PATH_AUTO;
    CHECK(schedule(caps, problem).path == VKF_PATH_SCALAR);
}

TEST_CASE("path coopmat packs the query heads of a KV head, but not under block masks", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    VkfProblem problem = problemOf({2, 8, 2, 100, 4096, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    problem.kvSplits = 1;
    const vkf::Schedule packed = schedule(caps, problem);
    CHECK(packed.tile.rows == 256);
    CHECK(packed.phases[0].variant.constants[VKF_ID_PACKED_HEADS] == 4);
    CHECK(packed.phases[0].items == 2 * 2 * 2); // 400 rows in two tiles
    problem.maskBlock = 64;
    const vkf::Schedule masked = schedule(caps, problem);
    CHECK(masked.phases[0].variant.constants[VKF_ID_PACKED_HEADS] == 1);
    CHECK(masked.phases[0].items == 2 * 8 * ((100 + masked.tile.rows - 1) / masked.tile.rows));
}

TEST_CASE("few rows go to path decode, but many packed rows against many keys to the matrices", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    const auto path = [&](uint32_t rows, uint32_t keys, uint32_t maskBlock = 0) {
        VkfProblem problem = problemOf({1, 32, 8, rows, keys, 128, 0, VKF_TYPE_F16});
        problem.maskBlock = maskBlock;
        return schedule(caps, problem).path;
    };
    CHECK(path(1, 65536) == VKF_PATH_DECODE);
    CHECK(path(8, 65536) == VKF_PATH_DECODE); // 32 packed rows
    CHECK(path(9, 65536) == VKF_PATH_COOPMAT);
    CHECK(path(16, 2048) == VKF_PATH_COOPMAT);
    CHECK(path(16, 2047) == VKF_PATH_DECODE);
    CHECK(path(17, 64) == VKF_PATH_COOPMAT);
    CHECK(path(1, 65536, 64) == VKF_PATH_COOPMAT);
    CHECK(schedule(capsOf(32, 49152, 1024), problemOf({1, 32, 8, 16, 65536, 128, 0, VKF_TYPE_F16})).path ==
          VKF_PATH_DECODE);
}

TEST_CASE("a step keeps within its budget and the device's workgroup count", "[schedule]") {
    VkfProblem problem = problemOf({2, 8, 8, 4096, 4096, 128});
    vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(schedule(caps, problem).steps() == 1);

    caps.maxGroupCount = 100;
    const vkf::Schedule narrow = schedule(caps, problem);
    CHECK(narrow.phases[0].itemsPerStep == 100);
    CHECK(narrow.steps() == (narrow.phases[0].items + 99) / 100);

    caps.maxGroupCount = 65535;
    const double rows = schedule(caps, problem).tile.rows;
    const double itemOperations = 2.0 * rows * 4096 * 256;
    problem.maxStepOperations = static_cast<uint64_t>(itemOperations * 3.5);
    CHECK(schedule(caps, problem).phases[0].itemsPerStep == 3);
    problem.maxStepOperations = 1;
    CHECK(schedule(caps, problem).phases[0].itemsPerStep == 1);
}

TEST_CASE("a million-token causal prefill is split into steps of the default budget", "[schedule]") {
    VkfProblem problem = problemOf({1, 4, 4, 1U << 20, 1U << 20, 128, 0, VKF_TYPE_F16});
    problem.causal = 1;
    const vkf::Schedule made = schedule(capsOf(32, 49152, 1024), problem);
    CHECK(made.steps() > 1000);
    CHECK(made.scratchBytes == 0);
}

TEST_CASE("caches of millions of keys keep every byte of their strides", "[schedule]") {
    constexpr uint32_t keys = 1U << 22;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q8_0}) {
        for (const VkfPath path : {VKF_PATH_DECODE, VKF_PATH_SCALAR}) {
            VkfProblem problem = problemOf({2, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
            problem.k.type = problem.v.type = type;
            problem.path = path;
            const uint64_t rowBytes = vkfStoredBytes(type, 128);
            INFO(vkfTypeName(type) << " on " << vkfPathName(path));
            vkf::Schedule made = schedule(capsOf(32, 49152, 1024), problem);
            const vkf::shared::AttentionParams& dense = made.phases[0].params;
            const uint32_t shift = made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
            for (const int tensor : {VKF_K, VKF_V}) {
                CHECK(dense.row_stride[tensor] == rowBytes);
                CHECK(uint64_t{dense.head_stride[tensor]} << shift == rowBytes * keys);
                CHECK(uint64_t{dense.batch_stride[tensor]} << shift == rowBytes * keys * 8);
            }
            CHECK(dense.keys == keys);
            // Pages of 16 keys, [pages, 16, heads, dim].
            problem.paging = {1, 16, keys / 16, 2 * keys / 16};
            problem.k.rowStride = problem.v.rowStride = 8 * 128;
            problem.k.headStride = problem.v.headStride = 128;
            problem.k.batchStride = problem.v.batchStride = 16 * 8 * 128;
            made = schedule(capsOf(32, 49152, 1024), problem);
            CHECK(made.phases[0].params.batch_stride[VKF_K] == rowBytes * 16 * 8);
            CHECK(made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT] == 0);
            CHECK(made.phases[0].variant.constants[VKF_ID_MAX_PAGES] == keys / 16);
        }
    }
    // Rows apart, as [keys, heads, dim] of sequences that lie 8 GiB apart.
    VkfProblem problem = problemOf({2, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
    problem.k.rowStride = 8 * 128;
    problem.k.headStride = 128;
    problem.k.batchStride = uint64_t{keys} * 8 * 128;
    const vkf::Schedule apart = schedule(capsOf(32, 49152, 1024), problem);
    const uint32_t shift = apart.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
    CHECK(shift > 0);
    CHECK(uint64_t{apart.phases[0].params.batch_stride[VKF_K]} << shift == uint64_t{1} << 33);
    CHECK(uint64_t{apart.phases[0].params.head_stride[VKF_K]} << shift == 256);
}

TEST_CASE("strides over 4 GiB are carried exactly or refused", "[schedule]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({2, 2, 2, 4, 4, 64, 0, VKF_TYPE_F16});
    problem.k.rowStride = 64;
    problem.k.headStride = uint64_t{3} << 30;  // 6 GiB
    problem.k.batchStride = uint64_t{3} << 32; // 24 GiB
    const vkf::Schedule made = schedule(caps, problem);
    const uint32_t shift = made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
    CHECK(uint64_t{made.phases[0].params.batch_stride[VKF_K]} << shift == uint64_t{6} << 32);
    CHECK(uint64_t{made.phases[0].params.head_stride[VKF_K]} << shift == uint64_t{6} << 30);

    VkfMessage message{};
    problem.v.rowStride = 64;
    problem.v.headStride = 256;
    problem.v.batchStride = 1001;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("batch strides of v"));

    problem = problemOf({1, 1, 1, 4, 4, 64});
    problem.q.rowStride = uint64_t{1} << 31;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("row stride of q"));
}

TEST_CASE("the unfused baseline asks for the score matrix as scratch, the fused path for nothing", "[schedule]") {
    VkfProblem problem = problemOf({2, 3, 1, 100, 201, 64});
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(schedule(caps, problem).scratchBytes == 0);
    problem.path = VKF_PATH_STANDARD;
    const vkf::Schedule standard = schedule(caps, problem);
    CHECK(standard.scratchBytes == uint64_t{2} * 3 * 100 * (204 * 4 + 8)); // and m and l
    CHECK(standard.phases.size() == 3);
}

TEST_CASE("the unfused baseline runs on cooperative matrices where path coopmat does", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    VkfProblem problem = problemOf({1, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_STANDARD;
    const vkf::Schedule made = schedule(caps, problem);
    CHECK(made.phases[0].variant.kernel == vkf::Kernel::standardScoresCoopmat);
    CHECK(made.phases[2].variant.kernel == vkf::Kernel::standardOutputCoopmat);
    CHECK(made.productType == VKF_TYPE_F16);
    CHECK(made.inputAlignment == 16);
    CHECK(made.scratchBytes == uint64_t{16} * 8192 * (8192 * 4 + 8)); // P lies over S
    CHECK(made.tile.sharedBytes * 2 <= 49152);                        // two workgroups a multiprocessor
    CHECK(made.tileText == "subgroups=8 rowTiles=1 keyTiles=8 chunkKeys=32 softmaxKeys=8192");

    const struct {
        const char* name;
        void (*change)(VkfProblem&, vkf::Caps&);
    } portable[] = {
        {"fp32", [](VkfProblem& p, vkf::Caps&) { p.precision = VKF_PRECISION_FP32; }},
        {"types", [](VkfProblem& p, vkf::Caps&) { p.v.type = VKF_TYPE_BF16; }},
        {"no matrices", [](VkfProblem&, vkf::Caps& c) { c.features &= ~VkfFeatures{VKF_FEATURE_COOPERATIVE_MATRIX}; }},
    };
    for (const auto& other : portable) {
        INFO(other.name);
        VkfProblem changed = problem;
        vkf::Caps otherCaps = caps;
        other.change(changed, otherCaps);
        const vkf::Schedule plain = schedule(otherCaps, changed);
        CHECK(plain.phases[0].variant.kernel == vkf::Kernel::standardScores);
        CHECK(plain.productType == VKF_TYPE_F32);
        CHECK(plain.tileText ==
              "groups=8 lanes=16 threadRows=8 threadKeys=4 chunkDim4=8 chunkKeys=16 softmaxKeys=8192");
    }
}

TEST_CASE("few rows and keys on matrices are padded to whole matrices and chunks", "[schedule]") {
    VkfProblem problem = problemOf({2, 3, 1, 1, 33, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_STANDARD;
    const vkf::Schedule made = schedule(matrixCaps(), problem);
    CHECK(made.tile.rows == 16);
    CHECK(made.scratchBytes == uint64_t{2} * 3 * (16 * 64 * 4 + 1 * 8));
}

TEST_CASE("tiles of the unfused products fit every shared memory from 16 KiB on", "[schedule]") {
    for (const uint32_t bytes : {16384U, 32768U, 49152U}) {
        for (uint32_t dim = 1; dim <= 256; dim++) {
            const vkf::Caps caps = capsOf(32, bytes, 256);
            const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
            const vkf::ProductTile tile = vkf::chooseProductTile(caps, layout, {dim, dim, 4096, 4, false});
            INFO(bytes << " bytes, dim " << dim);
            REQUIRE(tile.subgroups > 0);
            REQUIRE(tile.sharedBytes() <= bytes);
            REQUIRE(tile.workgroupSize() <= 256);
        }
    }
}

TEST_CASE("the unfused softmax keeps rows of up to 16384 scores in registers", "[schedule]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    for (const uint32_t keys : {0U, 1U, 100U, 512U, 4096U, 8192U, 16384U}) {
        const vkf::SoftmaxTile tile = vkf::chooseSoftmaxTile(caps, keys);
        INFO(keys << " keys: " << tile.workgroupSize << " invocations, " << tile.rowWords << " words");
        CHECK(tile.workgroupSize * tile.rowWords * 4 >= keys);
        CHECK(tile.rowWords <= 8);
        CHECK(tile.workgroupSize >= 32);
    }
    CHECK(vkf::chooseSoftmaxTile(caps, 1U << 20).workgroupSize == 512);
    CHECK(vkf::chooseSoftmaxTile(capsOf(32, 49152, 128), 1U << 20).workgroupSize == 128);
}

TEST_CASE("scores that no memory could hold are refused", "[schedule]") {
    VkfProblem problem = problemOf({4, 1, 1, VKF_MAX_ROWS, VKF_MAX_ROWS, 8});
    problem.path = VKF_PATH_STANDARD;
    VkfMessage message{};
    CHECK(refusal(capsOf(32, 49152, 1024), problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("the scores of all heads are over 2^62 bytes"));
}

TEST_CASE("path key_outer keeps o, m and l of each row, and has one phase however many keys there are", "[schedule]") {
    VkfProblem problem = problemOf({2, 3, 1, 100, 1U << 20, 30, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_KEY_OUTER;
    const vkf::Schedule made = schedule(capsOf(32, 49152, 1024), problem);
    CHECK(made.scratchBytes == uint64_t{2} * 3 * 100 * (32 + 2) * 4);
    REQUIRE(made.phases.size() == 2);
    CHECK(made.phases[0].passes == (1U << 20) / made.tile.keys);
    problem.keys = 0;
    CHECK(schedule(capsOf(32, 49152, 1024), problem).phases.size() == 1);
}

TEST_CASE("an empty output needs no step", "[schedule]") {
    CHECK(schedule(capsOf(32, 49152, 1024), problemOf({0, 1, 1, 8, 8, 64})).steps() == 0);
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
    CHECK(phaseOf(128, VKF_TYPE_BF16, VKF_TYPE_BF16).kernel == vkf::Kernel::attentionDecodeMatrixBf16);
    CHECK(phaseOf(64, VKF_TYPE_Q8_0).constants[VKF_ID_BLOCK_UNIT] == 1);
    CHECK(phaseOf(64, VKF_TYPE_Q4_1).constants[VKF_ID_BLOCK_UNIT] == 2);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 192).constants[VKF_ID_BLOCK_UNIT] == 1);
    CHECK(phaseOf(128, VKF_TYPE_Q8_0, VKF_TYPE_F16, 160).kernel == vkf::Kernel::attentionDecode); // 170 bytes
}

TEST_CASE("caches go to the kernels that take them", "[schedule]") {
    const vkf::Caps caps = matrixCaps();
    const auto kernelOf = [&](VkfProblem problem, VkfType type, bool paged) {
        problem.k.type = problem.v.type = type;
        if (paged) {
            vkf::test::setPages(problem, 16, 0);
        }
        return schedule(caps, problem).phases[0].variant.kernel;
    };
    // Sixteen packed rows, which plain types have on matrices.
    const VkfProblem decode = problemOf({1, 8, 2, 4, 4096, 128, 0, VKF_TYPE_F16});
    CHECK(kernelOf(decode, VKF_TYPE_F16, false) == vkf::Kernel::attentionDecodeMatrix);
    CHECK(kernelOf(decode, VKF_TYPE_F16, true) == vkf::Kernel::attentionDecodeMatrix);
    CHECK(kernelOf(decode, VKF_TYPE_F32, false) == vkf::Kernel::attentionDecode);
    const VkfProblem prefill = problemOf({1, 8, 2, 512, 4096, 128, 0, VKF_TYPE_F16});
    for (const VkfType type : {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q5_1}) {
        CHECK(kernelOf(prefill, type, true) == vkf::Kernel::attentionCoopmat);
        VkfProblem problem = prefill;
        problem.k.type = type;
        CHECK(schedule(caps, problem).productType == VKF_TYPE_F16);
    }
    CHECK(kernelOf(prefill, VKF_TYPE_F32, true) == vkf::Kernel::attentionScalar);

    VkfProblem fp32 = problemOf({1, 1, 1, 64, 64, 64});
    fp32.k.type = VKF_TYPE_Q8_0;
    fp32.path = VKF_PATH_COOPMAT;
    VkfMessage message{};
    CHECK(refusal(caps, fp32, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("or k and v of block types"));
}

TEST_CASE("strides of blocks and pages are those of their bytes", "[schedule]") {
    VkfProblem problem = problemOf({2, 4, 2, 4, 100, 64});
    problem.k.type = VKF_TYPE_Q4_1;
    vkf::test::setPages(problem, 8, 0);
    const vkf::shared::AttentionParams params = schedule(matrixCaps(), problem).phases[0].params;
    CHECK(params.row_stride[VKF_K] == 2 * 20);
    CHECK(params.head_stride[VKF_K] == 8 * 2 * 20);
    CHECK(params.batch_stride[VKF_K] == 2 * 8 * 2 * 20);
    CHECK(params.batch_stride[VKF_V] == 2 * 8 * 64 * 4);
}
