// SPDX-License-Identifier: MIT
//
// The backward pass: divides the KV heads among threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"
#include "reference/backward/algorithm.hpp"
#include "reference/parallel.hpp"
#include "reference/rows.hpp"

namespace vkf {

// The last field of version 0.4.
VKF_FIRST_SIZE(VkfReferenceGradients, dsinks);

} // namespace vkf

namespace vkf::reference {
namespace {

std::unique_ptr<BackwardAlgorithm> makeAlgorithm(const BackwardCall& call, const GradientOutput& output,
                                                 const GradientOutput& errors) {
    switch (call.algorithm()) {
    case VKF_REFERENCE_TILED:
        return makeTiledBackward(call, output);
    case VKF_REFERENCE_TILED_FP32:
    case VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS:
        return makeTiledBackwardFp32(call, output, call.algorithm() == VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS);
    default:
        return makeDirectBackward(call, output, errors);
    }
}

bool isFp32(const BackwardCall& call) {
    return call.algorithm() == VKF_REFERENCE_TILED_FP32 || call.algorithm() == VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS;
}

void clearTensor(const BackwardCall& call, VkfBackwardRole role, double* to) {
    const VkfTensorLayout& layout = call.layout(role);
    for (uint64_t row = 0; to != nullptr && row < uint64_t{layout.batch} * layout.heads * layout.rows; row++) {
        if (call.selects(row % layout.rows)) {
            std::fill_n(to + row * layout.dim, layout.dim, 0.0);
        }
    }
}

// Adds up the sums of the sequences, in their order. Rounds as the algorithm does.
void reduceSinks(const BackwardCall& call, const std::vector<double>& sums, double* to) {
    const uint32_t heads = call.forward.problem.queryHeads;
    for (uint64_t i = 0; i < sums.size(); i++) {
        double& sum = to[i % heads];
        sum = isFp32(call) ? static_cast<double>(static_cast<float>(sum) + static_cast<float>(sums[i])) : sum + sums[i];
    }
}

void roundBias(const BackwardCall& call, double* dbias) {
    if (dbias != nullptr && isFp32(call)) {
        forEachBiasElement(call.forward.problem, [&](uint64_t element) {
            dbias[element] = roundElement(call.problem.dbiasType, dbias[element]);
        });
    }
}

} // namespace

VkfResult checkBackwardOutputs(const BackwardCall& call, const std::array<const void*, 5>& outputs,
                               VkfMessage* message) {
    const VkfGradients wanted = call.problem.gradients != 0
                                    ? call.problem.gradients
                                    : VkfGradients{VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V};
    // The bits of VkfGradientBits have the order of the outputs.
    constexpr std::array names = {"dq", "dk", "dv", "dbias", "dsinks"};
    for (size_t i = 0; i < outputs.size(); i++) {
        if (outputs[i] != nullptr && (wanted >> i & 1U) == 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "%s is not null, but gradients of the problem lacks its bit", names[i]);
        }
    }
    if (outputs[3] != nullptr && !call.selectsAll()) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "dbias must be null if options.rowStride selects some rows");
    }
    return VKF_SUCCESS;
}

void clearGradients(const BackwardCall& call, const GradientOutput& output) {
    clearTensor(call, VKF_BACKWARD_DQ, output.dq);
    clearTensor(call, VKF_BACKWARD_DK, output.dk);
    clearTensor(call, VKF_BACKWARD_DV, output.dv);
    if (output.dbias != nullptr) {
        forEachBiasElement(call.forward.problem, [&](uint64_t element) { output.dbias[element] = 0.0; });
    }
    if (output.dsinks != nullptr) {
        std::fill_n(output.dsinks, call.forward.problem.queryHeads, 0.0);
    }
}

void computeForward(BackwardCall* call) {
    if (call->forward.empty() || (call->inputs.o != nullptr && call->inputs.lse != nullptr)) {
        return;
    }
    Call forward = call->forward;
    forward.options.progress = nullptr;
    if (!isFp32(*call)) {
        forward.options.algorithm = VKF_REFERENCE_DIRECT;
    }
    call->lse.resize(forward.heads() * forward.problem.queryRows);
    call->o.resize(call->lse.size() * forward.layout(VKF_TENSOR_O).dim);
    computeRows(forward, {call->o.data(), call->lse.data(), false}, 0.0, 1.0);
    if (isFp32(*call)) {
        std::transform(call->lse.begin(), call->lse.end(), call->lse.begin(),
                       [](double x) { return static_cast<double>(static_cast<float>(x)); });
    }
}

void computeGradients(const BackwardCall& call, GradientOutput output, GradientOutput errors, double progressBegin,
                      double progressEnd) {
    clearGradients(call, output);
    clearGradients(call, errors);
    const VkfProblem& p = call.forward.problem;
    if (call.forward.empty()) {
        return;
    }
    double* dsinks = output.dsinks;
    double* sinkErrors = errors.dsinks;
    std::vector<double> sums(dsinks != nullptr ? uint64_t{p.batch} * p.queryHeads : 0);
    std::vector<double> errorSums(sinkErrors != nullptr ? sums.size() : 0);
    output.dsinks = dsinks != nullptr ? sums.data() : nullptr;
    errors.dsinks = sinkErrors != nullptr ? errorSums.data() : nullptr;

    const uint64_t heads = uint64_t{p.batch} * p.kvHeads;
    // Heads and sequences may share elements of dbias, which one thread adds up in a fixed order.
    const auto threads =
        static_cast<uint32_t>(output.dbias != nullptr ? 1 : std::min<uint64_t>(call.forward.options.threads, heads));
    std::vector<std::unique_ptr<BackwardAlgorithm>> workers;
    for (uint32_t worker = 0; worker < threads; worker++) {
        workers.push_back(makeAlgorithm(call, output, errors));
    }
    parallelFor(
        threads, heads,
        [&](uint32_t worker, uint64_t head) {
            workers[worker]->compute(static_cast<uint32_t>(head / p.kvHeads), static_cast<uint32_t>(head % p.kvHeads));
        },
        [&](uint64_t done) {
            const VkfReferenceOptions& options = call.forward.options;
            if (options.progress != nullptr) {
                const double share = static_cast<double>(done) / static_cast<double>(heads);
                options.progress(options.user, progressBegin + share * (progressEnd - progressBegin));
            }
        });
    reduceSinks(call, sums, dsinks);
    reduceSinks(call, errorSums, sinkErrors);
    roundBias(call, output.dbias);
}

} // namespace vkf::reference

VkfResult vkfReferenceBackward(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                               const VkfReferenceBackwardInputs* backwardInputs, const VkfReferenceOptions* options,
                               const VkfReferenceGradients* gradients, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        BackwardCall call{};
        if (const VkfResult result = checkBackwardCall(problem, inputs, backwardInputs, options, &call, message);
            result != VKF_SUCCESS) {
            return result;
        }
        VkfReferenceGradients wanted{};
        if (const VkfResult result = vkf::readVersioned(gradients, &wanted, "gradients", message);
            result != VKF_SUCCESS) {
            return result;
        }
        if (const VkfResult result =
                checkBackwardOutputs(call, {wanted.dq, wanted.dk, wanted.dv, wanted.dbias, wanted.dsinks}, message);
            result != VKF_SUCCESS) {
            return result;
        }
        computeForward(&call);
        computeGradients(call, {wanted.dq, wanted.dk, wanted.dv, wanted.dbias, wanted.dsinks}, {}, 0.0, 1.0);
        return VKF_SUCCESS;
    });
}
