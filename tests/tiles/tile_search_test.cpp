// SPDX-License-Identifier: MIT
//
// Taking a tile from a list, and the rejections to a tile. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>

#include "support/described_device.hpp"
#include "tiles/probabilities_tile.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tile_search.hpp"

namespace {

using vkf::test::capsOf;

struct SomeTile {
    uint32_t number = 0; // 0 = no tile

    uint32_t workgroupSize() const { return number; }
    uint32_t rows() const { return number; }
    uint32_t keys() const { return number; }
    uint32_t sharedBytes() const { return number; }
    uint32_t registers() const { return number; }
    std::string text(uint32_t splits) const { return std::to_string(number) + "/" + std::to_string(splits); }
};
using SomePlan = vkf::TilePlan<SomeTile>;

constexpr vkf::Rejection suits = {};
constexpr vkf::Rejection weak = {VKF_TILE_REGISTERS, 2, 1};
constexpr vkf::Rejection strong = {VKF_TILE_SHARED_MEMORY, 2, 1};

bool same(const vkf::Rejection& rejection, VkfTileReason reason, uint64_t value, uint64_t limit) {
    return rejection.reason == reason && rejection.value == value && rejection.limit == limit;
}

} // namespace

TEST_CASE("the first tile that suits is taken, else the last one that can be used", "[tiles]") {
    vkf::ConsideredTiles list;
    vkf::TileSearch<SomePlan> suited;
    suited.consider(SomePlan{{1}, 1}, 10, weak);
    CHECK(suited.found());
    CHECK_FALSE(suited.settled());
    suited.consider(SomePlan{{2}, 3}, 10, suits);
    CHECK(suited.settled());
    suited.consider(SomePlan{{3}, 1}, 10, suits);
    SomePlan taken = suited.finish(&list);
    CHECK(taken.tile.number == 2);
    REQUIRE(list.size() == 3);
    CHECK(list[1].taken);
    CHECK(list[1].tile == "2/3");
    CHECK(list[1].workgroups == 30);
    CHECK(list[2].rejection.reason == VKF_TILE_NOT_NEEDED);

    vkf::TileSearch<SomePlan> weakOnes;
    weakOnes.consider(SomePlan{{1}, 1}, 10, weak);
    weakOnes.consider(SomePlan{{2}, 1}, 10, weak);
    weakOnes.consider(SomePlan{{3}, 1}, 10, strong);
    taken = weakOnes.finish(nullptr);
    CHECK(taken.tile.number == 2);

    const vkf::Rejection spills = {VKF_TILE_SPILLS, 2, 1};
    vkf::TileSearch<SomePlan> someSpill;
    someSpill.consider(SomePlan{{1}, 1}, 10, spills);
    someSpill.consider(SomePlan{{2}, 1}, 10, weak);
    someSpill.consider(SomePlan{{3}, 1}, 10, spills);
    CHECK(someSpill.finish(nullptr).tile.number == 2);

    vkf::TileSearch<SomePlan> allSpill;
    allSpill.consider(SomePlan{{1}, 1}, 10, strong);
    allSpill.consider(SomePlan{{2}, 1}, 10, spills);
    allSpill.consider(SomePlan{{3}, 1}, 10, spills);
    CHECK(allSpill.finish(nullptr).tile.number == 2);

    vkf::TileSearch<SomePlan> none;
    none.consider(SomePlan{{1}, 1}, 10, strong);
    none.consider(SomePlan{{2}, 1, true}, 10, weak); // tuning data may not take a weak tile
    CHECK_FALSE(none.found());
    taken = none.finish(&list);
    CHECK(taken.tile.number == 0);
    CHECK(list[1].fromTuning);
}

TEST_CASE("a rejection says which value is beyond which limit", "[tiles]") {
    const vkf::Caps caps = capsOf(32, 1000, 128);
    CHECK(same(vkf::exceedsDevice(129, 1001, caps), VKF_TILE_INVOCATIONS, 129, 128));
    CHECK(same(vkf::exceedsDevice(128, 1001, caps), VKF_TILE_SHARED_MEMORY, 1001, 1000));
    CHECK(same(vkf::exceedsDevice(128, 1000, caps), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::breaksSubgroups(64, 128, caps), VKF_TILE_SUBGROUPS, 64, 32));
    CHECK(same(vkf::breaksSubgroups(16, 48, caps), VKF_TILE_SUBGROUPS, 48, 32));
    CHECK(same(vkf::breaksSubgroups(16, 64, caps), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::spillsRegisters(201, 200), VKF_TILE_REGISTERS, 201, 200));
    CHECK(same(vkf::otherDimension(63, 64, 128), VKF_TILE_DIMENSIONS, 63, 64));
    CHECK(same(vkf::otherDimension(129, 64, 128), VKF_TILE_DIMENSIONS, 129, 128));
    CHECK(same(vkf::halfEmpty(16, 8), VKF_TILE_HALF_EMPTY, 16, 16));
    CHECK(same(vkf::halfEmpty(16, 9), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::fewWorkgroups(131, 132), VKF_TILE_FEW_WORKGROUPS, 131, 132));

    vkf::TileProblem problem = {64, 64, 1U << 30, 1, true};
    CHECK(same(vkf::tooManyPartialResults(problem, 3, caps), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::tooManyPartialResults(problem, 4, caps), VKF_TILE_PARTIALS, uint64_t{1} << 32, 4294901760));
    vkf::Caps withoutMerge = caps;
    withoutMerge.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    CHECK(same(vkf::tooManyPartialResults(problem, 1, withoutMerge), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::tooManyPartialResults(problem, 2, withoutMerge), VKF_TILE_PARTIALS, 1U << 31, 1U << 30));

    problem.maskBlock = 64;
    CHECK(same(vkf::spansBlocks(problem, 48, 64), VKF_TILE_BLOCKS, 48, 64));
    CHECK(same(vkf::spansBlocks(problem, 64, 32), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::otherBlocks(vkf::BlockTiles::inOneBlock, problem, 16, 64), VKF_TILE_BLOCKS, 16, 64));
    CHECK(same(vkf::otherBlocks(vkf::BlockTiles::inOneBlock, problem, 32, 64), VKF_TILE_SUITS, 0, 0));
    CHECK(same(vkf::otherBlocks(vkf::BlockTiles::inSeveralBlocks, problem, 128, 64), VKF_TILE_BLOCKS, 128, 64));
}

TEST_CASE("probabilities have a tile on every device from 16 KiB on, and none on a smaller one", "[tiles]") {
    for (const uint32_t bytes : {16384U, 32768U, 49152U}) {
        for (const uint32_t rows : {1U, 8U, 9U, 4096U}) {
            const vkf::ProbabilitiesTile tile = vkf::chooseProbabilitiesTile(capsOf(32, bytes, 128), rows);
            INFO(bytes << " bytes, " << rows << " rows");
            CHECK(tile.workgroupSize() == 128);
            CHECK(tile.sharedBytes() <= bytes);
            CHECK((tile.rows() == 8) == (rows <= 8));
        }
    }
    CHECK(vkf::chooseProbabilitiesTile(capsOf(32, 1024, 128), 9).workgroupSize() == 0);
    CHECK(vkf::chooseProbabilitiesTile(capsOf(32, 16384, 64), 9).workgroupSize() == 0);
}
