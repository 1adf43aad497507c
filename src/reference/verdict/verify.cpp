// SPDX-License-Identifier: MIT
//
// Judges an output by three CPU runs. The exact run says how far off the output is. Two runs with the kernel's
// roundings say how far off it may be: a device may round a multiply-add once or twice.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"
#include "reference/element.hpp"
#include "reference/row_magnitudes.hpp"
#include "reference/verdict/comparison.hpp"
#include "reference/verdict/contract_limits.hpp"
#include "reference/verdict/run.hpp"

namespace vkf {

// The last field of version 0.2.
VKF_FIRST_SIZE(VkfVerdict, worstReference);

} // namespace vkf

namespace vkf::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using RoundedRuns = std::array<Run, 2>;

// The number that an exact kernel stores: 16-bit types store their largest finite value for finite results past it.
double saturated(VkfType type, double x) {
    const double largest = formatOf(type).largest;
    return type == VKF_TYPE_F32 || !std::isfinite(x) ? x : std::clamp(x, -largest, largest);
}

// Calls visit(head, row, index of the row in the runs) for every selected row.
template <typename Visit> void forEachRow(const Call& call, const Visit& visit) {
    uint64_t index = 0;
    for (uint64_t head = 0; call.rows != 0 && head < call.heads(); head++) { // without rows heads may be any number
        for (uint32_t selected = 0; selected < call.rows; selected++) {
            visit(head, call.row(selected), index++);
        }
    }
}

Judgement judgeOutput(const Call& call, const void* o, const Run& exact, const RoundedRuns& rounded,
                      ContractLimits& limits) {
    const VkfTensorLayout& layout = call.layout(VKF_TENSOR_O);
    const uint64_t heads = call.problem.queryHeads;
    Comparison comparison;
    std::vector<double> values(layout.dim);
    forEachRow(call, [&](uint64_t head, uint64_t row, uint64_t index) {
        loadElements(layout.type, o, elementOf(layout, head / heads, head % heads, row), layout.dim, values.data(), 1);
        const bool empty = exact.lse[index] == -infinity;
        const bool mayOverflow = limits.mayOverflow(head / heads, head % heads, row);
        const RowMagnitudes& magnitudes = exact.magnitudes[index];
        const RowClass ofRow = {scoreClass(exact.lse[index], magnitudes.scores), valueClass(magnitudes.values)};
        for (uint32_t column = 0; column < layout.dim; column++) {
            const uint64_t i = index * layout.dim + column;
            const uint64_t element = (head * call.problem.queryRows + row) * layout.dim + column;
            const Rounded fp32 = {rounded[0].o[i], rounded[1].o[i]};
            const double reference = saturated(layout.type, exact.o[i]);
            // A row without visible keys must be exactly 0.
            const double error = empty && !mayOverflow ? (values[column] == 0.0 ? 0.0 : infinity)
                                                       : distance(values[column], reference, fp32, mayOverflow);
            comparison.add(ofRow, error, values[column], reference, fp32, element, magnitudes.error);
        }
    });
    return comparison.judge([&](const ClassErrors& errors) {
        return beyondRuns(2.0 * errors.estimate, errors) + floorUlps * ulp(layout.type, errors.largest);
    });
}

Judgement judgeLse(const Call& call, const float* lse, const Run& exact, const RoundedRuns& rounded,
                   ContractLimits& limits) {
    const uint64_t heads = call.problem.queryHeads;
    Comparison comparison;
    forEachRow(call, [&](uint64_t head, uint64_t row, uint64_t index) {
        const uint64_t element = head * call.problem.queryRows + row;
        const double scores = exact.magnitudes[index].scores;
        const auto value = static_cast<double>(lse[element]);
        const Rounded fp32 = {rounded[0].lse[index], rounded[1].lse[index]};
        const double error =
            distance(value, exact.lse[index], fp32, limits.mayOverflow(head / heads, head % heads, row));
        comparison.add({scoreClass(exact.lse[index], scores), 0}, error, value, exact.lse[index], fp32, element,
                       scoreError(scores));
    });
    return comparison.judge([](const ClassErrors& errors) {
        return beyondRuns(2.0 * errors.estimate, errors) + floorUlps * ulp(VKF_TYPE_F32, std::max(errors.largest, 1.0));
    });
}

VkfVerdict judge(const Call& call, const void* o, const float* lse) {
    // All runs cost about the same.
    const Run exact = runAlgorithm(call, VKF_REFERENCE_DIRECT, 0.0, 0.33);
    const RoundedRuns rounded = {runAlgorithm(call, VKF_REFERENCE_TILED_FP32, 0.33, 0.67),
                                 runAlgorithm(call, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, 0.67, 1.0)};

    ContractLimits limits(call);
    const Judgement ofO = judgeOutput(call, o, exact, rounded, limits);
    VkfVerdict verdict{};
    verdict.oError = ofO.error();
    verdict.oBound = ofO.bound;
    verdict.oRms = ofO.rms;
    verdict.worstElement = ofO.worst.element;
    verdict.worstValue = ofO.worst.value;
    verdict.worstReference = ofO.worst.reference;
    verdict.passed = ofO.passed() ? 1 : 0;
    if (lse != nullptr) {
        const Judgement ofLse = judgeLse(call, lse, exact, rounded, limits);
        verdict.lseError = ofLse.error();
        verdict.lseBound = ofLse.bound;
        verdict.passed = ofLse.passed() ? verdict.passed : 0;
    }
    return verdict;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceVerify(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                             const VkfReferenceOptions* options, const void* o, const float* lse, VkfVerdict* verdict,
                             VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        if (const VkfResult result = vkf::checkStructSize(verdict, "verdict", message); result != VKF_SUCCESS) {
            return result;
        }
        Call call{};
        if (const VkfResult result = checkCall(problem, inputs, options, &call, message); result != VKF_SUCCESS) {
            return result;
        }
        if (o == nullptr && !call.empty()) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "o is null");
        }
        return vkf::writeVersioned(judge(call, o, lse), verdict, "verdict", message);
    });
}
