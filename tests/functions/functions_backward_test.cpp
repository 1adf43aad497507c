// SPDX-License-Identifier: MIT
//
// The backward pass through masks and scores of the caller's own, against the reference.
#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "functions/compiled_example.hpp"
#include "kernels/backward/backward_runs.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::BackwardOutcome;
using vkf::test::CompiledExample;
using vkf::test::Data;
using vkf::test::Example;
using vkf::test::Inputs;
using vkf::test::problemOf;
using vkf::test::Variation;

// A third of the problems each is plain, has a softcap and a causal mask, or has packed sequences and a bias.
void addFeatures(VkfProblem& problem, Data& data, size_t turn) {
    if (turn % 3 == 1) {
        problem.softcap = 3.0F;
        problem.use |= VKF_USE_CAUSAL;
    } else if (turn % 3 == 2) {
        setPacked(problem, data, {30, 0, 40}, {61, 7, 63});
        problem.bias = vkf::test::broadcast(problem, VKF_TYPE_F16, true, true, true, 3);
        vkf::enable(problem, VKF_USE_BIAS);
    }
}

void check(const Example& example, const Variation& variation, size_t turn) {
    if (vkf::test::leavesOut(deviceOf(variation), variation.path)) {
        return;
    }
    const VkfType type = variation.path == VKF_PATH_COOPMAT ? VKF_TYPE_F16 : VKF_TYPE_F32;
    VkfProblem forward = problemOf({2, 4, 2, example.rows, example.keys, 8, 0, type});
    Data data;
    addFeatures(forward, data, turn);
    const CompiledExample compiled(example);
    compiled.use(forward, data);
    forward = vkf::test::fittedBackward(deviceOf(variation), forward);
    apply(variation, forward);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    INFO(example.file << " on " << variation.name << ": " << vkf::test::describe(forward));
    const BackwardOutcome outcome =
        runBackward(deviceOf(variation), problem, inputs, vkf::test::makeBackwardInputs(problem));
    INFO(outcome.text());
    CHECK(outcome.passed());
}

} // namespace

TEST_CASE("gradients through masks and scores of examples agree with the reference", "[functions_backward]") {
    size_t turn = 0;
    for (const Example& example : vkf::test::eachNth(vkf::test::examples(), 3)) {
        for (const uint32_t number : vkf::test::wholeSweeps() ? std::vector{0U, 2U, 4U, 5U}
                                     : turn % 2 == 0          ? std::vector{0U}
                                                              : std::vector{4U}) {
            check(example, vkf::test::variations[number], turn);
        }
        turn++;
    }
}

TEST_CASE("a backward pass needs the derivative of a score", "[functions_backward]") {
    VkfReferenceFunctions formulas{};
    formulas.score = [](double s, const VkfPosition*, void*) { return 2 * s; };
    const CompiledExample compiled("float score(float s, Position at) { return 2.0 * s; }\n", formulas);
    VkfProblem forward = problemOf({1, 2, 1, 70, 131, 32, 0, VKF_TYPE_F32});
    Data data;
    compiled.use(forward, data);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    CHECK(vkfCheckBackward(&problem, nullptr) == VKF_ERROR_UNSUPPORTED);
}
