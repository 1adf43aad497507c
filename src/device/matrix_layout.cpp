// SPDX-License-Identifier: MIT
#include "device/matrix_layout.hpp"

#include <algorithm>
#include <bit>

namespace vkf {
namespace {

struct KnownLayout {
    VkDriverId driver;
    MatrixLayout layout;
};

// shaders/matrix/matrix_layout.glsl explains the bits, with an example of both. The layouts were seen on an H200 with
// driver 580.159.04, and on llvmpipe of Mesa 26.1.6. They are defaults: layouts that the application gives go first.
constexpr std::array knownLayouts = {
    // Four neighbouring lanes share a row, and the row eight below it.
    KnownLayout{
        VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        {16, 16, 16, 32, {{{0, 1}, {0, 8}, {8, 0}}}, {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}, false, true, 8}},
    // A lane holds a column.
    KnownLayout{VK_DRIVER_ID_MESA_LLVMPIPE,
                {8, 8, 8, 8, {{{1, 0}, {2, 0}, {4, 0}}}, {{{0, 1}, {0, 2}, {0, 4}}}, false, true}},
};

} // namespace

uint32_t MatrixLayout::fragmentRowElements() const {
    uint32_t elements = 1;
    for (const Position& position : elementBits) {
        if (position.row != 0 || position.column == 0) {
            break;
        }
        elements *= 2;
    }
    return elements;
}

uint32_t MatrixLayout::columnLanes() const {
    uint32_t mask = 0;
    for (uint32_t bit = 0; bit < laneBits.size(); bit++) {
        mask |= laneBits[bit].column != 0 ? 1U << bit : 0;
    }
    return mask;
}

MatrixLayout::Position MatrixLayout::positionOf(uint32_t element, uint32_t lane) const {
    Position sum{0, 0};
    const auto add = [&sum](uint32_t number, const auto& bits) {
        for (uint32_t bit = 0; bit < bits.size(); bit++) {
            sum.row += (number >> bit & 1) * bits[bit].row;
            sum.column += (number >> bit & 1) * bits[bit].column;
        }
    };
    add(element, elementBits);
    add(lane, laneBits);
    return sum;
}

bool MatrixLayout::fillsFromRegisters() const {
    const uint32_t depthLanes = columnLanes() + 1;
    const bool square = rows != 0 && rows == depth && columns == depth;
    if (!square || viaShared || !rightTransposed || (depthLanes & columnLanes()) != 0) {
        return false;
    }
    const bool inPairs = elementBits[0].row + elementBits[0].column == 1;
    const uint32_t smallShapeElements = fragmentRowElements() * fewestColumns() / columns;
    if (!inPairs || smallShapeElements == 0) {
        return false;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t element = 0; element < elements(); element++) {
            const Position position = positionOf(element, lane);
            const bool inSmallShape = element % fragmentRowElements() < smallShapeElements;
            if (position.row != lane / depthLanes + element / fragmentRowElements() * (lanes / depthLanes) ||
                (inSmallShape && position.column >= fewestColumns())) {
                return false;
            }
        }
    }
    return true;
}

const MatrixLayout& larger(const MatrixLayout& a, const MatrixLayout& b) {
    return uint64_t{b.rows} * b.columns * b.depth > uint64_t{a.rows} * a.columns * a.depth ? b : a;
}

// A row consists of words of eight elements. A lane has 4 to 16 elements of a result, and at least 2 of a left operand.
// A row or column number has four bits.
bool suitsKernels(uint32_t lanes, uint32_t rows, uint32_t columns, uint32_t depth) {
    constexpr uint32_t wordElements = 8;
    constexpr uint32_t maxLanes = 64;
    constexpr uint32_t maxRows = 16;
    const bool powersOfTwo = std::has_single_bit(lanes) && std::has_single_bit(rows) && std::has_single_bit(columns) &&
                             std::has_single_bit(depth);
    return powersOfTwo && lanes <= maxLanes && rows <= maxRows && columns >= wordElements && columns <= maxRows &&
           depth >= wordElements && rows * columns >= 4 * lanes && rows * columns <= 16 * lanes &&
           rows * depth >= 2 * lanes;
}

MatrixLayout knownMatrixLayout(VkDriverId driver, uint32_t subgroupSize, uint32_t rows, uint32_t depth) {
    const auto found = std::find_if(knownLayouts.begin(), knownLayouts.end(), [&](const KnownLayout& known) {
        return known.driver == driver && known.layout.lanes == subgroupSize && known.layout.rows == rows &&
               known.layout.depth == depth;
    });
    return found == knownLayouts.end() ? MatrixLayout{} : found->layout;
}

MatrixLayout viaSharedMatrixLayout(uint32_t subgroupSize, uint32_t rows, uint32_t columns, uint32_t depth) {
    if (!suitsKernels(subgroupSize, rows, columns, depth)) {
        return {};
    }
    MatrixLayout layout{rows, columns, depth, subgroupSize, {}, {}, true};
    const uint32_t fragmentRow = std::min(layout.elements(), columns);
    MatrixLayout::Position next{0, 1};
    // Returns what the next bit adds: to the column while there are columns, then to the row.
    const auto take = [&next, columns] {
        const MatrixLayout::Position taken = next;
        next = taken.row != 0 ? MatrixLayout::Position{taken.row * 2, 0} : MatrixLayout::Position{0, taken.column * 2};
        if (next.column == columns) {
            next = {1, 0};
        }
        return taken;
    };
    size_t elementBit = 0;
    for (uint32_t elements = 1; elements < fragmentRow; elements *= 2) {
        layout.elementBits[elementBit++] = take();
    }
    for (size_t laneBit = 0; 1U << laneBit < subgroupSize; laneBit++) {
        layout.laneBits[laneBit] = take();
    }
    for (uint32_t elements = fragmentRow; elements < layout.elements(); elements *= 2) {
        layout.elementBits[elementBit++] = take();
    }
    return layout;
}

} // namespace vkf
