// SPDX-License-Identifier: MIT
#include "device/application_layouts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/message.hpp"

namespace vkf {
namespace {

using Position = MatrixLayout::Position;

// One of the three matrices of a product.
struct Matrix {
    const char* name;
    const VkfElementLayout& layout;
    uint32_t rows;
    uint32_t columns;
    uint32_t lanes;

    uint32_t elements() const { return rows * columns / lanes; } // of an invocation
    Position positionOf(uint32_t element, uint32_t lane) const {
        Position sum{0, 0};
        for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS; bit++) {
            for (const auto& [number, bits] :
                 {std::pair{element, layout.elementBits}, std::pair{lane, layout.laneBits}}) {
                sum.row += (number >> bit & 1) * bits[bit].row;
                sum.column += (number >> bit & 1) * bits[bit].column;
            }
        }
        return sum;
    }
};

std::array<Matrix, 3> matricesOf(const VkfMatrixLayout& layout) {
    return {{{"result", layout.result, layout.rows, layout.columns, layout.lanes},
             {"left", layout.left, layout.rows, layout.depth, layout.lanes},
             {"right", layout.right, layout.depth, layout.columns, layout.lanes}}};
}

bool isZero(const VkfMatrixPosition& position) { return position.row == 0 && position.column == 0; }

VkfResult checkSizes(const VkfMatrixLayout& layout, VkfMessage* message) {
    if (layout.type != VKF_TYPE_F16 && layout.type != VKF_TYPE_BF16) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "type is %d; it must be VKF_TYPE_F16 or VKF_TYPE_BF16",
                    layout.type);
    }
    if (layout.rows == 0 || layout.columns == 0 || layout.depth == 0 || layout.lanes == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a product of %ux%ux%u in %u lanes does not exist",
                    layout.rows, layout.columns, layout.depth, layout.lanes);
    }
    if (std::any_of(std::begin(layout.reserved), std::end(layout.reserved),
                    [](uint32_t field) { return field != 0; })) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "reserved must be 0");
    }
    if (!suitsKernels(layout.lanes, layout.rows, layout.columns, layout.depth)) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "kernels cannot use matrices of %ux%ux%u in %u lanes", layout.rows,
                    layout.columns, layout.depth, layout.lanes);
    }
    return VKF_SUCCESS;
}

// Refuses positions of bits that no number of an element or a lane has.
VkfResult checkBits(const Matrix& matrix, VkfMessage* message) {
    const struct {
        const char* name;
        const VkfMatrixPosition* bits;
        uint32_t count; // of the numbers
        const char* what;
    } lists[] = {{"elementBits", matrix.layout.elementBits, matrix.elements(), "elements in an invocation"},
                 {"laneBits", matrix.layout.laneBits, matrix.lanes, "lanes"}};
    for (const auto& list : lists) {
        for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS; bit++) {
            if (list.count >> bit <= 1 && !isZero(list.bits[bit])) {
                return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s: %s[%u] is not 0, but there are %u %s",
                            matrix.name, list.name, bit, list.count, list.what);
            }
        }
    }
    return VKF_SUCCESS;
}

// Refuses a layout in which two elements share a position, or an element has a position outside of the matrix. The bits
// of other layouts all add a power of two of rows or of columns, because other sums do not reach each position once.
VkfResult checkPermutation(const Matrix& matrix, VkfMessage* message) {
    constexpr uint32_t nobody = UINT32_MAX;
    const uint32_t elements = matrix.elements();
    std::vector<uint32_t> owners(size_t{matrix.rows} * matrix.columns, nobody);
    for (uint32_t number = 0; number < owners.size(); number++) {
        const uint32_t element = number % elements;
        const uint32_t lane = number / elements;
        const Position position = matrix.positionOf(element, lane);
        if (position.row >= matrix.rows || position.column >= matrix.columns) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "%s: element %u of lane %u is at row %u, column %u, outside of a matrix of %ux%u", matrix.name,
                        element, lane, position.row, position.column, matrix.rows, matrix.columns);
        }
        uint32_t& owner = owners[size_t{position.row} * matrix.columns + position.column];
        if (owner != nobody) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "%s: not a permutation: element %u of lane %u and element %u of lane %u are both at row %u, "
                        "column %u",
                        matrix.name, owner % elements, owner / elements, element, lane, position.row, position.column);
        }
        owner = number;
    }
    return VKF_SUCCESS;
}

// Whether the elements of an invocation that lie in one row have consecutive numbers, in the order of their columns.
bool hasFragmentRows(const VkfElementLayout& layout) {
    uint32_t lastColumn = 0;
    bool rows = false;
    return std::all_of(std::begin(layout.elementBits), std::end(layout.elementBits),
                       [&](const VkfMatrixPosition& position) {
                           rows = rows || position.row != 0;
                           const bool inOrder = position.column == 0 || (!rows && position.column > lastColumn);
                           lastColumn = std::max<uint32_t>(lastColumn, position.column);
                           return inOrder;
                       });
}

bool isAlike(const VkfElementLayout& a, const VkfElementLayout& b, bool transposed) {
    const auto same = [transposed](const VkfMatrixPosition& x, const VkfMatrixPosition& y) {
        return transposed ? x.row == y.column && x.column == y.row : x.row == y.row && x.column == y.column;
    };
    return std::equal(std::begin(a.elementBits), std::end(a.elementBits), std::begin(b.elementBits), same) &&
           std::equal(std::begin(a.laneBits), std::end(a.laneBits), std::begin(b.laneBits), same);
}

