// SPDX-License-Identifier: MIT
#include "proof/plans/random_problems.hpp"

#include <algorithm>

#include "support/masks.hpp"

namespace vkf::test {
namespace {

constexpr std::array<uint32_t, 15> dims = {1, 8, 16, 40, 64, 64, 66, 80, 96, 128, 128, 128, 160, 192, 256};
constexpr std::array<uint32_t, 5> wideDims = {257, 320, 512, 576, 600};
constexpr std::array<uint32_t, 24> lengths = {1,   2,   4,   7,   8,    9,    16,   17,   31,   64,    65,    100,
                                              128, 256, 512, 768, 1000, 1024, 2048, 4096, 8192, 16384, 65536, 131072};
constexpr std::array<uint32_t, 6> hugeLengths = {1U << 20, 1U << 22, 1U << 26, (1U << 30) - 70000, 1U << 30, 12345678};
constexpr std::array<uint32_t, 8> groups = {1, 1, 2, 4, 4, 5, 8, 16};
constexpr std::array<uint32_t, 6> batches = {1, 1, 1, 2, 3, 40};
constexpr std::array<uint32_t, 6> kvHeads = {1, 2, 4, 8, 8, 16};
constexpr std::array<uint32_t, 8> blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,
                                                VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
constexpr std::array<uint32_t, 4> pageSizes = {16, 64, 128, 256};
constexpr std::array<uint32_t, 5> blockSizes = {16, 48, 64, 128, 256};

VkfType plainType(Dice& dice) { return static_cast<VkfType>(dice.below(3)); }
VkfType maskType(Dice& dice) { return dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1; }

VkfBroadcastArray randomBroadcast(Dice& dice, const VkfProblem& p, VkfType type) {
    VkfBroadcastArray array =
        broadcast(p, type, dice.oneIn(2), dice.oneIn(3), !dice.oneIn(8), dice.oneIn(3) ? dice.below(9) : 0);
    if (dice.oneIn(6)) {
        array.heads = 1 + dice.below(std::max(p.queryHeads, 1U));
        array.sequences = 1 + dice.below(std::max(p.batch, 1U));
    }
    return array;
}

void scatterRows(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    if (!dice.oneIn(3)) {
        return;
    }
    const uint64_t gap = dice.oneIn(40) ? uint64_t{1} << (20 + dice.below(24)) : 4 * dice.below(4) + dice.below(2);
    const uint64_t step = vkfBlockElements(tensor.type) > 1 ? dim + 32 * (gap % 4) : dim + gap;
    if (dice.oneIn(2)) {
        tensor.rowStride = step;
        tensor.headStride = rows * step;
        tensor.batchStride = heads * tensor.headStride;
    } else {
        tensor.headStride = step;
        tensor.rowStride = heads * step;
        tensor.batchStride = rows * tensor.rowStride;
    }
}

void chooseStrides(Dice& dice, VkfProblem& p) {
    scatterRows(dice, p.q, p.queryHeads, p.queryRows, p.headDim);
    scatterRows(dice, p.o, p.queryHeads, p.queryRows, p.valueDim);
    if (!has(p, VKF_USE_BLOCK_TABLE)) {
        scatterRows(dice, p.k, p.kvHeads, p.keys, p.headDim);
        scatterRows(dice, p.v, p.kvHeads, p.keys, p.valueDim);
    }
}

void chooseSizes(Dice& dice, VkfProblem& p) {
    p.batch = dice.of(batches);
    p.kvHeads = dice.of(kvHeads);
    p.queryHeads = p.kvHeads * dice.of(groups);
    p.queryRows = dice.of(lengths);
    p.keys = dice.oneIn(3) ? p.queryRows : dice.of(lengths);
    p.headDim = dice.of(dims);
    p.valueDim = dice.oneIn(3) ? dice.of(dims) : p.headDim;
    if (dice.oneIn(12)) {
        p.headDim = dice.of(wideDims);
        p.valueDim = dice.oneIn(2) ? dice.of(wideDims) : 512;
        p.queryRows = 1 + dice.below(20);
    }
    if (dice.oneIn(30)) {
        (dice.oneIn(2) ? p.queryRows : p.keys) = dice.of(hugeLengths);
    }
    if (dice.oneIn(40)) {
        uint32_t* const fields[] = {&p.batch, &p.queryRows, &p.keys};
        *fields[dice.below(3)] = 0;
    }
}

void chooseTypes(Dice& dice, VkfProblem& p, bool blocks) {
    const VkfType type = dice.oneIn(2) ? VKF_TYPE_F16 : plainType(dice);
    p.q.type = p.k.type = p.v.type = p.o.type = type;
    if (dice.oneIn(4)) {
        p.q.type = plainType(dice);
    }
    if (dice.oneIn(4)) {
        p.o.type = plainType(dice);
    }
    if (dice.oneIn(8)) {
        p.v.type = plainType(dice);
    }
    if (blocks && dice.oneIn(4)) {
        p.k.type = static_cast<VkfType>(dice.of(blockTypes));
        p.v.type = dice.oneIn(8) ? plainType(dice) : static_cast<VkfType>(dice.of(blockTypes));
        p.headDim = (p.headDim + 31) / 32 * 32;
        p.valueDim = (p.valueDim + 31) / 32 * 32;
    }
}

void chooseMasks(Dice& dice, VkfProblem& p) {
    vkf::enable(p, VKF_USE_CAUSAL, dice.oneIn(3));
    p.alignment = dice.oneIn(4) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(5)) {
        setWindow(p, static_cast<int64_t>(dice.below(3000)) - 1, static_cast<int64_t>(dice.below(300)) - 1,
                  dice.oneIn(3) ? dice.below(40) : 0);
        endAtDiagonal(p);
    }
    enable(p, VKF_USE_KEY_LENGTHS, dice.oneIn(4));
    if (dice.oneIn(12)) {
        enable(p, VKF_USE_BLOCK_MASK);
        p.blockMask.blockSize = dice.of(blockSizes);
        p.blockMask.headStride = dice.oneIn(2) ? 70000 : 0;
    }
}

void chooseTerms(Dice& dice, VkfProblem& p) {
    if (dice.oneIn(2)) {
        return;
    }
    p.softcap = dice.oneIn(5) ? 20.0F : 0.0F;
    vkf::enable(p, VKF_USE_ALIBI, dice.oneIn(5));
    enable(p, VKF_USE_ALIBI_SLOPES, vkf::has(p, VKF_USE_ALIBI) && dice.oneIn(2));
    enable(p, VKF_USE_SINKS, dice.oneIn(4));
    if (dice.oneIn(3)) {
        enable(p, VKF_USE_BIAS);
        p.bias = randomBroadcast(dice, p, plainType(dice));
        enable(p, VKF_USE_BIAS_FACTORS, dice.oneIn(4));
    }
    enable(p, VKF_USE_DOCUMENT_IDS, dice.oneIn(6));
    if (dice.oneIn(5)) {
        enable(p, VKF_USE_MASK);
        p.mask = randomBroadcast(dice, p, maskType(dice));
    }
    if (dice.oneIn(6)) {
        p.dropout.probability = 0.1F;
        p.dropout.seed = 42;
        enable(p, VKF_USE_DROPOUT_SEED, dice.oneIn(3));
        if (dice.oneIn(3)) {
            enable(p, VKF_USE_DROPOUT_MASK);
            p.dropoutMask = randomBroadcast(dice, p, maskType(dice));
        }
    }
}

void choosePages(Dice& dice, VkfProblem& p) {
    if (!dice.oneIn(6)) {
        return;
    }
    enable(p, VKF_USE_BLOCK_TABLE);
    p.paging.pageSize = dice.of(pageSizes);
    p.paging.maxPages = std::max(p.keys / p.paging.pageSize + 1, 1U);
    p.paging.pages = p.paging.maxPages;
}

void choosePacking(Dice& dice, VkfProblem& p) {
    if (!dice.oneIn(6)) {
        return;
    }
    enable(p, VKF_USE_CU_SEQLENS);
    if (dice.oneIn(2)) {
        p.longestRows = p.queryRows - p.queryRows / 3;
        p.longestKeys = p.keys - p.keys / 3;
    }
}

void chooseOutputs(Dice& dice, VkfProblem& p) {
    enable(p, VKF_USE_LSE, dice.oneIn(2));
    if (dice.oneIn(8)) {
        enable(p, VKF_USE_PROBABILITIES);
        if (dice.oneIn(2)) {
            enable(p, VKF_USE_PROBABILITY_ROWS);
            p.probabilityRowCount = 1 + dice.below(100);
        }
    }
}

void chooseLimits(Dice& dice, VkfProblem& p) {
    p.maxStepOperations = dice.oneIn(5) ? uint64_t{1} << dice.below(50) : 0;
    p.precision = dice.oneIn(10) ? VKF_PRECISION_FP32 : VKF_PRECISION_DEFAULT;
    p.scale = dice.oneIn(4) ? 0.3F : 0.0F;
    p.maxScratchBytes = dice.oneIn(4) ? uint64_t{1} << dice.below(40) : 0;
    p.kvSplits = dice.oneIn(6) ? 1 + dice.below(9) : 0;
}

} // namespace

