// SPDX-License-Identifier: MIT
//
// Random backward passes over all features. The seed reproduces a failing case.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <string>

#include "kernels/backward/backward_runs.hpp"
#include "kernels/random_problems.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Variation;

// A block mask whose blocks tiles divide, or do not.
void chooseBlocks(Dice& dice, VkfProblem& p) {
    if (vkf::has(p, VKF_USE_CU_SEQLENS) || !dice.oneIn(5)) {
        return;
    }
    constexpr std::array<uint32_t, 4> blocks = {16, 32, 48, 64};
    vkf::enable(p, VKF_USE_BLOCK_MASK);
    p.blockMask.blockSize = dice.of(blocks);
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(p);
    p.blockMask.headStride = dice.oneIn(2) ? uint64_t{layout.rowBlocks} * layout.rowWords : 0;
}

// Gives q, k and v types that matrices take, if the variation is path coopmat.
void chooseMatrixTypes(Dice& dice, const Variation& variation, VkfProblem& p) {
    if (variation.path == VKF_PATH_COOPMAT) {
        p.k.type = p.v.type = dice.oneIn(2) ? VKF_TYPE_F16 : VKF_TYPE_BF16;
        p.q.type = dice.oneIn(4) ? VKF_TYPE_F32 : p.k.type;
        if (!takes(variation, p)) { // the device multiplies no bf16
            p.q.type = p.k.type = p.v.type = VKF_TYPE_F16;
        }
    }
}

// Types, strides and the gradients that are wanted. The bias can have strides that no gradient of it has.
VkfBackwardProblem randomBackward(Dice& dice, const VkfProblem& forward) {
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    const auto type = [&dice] { return static_cast<VkfType>(dice.below(3)); };
    const uint32_t valueDim = forward.valueDim != 0 ? forward.valueDim : forward.headDim;
    const auto describe = [&](VkfTensor& tensor, uint32_t heads, uint32_t rows, uint32_t dim) {
        tensor = {};
        tensor.type = dice.oneIn(2) ? forward.q.type : type();
        scatter(dice, tensor, heads, rows, dim);
    };
    const VkfGradients all = vkf::test::allGradients(forward);
    const VkfGradients some = all & (1 + dice.below(31));
    problem.gradients = dice.oneIn(3) && some != 0 ? some : all;
    const auto wants = [&](VkfGradients bit) { return (problem.gradients & bit) != 0; };
    vkf::enable(problem, VKF_USE_DLSE, dice.oneIn(2));
    problem.maxScratchBytes =
        vkf::has(problem, VKF_USE_DLSE) ? uint64_t{1} << 30 : 1; // half of the problems may keep ds
    problem.dbiasType = wants(VKF_GRADIENT_BIAS) ? type() : VKF_TYPE_F32;
    describe(problem.dout, forward.queryHeads, forward.queryRows, valueDim);
    problem.dq = problem.dk = problem.dv = {};
    if (wants(VKF_GRADIENT_Q)) {
        describe(problem.dq, forward.queryHeads, forward.queryRows, forward.headDim);
    }
    if (wants(VKF_GRADIENT_K)) {
        describe(problem.dk, forward.kvHeads, forward.keys, forward.headDim);
    }
    if (wants(VKF_GRADIENT_V)) {
        describe(problem.dv, forward.kvHeads, forward.keys, valueDim);
    }
    if (vkfCheckBackward(&problem, nullptr) == VKF_ERROR_UNSUPPORTED && wants(VKF_GRADIENT_BIAS)) {
        problem.gradients = VKF_GRADIENT_Q;
        problem.dk = problem.dv = {};
        problem.dbiasType = VKF_TYPE_F32;
        problem.dq = {};
    }
    return problem;
}

// Gives fp32 tensors to a backward pass on a device without 16-bit storage.
void fitBackward(const vkf::host::Device& device, VkfBackwardProblem& problem) {
    if (vkf::test::lacksStorage16(device)) {
        problem.dout.type = problem.dq.type = problem.dk.type = problem.dv.type = problem.dbiasType = VKF_TYPE_F32;
    }
}

void runSeeds(const Variation& variation, uint32_t firstSeed, uint32_t count) {
    for (uint32_t seed = firstSeed; seed < firstSeed + count; seed++) {
        if (vkf::test::leavesOut(deviceOf(variation), variation.path)) {
            continue;
        }
        Dice dice(seed);
        Data data;
        data.seed = seed;
        const vkf::test::Shape shape = randomShape(dice);
        const bool packed = seed % 4 == 3;
        const vkf::test::Lengths lengths = packed ? randomLengths(dice, shape) : vkf::test::Lengths{};
        VkfProblem forward = randomProblem(dice, data, packed ? together(shape, lengths) : shape);
        if (packed) {
            setPacked(forward, data, lengths.rows, lengths.keys);
        }
        vkf::enable(forward, VKF_USE_LSE);
        chooseTerms(dice, VKF_PATH_SCALAR, forward);
        chooseDropout(dice, forward);
        chooseBlocks(dice, forward);
        chooseMatrixTypes(dice, variation, forward);
        vkf::test::choosePositions(forward, data);
        apply(variation, forward);
        forward = vkf::test::fittedBackward(deviceOf(variation), forward);
        VkfBackwardProblem problem = randomBackward(dice, forward);
        fitBackward(deviceOf(variation), problem);
        if (variation.path == VKF_PATH_COOPMAT && problem.dout.type != VKF_TYPE_F32) {
            problem.dout.type = forward.k.type;
        }
        const uint32_t stepsAtOnce = dice.below(3);
        INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(forward) << " gradients "
                     << problem.gradients);
        const vkf::test::BackwardOutcome outcome =
            runBackward(deviceOf(variation), problem, makeInputs(forward, data),
                        vkf::test::makeBackwardInputs(problem, seed), stepsAtOnce);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

} // namespace

// Without whole sweeps, a packed problem and another one.
TEST_CASE("random backward passes agree with the reference", "[backward_random]") {
    runSeeds(vkf::test::variations[0], vkf::test::wholeSweeps() ? 1 : 3, vkf::test::wholeSweeps() ? 200 : 2);
    runSeeds(vkf::test::variations[2], 1000, vkf::test::wholeSweeps() ? 200 : 1);
}

TEST_CASE("random backward passes on matrices agree with the reference", "[backward_random]") {
    runSeeds(vkf::test::variations[4], vkf::test::wholeSweeps() ? 2000 : 2003, vkf::test::wholeSweeps() ? 200 : 2);
    runSeeds(vkf::test::variations[5], 3000, vkf::test::wholeSweeps() ? 200 : 1);
}
