// SPDX-License-Identifier: MIT
//
// The table of matrix layouts as plain data. That it is the device's, every test of path coopmat shows: a
// wrong place for one element spoils masks and sums.
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <utility>

#include "matrix_layout.hpp"

namespace {

struct Known {
    VkDriverId driver;
    uint32_t lanes;
    uint32_t rows;
    uint32_t depth;
    uint32_t slotElements;
};
constexpr Known knownShapes[] = {{VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16, 4},
                                 {VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8, 1}};

} // namespace

TEST_CASE("a matrix layout gives each element one place", "[schedule]") {
    for (const Known& known : knownShapes) {
        const vkf::MatrixLayout layout = vkf::knownMatrixLayout(known.driver, known.lanes, known.rows, known.depth);
        REQUIRE(layout.rows == known.rows);
        std::set<std::pair<uint32_t, uint32_t>> places;
        for (uint32_t lane = 0; lane < layout.lanes; lane++) {
            for (uint32_t element = 0; element < layout.elements(); element++) {
                const auto place = layout.placeOf(element, lane);
                CHECK(place.row < layout.rows);
                CHECK(place.column < layout.depth);
                places.emplace(place.row, place.column);
            }
        }
        CHECK(places.size() == size_t{layout.rows} * layout.depth);
    }
}

TEST_CASE("elements of a slot share a row, and so do lanes that differ in a column", "[schedule]") {
    for (const Known& known : knownShapes) {
        const vkf::MatrixLayout layout = vkf::knownMatrixLayout(known.driver, known.lanes, known.rows, known.depth);
        CHECK(layout.slotElements() == known.slotElements);
        for (uint32_t lane = 0; lane < layout.lanes; lane++) {
            for (uint32_t element = 0; element < layout.elements(); element++) {
                const uint32_t row = layout.placeOf(element, lane).row;
                CHECK(layout.placeOf(element - element % layout.slotElements(), lane).row == row);
                CHECK(layout.placeOf(element, lane & ~layout.columnLanes()).row == row);
            }
        }
    }
}

TEST_CASE("where nobody looked, there is no matrix layout", "[schedule]") {
    CHECK(vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_RADV, 32, 16, 16).rows == 0);
    CHECK(vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 8).rows == 0);
}
