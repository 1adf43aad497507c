// SPDX-License-Identifier: MIT
//
// Tiles of path decode and its splits of the keys. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "support/described_device.hpp"
#include "tiles/decode/decode_choice.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::matrixCaps;

} // namespace

TEST_CASE("a decode tile fits every device from the minimum limits on, for every head dimension", "[tiles]") {
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
                        REQUIRE(tile.workgroupSize() > 0);
                        REQUIRE(tile.sharedBytes() <= bytes);
                        REQUIRE(tile.workgroupSize() <= invocations);
                        REQUIRE(tile.workgroupSize() % tile.lanes == 0);
                        REQUIRE((rows + tile.rows() - 1) / tile.rows() * tile.rows() < rows + tile.rows());
                        REQUIRE(plan.splits >= 1);
                        REQUIRE(plan.splits <= VKF_MAX_SPLITS);
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

TEST_CASE("decoding splits the keys into whole waves of workgroups, or into a power of two of them", "[tiles]") {
    struct Expected {
        uint64_t items;
        uint32_t keys;
        uint32_t slots;
        uint32_t splits;
    };
    const Expected table[] = {
        {8, 65536, 264, 33}, // 264 workgroups: all run at once
        {8, 1024, 264, 16},  // 16 tiles of 64 keys
        {8, 1025, 264, 32},  // a cache that grows meets few numbers of splits
        {8, 1300, 264, 32},  // the last of these have no keys
        {8, 2113, 264, 33},
        {8, 129, 264, 4},
        {8, 128, 264, 1}, // a second tile takes less time than a merge
        {8, 0, 264, 1},
        {0, 1024, 264, 1},
        {64, 16384, 264, 4},   // 256 of 264
        {200, 16384, 264, 5},  // 200, 400, 600, 800 leave too much of their last wave idle; 1000 is 95 %
        {512, 16384, 264, 1},  // 1024 of 1056 would do as well; 512 is 97 % of two waves
        {5000, 16384, 264, 1}, // with this many waves, the last one does not matter
        {1, 1U << 29, 2112, 1024},
    };
    for (const Expected& expected : table) {
        INFO(expected.items << " tiles, " << expected.keys << " keys");
        CHECK(vkf::chooseDecodeSplits(expected.items, expected.keys, 64, expected.slots) == expected.splits);
    }
}

TEST_CASE("tiles for wide heads fit every device whose matrices suit", "[tiles]") {
    constexpr std::array<std::array<uint32_t, 4>, 5> shapes = {
        {{8, 8, 8, 8}, {32, 16, 16, 16}, {64, 16, 16, 16}, {16, 8, 16, 16}, {32, 16, 8, 16}}};
    for (const auto& [lanes, rows, columns, depth] : shapes) {
        const vkf::MatrixLayout layout = vkf::viaSharedMatrixLayout(lanes, rows, columns, depth);
        for (const uint32_t bytes : {16384U, 32768U, 49152U}) {
            for (const uint32_t dim : {264U, 512U, 576U}) {
                const vkf::Caps caps = capsOf(lanes, bytes, 1024);
                const vkf::DecodeChoice chosen = vkf::chooseDecodeTile(
                    caps, &layout, {dim, std::min(dim, 512U), VKF_TYPE_F16, VKF_TYPE_F16, 16, 1, 4096});
                INFO(rows << " x " << columns << " x " << depth << ", " << bytes << " bytes, dim " << dim);
                const auto* wide = std::get_if<vkf::LatentPlan>(&chosen);
                if (columns != depth) {
                    CHECK(wide == nullptr); // plain arithmetic runs instead
                    continue;
                }
                const vkf::LatentTile smallest = {layout, 1, 1, dim, std::min(dim, 512U)};
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

TEST_CASE("many rows of wide heads share tiles of keys in twos", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    const vkf::MatrixLayout layout = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
    const auto choose = [&](uint64_t rows, uint32_t keys) {
        return std::get<vkf::LatentPlan>(
            vkf::chooseDecodeTile(caps, &layout, {576, 512, VKF_TYPE_F16, VKF_TYPE_F16, rows, 1, keys}));
    };
    const vkf::LatentTile tile = choose(64, 16384).tile;
    CHECK(tile.rows() == 32);
    CHECK(tile.workgroupSize() == 256);
    CHECK(tile.sharedBytes() <= 49152);
    CHECK(choose(64, 4096).tile.rows() == 16);     // few pairs of rows and keys
    CHECK(choose(16, 1U << 20).tile.rows() == 16); // one matrix holds all rows
}

TEST_CASE("tiles of path decode say what stood against them", "[tiles]") {
    const vkf::Caps caps = matrixCaps();
    const vkf::MatrixLayout layout = caps.matrixOf(VKF_TYPE_F16);
    vkf::ConsideredTiles tiles;
    const auto choose = [&](const vkf::MatrixLayout* matrices, uint64_t rows, uint32_t keys, uint32_t dim = 128) {
        return vkf::chooseDecodeTile(caps, matrices, {dim, dim, VKF_TYPE_F16, VKF_TYPE_F16, rows, 8, keys}, &tiles);
    };
    const auto stands = [&](size_t index, VkfTileReason reason, uint64_t value, uint64_t limit) {
        const vkf::Rejection& rejection = tiles.at(index).rejection;
        return rejection.reason == reason && rejection.value == value && rejection.limit == limit;
    };

    // Without matrices. 8 x 65536 / 64 tiles are enough without the small tiles of the first entry.
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
    // One row does not need a matrix of rows.
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(&layout, 1, 65536)));
    REQUIRE(tiles.size() == 13);
    CHECK(stands(0, VKF_TILE_FEW_ROWS, 1, 1));
    CHECK(tiles[0].rows == 8);

    // More rows fill matrices. The entries for plain arithmetic come after them.
    CHECK(std::holds_alternative<vkf::DecodeMatrixPlan>(choose(&layout, 9, 65536)));
    REQUIRE(tiles.size() == 13);
    CHECK(tiles[0].taken);
    CHECK(stands(0, VKF_TILE_SUITS, 0, 0));
    CHECK(stands(1, VKF_TILE_NOT_NEEDED, 0, 0));
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(nullptr, 9, 65536)));
    CHECK(tiles.size() == 12);
    const vkf::MatrixLayout viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
    CHECK(std::holds_alternative<vkf::DecodePlan>(choose(&viaShared, 9, 65536)));
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
