// SPDX-License-Identifier: MIT
//
// Measures the backward pass of one shape: memory, times and check. A time counts only if the result of the same run is
// right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "measure/call_runs.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

// The memory of backward passes that are measured one after the other.
class BackwardMemory {
public:
    explicit BackwardMemory(host::Device& device) : device_(device), forward_(device) {}

    // Prepares the tensors of a backward pass that wants dq, dk and dv, in `sets()` copies. o and lse are those of a
    // forward pass, which runs here on the path that the library chooses. The gradients are full of NaN.
    void prepare(const VkfBackwardProblem& problem, uint64_t scratchBytes, size_t maxSets,
                 const ExtraBuffers* extras = nullptr);

    // The plan of the forward pass.
    const VkfPlanInfo& forwardPlan() const noexcept { return forwardPlan_; }

    size_t sets() const noexcept { return forward_.sets(); }
    // Valid until the next prepare.
    const VkfBackwardBindings& bindings(size_t set) const { return sets_[set].bindings; }
    // The inputs on the host, with o and lse of one set.
    host::HostTensors downloadForward(size_t set) { return forward_.download(set); }
    // The gradient of o on the host, with the gradients of one set.
    host::HostGradients downloadGradients(size_t set);

    // Bytes of one set without scratch: tensors of the forward pass, their gradients, and lse.
    uint64_t tensorBytes() const noexcept { return tensorBytes_; }

private:
    struct Set {
        host::Buffer dout, scratch;
        std::array<host::Buffer, 3> gradients; // dq, dk, dv
        VkfBindings call{};
        VkfBackwardBindings bindings{}; // points to call
    };

    void fill(size_t set, uint64_t scratchBytes, const VkfBindings& call);

    host::Device& device_;
    BenchMemory forward_;
    VkfPlanInfo forwardPlan_{};
    VkfTensorLayout doutLayout_{};
    std::array<VkfTensorLayout, 3> layouts_{};
    std::vector<std::byte> block_; // the block that dout repeats
    std::deque<Set> sets_;         // keeps addresses
    std::vector<std::byte> dout_;
    std::array<std::vector<std::byte>, 3> gradients_;
    uint64_t tensorBytes_ = 0;
};

struct BackwardResult : TimedResult {
    VkfBackwardInfo info{};
    VkfBackwardVerdict verdict{};
};

// Measures dq, dk and dv together. `forward` has the path of the backward pass; `formulas` are those of its functions.
// Calls afterRun after each of many runs.
// Throws what creating and running throw. The caller judges the verdict. Throws ProgramError if o or lse is wrong.
BackwardResult measureBackward(host::Device& device, GpuClock& clock, BackwardMemory& memory, const VkfProblem& forward,
                               const MeasureOptions& options, const std::function<void()>& afterRun,
                               const CallExtras& extras = {}, const VkfReferenceFunctions* formulas = nullptr);

// The gradient that is nearest to its bound, or the furthest above it.
const VkfGradientError& worstOf(const VkfBackwardVerdict& verdict);

} // namespace vkf::tools
