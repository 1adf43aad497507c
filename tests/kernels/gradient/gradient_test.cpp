// SPDX-License-Identifier: MIT
//
// The backward pass on the device against the reference: each feature, zero sizes, steps and repeats.
#include <catch2/catch_test_macros.hpp>

#include <string>

#include "support/device.hpp"
#include "support/gradient_runs.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::GradientCase;
using vkf::test::GradientInputs;
using vkf::test::GradientOutcome;
using vkf::test::Inputs;
using vkf::test::Variation;

// The variations of path scalar differ in shared memory for the backward pass.
constexpr uint32_t gradientVariations[] = {0, 2};

void check(const Variation& variation, VkfProblem forward, const Data& data, bool hasDlse) {
    apply(variation, forward);
    VkfGradientProblem problem = vkf::test::gradientOf(forward, vkf::test::allGradients(forward));
    problem.hasDlse = hasDlse ? 1 : 0;
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    const GradientOutcome outcome = runGradient(deviceOf(variation), problem, inputs,
                                                vkf::test::makeGradientInputs(problem, data.seed));
    INFO(outcome.text());
    CHECK(outcome.passed());
}

} // namespace

TEST_CASE("the backward pass of every feature agrees with the reference", "[gradient]") {
    for (const GradientCase& one : vkf::test::gradientCases()) {
        for (const uint32_t number : gradientVariations) {
            const Variation& variation = vkf::test::variations[number];
            Data data;
            VkfProblem forward = vkf::test::problemOf(one.shape);
            one.change(forward, data);
            INFO(one.name << " on " << variation.name);
            check(variation, forward, data, one.hasDlse);
        }
    }
}
