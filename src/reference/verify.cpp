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
#include "reference/comparison.hpp"
#include "reference/element.hpp"
#include "reference/rows.hpp"

namespace vkf {

// The last field of version 0.2.
VKF_FIRST_SIZE(VkfVerdict, worstReference);

} // namespace vkf

namespace vkf::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Run {
    std::vector<double> o;   // [heads, selected rows, valueDim]
    std::vector<double> lse; // [heads, selected rows]
};

Run runAlgorithm(const Call& call, VkfReferenceAlgorithm algorithm, double progressBegin, double progressEnd) {
    Call variant = call;
    variant.options.algorithm = algorithm;
    variant.options.probabilities = nullptr;
    Run run;
    run.lse.resize(call.heads() * call.rows);
    run.o.resize(run.lse.size() * call.layout(VKF_TENSOR_O).dim);
    computeRows(variant, {run.o.data(), run.lse.data(), true}, progressBegin, progressEnd);
    return run;
}

using RoundedRuns = std::array<Run, 2>;

// The number that an exact kernel stores: 16-bit types store their largest finite value for finite results past it.
double saturated(VkfType type, double x) {
    const double largest = formatOf(type).largest;
    return type == VKF_TYPE_F32 || !std::isfinite(x) ? x : std::clamp(x, -largest, largest);
}

// Calls visit(head, row, index of the row in the runs) for every selected row.
template <typename Visit> void forEachRow(const Call& call, const Visit& visit) {
    uint64_t index = 0;
    for (uint64_t head = 0; head < call.heads(); head++) {
        for (uint32_t place = 0; place < call.rows; place++) {
            visit(head, call.row(place), index++);
        }
    }
}

Comparison compareOutput(const Call& call, const void* o, const Run& exact, const RoundedRuns& rounded) {
    const VkfTensorLayout& layout = call.layout(VKF_TENSOR_O);
    Comparison comparison;
    std::vector<double> values(layout.dim);
    forEachRow(call, [&](uint64_t head, uint64_t row, uint64_t index) {
        const uint64_t heads = call.problem.queryHeads;
        loadElements(layout.type, o, elementOf(layout, head / heads, head % heads, row), layout.dim, values.data(), 1);
        const bool empty = exact.lse[index] == -infinity && rounded[0].lse[index] == -infinity;
        for (uint32_t column = 0; column < layout.dim; column++) {
            const uint64_t i = index * layout.dim + column;
            const uint64_t element = (head * call.problem.queryRows + row) * layout.dim + column;
            const Rounded fp32 = {rounded[0].o[i], rounded[1].o[i]};
            const double reference = saturated(layout.type, exact.o[i]);
            // A row without visible keys must be exactly 0.
            const double error =
                empty ? (values[column] == 0.0 ? 0.0 : infinity) : distance(values[column], reference, fp32);
            comparison.add(error, values[column], reference, fp32, element);
        }
    });
    return comparison;
}

Comparison compareLse(const Call& call, const float* lse, const Run& exact, const RoundedRuns& rounded) {
    Comparison comparison;
    forEachRow(call, [&](uint64_t head, uint64_t row, uint64_t index) {
        const uint64_t element = head * call.problem.queryRows + row;
        const auto value = static_cast<double>(lse[element]);
        const Rounded fp32 = {rounded[0].lse[index], rounded[1].lse[index]};
        const double error = distance(value, exact.lse[index], fp32);
        comparison.add(error, value, exact.lse[index], fp32, element);
    });
    return comparison;
}

VkfVerdict judge(const Call& call, const void* o, const float* lse) {
    // All runs cost about the same.
    const Run exact = runAlgorithm(call, VKF_REFERENCE_DIRECT, 0.0, 0.33);
    const RoundedRuns rounded = {runAlgorithm(call, VKF_REFERENCE_TILED_FP32, 0.33, 0.67),
                                 runAlgorithm(call, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, 0.67, 1.0)};

    const Comparison ofO = compareOutput(call, o, exact, rounded);
    VkfVerdict verdict{};
    verdict.oError = ofO.error();
    verdict.oBound = ofO.bound(floorUlps * ulp(call.layout(VKF_TENSOR_O).type, ofO.largest()));
    verdict.oRms = ofO.rms();
    verdict.worstElement = ofO.worst().element;
    verdict.worstValue = ofO.worst().value;
    verdict.worstReference = ofO.worst().reference;
    if (lse != nullptr) {
        const Comparison ofLse = compareLse(call, lse, exact, rounded);
        verdict.lseError = ofLse.error();
        verdict.lseBound = ofLse.bound(floorUlps * ulp(VKF_TYPE_F32, std::max(ofLse.largest(), 1.0)));
    }
    verdict.passed = verdict.oError <= verdict.oBound && verdict.lseError <= verdict.lseBound ? 1 : 0;
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
