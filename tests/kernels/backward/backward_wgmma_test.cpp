// SPDX-License-Identifier: MIT
//
// The backward pass on path wgmma against the reference. Only Hopper chips have the path.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "shared/wgmma_params.h"
#include "support/device.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;

constexpr std::array types = {VKF_TYPE_F16, VKF_TYPE_BF16};

vkf::host::Device& device() { return deviceOf(vkf::test::variations[vkf::test::wgmmaVariation]); }

// Runs the problem, whose inputs `edit` may change.
template <typename Edit>
BackwardOutcome check(VkfProblem forward, const Data& data, VkfBackwardProblem problem, const Edit& edit) {
    forward.path = VKF_PATH_WGMMA;
    problem.forward = &forward;
    INFO(vkf::test::describe(forward));
    Inputs inputs = vkf::test::makeInputs(forward, data);
    BackwardInputs more = vkf::test::makeBackwardInputs(problem, data.seed);
    edit(inputs, more);
    BackwardOutcome outcome = runBackward(device(), problem, inputs, more);
    INFO(outcome.text());
    CHECK(outcome.passed());
    CHECK(outcome.info.path == VKF_PATH_WGMMA);
    return outcome;
}

BackwardOutcome check(const VkfProblem& forward, const Data& data = {}) {
    return check(forward, data, vkf::test::backwardOf(forward, vkf::test::allGradients(forward)),
                 [](Inputs&, BackwardInputs&) {});
}

// Numbers around multiples of a tile's side.
std::vector<uint32_t> around(uint32_t side) { return {1, side - 1, side, side + 1, 3 * side + 5}; }

} // namespace

TEST_CASE("the backward pass on path wgmma agrees with the reference for rows and keys around its tiles",
          "[backward_wgmma]") {
    vkf::test::needWgmma();
    for (const VkfType type : types) {
        for (size_t tile = 0; tile < std::size(vkf::shared::WGMMA_BACKWARD_ROW_TILES); tile++) {
            const vkf::shared::WgmmaTile& ofRows = vkf::shared::WGMMA_BACKWARD_ROW_TILES[tile];
            const vkf::shared::WgmmaTile& ofKeys = vkf::shared::WGMMA_BACKWARD_KEY_TILES[tile];
            for (const uint32_t rows : around(ofRows.rows)) {
                for (const uint32_t keys : around(ofKeys.keys)) {
                    VkfProblem problem = problemOf({1, 2, 1, rows, keys, ofRows.dim, 0, type});
                    vkf::enable(problem, VKF_USE_CAUSAL, (rows + keys) % 2 == 1);
                    check(problem);
                }
            }
        }
    }
}

TEST_CASE("the backward pass on path wgmma agrees with the reference for every multiple of 8 columns",
          "[backward_wgmma]") {
    vkf::test::needWgmma();
    for (uint32_t dim = 8; dim <= 128; dim += 8) {
        const VkfType type = types[dim / 8 % 2];
        check(problemOf({2, 3, 1, 70, 150, dim, 0, type}));
        check(problemOf({1, 2, 2, 150, 70, dim, 136 - dim, type}));
    }
}

TEST_CASE("the backward pass on path wgmma agrees with the reference with every feature that it takes",
          "[backward_wgmma]") {
    vkf::test::needWgmma();
    uint32_t count = 0;
    for (const vkf::test::BackwardCase& one : vkf::test::backwardCases()) {
        for (const VkfType type : types) {
            vkf::test::Shape shape = one.shape;
            shape.type = type;
            Data data;
            VkfProblem forward = problemOf(shape);
            one.change(forward, data);
            forward.path = VKF_PATH_WGMMA;
            vkf::test::makeWholeWords(forward);
            VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
            vkf::enable(problem, VKF_USE_DLSE, one.hasDlse);
            if (vkfCheckBackwardSupport(device().context(), &problem, nullptr) == VKF_SUCCESS) {
                INFO(one.name);
                check(forward, data, problem, [](Inputs&, BackwardInputs&) {});
                count++;
            }
        }
    }
    CHECK(count >= 16); // with and without causal, windows, lengths, softcap, ALiBi, sinks
}

