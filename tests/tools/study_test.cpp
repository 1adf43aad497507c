// SPDX-License-Identifier: MIT
//
// The formulas for tiles and traffic on cases worked out by hand.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "model/traffic.hpp"
#include "support/call.hpp"
#include "tools/moved.hpp"

namespace {

using vkf::test::moved;
using vkf::test::Moved;
using vkf::test::problemOf;
using namespace vkf::tools;

// Counts elements and not bytes: an element takes one byte.
TrafficShape elements(double heads, double rows, double keys, TileDims dims) {
    return {heads, rows, keys, dims, 1, 1, 1, 1, 1};
}

} // namespace

TEST_CASE("tile formulas give the numbers worked out by hand", "[study]") {
    // 48 KiB of fp16: M = 24576 elements, 24576 / 256 = 96 keys, no more rows than D.
    CHECK(algorithm1Tile(49152, {64, 64}, 2) == TileSize{64, 96});
    CHECK(algorithm1Tile(49152, {128, 128}, 2) == TileSize{48, 48});
    CHECK(algorithm1Tile(49152, {128, 128}, 4) == TileSize{24, 24});
    CHECK(algorithm1Tile(49152, {64, 128}, 2) == TileSize{48, 48});
    CHECK(algorithm1Tile(49152 + 2, {128, 128}, 2) == TileSize{49, 49}); // rounded up
    // The table of the formula's source: D = 128, fp16.
    CHECK(stagedBytes({64, 64}, {128, 128}, 2) == 49152);
    CHECK(stagedBytes({128, 64}, {128, 128}, 2) == 65536);
    CHECK(stagedBytes({128, 128}, {128, 128}, 2) == 98304);
    CHECK(stagedBytes({3, 5}, {7, 11}, 4) == (3 * 7 + 5 * 7 + 5 * 11) * 4);
    // 64 x 64, D = 64: q, o 4096 each, k and v 8192, s 4096, m and l 128.
    CHECK(wholeTileBytes({64, 64}, {64, 64}, 2) == (4096 + 8192 + 4096 + 4096 + 128) * 2);
    CHECK(wholeTileBytes({3, 5}, {7, 11}, 4) == (3 * 7 + 5 * 7 + 5 * 11 + 3 * 5 + 3 * 11 + 2 * 3) * 4);
}

TEST_CASE("the usual tiles that fit are those under the limit and at it", "[study]") {
    const TileDims dims = {128, 128};
    CHECK(fittingTiles(stagedBytes, 49152, dims, 2) ==
          std::vector<TileSize>{{32, 32}, {32, 64}, {64, 32}, {64, 64}, {128, 32}});
    CHECK(fittingTiles(stagedBytes, 49151, dims, 2) == std::vector<TileSize>{{32, 32}, {32, 64}, {64, 32}});
    CHECK(fittingTiles(wholeTileBytes, 16384, dims, 2).empty());
}

TEST_CASE("papers' traffic counts what the papers count", "[study]") {
    // N = 6, d = 2, two heads.
    const TrafficShape shape = elements(2, 6, 6, {2, 2});
    const Traffic standard = standardTraffic(shape);
    CHECK(moved(standard, "q") == Moved{24, 0});
    CHECK(moved(standard, "S") == Moved{72, 72});
    CHECK(moved(standard, "P") == Moved{72, 72});
    CHECK(moved(standard, "o") == Moved{0, 24});
    CHECK(standard.total() == 4 * 24 + 4 * 72);

    // Tiles of 4 keys: two steps, the second of 2 keys.
    const Traffic keysOuter = keyOuterTraffic(shape, {3, 4});
    CHECK(moved(keysOuter, "k") == Moved{24, 0});
    CHECK(moved(keysOuter, "q") == Moved{2 * 24, 0});
    CHECK(moved(keysOuter, "o") == Moved{2 * 24, 3 * 24});
    CHECK(moved(keysOuter, "m, l") == Moved{2 * 24, 3 * 24});

    // Tiles of 4 rows: two of them.
    const Traffic queriesOuter = queryOuterTraffic(shape, {4, 3});
    CHECK(moved(queriesOuter, "q") == Moved{24, 0});
    CHECK(moved(queriesOuter, "k") == Moved{2 * 24, 0});
    CHECK(moved(queriesOuter, "v") == Moved{2 * 24, 0});
    CHECK(moved(queriesOuter, "o") == Moved{0, 24});
    CHECK(moved(queriesOuter, "lse") == Moved{0, 12});
    CHECK(queriesOuter.read() == 5 * 24);
    CHECK(queriesOuter.written() == 36);
}

TEST_CASE("S and P of a head of 8192 rows in fp16 are 512 MiB of traffic", "[study]") {
    const Traffic traffic = standardTraffic(trafficShape(problemOf({1, 1, 1, 8192, 8192, 128, 0, VKF_TYPE_F16})));
    const Moved s = moved(traffic, "S");
    const Moved p = moved(traffic, "P");
    CHECK(s.read + s.written + p.read + p.written == 512.0 * 1024 * 1024);
}

TEST_CASE("the table in docs/algorithm.md is what the formulas give", "[study]") {
    constexpr double mebi = 1024.0 * 1024;
    const TrafficShape shape = trafficShape(problemOf({1, 1, 1, 8192, 8192, 128, 0, VKF_TYPE_F16}));
    const TileSize paper = algorithm1Tile(49152, shape.dims, 2);
    CHECK(paper == TileSize{48, 48});
    CHECK(standardTraffic(shape).total() == 520 * mebi);
    const Traffic keysOuter = keyOuterTraffic(shape, paper);
    CHECK(moved(keysOuter, "q").read == 342 * mebi);
    CHECK(moved(keysOuter, "o") == Moved{171 * 4 * mebi, 172 * 4 * mebi});
    CHECK(std::lround(keysOuter.total() / mebi) == 1739); // 1.70 GiB
    CHECK(std::lround(queryOuterTraffic(shape, {256, 32}).total() / mebi) == 132);
}

TEST_CASE("theorem 2 holds of the counts", "[study]") {
    const double n = 8192;
    const double d = 64;
    CHECK(theorem2Standard(n, d) == n * d + n * n);
    CHECK(theorem2Tiled(n, d, 24576) == n * n * d * d / 24576);
    // With Bc = M / 4d the count is that bound times a constant: q and o three ways for each of 4 N d / M tiles.
    for (const uint64_t onChip : {16384U, 24576U, 65536U}) {
        const TileSize tile = algorithm1Tile(onChip, {64, 64}, 1);
        const double total = keyOuterTraffic(elements(1, n, n, {64, 64}), tile).total();
        const double ratio = total / theorem2Tiled(n, d, static_cast<double>(onChip));
        CHECK(ratio > 12.0);
        CHECK(ratio < 13.0);
    }
}
