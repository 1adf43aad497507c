// SPDX-License-Identifier: MIT
//
// A call on path wgmma, against the reference.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "support/call.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// `given`: Data or Inputs.
template <typename Given> Outcome checkOnWgmma(VkfProblem problem, const Given& given) {
    const Variation& wgmma = variations[wgmmaVariation];
    apply(wgmma, problem);
    INFO(describe(problem));
    Outcome outcome = runCall(deviceOf(wgmma), problem, given);
    INFO(outcome.text());
    CHECK(outcome.passed());
    CHECK(outcome.plan.path == VKF_PATH_WGMMA);
    return outcome;
}

} // namespace vkf::test
