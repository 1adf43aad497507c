// SPDX-License-Identifier: MIT
//
// Matrix layouts as plain data. Every test of path coopmat shows that the layouts of the table match the device: a
// wrong position of one element spoils masks and sums.
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <utility>
#include <vector>

#include "device/matrix_layout.hpp"

namespace {

struct Known {
    VkDriverId driver;
    uint32_t lanes;
    uint32_t rows;
    uint32_t depth;
    uint32_t fragmentRowElements;
};
constexpr Known knownShapes[] = {{VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16, 4},
                                 {VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8, 1}};

struct Exchanged {
    uint32_t lanes;
    uint32_t rows;
    uint32_t columns;
    uint32_t depth;
    uint32_t fragmentRowElements;
};
constexpr Exchanged viaSharedShapes[] = {
    {8, 8, 8, 8, 8},      // llvmpipe
    {32, 16, 16, 16, 8},  // NVIDIA, AMD
    {64, 16, 16, 16, 4},  // AMD
    {32, 16, 8, 16, 4},   // NVIDIA
    {16, 8, 16, 16, 8},   // Intel
    {8, 8, 8, 16, 8},     // Intel
    {16, 16, 16, 16, 16}, // a row a lane
    {8, 16, 8, 8, 8},     // two rows a lane
};

std::vector<vkf::MatrixLayout> allLayouts() {
    std::vector<vkf::MatrixLayout> layouts;
    for (const Known& known : knownShapes) {
        layouts.push_back(vkf::knownMatrixLayout(known.driver, known.lanes, known.rows, known.depth));
        CHECK(layouts.back().fragmentRowElements() == known.fragmentRowElements);
    }
    for (const Exchanged& shape : viaSharedShapes) {
        layouts.push_back(vkf::viaSharedMatrixLayout(shape.lanes, shape.rows, shape.columns, shape.depth));
        CHECK(layouts.back().fragmentRowElements() == shape.fragmentRowElements);
    }
    return layouts;
}

} // namespace

TEST_CASE("a matrix layout gives each element one position", "[planning]") {
    for (const vkf::MatrixLayout& layout : allLayouts()) {
        INFO(layout.rows << "x" << layout.columns << ", " << layout.lanes << " lanes");
        REQUIRE(layout.rows > 0);
        std::set<std::pair<uint32_t, uint32_t>> positions;
        for (uint32_t lane = 0; lane < layout.lanes; lane++) {
            for (uint32_t element = 0; element < layout.elements(); element++) {
                const auto position = layout.positionOf(element, lane);
                CHECK(position.row < layout.rows);
                CHECK(position.column < layout.columns);
                positions.emplace(position.row, position.column);
            }
        }
        CHECK(positions.size() == size_t{layout.rows} * layout.columns);
    }
}

TEST_CASE("the worked examples of shaders/matrix/matrix_layout.glsl", "[planning]") {
    const auto isAt = [](vkf::MatrixLayout::Position position, uint32_t row, uint32_t column) {
        return position.row == row && position.column == column;
    };
    const auto nvidia = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    CHECK(isAt(nvidia.positionOf(0, 13), 3, 2));
    CHECK(isAt(nvidia.positionOf(5, 0), 8, 1));
    CHECK(isAt(nvidia.positionOf(5, 13), 11, 3));
    const uint32_t fragmentRowColumns[] = {2, 3, 10, 11};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(isAt(nvidia.positionOf(4 + i, 13), 11, fragmentRowColumns[i]));
    }
    CHECK(nvidia.columnLanes() == 3);
    const auto llvmpipe = vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8);
    CHECK(isAt(llvmpipe.positionOf(6, 5), 6, 5));
}

TEST_CASE("elements of a fragment row share a row, and so do lanes that differ in a column", "[planning]") {
    for (const vkf::MatrixLayout& layout : allLayouts()) {
        INFO(layout.rows << "x" << layout.columns << ", " << layout.lanes << " lanes");
        for (uint32_t lane = 0; lane < layout.lanes; lane++) {
            for (uint32_t element = 0; element < layout.elements(); element++) {
                const uint32_t row = layout.positionOf(element, lane).row;
                CHECK(layout.positionOf(element - element % layout.fragmentRowElements(), lane).row == row);
                CHECK(layout.positionOf(element, lane & ~layout.columnLanes()).row == row);
            }
        }
    }
}

TEST_CASE("where nobody looked, there is no matrix layout", "[planning]") {
    CHECK(vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_RADV, 32, 16, 16).rows == 0);
    CHECK(vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 8).rows == 0);
}

TEST_CASE("out of shared memory an invocation takes neighbours, in whole fours", "[planning]") {
    for (const Exchanged& shape : viaSharedShapes) {
        const vkf::MatrixLayout layout =
            vkf::viaSharedMatrixLayout(shape.lanes, shape.rows, shape.columns, shape.depth);
        INFO(layout.rows << "x" << layout.columns << ", " << layout.lanes << " lanes");
        CHECK(layout.viaShared);
        for (uint32_t lane = 0; lane < layout.lanes; lane++) {
            for (uint32_t element = 0; element < layout.elements(); element++) {
                const auto first = layout.positionOf(element - element % layout.fragmentRowElements(), lane);
                CHECK(first.column % layout.fragmentRowElements() == 0);
                CHECK(layout.positionOf(element, lane).column == first.column + element % layout.fragmentRowElements());
            }
        }
    }
}

TEST_CASE("shapes that the exchange cannot stage have no layout", "[planning]") {
    CHECK(vkf::viaSharedMatrixLayout(64, 8, 8, 16).rows == 0);    // not four elements an invocation
    CHECK(vkf::viaSharedMatrixLayout(8, 16, 16, 16).rows == 0);   // more than sixteen
    CHECK(vkf::viaSharedMatrixLayout(128, 64, 64, 16).rows == 0); // lanes that no position has bits for
    CHECK(vkf::viaSharedMatrixLayout(32, 32, 16, 16).rows == 0);  // rows
    CHECK(vkf::viaSharedMatrixLayout(32, 16, 16, 4).rows == 0);   // half a word of depth
    CHECK(vkf::viaSharedMatrixLayout(8, 8, 4, 8).rows == 0);      // half a word of columns
    CHECK(vkf::viaSharedMatrixLayout(32, 16, 12, 16).rows == 0);
    CHECK(vkf::viaSharedMatrixLayout(0, 16, 16, 16).rows == 0);
}

TEST_CASE("operands are filled from registers only where bits of lane and element are in order", "[planning]") {
    for (const Known& known : knownShapes) {
        const vkf::MatrixLayout layout = vkf::knownMatrixLayout(known.driver, known.lanes, known.rows, known.depth);
        CHECK(layout.fillsFromRegisters());
        vkf::MatrixLayout other = layout;
        other.rightTransposed = false;
        CHECK_FALSE(other.fillsFromRegisters());
        other = layout;
        std::swap(other.laneBits[0], other.laneBits[known.lanes == 32 ? 4 : 2]);
        CHECK(other.fillsFromRegisters() == (known.lanes == 8)); // lanes of one row alone may stand in any order
    }
    CHECK_FALSE(vkf::MatrixLayout{}.fillsFromRegisters());
}
