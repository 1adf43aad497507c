// SPDX-License-Identifier: MIT
#include "traffic.hpp"

#include <cmath>

#include "vkflash/problem.h"

namespace vkf::tools {

namespace {

// Bytes of the whole problem.
struct Tensors {
    double q, k, v, o;
    double rows; // query rows of all heads
};

Tensors tensorsOf(const VkfProblem& problem) {
    const auto bytes = [&](VkfTensorRole role) {
        const VkfTensorLayout layout = vkfTensorLayout(&problem, role);
        return static_cast<double>(layout.elements * vkfTypeBytes(layout.type));
    };
    return {bytes(VKF_TENSOR_Q), bytes(VKF_TENSOR_K), bytes(VKF_TENSOR_V), bytes(VKF_TENSOR_O),
            static_cast<double>(problem.batch) * problem.queryHeads * problem.queryRows};
}

double tiles(uint32_t length, uint32_t tile) { return std::ceil(length / static_cast<double>(tile)); }

// Query heads that read the same k and v do so one by one.
double readsOfKv(const VkfProblem& problem) { return static_cast<double>(problem.queryHeads) / problem.kvHeads; }

} // namespace

double standardTraffic(const VkfProblem& problem, const VkfPlanInfo&) {
    const Tensors t = tensorsOf(problem);
    const double matrix = t.rows * problem.keys * sizeof(float);
    return t.q + (t.k + t.v) * readsOfKv(problem) + t.o + 4 * matrix;
}

double queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    const Tensors t = tensorsOf(problem);
    // Each split of the keys reads q, writes its part of o to the scratch, and is read again.
    return t.q * plan.kvSplits + t.o + tiles(problem.queryRows, plan.tileRows) * (t.k + t.v) * readsOfKv(problem) +
           2 * static_cast<double>(plan.scratchBytes);
}

double keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    const Tensors t = tensorsOf(problem);
    const uint32_t valueDim = problem.valueDim != 0 ? problem.valueDim : problem.headDim;
    const double state = t.rows * (valueDim + 2.0) * sizeof(float);
    return (t.k + t.v) * readsOfKv(problem) + tiles(problem.keys, plan.tileKeys) * (t.q + 2 * state);
}

} // namespace vkf::tools
