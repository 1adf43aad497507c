// SPDX-License-Identifier: MIT
#include "host/matrices/matrix_layouts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>

#include <vkflash/inspect.h>
#include <vkflash/tuning.h>
#include <vkflash/vkflash.hpp>

#include "host/error.hpp"
#include "host/matrices/element_layout_params.h"
#include "host/matrices/layout_kernel.hpp"
#include "host/matrices/matrix_loads.hpp"

namespace vkf::host {
namespace {

constexpr std::array matrixTypes = {VKF_TYPE_F16, VKF_TYPE_BF16};
constexpr std::array matrixNames = {"result", "left", "right"}; // VKF_ELEMENT_RESULT and so on

// The sizes of one matrix of a product.
struct Size {
    uint32_t rows;
    uint32_t columns;
};

Size sizeOf(const MatrixShape& shape, uint32_t matrix) {
    return {matrix == VKF_ELEMENT_RIGHT ? shape.depth : shape.rows,
            matrix == VKF_ELEMENT_LEFT ? shape.depth : shape.columns};
}

MatrixShape shapeOf(const VkfMatrixLayout& layout) {
    return {layout.type, layout.rows, layout.columns, layout.depth, layout.lanes};
}

std::string textOf(const MatrixShape& shape) {
    return std::string(vkfTypeName(shape.type)) + " matrices of " + std::to_string(shape.rows) + "x" +
           std::to_string(shape.columns) + "x" + std::to_string(shape.depth);
}

const std::array<VkfElementLayout VkfMatrixLayout::*, VKF_ELEMENT_MATRICES> elementLayouts = {
    &VkfMatrixLayout::result, &VkfMatrixLayout::left, &VkfMatrixLayout::right};

// None if the library cannot multiply the type on this device, with the features that are enabled.
std::optional<VkfMatrixInfo> matrixInfoOf(const DeviceState& state, VkfType type) {
    auto info = make<VkfMatrixInfo>();
    return vkfGetMatrixInfo(state.context(), type, &info, nullptr) == VKF_SUCCESS ? std::optional(info) : std::nullopt;
}

// Whether the test tells all elements of operands of the shape apart, and their numbers are exact in 16 bits. The
// kernels take no larger shapes.
bool isTestable(const MatrixShape& shape) {
    constexpr uint32_t most = 16;
    const auto fits = [](uint32_t size) { return size <= most && std::has_single_bit(size); };
    return fits(shape.rows) && fits(shape.columns) && fits(shape.depth) && shape.columns % 8 == 0 &&
           shape.depth % 8 == 0 && shape.depth <= 2 * shape.rows && shape.depth <= 2 * shape.columns;
}

std::vector<MatrixShape> shapesOf(const DeviceState& state, VkfType type) {
    const auto get =
        reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(state.instance().getInstanceProcAddr()(
            state.instance().handle(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
    if (get == nullptr) {
        return {};
    }
    uint32_t count = 0;
    constexpr const char* name = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
    check(get(state.device().physicalDevice(), &count, nullptr), name);
    VkCooperativeMatrixPropertiesKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    std::vector<VkCooperativeMatrixPropertiesKHR> all(count, empty);
    check(get(state.device().physicalDevice(), &count, all.data()), name);
    const VkComponentTypeKHR component =
        type == VKF_TYPE_BF16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR;
    std::vector<MatrixShape> shapes;
    for (const VkCooperativeMatrixPropertiesKHR& one : all) {
        const MatrixShape shape{type, one.MSize, one.NSize, one.KSize, state.summary().subgroupSize};
        if (one.AType == component && one.BType == component && one.CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
            one.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && one.scope == VK_SCOPE_SUBGROUP_KHR &&
            isTestable(shape)) {
            shapes.push_back(shape);
        }
    }
    return shapes;
}

uint32_t positionOf(const VkfElementLayout& layout, uint32_t element, uint32_t lane) {
    uint32_t row = 0;
    uint32_t column = 0;
    for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS; bit++) {
        row += (element >> bit & 1) * layout.elementBits[bit].row + (lane >> bit & 1) * layout.laneBits[bit].row;
        column +=
            (element >> bit & 1) * layout.elementBits[bit].column + (lane >> bit & 1) * layout.laneBits[bit].column;
    }
    return VKF_ELEMENT_POSITION(row, column);
}

// The positions of all elements, those of one lane after the other.
std::vector<uint32_t> positionsOf(const VkfElementLayout& layout, uint32_t elements, uint32_t lanes) {
    std::vector<uint32_t> positions;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t element = 0; element < elements; element++) {
            positions.push_back(positionOf(layout, element, lane));
        }
    }
    return positions;
}

// The linear layout with these positions, or none if the positions are not linear in the bits of element and lane.
std::optional<VkfElementLayout> linearLayout(const uint32_t* positions, uint32_t elements, uint32_t lanes) {
    VkfElementLayout layout{};
    const auto readBits = [&](VkfMatrixPosition* bits, uint32_t count, uint32_t distance) {
        for (uint32_t bit = 0; 1U << bit < count; bit++) {
            const uint32_t position = positions[size_t{distance} << bit];
            bits[bit] = {static_cast<uint16_t>(VKF_ELEMENT_POSITION_ROW(position)),
                         static_cast<uint16_t>(VKF_ELEMENT_POSITION_COLUMN(position))};
        }
    };
    readBits(layout.elementBits, elements, 1);
    readBits(layout.laneBits, lanes, elements);
    const std::vector<uint32_t> linear = positionsOf(layout, elements, lanes);
    return std::equal(linear.begin(), linear.end(), positions) ? std::optional(layout) : std::nullopt;
}

// The layout of a shape, or none if kernels cannot use it.
std::optional<VkfMatrixLayout> measure(LayoutKernel& kernel, const MatrixShape& shape) {
    kernel.run(VKF_ELEMENT_MEASURE);
    VkfMatrixLayout layout{};
    layout.type = shape.type;
    layout.rows = shape.rows;
    layout.columns = shape.columns;
    layout.depth = shape.depth;
    layout.lanes = shape.lanes;
    for (uint32_t matrix = 0; matrix < VKF_ELEMENT_MATRICES; matrix++) {
        const Size size = sizeOf(shape, matrix);
        const uint32_t elements = kernel.elementsOf(VKF_ELEMENT_MEASURED + matrix);
        // A driver may keep an element in several invocations.
        if (uint64_t{elements} * shape.lanes != uint64_t{size.rows} * size.columns) {
            return std::nullopt;
        }
        const auto linear = linearLayout(kernel.wordsOf(VKF_ELEMENT_MEASURED + matrix), elements, shape.lanes);
        if (!linear) {
            return std::nullopt;
        }
        layout.*elementLayouts[matrix] = *linear;
    }
    return vkfCheckMatrixLayout(&layout, nullptr) == VKF_SUCCESS ? std::optional(layout) : std::nullopt;
}

// The value that the product has at a position, in the test of a matrix.
int32_t expectedValue(const MatrixShape& shape, uint32_t tested, uint32_t row, uint32_t column) {
    const auto value = [&](uint32_t matrix, uint32_t r, uint32_t c) {
        const Size size = sizeOf(shape, matrix);
        return shared::elementValue(tested, matrix, r, c, size.rows, size.columns);
    };
    int32_t sum = value(VKF_ELEMENT_RESULT, row, column);
    for (uint32_t k = 0; k < shape.depth; k++) {
        sum += value(VKF_ELEMENT_LEFT, row, k) * value(VKF_ELEMENT_RIGHT, k, column);
    }
    return sum;
}

[[noreturn]] void refuse(const MatrixShape& shape, uint32_t matrix, const std::string& reason) {
    throw Error(VKF_ERROR_INVALID_ARGUMENT, "the element layout of " + textOf(shape) +
                                                " is not that of this device: " + matrixNames[matrix] + ": " + reason);
}

// Compares the product of the test of one matrix with the product on the CPU. All values are whole numbers that fp32
// holds exactly.
void compare(const LayoutKernel& kernel, const MatrixShape& shape, uint32_t matrix) {
    const Size size = sizeOf(shape, matrix);
    const uint32_t assumed = size.rows * size.columns / shape.lanes;
    if (const uint32_t elements = kernel.elementsOf(VKF_ELEMENT_TESTED + matrix); elements != assumed) {
        refuse(shape, matrix,
               "an invocation holds " + std::to_string(elements) + " elements, not " + std::to_string(assumed));
    }
    const uint32_t* const product = kernel.wordsOf(VKF_ELEMENT_TESTED + matrix);
    for (uint32_t i = 0; i < shape.rows * shape.columns; i++) {
        const uint32_t row = i / shape.columns;
        const uint32_t column = i % shape.columns;
        const auto expected = static_cast<float>(expectedValue(shape, matrix, row, column));
        if (std::bit_cast<float>(product[i]) != expected) {
            refuse(shape, matrix,
                   "a known product is wrong in row " + std::to_string(row) + ", column " + std::to_string(column));
        }
    }
}

void test(LayoutKernel& kernel, const VkfMatrixLayout& layout) {
    const MatrixShape shape = shapeOf(layout);
    for (uint32_t matrix = 0; matrix < VKF_ELEMENT_MATRICES; matrix++) {
        const Size size = sizeOf(shape, matrix);
        const uint32_t elements = size.rows * size.columns / shape.lanes;
        kernel.write(VKF_ELEMENT_ASSUMED + matrix, elements,
                     positionsOf(layout.*elementLayouts[matrix], elements, shape.lanes));
    }
    kernel.run(VKF_ELEMENT_TEST);
    for (uint32_t matrix = 0; matrix < VKF_ELEMENT_MATRICES; matrix++) {
        compare(kernel, shape, matrix);
    }
}

// Refuses a layout that no kernel can use, or whose shape the device lacks.
void requireShape(DeviceState& state, const VkfMatrixLayout& layout) {
    VkfMessage message{};
    check(vkfCheckMatrixLayout(&layout, &message), message);
    const MatrixShape shape = shapeOf(layout);
    const std::vector<MatrixShape> shapes = shapesOf(state, shape.type);
    const bool exists =
        matrixInfoOf(state, shape.type) && std::any_of(shapes.begin(), shapes.end(), [&](const MatrixShape& one) {
            return one.rows == shape.rows && one.columns == shape.columns && one.depth == shape.depth &&
                   one.lanes == shape.lanes;
        });
    if (!exists) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, "this device multiplies no " + textOf(shape) + " in subgroups of " +
                                                    std::to_string(shape.lanes) + ", or there is no test for them");
    }
}

