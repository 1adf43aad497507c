// SPDX-License-Identifier: MIT
//
// Random combinations of all features. The seed reproduces a failing case.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;

constexpr std::array<uint32_t, 11> headDims = {1, 8, 40, 64, 72, 80, 96, 128, 160, 192, 256};
constexpr std::array<uint32_t, 9> sizes = {1, 2, 7, 31, 64, 65, 97, 113, 203};
constexpr std::array<uint32_t, 3> groups = {1, 2, 5};
constexpr std::array<uint32_t, 7> decodeGroups = {1, 4, 5, 7, 8, 16, 33};

// Strides with gaps. Heads or rows are outermost.
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

void chooseMasks(Dice& dice, VkfProblem& p, Data& data) {
    p.causal = dice.oneIn(3) ? 1 : 0;
    p.alignment = dice.oneIn(2) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(3)) {
        p.window.enabled = 1;
        p.window.left = static_cast<int64_t>(dice.below(120)) - 1;
        p.window.right = static_cast<int64_t>(dice.below(120)) - 1;
        vkf::test::endAtDiagonal(p);
    }
    if (dice.oneIn(3)) {
        vkf::enable(p, VKF_ARRAY_KEY_LENGTHS);
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

// Score terms, sinks and per-key masks. Half of the problems have none of them.
void chooseTerms(Dice& dice, VkfPath path, VkfProblem& p) {
    if (dice.oneIn(2)) {
        return;
    }
    p.alibi = dice.oneIn(2) ? 1 : 0;
    vkf::enable(p, VKF_ARRAY_ALIBI_SLOPES, p.alibi != 0 && dice.oneIn(2));
    vkf::enable(p, VKF_ARRAY_SINKS, dice.oneIn(2));
    if (dice.oneIn(3)) {
        p.bias = randomBroadcast(dice, p, static_cast<VkfType>(dice.below(3)));
        vkf::enable(p, VKF_ARRAY_BIAS);
        vkf::enable(p, VKF_ARRAY_BIAS_FACTORS, dice.oneIn(2));
    }
    vkf::enable(p, VKF_ARRAY_DOCUMENT_IDS, dice.oneIn(3) && path != VKF_PATH_STANDARD);
    p.window.firstKeys = path != VKF_PATH_STANDARD ? dice.below(40) : 0;
    if (dice.oneIn(3) && path != VKF_PATH_STANDARD) {
        p.mask = randomBroadcast(dice, p, dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1);
        vkf::enable(p, VKF_ARRAY_MASK);
    }
}

// Packed sequences with random lengths around those of the shape.
struct Lengths {
    std::vector<int32_t> rows;
    std::vector<int32_t> keys;
};

Lengths randomLengths(Dice& dice, const vkf::test::Shape& shape) {
    Lengths lengths;
    for (uint32_t left = 1 + dice.below(6); left > 0; left--) {
        lengths.rows.push_back(dice.oneIn(5) ? 0 : static_cast<int32_t>(dice.below(2 * shape.Nq) + 1));
        lengths.keys.push_back(dice.oneIn(5) ? 0 : static_cast<int32_t>(dice.below(2 * shape.Nk) + 1));
    }
    return lengths;
}

vkf::test::Shape together(vkf::test::Shape shape, const Lengths& lengths) {
    shape.B = static_cast<uint32_t>(lengths.rows.size());
    shape.Nq = static_cast<uint32_t>(std::accumulate(lengths.rows.begin(), lengths.rows.end(), 0));
    shape.Nk = static_cast<uint32_t>(std::accumulate(lengths.keys.begin(), lengths.keys.end(), 0));
    return shape;
}

bool packs(const vkf::test::Variation& variation) {
    return variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER;
}

// The generator with its seed on the host or on the device, or a dropout mask.
void chooseDropout(Dice& dice, VkfProblem& p) {
    if (!dice.oneIn(3)) {
        return;
    }
    p.dropout.probability = 0.01F * static_cast<float>(1 + dice.below(70));
    p.dropout.seed = dice.below(1000) * 0x1234567890123ULL;
    vkf::enable(p, VKF_ARRAY_DROPOUT_SEED, dice.oneIn(3));
    if (dice.oneIn(3)) {
        p.dropoutMask = randomBroadcast(dice, p, dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1);
        vkf::enable(p, VKF_ARRAY_DROPOUT_MASK);
    }
}

// A third of the problems want probabilities of all rows or of chosen ones.
void chooseProbabilities(Dice& dice, VkfProblem& p) {
    vkf::enable(p, VKF_ARRAY_PROBABILITIES, dice.oneIn(3) && !vkf::has(p, VKF_ARRAY_CU_SEQLENS));
    p.probabilityRowCount = vkf::has(p, VKF_ARRAY_PROBABILITIES) && dice.oneIn(2) ? 1 + dice.below(12) : 0;
    vkf::enable(p, VKF_ARRAY_PROBABILITY_ROWS, p.probabilityRowCount != 0);
}

vkf::test::Shape randomShape(Dice& dice) {
    vkf::test::Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(groups);
    shape.Nq = dice.of(sizes);
    shape.Nk = dice.of(sizes);
    return shape;
}

// Few query rows, any group of heads, many keys.
vkf::test::Shape randomDecodeShape(Dice& dice) {
    vkf::test::Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(decodeGroups);
    shape.Nq = dice.oneIn(2) ? 1 : 1 + dice.below(16);
    shape.Nk = dice.oneIn(2) ? dice.of(sizes) : 1 + dice.below(700);
    return shape;
}

VkfProblem randomProblem(Dice& dice, Data& data, vkf::test::Shape shape) {
    shape.D = dice.of(headDims);
    shape.Dv = dice.oneIn(2) ? dice.of(headDims) : shape.D;
    VkfProblem p = vkf::test::problemOf(shape);
    const auto type = [&dice] { return static_cast<VkfType>(dice.below(3)); };
    p.q.type = type();
    p.k.type = dice.oneIn(2) ? p.q.type : type();
    p.v.type = dice.oneIn(2) ? p.q.type : type();
    p.o.type = dice.oneIn(2) ? p.q.type : type();
    scatter(dice, p.q, shape.H, shape.Nq, shape.D);
    scatter(dice, p.k, shape.Hkv, shape.Nk, shape.D);
    scatter(dice, p.v, shape.Hkv, shape.Nk, shape.Dv);
    scatter(dice, p.o, shape.H, shape.Nq, shape.Dv);
    vkf::enable(p, VKF_ARRAY_LSE, !dice.oneIn(4));
    p.softcap = dice.oneIn(4) ? 0.5F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    p.scale = dice.oneIn(3) ? 0.01F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    p.maxStepOperations = dice.oneIn(4) ? 1 + dice.below(1000000) : 0;
    chooseMasks(dice, p, data);
    data.oOffset = dice.below(5);
    return p;
}

// One 16-bit type for q, k and v that the device's matrices support. A q of type fp32 stays.
void makeTypesEqual(const vkf::test::Variation& variation, VkfProblem& p) {
    p.kvSplits = p.headDim % 3; // 0 = chosen by the library
    const auto fit = [&p](VkfType type) {
        p.q.type = p.q.type == VKF_TYPE_F32 ? VKF_TYPE_F32 : type;
        p.k.type = p.v.type = type;
    };
    fit(p.q.type != VKF_TYPE_F32 ? p.q.type : p.k.type != VKF_TYPE_F32 ? p.k.type : VKF_TYPE_F16);
    if (!vkf::test::takes(variation, p)) {
        fit(VKF_TYPE_F16);
    }
}

// The library's choice or a fixed number of splits. On path decode all types are often equal, because only such
// problems run on matrix units.
void chooseSplits(Dice& dice, const vkf::test::Variation& variation, VkfProblem& p) {
    if (variation.path == VKF_PATH_DECODE && dice.oneIn(2)) {
        makeTypesEqual(variation, p);
    }
    constexpr std::array<uint32_t, 5> splits = {0, 1, 2, 7, 60};
    p.kvSplits = dice.of(splits);
}

void runSeeds(const vkf::test::Variation& variation, uint32_t firstSeed, uint32_t count,
              vkf::test::Shape (*shapeOf)(Dice&) = randomShape) {
    for (uint32_t seed = firstSeed; seed < firstSeed + count; seed++) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        const vkf::test::Shape shape = shapeOf(dice);
        const bool packed = packs(variation) && seed % 4 == 3;
        const Lengths lengths = packed ? randomLengths(dice, shape) : Lengths{};
        VkfProblem problem = randomProblem(dice, data, packed ? together(shape, lengths) : shape);
        if (packed) {
            vkf::test::setPacked(problem, data, lengths.rows, lengths.keys);
        }
        if (variation.path == VKF_PATH_COOPMAT) {
            makeTypesEqual(variation, problem);
        }
        if (variation.path == VKF_PATH_DECODE || variation.path == VKF_PATH_SCALAR) {
            chooseSplits(dice, variation, problem);
        }
        chooseTerms(dice, variation.path, problem);
        chooseDropout(dice, problem);
        chooseProbabilities(dice, problem);
        apply(variation, problem);
        INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(problem));
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

} // namespace

