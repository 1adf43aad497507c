// SPDX-License-Identifier: MIT
#include "tiles/tuning/matrix_line.hpp"

#include <array>

#include "device/application_layouts.hpp"

namespace vkf {
namespace {

// The kernels take sizes up to 16, and later versions may take more.
constexpr uint32_t maxRows = 256;
constexpr uint32_t maxLanes = 256;

enum MatrixField { type, rows, columns, depth, lanes, result, left, right, matrixFieldCount };
constexpr std::array<TuningField, matrixFieldCount> matrixFields = {{{"type", 0, 0},
                                                                     {"rows", 1, maxRows},
                                                                     {"columns", 1, maxRows},
                                                                     {"depth", 1, maxRows},
                                                                     {"lanes", 1, maxLanes},
                                                                     {"result", 0, maxRows},
                                                                     {"left", 0, maxRows},
                                                                     {"right", 0, maxRows}}};

// Reads "0.1,0.8,8.0": the row and the column that each bit adds. The text may be empty.
bool readPositions(TuningReader& reader, const TuningField& field, std::string_view text,
                   VkfMatrixPosition (&positions)[VKF_MATRIX_POSITION_BITS]) {
    for (uint32_t bit = 0; !text.empty(); bit++) {
        std::string_view column = cutText(&text, ",");
        const std::string_view row = cutText(&column, ".");
        if (bit == VKF_MATRIX_POSITION_BITS) {
            return reader.refuse("%s: more than %u bits", ShownText(field.name).text, VKF_MATRIX_POSITION_BITS);
        }
        uint32_t numbers[2];
        if (!reader.readNumber(field, row, &numbers[0]) || !reader.readNumber(field, column, &numbers[1])) {
            return false;
        }
        positions[bit] = {static_cast<uint16_t>(numbers[0]), static_cast<uint16_t>(numbers[1])};
    }
    return true;
}

// Reads "0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0": bits of the element, then bits of the lane.
bool readElementLayout(TuningReader& reader, const TuningField& field, std::string_view text,
                       VkfElementLayout* layout) {
    std::string_view ofLanes = text;
    const std::string_view ofElements = cutText(&ofLanes, "/");
    return readPositions(reader, field, ofElements, layout->elementBits) &&
           readPositions(reader, field, ofLanes, layout->laneBits);
}

} // namespace

bool readMatrixLine(TuningReader& reader, std::string_view line, VkfMatrixLayout* layout, bool* usable) {
    std::array<std::string_view, matrixFieldCount> values{};
    if (!reader.readFields(line, matrixFields, values)) {
        return false;
    }
    const bool isF16 = values[type] == vkfTypeName(VKF_TYPE_F16);
    if (!isF16 && values[type] != vkfTypeName(VKF_TYPE_BF16)) {
        return reader.refuse("type=%s: takes f16 or bf16", ShownText(values[type]).text);
    }
    *layout = {};
    layout->type = isF16 ? VKF_TYPE_F16 : VKF_TYPE_BF16;
    const auto readSize = [&](MatrixField field, uint32_t* size) {
        return reader.readNumber(matrixFields[field], values[field], size);
    };
    const auto readLayout = [&](MatrixField field, VkfElementLayout* of) {
        return readElementLayout(reader, matrixFields[field], values[field], of);
    };
    if (!readSize(rows, &layout->rows) || !readSize(columns, &layout->columns) || !readSize(depth, &layout->depth) ||
        !readSize(lanes, &layout->lanes) || !readLayout(result, &layout->result) || !readLayout(left, &layout->left) ||
        !readLayout(right, &layout->right)) {
        return false;
    }
    VkfMessage detail{};
    const VkfResult read = readMatrixLayout(*layout, nullptr, &detail);
    *usable = read == VKF_SUCCESS;
    return read != VKF_ERROR_INVALID_ARGUMENT || reader.refuse("%s", detail.text);
}

} // namespace vkf
