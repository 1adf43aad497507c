// SPDX-License-Identifier: MIT
//
// Calls whose times are compared. The time must fall with the tiles that a mask empties.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <limits>

#include "support/call.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// A call that runs a few times. The shortest time counts.
class TimedCall {
public:
    TimedCall(host::Device& device, const VkfProblem& problem, const Inputs& inputs) : attention_(device, problem) {
        host::HostTensors tensors;
        tensors.q = inputs.q.data();
        tensors.k = inputs.k.data();
        tensors.v = inputs.v.data();
        tensors.blockMask = inputs.blockMask.data();
        tensors.mask = inputs.mask.data();
        tensors.bias = inputs.bias.data();
        tensors.documentIds = inputs.documentIds.data();
        attention_.upload(tensors);
    }
    double run() { return least_ = std::min(least_, attention_.run()); }

private:
    host::Attention attention_;
    double least_ = std::numeric_limits<double>::infinity();
};

// Operations of one head without masks. On a fast device a small problem takes as long as its start.
inline VkfProblem longProblem(const Variation& variation) {
    constexpr double longEnough = 1e-3;
    uint32_t rows = 1024;
    VkfProblem problem{};
    double seconds = 0;
    while (seconds < longEnough && rows < 32768) {
        rows *= 2;
        problem = problemOf({1, 1, 1, rows, rows, 64, 0, VKF_TYPE_F16});
        problem.path = variation.path;
        seconds = TimedCall(deviceOf(variation), problem, makeInputs(problem, {.poisonInvisibleKeys = false})).run();
    }
    return problem;
}

// Checks that the time falls with what is left: all, a quarter, and nothing. Nothing must take less than a share of
// all.
inline void checkTimeFalls(TimedCall& all, TimedCall& quarter, TimedCall& nothing, double shareOfNothing) {
    double ofAll = 0;
    double ofQuarter = 0;
    double ofNothing = 0;
    for (int i = 0; i < 4; i++) { // in turns, because a machine may be busy for a while
        ofAll = all.run();
        ofQuarter = quarter.run();
        ofNothing = nothing.run();
    }
    CHECK(ofQuarter < 0.6 * ofAll);
    CHECK(ofNothing < shareOfNothing * ofAll);
}

} // namespace vkf::test
