// SPDX-License-Identifier: MIT
#include "kernels/random_problems.hpp"

#include <numeric>

#include "support/lists/chosen_keys.hpp"
#include "support/masks.hpp"

namespace vkf::test {
namespace {

constexpr std::array<uint32_t, 11> headDims = {1, 8, 40, 64, 72, 80, 96, 128, 160, 192, 256};
constexpr std::array<uint32_t, 3> groups = {1, 2, 5};

void chooseMasks(Dice& dice, VkfProblem& p, Data& data) {
    vkf::enable(p, VKF_USE_CAUSAL, dice.oneIn(3));
    p.alignment = dice.oneIn(2) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(3)) {
        p.use |= VKF_USE_WINDOW;
        p.window.left = static_cast<int64_t>(dice.below(120)) - 1;
        p.window.right = static_cast<int64_t>(dice.below(120)) - 1;
        endAtDiagonal(p);
    }
    if (dice.oneIn(3)) {
        enable(p, VKF_USE_KEY_LENGTHS);
        for (uint32_t b = 0; b < p.batch; b++) {
            data.keyLengths.push_back(static_cast<int32_t>(dice.below(p.keys + 20)) - 5);
        }
    }
}

// Each dimension repeats or not, with gaps between rows or not.
VkfBroadcastArray randomBroadcast(Dice& dice, const VkfProblem& p, VkfType type) {
    VkfBroadcastArray bias{};
    bias.type = type;
    const uint64_t row = p.keys + dice.below(5);
    bias.rowStride = dice.oneIn(4) ? 0 : row;
    bias.headStride = dice.oneIn(2) ? 0 : row * p.queryRows + dice.below(3);
    bias.batchStride = dice.oneIn(2) ? 0 : row * p.queryRows * p.queryHeads + 2ULL * p.queryHeads + dice.below(3);
    return bias;
}

} // namespace

void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    if (dice.oneIn(2)) {
        return;
    }
    const uint64_t step = dim + dice.below(9);
    if (dice.oneIn(2)) {
        tensor.rowStride = step;
        tensor.headStride = rows * step + dice.below(5);
        tensor.batchStride = heads * tensor.headStride + dice.below(5);
    } else {
        tensor.headStride = step;
        tensor.rowStride = heads * step + dice.below(5);
        tensor.batchStride = rows * tensor.rowStride + dice.below(5);
    }
}

void chooseTerms(Dice& dice, VkfPath path, VkfProblem& p) {
    if (dice.oneIn(2)) {
        return;
    }
    vkf::enable(p, VKF_USE_ALIBI, dice.oneIn(2));
    enable(p, VKF_USE_ALIBI_SLOPES, vkf::has(p, VKF_USE_ALIBI) && dice.oneIn(2));
    enable(p, VKF_USE_SINKS, dice.oneIn(2));
    if (dice.oneIn(3)) {
        p.bias = randomBroadcast(dice, p, static_cast<VkfType>(dice.below(3)));
        enable(p, VKF_USE_BIAS);
        enable(p, VKF_USE_BIAS_FACTORS, dice.oneIn(2));
    }
    enable(p, VKF_USE_DOCUMENT_IDS, dice.oneIn(3) && path != VKF_PATH_STANDARD);
    const uint32_t firstKeys = path != VKF_PATH_STANDARD ? dice.below(40) : 0;
    p.window.firstKeys = vkf::has(p, VKF_USE_WINDOW) ? firstKeys : 0;
    if (dice.oneIn(3) && path != VKF_PATH_STANDARD) {
        p.mask = randomBroadcast(dice, p, dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1);
        enable(p, VKF_USE_MASK);
        Dice own(p.keys ^ p.headDim); // the numbers of the other choices stay
        p.mask.lastKeys = own.oneIn(3) ? 1 + own.below(2 * p.keys + 1) : 0;
    }
}

Lengths randomLengths(Dice& dice, const Shape& shape) {
    Lengths lengths;
    for (uint32_t left = 1 + dice.below(6); left > 0; left--) {
        lengths.rows.push_back(dice.oneIn(5) ? 0 : static_cast<int32_t>(dice.below(2 * shape.Nq) + 1));
        lengths.keys.push_back(dice.oneIn(5) ? 0 : static_cast<int32_t>(dice.below(2 * shape.Nk) + 1));
    }
    return lengths;
}

