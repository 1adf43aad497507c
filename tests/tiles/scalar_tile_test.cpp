// SPDX-License-Identifier: MIT
//
// Tiles of the kernel of path scalar: they fit every device that the library promises to run on. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"
#include "tiles/scalar_tile.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::planOf;
using vkf::test::problemOf;

} // namespace

TEST_CASE("a tile fits every device from the minimum limits on, for every head dimension", "[tiles]") {
    for (const uint32_t subgroup : {1U, 4U, 8U, 16U, 32U, 64U, 128U}) {
        for (const uint32_t bytes : {16384U, 32768U, 49152U, 65536U}) {
            for (const uint32_t invocations : {128U, 256U, 1024U}) {
                const vkf::Caps caps = capsOf(subgroup, bytes, invocations);
                for (uint32_t dim = 1; dim <= 256; dim++) {
                    for (const uint32_t rows : {1U, 16U, 4096U}) {
                        const vkf::ScalarTile tile =
                            vkf::chooseScalarTile({caps}, {dim, 257 - dim, rows, 4, dim % 2 == 0}).tile;
                        INFO("subgroup " << subgroup << ", " << bytes << " bytes, dim " << dim << ", rows " << rows);
                        REQUIRE(tile.workgroupSize() > 0);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.workgroupSize() <= invocations);
                        REQUIRE(tile.lanes * tile.threadColumns4 * 4 >= 257 - dim);
                        REQUIRE(tile.keys() % tile.chunkKeys == 0);
                        REQUIRE(tile.chunkKeys % 4 == 0);
                        REQUIRE(tile.chunkKeys % tile.lanes == 0);
                        REQUIRE(tile.keys() >= tile.lanes);
                        REQUIRE(tile.registers() <= 255);
                        if (caps.subgroupReductions()) {
                            REQUIRE(tile.lanes <= subgroup);
                            REQUIRE(tile.workgroupSize() % subgroup == 0);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("a tile's rows follow the rows, the heads and the output's type", "[tiles]") {
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
        {{256, 256, 385, 32, true}, 128}, // a partial tile is a workgroup too
        {{256, 256, 4096, 0, true}, 32},  // no sequences at all
        {{256, 256, 16, 1000, true}, 16}, // many workgroups, each all but empty
        {{64, 192, 1U << 30, 1, true}, 128},
    };
    for (const Expected& expected : table) {
        const vkf::TileProblem& p = expected.problem;
        INFO("D " << p.headDim << "/" << p.valueDim << ", " << p.queryRows << " rows, " << p.heads << " heads");
        CHECK(vkf::chooseScalarTile({capsOf(32, 49152, 1024)}, p).tile.rows() == expected.rows);
    }
    // Sequences count like heads.
    CHECK(planOf(capsOf(32, 49152, 1024), problemOf({4, 8, 8, 512, 64, 256})).tile.rows == 128);
    CHECK(planOf(capsOf(32, 49152, 1024), problemOf({1, 8, 8, 512, 64, 256})).tile.rows == 32);
}

TEST_CASE("the kernel of path scalar splits keys until its workgroups fill a device, and then takes fewer rows",
          "[tiles]") {
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
        {128, 512, 512, 2, 64, 8},      // 128: splits have at least 64 keys
        {128, 256, 256, 2, 32, 4},      // even so only 32 of 64 rows
        {128, 64, 63, 1, 32, 1},        // nothing to split
        {128, 512, 512, 16, 64, 2},     // 128 workgroups without splits leave half of each multiprocessor idle
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
        const vkf::ScalarPlan plan = vkf::chooseScalarTile({caps}, problem);
        INFO("D " << expected.dim << ", " << expected.rows << " rows, " << expected.keys << " keys, " << expected.heads
                  << " heads");
        CHECK(plan.tile.rows() == expected.tileRows);
        CHECK(plan.splits == expected.splits);
    }
}

TEST_CASE("each tile that was considered says what stood against it", "[tiles]") {
    vkf::ConsideredTiles tiles;
    const auto reasons = [&tiles] {
        std::vector<VkfTileReason> list;
        for (const vkf::ConsideredTile& tile : tiles) {
            list.push_back(tile.rejection.reason);
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
    vkf::chooseScalarTile({caps}, {256, 256, 4096, 16, false}, &tiles);
    REQUIRE(tiles.size() == 10);
    CHECK(reasons() == std::vector{VKF_TILE_DIMENSIONS, VKF_TILE_OUTPUT_TYPE, VKF_TILE_SUITS, VKF_TILE_NOT_NEEDED,
                                   VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED,
                                   VKF_TILE_NOT_NEEDED, VKF_TILE_NOT_NEEDED});
    CHECK(tiles[0].rejection.value == 256);
    CHECK(tiles[0].rejection.limit == 128);
    CHECK(taken() == std::vector<size_t>{2});
    CHECK(tiles[2].rows == 32);
    CHECK(tiles[2].workgroups == 128 * 16);

    // fp32 of few workgroups.
    vkf::chooseScalarTile({caps}, {256, 256, 512, 31, true}, &tiles);
    CHECK(tiles[1].rejection.reason == VKF_TILE_FEW_WORKGROUPS);
    CHECK(tiles[1].rejection.value == 124);
    CHECK(tiles[1].rejection.limit == 128);
    CHECK(taken() == std::vector<size_t>{2});

    // One row. Tiles of 16 rows and more are half empty, and no tile has fewer rows, so the last tile that fits is
    // taken.
    vkf::chooseScalarTile({caps}, {64, 64, 1, 16, true}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(tiles[0].rejection.value == 64);
    CHECK(tiles[0].rejection.limit == 16);
    CHECK(tiles.back().rejection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(taken() == std::vector<size_t>{9});

    // A small device.
    vkf::chooseScalarTile({capsOf(4, 16384, 64)}, {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_INVOCATIONS);
    CHECK(tiles[0].rejection.value == 128);
    CHECK(tiles[0].rejection.limit == 64);
    CHECK(tiles[8].taken);
    vkf::chooseScalarTile({capsOf(8, 49152, 1024)}, {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_SUBGROUPS);
    CHECK(tiles[0].rejection.value == 16);
    CHECK(tiles[0].rejection.limit == 8);
    vkf::chooseScalarTile({capsOf(32, 1024, 1024)}, {128, 128, 4096, 16, true}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_SHARED_MEMORY);
    CHECK(tiles[0].rejection.value > 1024);
    CHECK(tiles[0].rejection.limit == 1024);
    CHECK(taken().empty());
}
