// SPDX-License-Identifier: MIT
//
// Tiles for AMD devices. No device is needed; tests/lab/drivers_test.cpp asks the compiler.
#include <catch2/catch_test_macros.hpp>

#include "support/described_device.hpp"
#include "tiles/amd/registers.hpp"

namespace {

// RDNA 3 as RADV describes it.
vkf::Caps amdCaps() {
    vkf::Caps caps = vkf::test::capsOf(64, 65536, 1024);
    caps.vendorId = 0x1002;
    caps.driver = VK_DRIVER_ID_MESA_RADV;
    return caps;
}

bool spills(const vkf::Rejection& rejection) { return rejection.reason == VKF_TILE_SPILLS; }

} // namespace

TEST_CASE("an AMD device gets a tile of path scalar that its registers hold, for every head dimension", "[tiles]") {
    const vkf::Caps amd = amdCaps();
    for (uint32_t dim = 1; dim <= 256; dim++) {
        for (const uint32_t rows : {1U, 16U, 512U, 8192U}) {
            for (const bool outputF32 : {false, true}) {
                vkf::TileProblem problem = {dim, dim, rows, 16, outputF32, 8192, false};
                problem.path = VKF_PATH_SCALAR;
                const vkf::ScalarTile tile = vkf::chooseScalarTile({amd}, problem).tile;
                INFO("D " << dim << ", " << rows << " rows");
                REQUIRE(tile.workgroupSize() != 0);
                CHECK(!spills(vkf::spillsOnAmd(tile, amd)));
            }
        }
    }
}

TEST_CASE("matrices of an AMD device keep rows in registers up to D = 192", "[tiles]") {
    const vkf::Caps amd = amdCaps();
    const vkf::MatrixLayout layout = vkf::viaSharedMatrixLayout(64, 16, 16, 16);
    for (uint32_t dim = 16; dim <= 256; dim += 16) {
        for (const uint32_t rows : {64U, 8192U}) {
            const vkf::TileProblem problem = {dim, dim, rows, 16, false, 8192, false};
            const vkf::CoopmatTile tile = vkf::chooseCoopmatTile({amd}, layout, problem).tile;
            INFO("D " << dim << ", " << rows << " rows, tile " << tile.text(1));
            REQUIRE(tile.workgroupSize() != 0);
            CHECK(spills(vkf::spillsOnAmd(tile, amd)) == (dim > 192));
        }
    }
}

TEST_CASE("p and the words on their way count in the loop over tiles of an AMD device", "[tiles]") {
    const vkf::Caps amd = amdCaps();
    const vkf::MatrixLayout layout = vkf::viaSharedMatrixLayout(64, 16, 16, 16);
    const auto rejectionOf = [&](uint32_t subgroups, uint32_t rowMatrices, uint32_t keyUnits, uint32_t dim) {
        return vkf::spillsOnAmd(vkf::CoopmatTile{layout, subgroups, rowMatrices, keyUnits, dim, dim}, amd);
    };
    const vkf::Rejection manyP = rejectionOf(4, 2, 4, 64);
    CHECK(spills(manyP));
    CHECK(manyP.value == 208);
    CHECK(manyP.limit == 188);
    const vkf::Rejection smallGroup = rejectionOf(1, 1, 1, 192);
    CHECK(spills(smallGroup));
    CHECK(smallGroup.value == 204);
    CHECK(!spills(rejectionOf(8, 1, 2, 192)));
    CHECK(!spills(rejectionOf(4, 2, 2, 64)));
    vkf::CoopmatTile biased = {layout, 4, 1, 2, 160, 160};
    CHECK(!spills(vkf::spillsOnAmd(biased, amd)));
    biased.biasBits = 32;
    CHECK(vkf::spillsOnAmd(biased, amd).value == 176);
    CHECK(vkf::spillsOnAmd(biased, amd).limit == 172);
    vkf::CoopmatTile gathering = {layout, 8, 1, 2, 122, 122};
    gathering.biasBits = 32;
    CHECK(!spills(vkf::spillsOnAmd(gathering, amd)));
    gathering.loadsScalars = true;
    CHECK(vkf::spillsOnAmd(gathering, amd).value == 96);
    CHECK(vkf::spillsOnAmd(gathering, amd).limit == 90);
    const vkf::TileProblem prefill = {64, 64, 4096, 16, false, 4096, true};
    CHECK(vkf::chooseCoopmatTile({amd}, layout, prefill).tile.keyUnits == 2);
}

TEST_CASE("an AMD device has an o of more than 64 registers in memory on path decode", "[tiles]") {
    vkf::DecodeTile tile;
    tile.groups = 16;
    tile.lanes = 8;
    tile.threadRows = 4;
    tile.threadKeys = 1;
    tile.headDim = tile.valueDim = 160;
    tile.keyType = tile.valueType = VKF_TYPE_F32;
    vkf::Caps caps = amdCaps();
    const vkf::Rejection rejection = vkf::spillsOnAmd(tile, caps);
    CHECK(spills(rejection));
    CHECK(rejection.value == 80);
    CHECK(rejection.limit == 64);
    tile.lanes = 16;
    CHECK(!spills(vkf::spillsOnAmd(tile, caps)));
    caps.vendorId = 0x10de;
    tile.lanes = 8;
    CHECK(!spills(vkf::spillsOnAmd(tile, caps)));
}

TEST_CASE("devices of other vendors have no limits of AMD's compiler", "[tiles]") {
    const vkf::ScalarTile large = {16, 16, 8, 4, 4, 8, 16};
    vkf::Caps caps = amdCaps();
    const vkf::Rejection rejection = vkf::spillsOnAmd(large, caps);
    CHECK(rejection.reason == VKF_TILE_SPILLS);
    CHECK(rejection.value == 272);
    CHECK(rejection.limit == 190);
    caps.vendorId = 0x10de;
    CHECK(vkf::spillsOnAmd(large, caps).reason == VKF_TILE_SUITS);
}
