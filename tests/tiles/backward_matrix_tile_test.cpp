// SPDX-License-Identifier: MIT
//
// Tiles of the backward pass on path coopmat. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "support/described_device.hpp"
#include "tiles/backward/backward_matrix_tile.hpp"

namespace {

using vkf::BackwardMatrixTile;
using vkf::BackwardOwner;
using vkf::MatrixLayout;
using vkf::test::capsOf;

constexpr uint64_t manyHeads = 64;

MatrixLayout h200Layout() { return vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16); }

BackwardMatrixTile chosen(BackwardOwner owner, uint32_t dim, uint32_t owned, uint64_t heads = manyHeads) {
    return vkf::chooseBackwardMatrixTile({capsOf(32, 49152, 1024)}, h200Layout(),
                                         {owner, dim, dim, true, owner == BackwardOwner::keys, owned, heads});
}

} // namespace

TEST_CASE("a matrix tile of the backward pass fits 32 KiB, for every head dimension", "[tiles]") {
    for (const bool viaShared : {false, true}) {
        const MatrixLayout layout = viaShared ? vkf::viaSharedMatrixLayout(32, 16, 16, 16) : h200Layout();
        for (const uint32_t bytes : {32768U, 49152U}) {
            const vkf::Caps caps = capsOf(32, bytes, 1024);
            for (uint32_t dim = 1; dim <= 256; dim++) {
                for (const BackwardOwner owner : {BackwardOwner::rows, BackwardOwner::keys}) {
                    for (const uint32_t owned : {1U, 4096U}) {
                        const bool values = owner == BackwardOwner::keys;
                        const BackwardMatrixTile tile = vkf::chooseBackwardMatrixTile(
                            {caps}, layout, {owner, dim, 257 - dim, true, values, owned, manyHeads, values});
                        INFO(bytes << " bytes, dim " << dim << ", owner " << static_cast<uint32_t>(owner) << ", owned "
                                   << owned << ": " << tile.text(1));
                        REQUIRE(tile.workgroupSize() > 0);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.subgroups % tile.depthSubgroups == 0);
                        REQUIRE(tile.owned() > 0);
                        REQUIRE(tile.visited() % 16 == 0);
                        if (bytes > 32768 && !viaShared && owned > 1) { // elsewhere wide heads are right, but slow
                            REQUIRE(tile.registers() <= 232);
                        }
                    }
                }
            }
        }
    }
}

// The numbers of docs/kernel_rules.md, "The backward pass".
TEST_CASE("matrix tiles of the backward pass on an H200", "[tiles]") {
    struct Expected {
        BackwardOwner owner;
        uint32_t dim;
        uint32_t subgroups, owned, visited, depthSubgroups;
        uint32_t sharedBytes, registers;
    };
    for (const Expected& e : {
             Expected{BackwardOwner::keys, 64, 4, 128, 64, 1, 19008, 224},
             Expected{BackwardOwner::rows, 64, 4, 128, 64, 1, 18504, 160},
             Expected{BackwardOwner::keys, 128, 8, 128, 32, 1, 35392, 224},
             Expected{BackwardOwner::rows, 128, 8, 128, 32, 1, 34888, 160},
             Expected{BackwardOwner::keys, 256, 8, 64, 16, 2, 39088, 224},
             Expected{BackwardOwner::rows, 256, 8, 64, 16, 2, 38968, 160},
         }) {
        const BackwardMatrixTile tile = chosen(e.owner, e.dim, 8192);
        INFO(tile.text(1));
        CHECK(tile.subgroups == e.subgroups);
        CHECK(tile.owned() == e.owned);
        CHECK(tile.visited() == e.visited);
        CHECK(tile.depthSubgroups == e.depthSubgroups);
        CHECK(tile.sharedBytes() == e.sharedBytes);
        CHECK(tile.registers() == e.registers);
    }
    // Few workgroups take smaller tiles.
    CHECK(chosen(BackwardOwner::keys, 128, 512, 16).owned() == 64);
    CHECK(chosen(BackwardOwner::rows, 256, 256, 16).owned() == 32);
    CHECK(chosen(BackwardOwner::keys, 64, 16, 16).owned() < 64);
}

TEST_CASE("dk and dv have a matrix tile each if one has no registers for both sums", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const auto tiles = [&](const MatrixLayout& layout, uint32_t dim, bool sameKeys) {
        return vkf::chooseKeyMatrixTiles({caps}, layout, {BackwardOwner::keys, dim, dim, true, true, 8192, manyHeads},
                                         sameKeys);
    };
    CHECK(tiles(h200Layout(), 128, false).size() == 1);
    CHECK(tiles(h200Layout(), 256, false).size() == 1);
    // Subgroups of 16 lanes hold twice as many registers of a matrix.
    const MatrixLayout narrow = vkf::viaSharedMatrixLayout(16, 16, 16, 16);
    const std::vector<BackwardMatrixTile> apart = tiles(narrow, 160, true);
    REQUIRE(apart.size() == 2);
    CHECK(apart[0].makesDqOrDk());
    CHECK_FALSE(apart[0].makesDv());
    CHECK_FALSE(apart[1].makesDqOrDk());
    CHECK(apart[1].makesDv());
    CHECK(apart[0].keys() == apart[1].keys());
}
