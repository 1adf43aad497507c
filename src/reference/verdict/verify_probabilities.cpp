// SPDX-License-Identifier: MIT
//
// Judges the probabilities of the softmax as verify.cpp judges o. Takes some rows of each head at a time, because there
// are many probabilities.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"
#include "reference/chosen_rows.hpp"
#include "reference/element.hpp"
#include "reference/row_magnitudes.hpp"
#include "reference/rows.hpp"
#include "reference/verdict/comparison.hpp"
#include "reference/verdict/contract_limits.hpp"
#include "reference/verdict/run.hpp"

namespace vkf {

// The last field of version 0.2.
VKF_FIRST_SIZE(VkfProbabilitiesVerdict, worstReference);

} // namespace vkf

namespace vkf::reference {
namespace {

// Probabilities of one run that are in memory at a time, about.
constexpr uint64_t probabilitiesAtOnce = uint64_t{1} << 22;

constexpr std::array algorithms = {VKF_REFERENCE_STANDARD, VKF_REFERENCE_TILED_FP32,
                                   VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS};
using Runs = std::array<std::vector<double>, algorithms.size()>; // [heads, selected rows, keys] each

// Whether the plan makes probabilities from lse, not in its softmax.
bool areFromLse(const VkfProblem& problem) {
    return problem.path != VKF_PATH_STANDARD || has(problem, VKF_USE_PROBABILITY_ROWS);
}

// Returns the call for every `parts`-th of its rows, from row number `part` on.
Call partOf(const Call& call, uint32_t part, uint32_t parts) {
    Call some = call;
    some.options.rowBegin = call.listIndex(part);
    some.options.rowStride = call.options.rowStride * parts;
    some.rows = (call.rows - part - 1) / parts + 1;
    return some;
}

// Returns lse of the call's rows, as `algorithm` computes it, at their indices among all rows.
std::vector<double> lseOf(const Call& call, VkfReferenceAlgorithm algorithm, double progressBegin, double progressEnd) {
    const std::vector<double> lse = runAlgorithm(call, algorithm, progressBegin, progressEnd).lse;
    std::vector<double> all(call.heads() * call.problem.queryRows);
    for (uint64_t i = 0; i < lse.size(); i++) {
        all[i / call.rows * call.problem.queryRows + call.row(static_cast<uint32_t>(i % call.rows))] = lse[i];
    }
    return all;
}

// savedLse has an lse for each run, which is empty if the run does not make probabilities from lse.
Runs runAlgorithms(const Call& call, const Runs& savedLse, double progressBegin, double progressEnd) {
    Runs runs;
    std::vector<double> o(call.heads() * call.rows * call.layout(VKF_TENSOR_O).dim);
    const double share = (progressEnd - progressBegin) / static_cast<double>(runs.size());
    for (size_t i = 0; i < runs.size(); i++) {
        Call variant = call;
        variant.options.algorithm = algorithms[i];
        variant.options.savedLse = savedLse[i].empty() ? nullptr : savedLse[i].data();
        runs[i].resize(call.heads() * call.rows * call.problem.keys);
        variant.options.probabilities = runs[i].data();
        const double begin = progressBegin + share * static_cast<double>(i);
        computeRows(variant, {o.data(), nullptr, true}, begin, begin + share);
    }
    return runs;
}

// One kernel makes lse, and another kernel makes probabilities from it. Each may sum up scores in its own way, and may
// round k of block types or not. So each fp32 run takes the lse of the other.
Runs runFromLse(Call call, double progressBegin, double progressEnd) {
    const double third = (progressEnd - progressBegin) / 3;
    const Runs saved = {{{},
                         lseOf(call, algorithms[2], progressBegin, progressBegin + third),
                         lseOf(call, algorithms[1], progressBegin + third, progressBegin + 2 * third)}};
    call.options.productType = VKF_TYPE_F32;
    return runAlgorithms(call, saved, progressBegin + 2 * third, progressEnd);
}

// What the errors of a row's scores and of its lse may change in a probability of 1. If the probabilities come from
// lse, lse may be off by its own floor, and a score by half a unit for each of its products, with either sign: two
// kernels sum them up in different orders.
double errorOfExponents(const VkfProblem& problem, double lse, const RowMagnitudes& magnitudes) {
    const double ofScores = 2.0 * scoreError(magnitudes.scores);
    if (!areFromLse(problem) || !std::isfinite(lse)) {
        return ofScores;
    }
    const double units = floorUlps + std::sqrt(static_cast<double>(problem.headDim)) / 2;
    return std::max(ofScores, units * ulp(VKF_TYPE_F32, std::abs(lse)));
}

// `indices` are those of the call's list of rows among the probabilities.
void compare(const Call& call, const std::vector<uint32_t>& indices, const float* probabilities, const Runs& runs,
             const Run& exactRows, Comparison* comparison) {
    const uint64_t keys = call.problem.keys;
    const uint64_t heads = call.problem.queryHeads;
    ContractLimits limits(call);
    uint64_t index = 0;
    for (uint64_t head = 0; head < call.heads(); head++) {
        for (uint32_t selected = 0; selected < call.rows; selected++) {
            const uint64_t first = (head * call.probabilityRows() + indices[call.listIndex(selected)]) * keys;
            const double lse = exactRows.lse[head * call.rows + selected];
            const RowMagnitudes& magnitudes = exactRows.magnitudes[head * call.rows + selected];
            const RowClass ofRow = {scoreClass(lse, magnitudes.scores), 0};
            const double ofExponents = errorOfExponents(call.problem, lse, magnitudes);
            const bool mayOverflow = limits.mayOverflow(head / heads, head % heads, call.row(selected));
            for (uint64_t key = 0; key < keys; key++, index++) {
                const auto value = static_cast<double>(probabilities[first + key]);
                const double exact = runs[0][index];
                const Rounded fp32 = {runs[1][index], runs[2][index]};
                // The probability of a dropped key must be exactly 0.
                const bool nothing = exact == 0.0 && fp32[0] == 0.0 && fp32[1] == 0.0;
                const double error = !nothing       ? distance(value, exact, fp32, mayOverflow)
                                     : value == 0.0 ? 0.0
                                                    : std::numeric_limits<double>::infinity();
                comparison->add(ofRow, error, value, exact, fp32, first + key, ofExponents);
            }
        }
    }
}

// Compares the rows of the output that no query row belongs to: their probabilities must be 0.
void compareMissing(const Call& call, const std::vector<uint32_t>& indices, const float* probabilities,
                    Comparison* comparison) {
    const uint64_t keys = call.problem.keys;
    for (uint64_t head = 0; !indices.empty() && head < call.heads(); head++) {
        for (const uint32_t index : indices) {
            for (uint64_t key = 0; key < keys; key++) {
                const uint64_t element = (head * call.probabilityRows() + index) * keys + key;
                const auto value = static_cast<double>(probabilities[element]);
                const double error = value == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
                comparison->add({}, error, value, 0.0, {0.0, 0.0}, element);
            }
        }
    }
}

VkfProbabilitiesVerdict judge(const Call& ofAllRows, const float* probabilities) {
    Comparison comparison;
    const ChosenRows chosen(ofAllRows);
    const Call call = chosen.callOf(ofAllRows);
    compareMissing(call, chosen.missing, probabilities, &comparison);
    const uint64_t all = call.heads() * call.rows * call.problem.keys;
    const uint64_t most = std::max<uint64_t>(call.rows, 1);
    const auto parts = static_cast<uint32_t>(std::clamp<uint64_t>(all / probabilitiesAtOnce + 1, 1, most));
    for (uint32_t part = 0; part < parts && part < call.rows; part++) {
        const Call some = partOf(call, part, parts);
        const double begin = static_cast<double>(part) / parts;
        const double end = (part + 1.0) / parts;
        const double middle = begin + (end - begin) / 6;
        const Run exactRows = runAlgorithm(some, VKF_REFERENCE_DIRECT, begin, middle);
        const Runs runs =
            areFromLse(call.problem) ? runFromLse(some, middle, end) : runAlgorithms(some, Runs{}, middle, end);
        compare(some, chosen.indices, probabilities, runs, exactRows, &comparison);
    }
    VkfProbabilitiesVerdict verdict{};
    const Judgement judgement = comparison.judge([&](const ClassErrors& errors) {
        const double ofExponents = errors.estimate * errors.largest;
        return floorUlps * ulp(VKF_TYPE_F32, errors.largest) +
               (areFromLse(call.problem) ? ofExponents : beyondRuns(ofExponents, errors));
    });
    verdict.error = judgement.error();
    verdict.bound = judgement.bound;
    verdict.worstElement = judgement.worst.element;
    verdict.worstValue = judgement.worst.value;
    verdict.worstReference = judgement.worst.reference;
    verdict.passed = judgement.passed() ? 1 : 0;
    return verdict;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceVerifyProbabilities(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                          const VkfReferenceOptions* options, const float* probabilities,
                                          VkfProbabilitiesVerdict* verdict, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        if (const VkfResult result = vkf::checkStructSize(verdict, "verdict", message); result != VKF_SUCCESS) {
            return result;
        }
        Call call{};
        if (const VkfResult result = checkCall(problem, inputs, options, &call, message); result != VKF_SUCCESS) {
            return result;
        }
        if (probabilities == nullptr && !call.empty() && call.problem.keys != 0) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "probabilities is null");
        }
        return vkf::writeVersioned(judge(call, probabilities), verdict, "verdict", message);
    });
}
