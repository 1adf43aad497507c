// SPDX-License-Identifier: MIT
//
// K and V in pages and in block types, on every path that takes them. Pages are shuffled; pages, rows and entries of
// the block table that belong to nobody are poisoned.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Variation;

constexpr std::array blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1};
constexpr std::array<uint32_t, 4> pageSizes = {1, 2, 16, 256};
constexpr std::array<uint32_t, 3> splits = {0, 1, 3};
constexpr std::array<uint32_t, 6> headDims = {32, 64, 96, 128, 160, 256};
constexpr std::array<uint32_t, 6> sizes = {1, 7, 31, 64, 65, 113};
constexpr std::array<uint32_t, 4> groups = {1, 4, 5, 8};

VkfType storedType(Dice& dice) { return static_cast<VkfType>(dice.below(3)); }

VkfType cacheType(Dice& dice) { return dice.oneIn(4) ? storedType(dice) : blockTypes[dice.below(blockTypes.size())]; }

// Strides that leave gaps of whole blocks, heads or rows outermost.
void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    if (dice.oneIn(2)) {
        return;
    }
    const uint64_t block = vkfBlockElements(tensor.type);
    const uint64_t step = dim + block * dice.below(3);
    if (dice.oneIn(2)) {
        tensor.rowStride = step;
        tensor.headStride = rows * step + block * dice.below(3);
        tensor.batchStride = heads * tensor.headStride + block * dice.below(3);
    } else {
        tensor.headStride = step;
        tensor.rowStride = heads * step + block * dice.below(3);
        tensor.batchStride = rows * tensor.rowStride + block * dice.below(3);
    }
}

void chooseMasks(Dice& dice, VkfProblem& p, Data& data) {
    p.causal = dice.oneIn(2) ? 1 : 0;
    p.alignment = dice.oneIn(3) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(3)) {
        p.window = {1, 0, static_cast<int64_t>(dice.below(120)) - 1, static_cast<int64_t>(dice.below(120)) - 1};
    }
    if (dice.oneIn(2)) {
        p.keyLengths = 1;
        for (uint32_t b = 0; b < p.batch; b++) {
            data.keyLengths.push_back(static_cast<int32_t>(dice.below(p.keys + 20)) - 5);
        }
    }
}

VkfProblem randomCache(Dice& dice, Data& data, bool fewRows) {
    vkf::test::Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(groups);
    shape.Nq = fewRows ? 1 + dice.below(4) : dice.of(sizes);
    shape.Nk = fewRows ? 1 + dice.below(500) : dice.of(sizes);
    shape.D = dice.of(headDims);
    shape.Dv = dice.oneIn(2) ? dice.of(headDims) : shape.D;
    VkfProblem p = vkf::test::problemOf(shape);
    p.q.type = storedType(dice);
    p.o.type = storedType(dice);
    p.k.type = cacheType(dice);
    p.v.type = cacheType(dice);
    uint64_t rows = shape.Nk;
    if (!dice.oneIn(3)) {
        rows = dice.of(pageSizes);
        vkf::test::setPages(p, static_cast<uint32_t>(rows), dice.below(4));
    }
    scatter(dice, p.k, shape.Hkv, rows, shape.D);
    scatter(dice, p.v, shape.Hkv, rows, shape.Dv);
    p.softcap = dice.oneIn(5) ? 10.0F : 0.0F;
    p.scale = dice.oneIn(5) ? -0.1F : 0.0F;
    chooseMasks(dice, p, data);
    return p;
}

// q of a 16-bit type that the device multiplies, k and v of its type or of block types.
void makeTypesFitMatrices(const Variation& variation, VkfProblem& p) {
    const auto fit = [&p](VkfType type) {
        p.k.type = vkfBlockElements(p.k.type) == 1 ? type : p.k.type;
        p.v.type = vkfBlockElements(p.v.type) == 1 ? type : p.v.type;
        p.q.type = type;
    };
    fit(p.q.type == VKF_TYPE_F32 ? VKF_TYPE_F16 : p.q.type);
    p.path = VKF_PATH_COOPMAT;
    if (vkfIsSupported(vkf::test::deviceOf(variation).context(), &p, nullptr) != VKF_SUCCESS) {
        fit(VKF_TYPE_F16);
    }
}

void runSeeds(const Variation& variation, uint32_t firstSeed, uint32_t count) {
    const bool decode = variation.path == VKF_PATH_DECODE;
    const bool coopmat = variation.path == VKF_PATH_COOPMAT;
    for (uint32_t seed = firstSeed; seed < firstSeed + count; seed++) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        VkfProblem problem = randomCache(dice, data, decode);
        if (coopmat) {
            makeTypesFitMatrices(variation, problem);
        }
        if (decode) {
            problem.kvSplits = dice.of(splits);
        }
        apply(variation, problem);
        INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(problem));
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

} // namespace

TEST_CASE("random caches agree with the reference on the scalar path", "[cache]") {
    runSeeds(vkf::test::variations[0], 1, 12);
    runSeeds(vkf::test::variations[2], 100, 4);
}

TEST_CASE("random caches agree with the reference on the decode path", "[cache]") {
    runSeeds(vkf::test::variations[6], 1000, 16);
    runSeeds(vkf::test::variations[8], 1100, 6);
}

TEST_CASE("random caches agree with the reference on cooperative matrices", "[cache_coopmat]") {
    runSeeds(vkf::test::variations[4], 2000, 12);
    runSeeds(vkf::test::variations[5], 2100, 4);
}
