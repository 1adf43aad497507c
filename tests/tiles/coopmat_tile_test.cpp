// SPDX-License-Identifier: MIT
//
// Tiles of path coopmat. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

#include "support/described_device.hpp"
#include "tiles/coopmat_tile.hpp"

namespace {

using vkf::test::capsOf;

} // namespace

TEST_CASE("keys are split where rows and heads leave a device idle", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    struct Expected {
        vkf::TileProblem problem;
        uint32_t rows;
        uint32_t splits;
    };
    const Expected table[] = {
        {{128, 128, 8192, 32, false, 8192, false}, 256, 1},
        {{64, 64, 8192, 64, false, 8192, false}, 128, 1},
        {{256, 256, 8192, 16, false, 8192, false}, 128, 1},
        {{128, 128, 1024, 16, false, 1024, false}, 128, 1},
        {{128, 128, 1024, 16, false, 1024, true}, 128, 1},
        {{256, 256, 1024, 8, false, 1024, true}, 128, 2},
        {{256, 256, 512, 8, false, 512, false}, 128, 4},
        {{256, 256, 512, 8, false, 512, true}, 128, 4},
        {{128, 128, 512, 512, false, 512, true}, 128, 1},
        {{128, 128, 512, 512, false, 512, false}, 256, 1},
        {{256, 256, 2048, 8, false, 2048, true}, 128, 2},
        {{256, 256, 2048, 12, false, 2048, true}, 128, 1},
        {{256, 256, 1024, 16, false, 1024, true}, 128, 1},
        {{256, 256, 8192, 2, false, 2048, true}, 128, 1},
        {{64, 64, 1024, 32, false, 1024, true}, 64, 1},
        {{64, 64, 1024, 40, false, 1024, true}, 128, 1},
        {{64, 64, 8192, 4, false, 1024, true}, 128, 1}, // a window: rows see equally many keys
        {{128, 128, 1, 32, false, 65536, true}, 64, 8}, // one row sees all keys
        {{128, 128, 1, 1, false, 255, false}, 16, 1},
        {{128, 128, 16, 8, false, 2304, false}, 16, 8}, // of 256 keys or more; a power of two while caches grow
        {{256, 256, 16, 8, false, 1000, false}, 16, 4},
    };
    for (const Expected& expected : table) {
        const vkf::TileProblem& p = expected.problem;
        INFO("D " << p.headDim << ", " << p.queryRows << " rows, " << p.keys << " keys, " << p.heads << " heads");
        const vkf::CoopmatPlan plan = vkf::chooseCoopmatTile({caps}, layout, p);
        CHECK(plan.tile.rows() == expected.rows);
        CHECK(plan.splits == expected.splits);
        CHECK(plan.tile.sharedBytes() <= caps.maxSharedMemoryBytes);
    }
}

TEST_CASE("a bias leaves registers for fewer rows", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    vkf::TileProblem problem = {128, 128, 8192, 16, false, 8192, false};
    const vkf::CoopmatTile plain = vkf::chooseCoopmatTile({caps}, layout, problem).tile;
    problem.biasBits = 16;
    const vkf::CoopmatTile biased = vkf::chooseCoopmatTile({caps}, layout, problem).tile;
    CHECK(plain.rows() == 256);
    CHECK(biased.rows() == 128);
    vkf::CoopmatTile same = plain;
    same.biasBits = 16;
    CHECK(same.registers() == plain.registers() + 16); // 32 keys of 32 rows, two in a register of each of 32 lanes
    CHECK(same.sharedBytes() == plain.sharedBytes() + 256 * 8);
}

TEST_CASE("tiles that are short of registers have depths of q in shared memory", "[tiles]") {
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    const auto depths = [&](uint32_t bytes, const vkf::TileProblem& problem) {
        const vkf::CoopmatTile tile = vkf::chooseCoopmatTile({capsOf(32, bytes, 1024)}, layout, problem).tile;
        CHECK(tile.sharedBytes() <= bytes);
        return tile.sharedQSlices;
    };
    vkf::TileProblem problem = {128, 128, 8192, 16, false, 8192, false};
    CHECK(depths(49152, problem) == 2);
    CHECK(depths(32768, problem) == 1); // no room for two
    CHECK(depths(24576, problem) == 0);
    problem.keyMask = true;
    CHECK(depths(49152, problem) == 0);
    problem.keyMask = false;
    problem.headDim = problem.valueDim = 256;
    CHECK(depths(49152, problem) == 3);
    problem.biasBits = 16; // needs shared memory, too
    CHECK(depths(49152, problem) == 2);
    problem = {64, 64, 8192, 16, false, 8192, false};
    CHECK(depths(49152, problem) == 0);
    problem = {128, 128, 512, 16, false, 512, false}; // tiles of 64 rows have registers left
    CHECK(depths(49152, problem) == 0);
}

// A head dimension may be far below that of v.
TEST_CASE("one depth of q at least stays in registers", "[tiles]") {
    for (const vkf::MatrixLayout& layout : {vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16),
                                            vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8)}) {
        for (uint32_t headDim = 8; headDim <= 64; headDim += 8) {
            for (uint32_t valueDim = 64; valueDim <= 256; valueDim += 32) {
                for (const uint32_t rows : {1U, 200U, 8192U}) {
                    const vkf::TileProblem problem = {headDim, valueDim, rows, 16, false, 8192, false};
                    const vkf::Caps caps = capsOf(layout.lanes, 49152, 1024);
                    const vkf::CoopmatTile tile = vkf::chooseCoopmatTile({caps}, layout, problem).tile;
                    CAPTURE(layout.depth, headDim, valueDim, rows);
                    CHECK(tile.sharedQSlices < VKF_MATRICES(headDim, layout.depth));
                }
            }
        }
    }
}