TEST_CASE("a few random problems agree with the reference on every variation", "[attention_random_quick]") {
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        runSeeds(variation, 1, vkf::test::wholeSweeps() ? 6 : 2);
    }
}

namespace {

constexpr uint32_t slices = 100;

// A hundred problems, ten on each variation. A process keeps the kernels that it compiled. With this size, a slice
// takes about 1 GB on a driver that compiles for a CPU.
template <uint32_t slice> void runSlice() {
    constexpr auto variationCount = static_cast<uint32_t>(std::size(vkf::test::variations));
    constexpr uint32_t ofEach = 10000 / slices / variationCount;
    for (uint32_t i = 0; i < variationCount; i++) {
        const vkf::test::Variation& variation = vkf::test::variations[i];
        const bool decode = variation.path == VKF_PATH_DECODE && slice % 4 != 0;
        const uint32_t firstSeed = 1000 + (slice * variationCount + i) * ofEach;
        runSeeds(variation, firstSeed, ofEach, decode ? randomDecodeShape : randomShape);
    }
    std::printf("slice %u of %u: %u random problems on %u variations\n", slice, slices, ofEach * variationCount,
                variationCount);
}

// Only slice 7: vkflash_tests "random problems of slice 7". All slices: vkflash_tests "[attention_random]".
struct Slices {
    Slices() { add(std::make_integer_sequence<uint32_t, slices>{}); }

    template <uint32_t... slice> static void add(std::integer_sequence<uint32_t, slice...> /*all*/) {
        (addOne<slice>(), ...);
    }
    template <uint32_t slice> static void addOne() {
        const std::string name = "random problems of slice " + std::to_string(slice);
        REGISTER_TEST_CASE(runSlice<slice>, name, "[.][attention_random]");
    }
};
const Slices registeredSlices;

} // namespace
