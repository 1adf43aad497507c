// SPDX-License-Identifier: MIT
//
// The backward pass that keeps ds in scratch memory, a band of keys at a time (VkfBackwardProblem::maxScratchBytes).
#include <catch2/catch_test_macros.hpp>

#include <limits>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "kernels/backward/listed_ways.hpp"
#include "support/device.hpp"
#include "support/variations.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::BackwardCase;
using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::leavesHoles;
using vkf::test::plentyOfScratch;
using vkf::test::problemOf;
using vkf::test::Variation;

BackwardOutcome run(const Variation& variation, const VkfBackwardProblem& problem, const Data& data = {},
                    double doutMagnitude = 1.0) {
    const Inputs inputs = vkf::test::makeInputs(*problem.forward, data);
    return runBackward(deviceOf(variation), problem, inputs,
                       vkf::test::makeBackwardInputs(problem, data.seed, doutMagnitude));
}

// 6 KV heads of many tiles of keys are more workgroups than a wave, and a wave has no room for 4 whole heads.
VkfProblem manyBands(VkfType type) { return problemOf({3, 4, 2, 20, 4500, 16, 24, type}); }

// Room for some bands of a problem that has more workgroups than a wave, but not for all of its keys at a time.
uint64_t roomForSomeBands(const Variation& variation, VkfBackwardProblem problem) {
    problem.maxScratchBytes = plentyOfScratch;
    return vkf::test::infoOf(deviceOf(variation), problem).scratchBytes / 100 * 92;
}

void checkFeature(const BackwardCase& one, const Variation& variation, VkfType type) {
    vkf::test::Shape shape = one.shape;
    shape.type = type;
    if (!vkf::test::takes(variation, problemOf(shape))) {
        shape.type = VKF_TYPE_F16; // the device multiplies no bf16
    }
    Data data;
    VkfProblem forward = problemOf(shape);
    one.change(forward, data);
    apply(variation, forward);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    vkf::enable(problem, VKF_USE_DLSE, one.hasDlse);
    problem.maxScratchBytes = plentyOfScratch;
    const BackwardOutcome outcome = run(variation, problem, data);
    INFO(one.name << " on " << variation.name << ": " << outcome.text());
    CHECK(outcome.passed());
    const bool empty = forward.queryHeads == 0 || forward.queryRows == 0 || forward.keys == 0;
    const bool lists = outcome.info.tileMapBytes != 0;
    CHECK((outcome.info.bandKeys != 0) == (!leavesHoles(forward, lists) && !empty));
}

} // namespace

TEST_CASE("ds kept in bands gives the gradients of every feature", "[backward_bands]") {
    uint32_t count = 0;
    for (const BackwardCase& one :
         vkf::test::wholeSweeps() ? vkf::test::backwardCases() : vkf::test::combinedBackwardCases().first(4)) {
        const VkfType type = count++ % 4 < 2 ? VKF_TYPE_F16 : VKF_TYPE_BF16;
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            checkFeature(one, vkf::test::variations[number], type);
        }
    }
}

TEST_CASE("dq is the sum over several bands of keys", "[backward_bands]") {
    for (const bool causal : {false, true}) {
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            const Variation& variation = vkf::test::variations[number];
            VkfProblem forward = manyBands(VKF_TYPE_F16);
            vkf::enable(forward, VKF_USE_CAUSAL, causal);
            apply(variation, forward);
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.maxScratchBytes = roomForSomeBands(variation, problem);
            const BackwardOutcome outcome = run(variation, problem);
            INFO(outcome.text());
            CHECK(outcome.passed());
            CHECK(outcome.info.bandKeys != 0);
            CHECK(outcome.info.bandKeys < forward.keys);
            CHECK(outcome.info.scratchBytes > outcome.info.bandKeys * 2);
            CHECK(outcome.info.scratchBytes < problem.maxScratchBytes + 1000000);
        }
    }
}

// Key j is seen from row j + 40 on, so that stored tiles begin inside of the tiles of rows of dq. If a sum took pairs
// that were not stored, NaN would set off the kernels that compute it again, and hide that. Bytes of 60 are finite.
TEST_CASE("sums leave out pairs that were not stored", "[backward_bands]") {
    for (const bool windowed : {false, true}) {
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            const Variation& variation = vkf::test::variations[number];
            VkfProblem forward = problemOf({1, 4, 2, 110, 70, 32, 0, VKF_TYPE_F16});
            forward.use |= VKF_USE_CAUSAL;
            if (windowed) {
                forward.window = {30, 0, 0};
                forward.use |= VKF_USE_WINDOW;
            }
            apply(variation, forward);
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.maxScratchBytes = plentyOfScratch;
            const BackwardOutcome outcome = run(variation, problem);
            INFO((windowed ? "window, " : "causal, ") << outcome.text());
            CHECK(outcome.info.bandKeys >= forward.keys);
            CHECK(outcome.passed());
            const Inputs inputs = vkf::test::makeInputs(forward, Data{});
            BackwardInputs more = vkf::test::makeBackwardInputs(problem, Data{}.seed);
            vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
            vkf::host::Device& device = deviceOf(variation);
            CHECK(runBackwardUnjudged(device, problem, inputs, more, 0, std::byte{60}).outputs ==
                  runBackwardUnjudged(device, problem, inputs, more).outputs);
        }
    }
}

