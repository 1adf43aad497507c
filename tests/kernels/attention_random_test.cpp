// SPDX-License-Identifier: MIT
//
// Random combinations of all features. The seed reproduces a failing case.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/random_problems.hpp"
#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Lengths;

constexpr std::array<uint32_t, 7> decodeGroups = {1, 4, 5, 7, 8, 16, 33};
constexpr std::array<uint32_t, 9> wideSizes = {63, 64, 127, 129, 191, 192, 193, 385, 640};

bool packs(const vkf::test::Variation& variation) {
    return variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER;
}

// A third of the problems want probabilities of all rows or of chosen ones.
void chooseProbabilities(Dice& dice, VkfProblem& p) {
    vkf::enable(p, VKF_USE_PROBABILITIES, dice.oneIn(3) && !vkf::has(p, VKF_USE_CU_SEQLENS));
    p.probabilityRowCount = vkf::has(p, VKF_USE_PROBABILITIES) && dice.oneIn(2) ? 1 + dice.below(12) : 0;
    vkf::enable(p, VKF_USE_PROBABILITY_ROWS, p.probabilityRowCount != 0);
}

// Few query rows, any group of heads, many keys.
vkf::test::Shape randomDecodeShape(Dice& dice) {
    vkf::test::Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(decodeGroups);
    shape.Nq = dice.oneIn(2) ? 1 : 1 + dice.below(16);
    shape.Nk = dice.oneIn(2) ? dice.of(vkf::test::randomSizes) : 1 + dice.below(700);
    return shape;
}

// Several tiles of path wgmma, which has up to 192 rows and 128 keys in a tile.
vkf::test::Shape randomWideShape(Dice& dice) {
    vkf::test::Shape shape = vkf::test::randomShape(dice);
    shape.B = 1 + dice.below(2);
    shape.Nq = dice.oneIn(2) ? dice.of(wideSizes) : 1 + dice.below(700);
    shape.Nk = dice.oneIn(2) ? dice.of(wideSizes) : 1 + dice.below(700);
    return shape;
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
    p.splitKeys = p.kvSplits == 0 && p.keys % 2 == 0 ? 8 + p.keys / 3 : 0;
}

void runSeeds(const vkf::test::Variation& variation, uint32_t firstSeed, uint32_t count,
              vkf::test::Shape (*shapeOf)(Dice&) = vkf::test::randomShape) {
    if (vkf::test::leavesOut(vkf::test::deviceOf(variation), variation.path)) {
        return;
    }
    for (uint32_t seed = firstSeed; seed < firstSeed + count; seed++) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        const vkf::test::Shape shape = shapeOf(dice);
        const bool packed = packs(variation) && seed % 4 == 3;
        const Lengths lengths = packed ? vkf::test::randomLengths(dice, shape) : Lengths{};
        VkfProblem problem = vkf::test::randomProblem(dice, data, packed ? vkf::test::together(shape, lengths) : shape);
        if (packed) {
            vkf::test::setPacked(problem, data, lengths.rows, lengths.keys);
        }
        if (variation.path == VKF_PATH_COOPMAT) {
            makeTypesEqual(variation, problem);
        }
        if (variation.path == VKF_PATH_DECODE || variation.path == VKF_PATH_SCALAR) {
            chooseSplits(dice, variation, problem);
        }
        vkf::test::chooseTerms(dice, variation.path, problem);
        vkf::test::chooseDropout(dice, problem);
        chooseProbabilities(dice, problem);
        vkf::test::choosePositions(problem, data);
        vkf::test::chooseLists(variation, problem, data);
        if (variation.path == VKF_PATH_WGMMA) {
            constexpr std::array<uint32_t, 5> splits = {0, 1, 2, 7, 60};
            problem.kvSplits = dice.of(splits);
            if (!packed && dice.oneIn(3)) {
                problem.k = problem.v = vkf::dense(problem.k.type);
                vkf::test::setPages(problem, 1 + dice.below(100), dice.below(4));
            }
            vkf::test::fitToWgmma(problem);
        }
        apply(variation, problem);
        INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(problem));
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

} // namespace

TEST_CASE("a few random problems agree with the reference on every variation", "[attention_random_quick][slice]") {
    for (const vkf::test::Variation& variation : vkf::test::offeredVariations()) {
        runSeeds(variation, 1, vkf::test::wholeSweeps() ? 6 : 1);
    }
}

namespace {

constexpr uint32_t slices = 100;

// A hundred problems, ten on each variation. A process keeps the kernels that it compiled. With this size, a slice
// takes about 3 GB on a driver that compiles for a CPU.
template <uint32_t slice> void runSlice() {
    const auto variationCount = static_cast<uint32_t>(vkf::test::offeredVariations().size());
    const uint32_t ofEach = 10000 / slices / variationCount;
    for (uint32_t i = 0; i < variationCount; i++) {
        const vkf::test::Variation& variation = vkf::test::variations[i];
        const bool decode = variation.path == VKF_PATH_DECODE && slice % 4 != 0;
        const uint32_t firstSeed = 1000 + (slice * variationCount + i) * ofEach;
        const bool wide = variation.path == VKF_PATH_WGMMA && slice % 4 != 0;
        runSeeds(variation, firstSeed, ofEach,
                 decode ? randomDecodeShape
                 : wide ? randomWideShape
                        : vkf::test::randomShape);
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