// Whether an error says no more than that a shape cannot be examined: the driver cannot compile the kernel, this build
// lacks it, or a layout failed its test. The library then does without the layout.
bool isAboutShape(const Error& error) {
    const VkfResult result = error.result();
    return result == VKF_ERROR_VULKAN || result == VKF_ERROR_UNSUPPORTED || result == VKF_ERROR_INVALID_ARGUMENT;
}

// Tests the loads of all shapes of a type that kernels may use. Measures their layouts too, if `measures`, and adds
// those that can be relied on.
void examineType(DeviceState& state, VkfType type, bool measures, MatrixFindings* findings) {
    for (const MatrixShape& shape : shapesOf(state, type)) {
        try {
            LayoutKernel kernel(state, shape);
            if (!loadsMatricesRight(kernel, shape)) {
                findings->loadsWrong = true;
                return;
            }
            if (const auto layout = measures ? measure(kernel, shape) : std::nullopt) {
                test(kernel, *layout);
                findings->layouts.push_back(*layout);
            }
        } catch (const Error& error) {
            if (!isAboutShape(error)) {
                throw;
            }
        }
    }
}

// Takes the layouts of the tuning data that pass their test. Leaves out those that this build cannot test.
void takeTuning(DeviceState& state, MatrixFindings* findings) {
    for (uint32_t i = 0; i < vkfGetTuningMatrixLayoutCount(state.context()) && !findings->loadsWrong; i++) {
        VkfMatrixLayout layout;
        VkfMessage message{};
        check(vkfGetTuningMatrixLayout(state.context(), i, &layout, &message), message);
        try {
            requireShape(state, layout);
            LayoutKernel kernel(state, shapeOf(layout));
            findings->loadsWrong = !loadsMatricesRight(kernel, shapeOf(layout));
            if (!findings->loadsWrong) {
                test(kernel, layout);
                findings->layouts.push_back(layout);
            }
        } catch (const Error& error) {
            if (error.result() == VKF_ERROR_INVALID_ARGUMENT) {
                throw Error(error.result(),
                            std::string("tuning: ") + error.what() + "; vkflash tune measures it again");
            }
            if (error.result() != VKF_ERROR_UNSUPPORTED) {
                throw;
            }
        }
    }
}

} // namespace