VkfProblem randomPlanProblem(Dice& dice) {
    auto p = make<VkfProblem>();
    chooseSizes(dice, p);
    p.path = dice.oneIn(2) ? VKF_PATH_AUTO : static_cast<VkfPath>(1 + dice.below(5));
    chooseTypes(dice, p, true);
    choosePages(dice, p);
    choosePacking(dice, p);
    chooseStrides(dice, p);
    chooseMasks(dice, p);
    chooseTerms(dice, p);
    chooseOutputs(dice, p);
    chooseLimits(dice, p);
    return p;
}

VkfProblem randomForwardProblem(Dice& dice) {
    constexpr std::array<uint32_t, 4> paths = {VKF_PATH_AUTO, VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_COOPMAT};
    auto p = make<VkfProblem>();
    chooseSizes(dice, p);
    p.path = static_cast<VkfPath>(dice.of(paths));
    chooseTypes(dice, p, false);
    choosePacking(dice, p);
    chooseStrides(dice, p);
    chooseMasks(dice, p);
    chooseTerms(dice, p);
    chooseLimits(dice, p);
    enable(p, VKF_USE_LSE); // the backward pass reads it
    p.kvSplits = 0;
    return p;
}

VkfBackwardProblem randomBackwardProblem(Dice& dice, const VkfProblem& forward) {
    auto g = make<VkfBackwardProblem>();
    g.forward = &forward;
    g.gradients = dice.oneIn(3) ? 1 + dice.below(31) : 0;
    g.gradients &= has(forward, VKF_USE_BIAS) ? ~0U : ~VkfGradients{VKF_GRADIENT_BIAS};
    g.gradients &= has(forward, VKF_USE_SINKS) ? ~0U : ~VkfGradients{VKF_GRADIENT_SINKS};
    vkf::enable(g, VKF_USE_DLSE, dice.oneIn(4));
    g.dout.type = dice.oneIn(6) ? plainType(dice) : forward.q.type;
    g.dq.type = g.dk.type = g.dv.type = dice.oneIn(3) ? plainType(dice) : forward.q.type;
    g.dbiasType = (g.gradients & VKF_GRADIENT_BIAS) != 0 ? forward.bias.type : VKF_TYPE_F32;
    scatterRows(dice, g.dout, forward.queryHeads, forward.queryRows, forward.valueDim);
    scatterRows(dice, g.dq, forward.queryHeads, forward.queryRows, forward.headDim);
    scatterRows(dice, g.dk, forward.kvHeads, forward.keys, forward.headDim);
    g.maxScratchBytes = dice.oneIn(3) ? uint64_t{1} << dice.below(40) : 0;
    return g;
}

} // namespace vkf::test
