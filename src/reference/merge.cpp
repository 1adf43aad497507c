// SPDX-License-Identifier: MIT
//
// Merges partial results of any origin into one: lse = ln sum exp(lse_k), o = sum exp(lse_k - lse) o_k.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"

namespace vkf::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Returns the natural lse_k of one row. An infinity of either sign becomes -infinity, the lse of an empty partial
// result.
std::vector<double> lseOfPartials(const VkfMergeProblem& p, const VkfMergeLayout& layout, const float* lse,
                                  uint64_t row) {
    const double unit = has(p, VKF_USE_BASE_2_LSE) ? std::numbers::ln2 : 1.0;
    std::vector<double> of(p.partials);
    for (uint32_t k = 0; k < p.partials; k++) {
        const double x = lse[k * layout.lsePartialStride + row];
        of[k] = std::isinf(x) ? -infinity : x * unit;
    }
    return of;
}

double logSumExp(const std::vector<double>& lse) {
    double maximum = -infinity;
    for (const double x : lse) {
        maximum = std::isnan(x) ? x : std::max(maximum, x); // a NaN stays, because it is not less than x
    }
    if (maximum == -infinity) {
        return -infinity;
    }
    double sum = 0.0;
    for (const double x : lse) {
        sum += std::exp(x - maximum);
    }
    return maximum + std::log(sum);
}

void mergeRow(const VkfMergeProblem& p, uint64_t partialStride, const void* partials, uint64_t firstElement,
              const std::vector<double>& lse, double merged, double* o) {
    std::fill_n(o, p.dim, 0.0);
    for (uint32_t k = 0; k < p.partials; k++) {
        if (lse[k] == -infinity) {
            continue;
        }
        const double weight = std::exp(lse[k] - merged);
        for (uint32_t d = 0; d < p.dim; d++) {
            o[d] += weight * vkfLoadElement(p.partial.type, partials, k * partialStride + firstElement + d);
        }
    }
}

VkfResult merge(const VkfMergeProblem* problem, const void* partials, const float* partialLse, double* o, double* lse,
                VkfMessage* message) {
    if (const VkfResult result = vkfCheckMerge(problem, message); result != VKF_SUCCESS) {
        return result;
    }
    VkfMergeProblem p{};
    if (const VkfResult result = readVersioned(problem, &p, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t rows = uint64_t{p.batch} * p.heads * p.rows;
    if (rows != 0 && (partials == nullptr || partialLse == nullptr || o == nullptr)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "partials, partialLse or o is null");
    }
    const VkfMergeLayout layout = mergeLayoutOf(p);
    const VkfTensorLayout partial = layoutOf(p, VKF_MERGE_PARTIAL);
    for (uint64_t row = 0; row < rows; row++) {
        const std::vector<double> ofPartials = lseOfPartials(p, layout, partialLse, row);
        const double merged = logSumExp(ofPartials);
        const uint64_t head = row / p.rows;
        const uint64_t element = head / p.heads * partial.batchStride + head % p.heads * partial.headStride +
                                 row % p.rows * partial.rowStride;
        mergeRow(p, layout.partialStride, partials, element, ofPartials, merged, o + row * p.dim);
        if (lse != nullptr) {
            lse[row] = merged;
        }
    }
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceMerge(const VkfMergeProblem* problem, const void* partials, const float* partialLse, double* o,
                            double* lse, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::reference::merge(problem, partials, partialLse, o, lse, message); });
}