// With head dimensions over 128, kernels of their own make dk and dv too.
TEST_CASE("wide heads keep p and ds in bands", "[backward_bands]") {
    const auto passes = [](const Variation& variation, VkfProblem forward, bool some, const Data& data) {
        apply(variation, forward);
        VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        problem.use |= VKF_USE_DLSE;
        problem.maxScratchBytes = some ? roomForSomeBands(variation, problem) : plentyOfScratch;
        const BackwardOutcome outcome = run(variation, problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK(outcome.info.bandKeys != 0);
        return outcome.info.bandKeys;
    };
    for (const uint32_t number : vkf::test::usually(4, 5)) {
        const Variation& variation = vkf::test::variations[number];
        VkfProblem forward = problemOf({2, 4, 2, 70, 133, 136, 256, VKF_TYPE_F16});
        forward.use |= VKF_USE_CAUSAL;
        forward.dropout = {0.2F, 0, 7, {}};
        vkf::enable(forward, VKF_USE_KEY_LENGTHS);
        passes(variation, forward, false, Data{.keyLengths = {133, 100}});
        // The first rows see no key: their dout and o are NaN.
        forward = problemOf({1, 2, 1, 150, 70, 256, 64, VKF_TYPE_F16});
        forward.use |= VKF_USE_CAUSAL;
        passes(variation, forward, false, {});
    }
    VkfProblem several = problemOf({3, 4, 2, 40, 4500, 136, 8, VKF_TYPE_F16});
    CHECK(passes(vkf::test::variations[4], several, true, {}) < several.keys);
}

TEST_CASE("bands give the same bits on every run and for any steps", "[backward_bands]") {
    const Variation& variation = vkf::test::variations[4];
    VkfProblem forward = manyBands(VKF_TYPE_F16);
    forward.use |= VKF_USE_CAUSAL;
    apply(variation, forward);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.maxScratchBytes = roomForSomeBands(variation, problem);
    const Inputs inputs = vkf::test::makeInputs(forward, Data{});
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkf::test::computeForward(forward, inputs, VKF_TYPE_F16, &more);
    vkf::host::Device& device = deviceOf(variation);
    const BackwardOutcome first = runBackwardUnjudged(device, problem, inputs, more);
    CHECK(repeatsBits(device, problem, inputs, more, first));
    forward.maxStepOperations = 3000000;
    const BackwardOutcome stepped = runBackwardUnjudged(device, problem, inputs, more, 3);
    CHECK(stepped.info.stepCount > 2 * first.info.stepCount);
    CHECK(stepped.outputs == first.outputs);
}

namespace {

// Key 50 and row 40 have an infinite element each, in k and in dout.
void checkInfinities(const Variation& variation, uint32_t dim) {
    VkfProblem forward = problemOf({1, 2, 1, 64, 64, dim, 0, VKF_TYPE_F16});
    forward.use |= VKF_USE_CAUSAL;
    apply(variation, forward);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.maxScratchBytes = plentyOfScratch;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Inputs inputs = vkf::test::makeInputs(forward, Data{});
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkfStoreElement(VKF_TYPE_F16, inputs.k.data(), uint64_t{50} * dim + 3, infinity);
    vkfStoreElement(VKF_TYPE_F16, more.dout.data(), uint64_t{40} * dim + 5, infinity);
    const BackwardOutcome outcome = runBackward(deviceOf(variation), problem, inputs, more);
    INFO("infinities, " << outcome.text());
    CHECK(outcome.info.bandKeys != 0);
    CHECK(outcome.passed());
}

} // namespace

// ds does not fit fp16, or an infinite k may not reach rows that do not see it. The kernel that computes ds again takes
// over on the device.
TEST_CASE("dq is computed again where stored ds cannot give it", "[backward_bands]") {
    for (const bool causal : {false, true}) {
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            const Variation& variation = vkf::test::variations[number];
            VkfProblem forward = problemOf({1, 2, 1, causal ? 100U : 256U, causal ? 120U : 64U, 32, 0, VKF_TYPE_F16});
            vkf::enable(forward, VKF_USE_CAUSAL, causal);
            forward.scale = 1e-4F;
            apply(variation, forward);
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.dq.type = problem.dk.type = problem.dv.type = VKF_TYPE_F32;
            problem.maxScratchBytes = plentyOfScratch;
            Data data;
            data.magnitude = 40.0;
            const BackwardOutcome outcome = run(variation, problem, data, 10000.0);
            INFO((causal ? "causal, " : "full, ") << outcome.text());
            CHECK(outcome.info.bandKeys != 0);
            CHECK(outcome.passed());
        }
    }
    for (const uint32_t dim : {16U, 136U}) {
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            checkInfinities(vkf::test::variations[number], dim);
        }
    }
}