std::vector<VkfMatrixLayout> measureMatrixLayouts(DeviceState& state, VkfType type) {
    MatrixFindings findings;
    if (matrixInfoOf(state, type)) {
        examineType(state, type, true, &findings);
    }
    return findings.loadsWrong ? std::vector<VkfMatrixLayout>{} : findings.layouts;
}

void testMatrixLayout(DeviceState& state, const VkfMatrixLayout& layout) {
    requireShape(state, layout);
    LayoutKernel kernel(state, shapeOf(layout));
    if (!loadsMatricesRight(kernel, shapeOf(layout))) {
        throw Error(VKF_ERROR_UNSUPPORTED,
                    "this device loads " + textOf(shapeOf(layout)) + " wrong from shared memory");
    }
    test(kernel, layout);
}

MatrixFindings examineMatrices(DeviceState& state, const DeviceOptions& options) {
    MatrixFindings findings;
    if (options.layoutSource == LayoutSource::builtIn) {
        return findings;
    }
    const bool always = options.layoutSource == LayoutSource::measured;
    const bool takesLayouts = (options.quirks & VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT) == 0;
    if (!always && takesLayouts) {
        takeTuning(state, &findings);
    }
    for (const VkfType type : matrixTypes) {
        const std::optional<VkfMatrixInfo> info = matrixInfoOf(state, type);
        const bool isChosen = std::any_of(findings.layouts.begin(), findings.layouts.end(),
                                          [type](const VkfMatrixLayout& layout) { return layout.type == type; });
        if (info && !isChosen && !findings.loadsWrong && (always || info->layoutKnown == 0)) {
            examineType(state, type, takesLayouts, &findings);
        }
    }
    return findings.loadsWrong ? MatrixFindings{{}, true} : findings;
}

} // namespace vkf::host
