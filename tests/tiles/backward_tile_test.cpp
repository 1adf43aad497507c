// SPDX-License-Identifier: MIT
//
// Tiles of the backward pass on path scalar. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "support/described_device.hpp"
#include "tiles/backward/backward_tile.hpp"

namespace {

using vkf::BackwardOwner;
using vkf::BackwardTile;
using vkf::test::capsOf;

} // namespace

TEST_CASE("a tile of the backward pass fits every device, for every head dimension", "[tiles]") {
    for (const uint32_t bytes : {16384U, 32768U, 49152U}) {
        for (const uint32_t invocations : {128U, 256U, 1024U}) {
            const vkf::Caps caps = capsOf(32, bytes, invocations);
            for (uint32_t dim = 1; dim <= 256; dim++) {
                for (const BackwardOwner owner : {BackwardOwner::rows, BackwardOwner::keys, BackwardOwner::bias}) {
                    for (const uint32_t owned : {1U, 4096U}) {
                        const bool makesDqOrDk = owner != BackwardOwner::bias;
                        const bool makesDv = owner == BackwardOwner::keys;
                        const BackwardTile tile =
                            vkf::chooseBackwardTile(caps, {owner, dim, 257 - dim, makesDqOrDk, makesDv, owned, 16});
                        INFO(bytes << " bytes, " << invocations << " invocations, dim " << dim << ", owner "
                                   << static_cast<uint32_t>(owner) << ", owned " << owned);
                        REQUIRE(tile.workgroupSize() > 0);
                        REQUIRE(tile.workgroupSize() <= invocations);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.lanes * tile.headColumns4 * 4 >= (makesDqOrDk ? dim : 0));
                        REQUIRE(tile.lanes * tile.valueColumns4 * 4 >= (makesDv ? 257 - dim : 0));
                        REQUIRE(tile.visited() % tile.chunkVisited == 0);
                        REQUIRE(tile.chunkVisited % 4 == 0);
                        REQUIRE(tile.chunkVisited % tile.lanes == 0);
                        // The sums of an owner of the bias have room in pair_stage.
                        REQUIRE(tile.threadOwned >= tile.threadVisited);
                        if (bytes > 16384) { // in 16 KiB wide heads are right, but slow
                            REQUIRE(tile.registers() <= 255);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("an invocation owns eight rows where its registers hold their sums", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const auto owned = [&](BackwardOwner owner, uint32_t dim, bool values) {
        return vkf::chooseBackwardTile(caps, {owner, dim, dim, true, values, 4096, 16}).threadOwned;
    };
    CHECK(owned(BackwardOwner::rows, 64, false) == 8);
    CHECK(owned(BackwardOwner::rows, 128, false) == 8);
    CHECK(owned(BackwardOwner::rows, 256, false) == 4);
    CHECK(owned(BackwardOwner::keys, 64, true) == 8);
    CHECK(owned(BackwardOwner::keys, 128, true) == 4);
    const auto keyTiles = [&](uint32_t headDim, uint32_t valueDim, bool values, uint32_t keys) {
        return vkf::chooseKeyTiles(caps, {BackwardOwner::keys, headDim, valueDim, true, values, keys, 16});
    };
    CHECK(keyTiles(64, 64, true, 4096).size() == 1);
    CHECK(keyTiles(128, 128, false, 4096).size() == 1);
    const std::vector<BackwardTile> apart = keyTiles(128, 96, true, 4096);
    REQUIRE(apart.size() == 2);
    CHECK(apart[0].threadOwned == 8);
    CHECK(apart[0].headColumns4 == 2);
    CHECK(apart[0].valueColumns4 == 0);
    CHECK(apart[1].headColumns4 == 0);
    CHECK(apart[1].valueColumns4 == 2);
    CHECK(apart[0].keys() == apart[1].keys());
    CHECK(keyTiles(256, 256, true, 4096).size() == 2);
    CHECK(keyTiles(256, 256, true, 16).size() == 1);
    CHECK(vkf::chooseBackwardTile(caps, {BackwardOwner::rows, 64, 64, true, false, 16, 16}).owned() == 16);
    CHECK(vkf::chooseBackwardTile(capsOf(32, 1024, 128), {BackwardOwner::rows, 64, 64, true, false, 16, 16})
              .workgroupSize() == 0);
}