Shape together(Shape shape, const Lengths& lengths) {
    shape.B = static_cast<uint32_t>(lengths.rows.size());
    shape.Nq = static_cast<uint32_t>(std::accumulate(lengths.rows.begin(), lengths.rows.end(), 0));
    shape.Nk = static_cast<uint32_t>(std::accumulate(lengths.keys.begin(), lengths.keys.end(), 0));
    return shape;
}

void chooseDropout(Dice& dice, VkfProblem& p) {
    if (!dice.oneIn(3)) {
        return;
    }
    p.dropout.probability = 0.01F * static_cast<float>(1 + dice.below(70));
    p.dropout.seed = dice.below(1000) * 0x1234567890123ULL;
    enable(p, VKF_USE_DROPOUT_SEED, dice.oneIn(3));
    if (dice.oneIn(3)) {
        p.dropoutMask = randomBroadcast(dice, p, dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1);
        enable(p, VKF_USE_DROPOUT_MASK);
    }
}

void choosePositions(VkfProblem& p, Data& data) {
    Dice dice(data.seed ^ 0x505053U);
    if (!dice.oneIn(4) || has(p, VKF_USE_DOCUMENT_IDS) || p.window.firstKeys != 0) {
        return;
    }
    enable(p, VKF_USE_POSITIONS);
    p.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    p.positions.rowStride = dice.below(5);
    p.positions.keyStride = dice.below(5);
    if (dice.oneIn(3)) {
        enable(p, VKF_USE_ROW_OFFSETS);
        for (uint32_t b = 0; b < p.batch; b++) {
            data.rowOffsets.push_back(static_cast<int32_t>(dice.below(500)) - 150);
        }
    } else {
        p.positions.firstRow = dice.below(300);
        p.positions.firstKey = dice.below(200);
    }
}

void chooseLists(const Variation& variation, VkfProblem& p, const Data& data) {
    Dice dice(data.seed ^ 0x4c495354U);
    VkfProblem listed = p;
    const bool packed = has(p, VKF_USE_CU_SEQLENS);
    setChosenKeys(listed, 1 + dice.below(2 * p.keys + 1), {!packed && dice.oneIn(2), dice.oneIn(2), dice.oneIn(2)});
    if (dice.oneIn(8) && !has(p, VKF_USE_PROBABILITIES) && takes(variation, listed)) {
        p = listed;
    }
}

Shape randomShape(Dice& dice) {
    Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(groups);
    shape.Nq = dice.of(randomSizes);
    shape.Nk = dice.of(randomSizes);
    return shape;
}

VkfProblem randomProblem(Dice& dice, Data& data, Shape shape) {
    shape.D = dice.of(headDims);
    shape.Dv = dice.oneIn(2) ? dice.of(headDims) : shape.D;
    VkfProblem p = problemOf(shape);
    const auto type = [&dice] { return static_cast<VkfType>(dice.below(3)); };
    p.q.type = type();
    p.k.type = dice.oneIn(2) ? p.q.type : type();
    p.v.type = dice.oneIn(2) ? p.q.type : type();
    p.o.type = dice.oneIn(2) ? p.q.type : type();
    scatter(dice, p.q, shape.H, shape.Nq, shape.D);
    scatter(dice, p.k, shape.Hkv, shape.Nk, shape.D);
    scatter(dice, p.v, shape.Hkv, shape.Nk, shape.Dv);
    scatter(dice, p.o, shape.H, shape.Nq, shape.Dv);
    enable(p, VKF_USE_LSE, !dice.oneIn(4));
    p.softcap = dice.oneIn(4) ? 0.5F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    p.scale = dice.oneIn(3) ? 0.01F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    p.maxStepOperations = dice.oneIn(4) ? 1 + dice.below(1000000) : 0;
    chooseMasks(dice, p, data);
    data.oOffset = dice.below(5);
    return p;
}

} // namespace vkf::test
