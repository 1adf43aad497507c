// SPDX-License-Identifier: MIT
//
// Runs one problem on variations of the library and compares each result with the reference.
#pragma once

#include <optional>

#include <catch2/catch_test_macros.hpp>

#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// Does nothing if the variation does not fit the problem, or if the device lacks what the inputs need.
inline void checkOn(const Variation& variation, VkfProblem problem, const Inputs& inputs) {
    if (!takes(variation, problem)) {
        return;
    }
    apply(variation, problem);
    const std::optional<VkfProblem> possible = fittedToInputs(deviceOf(variation), problem);
    if (!possible) {
        return;
    }
    INFO(variation.name << ": " << describe(*possible));
    const Outcome outcome = runCall(deviceOf(variation), *possible, inputs);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// Runs a case of a sweep on variationsInTurn.
inline void checkEverywhere(const VkfProblem& given, const Data& data = {}) {
    const VkfProblem problem = fitted(testDevice(), given);
    const Inputs inputs = makeInputs(problem, data);
    for (const Variation* variation : variationsInTurn(problem)) {
        checkOn(*variation, problem, inputs);
    }
}

} // namespace vkf::test
