// SPDX-License-Identifier: MIT
//
// The interface between the algorithms of the backward pass and the code that divides the work among them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "reference/backward/call.hpp"

namespace vkf::reference {

// Where gradients go. Pointers that are null are not wanted.
struct GradientOutput {
    double* dq = nullptr;
    double* dk = nullptr;
    double* dv = nullptr;
    double* dbias = nullptr;
    double* dsinks = nullptr; // [batch, queryHeads]: one sum for each sequence
};

// Computes all query heads of one KV head of one sequence. Each thread has an object of its own, because the object
// holds scratch memory. Writes what is selected of dq, dk and dv, and adds to dbias and dsinks.
class BackwardAlgorithm {
public:
    virtual ~BackwardAlgorithm() = default;
    virtual void compute(uint32_t batch, uint32_t kvHead) = 0; // throws std::bad_alloc
};

// The squares of what the roundings of a kernel may change, as docs/semantics.md derives it, are added to `errors`. It
// has null pointers if they are not wanted, else those of `output`. `call` must outlive the object.
std::unique_ptr<BackwardAlgorithm> makeDirectBackward(const BackwardCall& call, const GradientOutput& output,
                                                      const GradientOutput& errors);
std::unique_ptr<BackwardAlgorithm> makeTiledBackward(const BackwardCall& call, const GradientOutput& output);
std::unique_ptr<BackwardAlgorithm> makeTiledBackwardFp32(const BackwardCall& call, const GradientOutput& output,
                                                         bool twoRoundings);

// Calls visit(element) for every element of the bias, once for elements that rows, heads or sequences share.
template <typename Visit> void forEachBiasElement(const VkfProblem& p, const Visit& visit) {
    const uint32_t longestRows = p.longestRows != 0 ? p.longestRows : p.queryRows;
    const uint32_t longestKeys = p.longestKeys != 0 ? p.longestKeys : p.keys;
    const auto countOf = [](uint64_t stride, uint32_t requested, uint32_t count) {
        return stride == 0 ? std::min(count, 1U) : requested != 0 ? std::min(requested, count) : count;
    };
    const uint32_t sequences = countOf(p.bias.batchStride, p.bias.sequences, p.batch);
    const uint32_t heads = countOf(p.bias.headStride, p.bias.heads, p.queryHeads);
    const uint32_t rows = countOf(p.bias.rowStride, 0, longestRows);
    for (uint64_t sequence = 0; sequence < sequences; sequence++) {
        for (uint64_t head = 0; head < heads; head++) {
            for (uint64_t row = 0; row < rows; row++) {
                for (uint64_t key = 0; key < longestKeys; key++) {
                    visit(sequence * p.bias.batchStride + head * p.bias.headStride + row * p.bias.rowStride + key);
                }
            }
        }
    }
}

// Refuses an output that is not null and that the problem lacks. The outputs are dq, dk, dv, dbias and dsinks.
VkfResult checkBackwardOutputs(const BackwardCall& call, const std::array<const void*, 5>& outputs,
                               VkfMessage* message);

// Sets the elements that a call selects to 0.
void clearGradients(const BackwardCall& call, const GradientOutput& output);
// Computes o and lse if the inputs lack them. Throws std::bad_alloc.
void computeForward(BackwardCall* call);
// Computes the outputs that are not null. dsinks of `output` has [queryHeads]. Calls options.progress with shares from
// progressBegin to progressEnd. Throws std::bad_alloc.
void computeGradients(const BackwardCall& call, GradientOutput output, GradientOutput errors, double progressBegin,
                      double progressEnd);

// Whether the softmax of the rows of a query head has a sink.
inline bool hasSink(const Call& call, uint32_t queryHead) {
    return has(call.problem, VKF_USE_SINKS) && call.inputs.sinks[queryHead] != -INFINITY;
}

} // namespace vkf::reference
