// SPDX-License-Identifier: MIT
//
// Tiles of path standard. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include "support/described_device.hpp"
#include "tiles/standard_tile.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::matrixCaps;

} // namespace

TEST_CASE("tiles of the unfused products say what stood against them", "[tiles]") {
    const vkf::Caps caps = matrixCaps();
    vkf::ConsideredTiles tiles;
    vkf::chooseProductTile(caps, caps.matrixOf(VKF_TYPE_F16), {128, 128, 60, 16, false}, &tiles);
    REQUIRE(tiles.size() == 5);
    CHECK(tiles[0].rejection.reason == VKF_TILE_HALF_EMPTY);
    CHECK(tiles[0].rejection.value == 128);
    CHECK(tiles[0].rejection.limit == 120);
    CHECK(tiles[0].tile == "subgroups=8 rowTiles=1 keyTiles=8 chunkKeys=32");
    CHECK(tiles[1].taken);
    CHECK(tiles[1].workgroups == 16);
    CHECK(tiles[1].registers == 64);
    CHECK(tiles[2].rejection.reason == VKF_TILE_NOT_NEEDED);
    vkf::chooseProductTile(capsOf(32, 49152, 128), caps.matrixOf(VKF_TYPE_F16), {128, 128, 60, 16, false}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_INVOCATIONS);
    vkf::chooseProductTile(capsOf(32, 16384, 1024), caps.matrixOf(VKF_TYPE_F16), {256, 256, 999, 16, false}, &tiles);
    CHECK(tiles[0].rejection.reason == VKF_TILE_SHARED_MEMORY);
    CHECK(tiles[0].rejection.value > 16384);
}

TEST_CASE("tiles of the unfused products fit every shared memory from 16 KiB on", "[tiles]") {
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

TEST_CASE("the unfused softmax keeps rows of up to 16384 scores in registers", "[tiles]") {
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
