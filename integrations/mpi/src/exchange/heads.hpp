// SPDX-License-Identifier: MIT
//
// What forward and backward passes of head exchange share: the call of this rank's heads, and its small arrays.
#pragma once

#include "device/tensors.hpp"
#include "exchange/moves.hpp"

namespace vkf::mpi {

class ExchangeHeads {
public:
    ExchangeHeads(State& state, const VkfProblem& whole, const Lengths& lengths);

    // The call of this rank: its heads of the whole sequence.
    const VkfProblem& problem() const { return problem_; }
    // Slopes of all heads, where the call has slopes of its own.
    void upload(Staging& staging, const float* slopes);
    // Binds the arrays.
    void bind(VkfBindings& bindings) const;

private:
    uint32_t rank_;
    uint32_t allHeads_;
    bool readsSlopes_ = false; // else the standard slopes
    VkfProblem problem_;
    Memory arrays_;
    Range keyLengths_, cuSeqlensQ_, cuSeqlensK_, slopes_;
};

} // namespace vkf::mpi
