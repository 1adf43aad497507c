// SPDX-License-Identifier: MIT
//
// Judges the softmax's weights as verify.cpp judges o. They are many: some rows of each head at a time.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "../boundary.hpp"
#include "../versioned.hpp"
#include "comparison.hpp"
#include "element.hpp"
#include "rows.hpp"

namespace vkf::reference {
namespace {

// Weights of one run that are in memory at a time, about.
constexpr uint64_t weightsAtOnce = uint64_t{1} << 22;

constexpr std::array algorithms = {VKF_REFERENCE_STANDARD, VKF_REFERENCE_TILED_FP32,
                                   VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS};
using Runs = std::array<std::vector<double>, algorithms.size()>; // [heads, selected rows, keys] each

// The call for every `parts`-th of its rows.
Call partOf(const Call& call, uint32_t part, uint32_t parts) {
    Call some = call;
    some.options.rowBegin = call.row(part);
    some.options.rowStride = call.options.rowStride * parts;
    some.rows = selectedRows(call.problem.queryRows, some.options.rowBegin, some.options.rowStride);
    return some;
}

Runs runAlgorithms(const Call& call, double progressBegin, double progressEnd) {
    Runs runs;
    std::vector<double> o(call.heads() * call.rows * call.layout(VKF_TENSOR_O).dim);
    const double share = (progressEnd - progressBegin) / static_cast<double>(runs.size());
    for (size_t i = 0; i < runs.size(); i++) {
        Call variant = call;
        variant.options.algorithm = algorithms[i];
        runs[i].resize(call.heads() * call.rows * call.problem.keys);
        variant.options.weights = runs[i].data();
        const double begin = progressBegin + share * static_cast<double>(i);
        computeRows(variant, {o.data(), nullptr, true}, begin, begin + share);
    }
    return runs;
}

void compare(const Call& call, const float* weights, const Runs& runs, Comparison* comparison) {
    const uint64_t keys = call.problem.keys;
    uint64_t index = 0;
    for (uint64_t head = 0; head < call.heads(); head++) {
        for (uint32_t place = 0; place < call.rows; place++) {
            const uint64_t first = (head * call.problem.queryRows + call.row(place)) * keys;
            for (uint64_t key = 0; key < keys; key++, index++) {
                const auto value = static_cast<double>(weights[first + key]);
                const double exact = runs[0][index];
                const Rounded fp32 = {runs[1][index], runs[2][index]};
                // A dropped key weighs 0, not nearly 0.
                const bool nothing = exact == 0.0 && fp32[0] == 0.0 && fp32[1] == 0.0;
                const double error = !nothing       ? distance(value, exact, fp32)
                                     : value == 0.0 ? 0.0
                                                    : std::numeric_limits<double>::infinity();
                comparison->add(error, value, exact, fp32, first + key);
            }
        }
    }
}

VkfWeightsVerdict judge(const Call& call, const float* weights) {
    Comparison comparison;
    const uint64_t all = call.heads() * call.rows * call.problem.keys;
    const uint64_t most = std::max<uint64_t>(call.rows, 1);
    const auto parts = static_cast<uint32_t>(std::clamp<uint64_t>(all / weightsAtOnce + 1, 1, most));
    for (uint32_t part = 0; part < parts && part < call.rows; part++) {
        const Call some = partOf(call, part, parts);
        compare(some, weights, runAlgorithms(some, static_cast<double>(part) / parts, (part + 1.0) / parts),
                &comparison);
    }
    VkfWeightsVerdict verdict{};
    verdict.error = comparison.error();
    verdict.bound = comparison.bound(floorUlps * ulp(VKF_TYPE_F32, comparison.largest()));
    verdict.worstElement = comparison.worst().element;
    verdict.worstValue = comparison.worst().value;
    verdict.worstReference = comparison.worst().reference;
    verdict.passed = verdict.error <= verdict.bound ? 1 : 0;
    return verdict;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceVerifyWeights(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                    const VkfReferenceOptions* options, const float* weights,
                                    VkfWeightsVerdict* verdict, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        VkfWeightsVerdict before{};
        if (const VkfResult result = vkf::readVersioned(verdict, &before, "verdict", message); result != VKF_SUCCESS) {
            return result;
        }
        Call call{};
        if (const VkfResult result = checkCall(problem, inputs, options, &call, message); result != VKF_SUCCESS) {
            return result;
        }
        if (weights == nullptr && !call.empty() && call.problem.keys != 0) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "weights is null");
        }
        return vkf::writeVersioned(judge(call, weights), verdict, "verdict", message);
    });
}
