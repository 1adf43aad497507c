// SPDX-License-Identifier: MIT
#include "tune/tuning_text.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace vkf::tools {

namespace {

std::string rangeText(uint32_t least, uint32_t most) {
    return least == most ? std::to_string(least) : fmt::format("{}..{}", least, most);
}

// What each bit of numbers below `count` adds.
std::string placesText(const VkfMatrixPosition* bits, uint32_t count) {
    std::string text;
    for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS && 1U << bit < count; ++bit)
        text += fmt::format("{}{}.{}", bit == 0 ? "" : ",", bits[bit].row, bits[bit].column);
    return text;
}

std::string elementsText(const VkfElementLayout& layout, uint32_t elements, uint32_t lanes) {
    return placesText(layout.elementBits, elements / lanes) + "/" + placesText(layout.laneBits, lanes);
}

} // namespace

ProblemClass::ProblemClass(const VkfProblem& measured, VkfPath path)
    : measured_(measured), path_(path), rows_(around(measured.queryRows)), keys_(around(measured.keys)),
      heads_(around(measured.batch * measured.queryHeads)) {}

// Classes of numbers that differ by a factor of two touch and do not overlap.
ProblemClass::Range ProblemClass::around(uint32_t number) {
    const double factor = std::numbers::sqrt2;
    const auto least = static_cast<uint32_t>(number / factor) + 1;
    return {std::min(least, number), static_cast<uint32_t>(number * factor)};
}

ProblemClass ProblemClass::narrowed() const {
    ProblemClass narrow = *this;
    const uint32_t heads = measured_.batch * measured_.queryHeads;
    narrow.rows_ = {measured_.queryRows, measured_.queryRows};
    narrow.keys_ = {measured_.keys, measured_.keys};
    narrow.heads_ = {heads, heads};
    return narrow;
}

VkfProblem ProblemClass::corner(uint32_t Range::*end) const {
    VkfProblem problem = measured_;
    problem.batch = 1;
    problem.queryHeads = problem.kvHeads = heads_.*end;
    problem.queryRows = rows_.*end;
    problem.keys = keys_.*end;
    return problem;
}

std::vector<VkfProblem> ProblemClass::corners() const { return {corner(&Range::least), corner(&Range::most)}; }

std::string ProblemClass::entry(const std::string& tile, const std::string& remark) const {
    return line(vkfPathName(path_), tile, remark);
}

std::string ProblemClass::gradientEntry(const std::string& kernel, const std::string& tile,
                                        const std::string& remark) const {
    return line(fmt::format("{}-{}", vkfPathName(path_), kernel), tile, remark);
}

std::string ProblemClass::line(const std::string& firstWord, const std::string& tile, const std::string& remark) const {
    const uint32_t valueDim = measured_.valueDim != 0 ? measured_.valueDim : measured_.headDim;
    return fmt::format("{} type={} masked={} headDim={} valueDim={} rows={} keys={} heads={} {}{}{}", firstWord,
                       vkfTypeName(measured_.q.type), has(measured_, VKF_USE_CAUSAL) ? "yes" : "no", measured_.headDim,
                       valueDim, rangeText(rows_.least, rows_.most), rangeText(keys_.least, keys_.most),
                       rangeText(heads_.least, heads_.most), tile, remark.empty() ? "" : " # ", remark);
}

std::string matrixLine(const VkfMatrixLayout& layout) {
    const auto [type, rows, columns, depth, lanes, reserved, result, left, right] = layout;
    return fmt::format("matrix type={} rows={} columns={} depth={} lanes={} result={} left={} right={}",
                       vkfTypeName(type), rows, columns, depth, lanes, elementsText(result, rows * columns, lanes),
                       elementsText(left, rows * depth, lanes), elementsText(right, depth * columns, lanes));
}

std::string tuningText(const host::DeviceSummary& device, const std::vector<std::string>& entries) {
    std::string text =
        fmt::format("vkflash tuning 1\n# {}, {}, vkflash {}.{}.{}\ndevice vendor={:#06x} device={:#06x} driver={}\n",
                    device.name, device.driver, VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH,
                    device.vendorId, device.deviceId, static_cast<uint32_t>(device.driverId));
    for (const std::string& entry : entries)
        text += entry + "\n";
    return text;
}

} // namespace vkf::tools