VkfResult checkForm(const VkfMatrixLayout& layout, VkfMessage* message) {
    if (!hasFragmentRows(layout.result)) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "result: kernels need low bits of the element that choose a column, in rising order");
    }
    if (layout.columns == layout.depth && !isAlike(layout.result, layout.left, false)) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "left: kernels need left operands that are laid out like results");
    }
    return VKF_SUCCESS;
}

template <size_t count>
void copyPositions(const VkfMatrixPosition (&from)[VKF_MATRIX_POSITION_BITS], std::array<Position, count>* to) {
    std::transform(from, from + count, to->begin(), [](const VkfMatrixPosition& position) {
        return Position{position.row, position.column};
    });
}

// Whether the small shape is laid out like the full shape without the columns that it lacks.
bool isSmallShapeOf(const VkfMatrixLayout& full, const VkfMatrixLayout& small) {
    const auto fullMatrices = matricesOf(full);
    const auto smallMatrices = matricesOf(small);
    for (const size_t i : {0U, 2U}) { // result, right operand
        const Matrix& fullMatrix = fullMatrices[i];
        for (uint32_t lane = 0; lane < full.lanes; lane++) {
            uint32_t next = 0;
            for (uint32_t element = 0; element < fullMatrix.elements(); element++) {
                const Position position = fullMatrix.positionOf(element, lane);
                if (position.column < small.columns && smallMatrices[i].positionOf(next++, lane) != position) {
                    return false;
                }
            }
        }
    }
    return isAlike(full.left, small.left, false);
}

bool isOfShape(const VkfMatrixLayout& layout, const MatrixShape& shape) {
    return shape.type == layout.type && shape.rows == layout.rows && shape.columns == layout.columns &&
           shape.depth == layout.depth;
}

// Chooses among the application's layouts of a type: the largest one that kernels can use, and the shape with the
// fewest columns beside it. Changes nothing if no layout is about the type.
void useLayoutsOf(VkfType type, std::span<const VkfMatrixLayout> layouts, MatrixUse* use) {
    MatrixLayout best;
    const VkfMatrixLayout* full = nullptr;
    for (const VkfMatrixLayout& one : layouts) {
        if (one.type != type || one.columns != one.depth) {
            continue;
        }
        use->fromApplication = true;
        MatrixLayout layout;
        if (readMatrixLayout(one, &layout, nullptr) == VKF_SUCCESS && &larger(best, layout) == &layout) {
            best = layout;
            full = &one;
        }
    }
    for (const VkfMatrixLayout& one : layouts) {
        const bool isSmall = full != nullptr && one.type == type && one.rows == full->rows &&
                             one.depth == full->depth && one.columns < best.fewestColumns();
        if (isSmall && readMatrixLayout(one, nullptr, nullptr) == VKF_SUCCESS && isSmallShapeOf(*full, one)) {
            best.smallShapeColumns = one.columns;
        }
    }
    if (use->fromApplication) {
        use->known = best;
    }
}

} // namespace

VkfResult readMatrixLayout(const VkfMatrixLayout& from, MatrixLayout* layout, VkfMessage* message) {
    VkfResult result = checkSizes(from, message);
    for (const Matrix& matrix : matricesOf(from)) {
        result = result == VKF_SUCCESS ? checkBits(matrix, message) : result;
        result = result == VKF_SUCCESS ? checkPermutation(matrix, message) : result;
    }
    result = result == VKF_SUCCESS ? checkForm(from, message) : result;
    if (result == VKF_SUCCESS && layout != nullptr) {
        *layout = {from.rows, from.columns, from.depth, from.lanes,
                   {},        {},           false,      isAlike(from.left, from.right, true)};
        copyPositions(from.result.elementBits, &layout->elementBits);
        copyPositions(from.result.laneBits, &layout->laneBits);
    }
    return result;
}

VkfResult useMatrixLayouts(std::span<const VkfMatrixLayout> layouts, Caps* caps, VkfMessage* message) {
    for (size_t i = 0; i < layouts.size(); i++) {
        VkfMessage detail{};
        if (readMatrixLayout(layouts[i], nullptr, &detail) == VKF_ERROR_INVALID_ARGUMENT) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "matrixLayouts[%zu]: %s", i, detail.text);
        }
        const bool exists = layouts[i].lanes == caps->subgroupSize &&
                            std::any_of(caps->matrixShapes.begin(), caps->matrixShapes.end(),
                                        [&](const MatrixShape& shape) { return isOfShape(layouts[i], shape); });
        if (!exists) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "matrixLayouts[%zu]: this device multiplies no %s matrices of %ux%ux%u in subgroups of %u", i,
                        vkfTypeName(layouts[i].type), layouts[i].rows, layouts[i].columns, layouts[i].depth,
                        layouts[i].lanes);
        }
    }
    useLayoutsOf(VKF_TYPE_F16, layouts, &caps->f16Matrix);
    useLayoutsOf(VKF_TYPE_BF16, layouts, &caps->bf16Matrix);
    return VKF_SUCCESS;
}

} // namespace vkf

VkfResult vkfCheckMatrixLayout(const VkfMatrixLayout* layout, VkfMessage* message) {
    return layout != nullptr ? vkf::readMatrixLayout(*layout, nullptr, message)
                             : vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "layout is null");
}