TEST_CASE("the backward pass on path wgmma repeats its bits, also in other steps", "[backward_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : {64U, 128U}) {
        VkfProblem forward = problemOf({1, 4, 2, 700, 900, dim, 0, VKF_TYPE_F16});
        vkf::enable(forward, VKF_USE_CAUSAL);
        forward.path = VKF_PATH_WGMMA;
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        const Inputs inputs = vkf::test::makeInputs(forward, Data{});
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        vkf::test::computeForward(forward, inputs, VKF_TYPE_F16, &more);
        const BackwardOutcome first = runBackwardUnjudged(device(), problem, inputs, more);
        for (int i = 0; i < 100; i++) {
            REQUIRE(runBackwardUnjudged(device(), problem, inputs, more).outputs == first.outputs);
        }
        VkfProblem stepped = forward;
        stepped.maxStepOperations = 100'000'000;
        VkfBackwardProblem inSteps = problem;
        inSteps.forward = &stepped;
        const BackwardOutcome other = runBackwardUnjudged(device(), inSteps, inputs, more, 1);
        CHECK(other.info.stepCount > first.info.stepCount);
        CHECK(other.outputs == first.outputs);
    }
}

TEST_CASE("the backward pass on path wgmma agrees with the reference with softcap and ALiBi", "[backward_wgmma]") {
    vkf::test::needWgmma();
    for (const VkfType type : types) {
        for (const uint32_t dim : {72U, 128U}) {
            VkfProblem capped = problemOf({2, 4, 2, 200, 333, dim, 0, type});
            capped.softcap = 3.0F;
            check(capped);
            vkf::enable(capped, VKF_USE_CAUSAL);
            capped.softcap = 0.5F;
            check(capped);
            vkf::enable(capped, VKF_USE_ALIBI);
            check(capped);
            capped.softcap = 0.0F;
            check(capped);
        }
    }
}

// Path coopmat computes such calls again.
TEST_CASE("masked infinity and NaN, and large gradients, do not spoil the backward pass on path wgmma",
          "[backward_wgmma]") {
    vkf::test::needWgmma();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const uint32_t dim : {64U, 128U}) {
        VkfProblem forward = problemOf({2, 2, 1, 200, 300, dim, 0, VKF_TYPE_F16});
        vkf::enable(forward, VKF_USE_KEY_LENGTHS);
        const Data data{.keyLengths = {100, 290}};
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        check(forward, data, problem, [&](Inputs& inputs, BackwardInputs&) { // keys of no row
            vkfStoreElement(VKF_TYPE_F16, inputs.k.data(), uint64_t{110} * dim, nan);
            vkfStoreElement(VKF_TYPE_F16, inputs.v.data(), uint64_t{120} * dim, nan);
        });
        VkfProblem causal = problemOf({1, 1, 1, 200, 200, dim, 0, VKF_TYPE_F16});
        vkf::enable(causal, VKF_USE_CAUSAL);
        check(causal, {}, vkf::test::backwardOf(causal), [&](Inputs& inputs, BackwardInputs& more) {
            vkfStoreElement(VKF_TYPE_F16, inputs.v.data(), uint64_t{150} * dim, nan);  // for 50 rows
            vkfStoreElement(VKF_TYPE_F16, more.dout.data(), uint64_t{70} * dim, 1e30); // for 71 keys
        });
        VkfProblem large = problemOf({1, 2, 1, 256, 64, dim, 0, VKF_TYPE_F16});
        large.scale = 1e-4F;
        VkfBackwardProblem ofLarge = vkf::test::backwardOf(large);
        ofLarge.dq.type = ofLarge.dk.type = ofLarge.dv.type = VKF_TYPE_F32;
        Data magnitude;
        magnitude.magnitude = 40.0;
        check(large, magnitude, ofLarge,
              [&](Inputs&, BackwardInputs& more) { more = vkf::test::makeBackwardInputs(ofLarge, 0, 10000.0); });
    }
}