TEST_CASE("matrices through shared memory have a tile on every device of 32 KiB, for every head dimension", "[tiles]") {
    constexpr std::array<std::array<uint32_t, 4>, 6> shapes = {
        {{8, 8, 8, 8}, {32, 16, 16, 16}, {64, 16, 16, 16}, {32, 16, 8, 16}, {16, 8, 16, 16}, {32, 16, 16, 8}}};
    for (const auto& [lanes, rows, columns, depth] : shapes) {
        const vkf::MatrixLayout layout = vkf::viaSharedMatrixLayout(lanes, rows, columns, depth);
        REQUIRE(layout.rows == rows);
        for (const uint32_t bytes : {32768U, 49152U, 65536U}) {
            for (const uint32_t invocations : {128U, 1024U}) {
                const vkf::Caps caps = capsOf(lanes, bytes, invocations);
                for (uint32_t dim = 1; dim <= 256; dim++) {
                    const vkf::CoopmatTile tile =
                        vkf::chooseCoopmatTile({caps}, layout, {dim, 257 - dim, 4096, 16, false, 4096, false}).tile;
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

TEST_CASE("tiles of matrices and of tuning data say what stood against them too", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    vkf::ConsideredTiles tiles;
    std::vector<vkf::TuningEntry> tuning;
    const auto choose = [&](const vkf::TileProblem& problem) {
        return vkf::chooseCoopmatTile({caps, tuning}, layout, problem, &tiles);
    };
    const vkf::TileProblem problem = {128, 128, 1024, 16, false, 1024, true, VKF_PATH_COOPMAT, VKF_TYPE_F16};
    choose(problem);
    REQUIRE(tiles.size() == 11);
    CHECK(tiles[0].rejection.reason == VKF_TILE_DIMENSIONS);
    CHECK(tiles[2].rejection.reason == VKF_TILE_MASK);
    CHECK(tiles[2].rejection.limit == 768);
    CHECK(tiles[4].taken);
    CHECK(tiles[4].rejection.reason == VKF_TILE_SUITS);
    vkf::TileProblem window = problem; // of 1024 keys
    window.queryRows = 8192;
    choose(window);
    CHECK(tiles[2].taken);
    vkf::TileProblem medium = problem; // the longest of 128 workgroups would take twice the mean
    medium.keys = medium.queryRows = 2048;
    choose(medium);
    CHECK(tiles[3].rejection.reason == VKF_TILE_FEW_WORKGROUPS);
    CHECK(tiles[3].rejection.value == 128);
    CHECK(tiles[3].rejection.limit == 240);
    CHECK(tiles[4].taken);
    medium.masked = false;
    choose(medium);
    CHECK(tiles[3].taken);
    vkf::TileProblem shorter = problem;
    shorter.keys = shorter.queryRows = 512;
    choose(shorter);
    CHECK(tiles[2].rejection.reason == VKF_TILE_FEW_WORKGROUPS);
    CHECK(tiles[2].rejection.value == 64);
    CHECK(tiles[2].rejection.limit == 120);
    vkf::TileProblem longer = problem;
    longer.keys = longer.queryRows = 4096;
    choose(longer);
    CHECK(tiles[2].rejection.reason == VKF_TILE_MASK);
    CHECK(tiles[2].rejection.value == 4096);
    CHECK(tiles[2].rejection.limit == 768);
    CHECK(tiles[3].taken);

    // If no tile is enough alone, the library looks at the list again with key splits. For a cache it does so at once.
    vkf::TileProblem few = problem;
    few.queryRows = 64;
    few.heads = 8;
    few.keys = 511;
    choose(few);
    REQUIRE(tiles.size() == 22);
    CHECK(tiles[5].rejection.reason == VKF_TILE_FEW_WORKGROUPS);
    few.keys = 8192;
    CHECK(choose(few).splits == 30);
    REQUIRE(tiles.size() == 11);
    CHECK(tiles[5].taken);

    // Matrices of 8 x 8 take twice the registers.
    vkf::chooseCoopmatTile({caps}, vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8), longer, &tiles);
    CHECK(tiles[3].rejection.reason == VKF_TILE_REGISTERS);
    CHECK(tiles[3].rejection.value > 232);
    CHECK(tiles[3].rejection.limit == 232);

    // An entry that does not fit, one that fits, and then the built-in ones.
    vkf::TuningEntry entry;
    entry.path = VKF_PATH_COOPMAT;
    entry.type = VKF_TYPE_F16;
    entry.masked = true;
    entry.headDim = entry.valueDim = entry.rows = entry.keys = entry.heads = {0, 4294967295U};
    entry.coopmat = {64, 1, 2, 1};
    tuning.push_back(entry);
    entry.coopmat = {2, 1, 2, 3};
    tuning.push_back(entry);
    const vkf::CoopmatPlan plan = choose(problem);
    REQUIRE(tiles.size() == 13);
    CHECK(plan.tuned);
    CHECK(plan.splits == 3);
    CHECK(tiles[0].rejection.reason == VKF_TILE_INVOCATIONS);
    CHECK(tiles[0].fromTuning);
    CHECK(tiles[1].taken);
    CHECK(tiles[1].fromTuning);
    CHECK(tiles[1].splits == 3);
    CHECK(tiles[2].rejection.reason == VKF_TILE_NOT_NEEDED);
    CHECK_FALSE(tiles[2].fromTuning);
}
