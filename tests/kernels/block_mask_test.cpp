// SPDX-License-Identifier: MIT
//
// Block masks: every fused kernel and every reference algorithm with random masks, and the time that closed blocks
// save.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/reference.hpp"
#include "support/timed_call.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::TimedCall;
using vkf::test::Variation;

constexpr std::array densities = {0.0, 0.1, 0.5, 1.0};
constexpr double infinity = std::numeric_limits<double>::infinity();

// A separate block mask for each head of each sequence.
void setBlockMask(VkfProblem& p, uint32_t block) {
    p.blockMask.blockSize = block;
    vkf::enable(p, VKF_USE_BLOCK_MASK);
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(p);
    p.blockMask.headStride = uint64_t{layout.rowBlocks} * layout.rowWords;
    p.blockMask.batchStride = p.blockMask.headStride * p.queryHeads;
}

// Two sequences, GQA. Neither rows nor keys are a multiple of any block.
VkfProblem oddProblem(VkfType type, uint32_t block) {
    VkfProblem problem = problemOf({2, 4, 2, 203, 333, 40, 0, type});
    setBlockMask(problem, block);
    return problem;
}

void checkMasked(const VkfProblem& problem, const Data& data) {
    INFO("density " << data.blockDensity);
    checkEverywhere(problem, data);
}

void causal(VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }
void window(VkfProblem& p) {
    p.use |= VKF_USE_WINDOW;
    p.window.left = 90;
    p.window.right = 33;
    p.alignment = VKF_ALIGNMENT_TOP_LEFT;
}
void lengths(VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }
void everything(VkfProblem& p) {
    window(p);
    causal(p);
    p.window.right = 0;
    lengths(p);
    p.softcap = 20;
    p.scale = -0.2F;
}

constexpr struct {
    const char* name;
    void (*add)(VkfProblem&);
} otherMasks[] = {
    {"no other mask", [](VkfProblem&) {}},
    {"causal", causal},
    {"a window", window},
    {"lengths", lengths},
    {"everything", everything},
};

Data dataOf(const VkfProblem& problem, double density, uint32_t seed) {
    Data data;
    data.seed = seed;
    data.blockDensity = density;
    if (vkf::has(problem, VKF_USE_KEY_LENGTHS)) {
        data.keyLengths = {187, 333};
    }
    return data;
}

} // namespace

TEST_CASE("a block mask combines with every other mask at every density", "[block_mask]") {
    uint32_t seed = 1;
    for (const auto& other : otherMasks) {
        INFO(other.name);
        VkfProblem problem = oddProblem(VKF_TYPE_F16, 64);
        other.add(problem);
        for (const double density : densities) {
            if (vkf::test::wholeSweeps() || seed % 5 % 2 != 0) { // other densities for each other mask
                checkMasked(problem, dataOf(problem, density, seed));
            }
            seed++;
        }
    }
}

TEST_CASE("blocks may have any size that is a multiple of 16", "[block_mask]") {
    uint32_t seed = 100;
    const std::vector<uint32_t> blocks = {16, 32, 48, 80, 128, 256, 65536};
    for (const uint32_t block : vkf::test::eachNth(blocks, 2)) {
        VkfProblem problem = oddProblem(block % 32 == 0 ? VKF_TYPE_BF16 : VKF_TYPE_F16, block);
        causal(problem);
        for (const double density : {0.1, 0.5}) {
            if (vkf::test::wholeSweeps() || (density < 0.3) == (block % 32 == 0)) {
                checkMasked(problem, dataOf(problem, density, seed));
            }
            seed++;
        }
    }
}

TEST_CASE("rows of blocks may be longer than a word", "[block_mask]") {
    for (const uint32_t block : {16U, 32U}) {
        VkfProblem problem = problemOf({1, 2, 1, 70, 1100, 16, 0, block == 16 ? VKF_TYPE_F16 : VKF_TYPE_F32});
        setBlockMask(problem, block);
        for (const double density : {0.02, 0.3}) {
            checkMasked(problem, dataOf(problem, density, block));
        }
    }
}

TEST_CASE("block masks may be shared by sequences, heads or both", "[block_mask]") {
    const VkfProblem dense = oddProblem(VKF_TYPE_F16, 32);
    for (const bool batches : {false, true}) {
        for (const bool heads : {false, true}) {
            if (batches == heads && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = dense;
            problem.blockMask.batchStride = batches ? dense.blockMask.batchStride + 5 : 0;
            problem.blockMask.headStride = heads ? dense.blockMask.headStride + 1 : 0;
            checkMasked(problem, dataOf(problem, 0.4, 7));
        }
    }
}

TEST_CASE("splits of the keys each take their part of a block mask", "[block_mask]") {
    for (const uint32_t block : {16U, 64U}) {
        for (const uint32_t splits : vkf::test::inTurn({2U, 3U, 40U})) {
            VkfProblem problem = oddProblem(VKF_TYPE_F16, block);
            causal(problem);
            problem.kvSplits = splits;
            for (const auto& [variation, density] : {std::pair{0U, 0.3}, std::pair{4U, 0.1}, std::pair{4U, 0.5}}) {
                if ((variation == 0) != (block == 16) && !vkf::test::wholeSweeps()) {
                    continue;
                }
                problem.path = vkf::test::variations[variation].path;
                checkOn(vkf::test::variations[variation], problem,
                        vkf::test::makeInputs(problem, dataOf(problem, density, splits)));
            }
        }
    }
}

TEST_CASE("o of a 16-bit type is written right, also by steps of few items", "[block_mask]") {
    for (const uint32_t block : {16U, 64U}) {
        VkfProblem problem = problemOf({1, 2, 2, 130, 200, 128, 64, VKF_TYPE_F16});
        setBlockMask(problem, block);
        problem.maxStepOperations = 1;
        checkMasked(problem, dataOf(problem, 0.3, block));
    }
}

// The keys of one block hold NaN and infinity. Blocks of 48 cross the tiles of rows and of keys.
TEST_CASE("rows see NaN and infinity only in their open blocks", "[block_mask]") {
    for (const uint32_t block : {48U, 64U}) {
        VkfProblem problem = oddProblem(VKF_TYPE_F16, block);
        for (const double value : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
            Data data = dataOf(problem, 0.4, block);
            data.edit = [&](std::vector<std::byte>& q, std::vector<std::byte>&, std::vector<std::byte>& v) {
                static_cast<void>(q);
                const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_V);
                for (const uint64_t key : {uint64_t{block} + 3, uint64_t{2} * block + 1}) {
                    vkfStoreElement(layout.type, v.data(), layout.headStride + key * layout.rowStride + key % 40,
                                    value);
                }
            };
            checkMasked(problem, data);
        }
    }
}

TEST_CASE("rows whose blocks are all closed are exactly zero with an lse of minus infinity", "[block_mask]") {
    VkfProblem problem = problemOf({1, 1, 1, 100, 150, 8, 0, VKF_TYPE_F16});
    problem.blockMask.blockSize = 64;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    inputs.blockMask = {0U, 2U}; // rows 64 to 99 see keys 64 to 127
    for (const Variation* chosen : vkf::test::variationsInTurn(problem, 3)) {
        const Variation& variation = *chosen;
        problem.path = variation.path;
        // Also with NaN wherever nobody looks. The mask is set after the inputs were drawn.
        for (uint64_t key = 0; key < 150; key++) {
            for (uint64_t d = 0; d < 8; d++) {
                const double value = key / 64 == 1 ? 0.25 * static_cast<double>(d) : std::nan("");
                vkfStoreElement(VKF_TYPE_F16, inputs.k.data(), key * 8 + d, value);
                vkfStoreElement(VKF_TYPE_F16, inputs.v.data(), key * 8 + d, value);
            }
        }
        const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
        INFO(variation.name << ": " << outcome.text());
        CHECK(outcome.passed());
        for (uint64_t row = 0; row < 64; row++) {
            CHECK(outcome.lse[row] == -std::numeric_limits<float>::infinity());
            for (uint64_t d = 0; d < 8; d++) {
                CHECK(vkfLoadElement(VKF_TYPE_F16, outcome.o.data(), row * 8 + d) == 0.0);
            }
        }
        CHECK(std::isfinite(outcome.lse[64]));
    }
}

TEST_CASE("a mask with all blocks open gives the bits of no mask", "[block_mask]") {
    // With few heads the tiles would differ. They would also differ with shared k and v, whose heads are packed without
    // a mask.
    VkfProblem problem = problemOf({16, 16, 16, 64, 260, 16, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    VkfProblem masked = problem;
    setBlockMask(masked, 256);
    for (const Variation* variation : vkf::test::variationsInTurn(masked, 2)) {
        problem.path = masked.path = variation->path;
        const Inputs inputs = vkf::test::makeInputs(masked, {.blockDensity = 1.0});
        const Outcome with = vkf::test::runCall(vkf::test::deviceOf(*variation), masked, inputs);
        const Outcome without = vkf::test::runCall(vkf::test::deviceOf(*variation), problem, inputs);
        INFO(with.text() << "; " << without.text());
        REQUIRE(with.plan.tileKeys == without.plan.tileKeys);
        CHECK(with.o == without.o);
        CHECK(with.lse == without.lse);
    }
}

TEST_CASE("the time falls with the density", "[block_mask_time]") {
    for (const Variation& variation : {vkf::test::variations[0], vkf::test::variations[4]}) {
        INFO(variation.name);
        VkfProblem problem = vkf::test::longProblem(variation);
        const auto timed = [&](double density) {
            return TimedCall(vkf::test::deviceOf(variation), problem,
                             vkf::test::makeInputs(problem, {.blockDensity = density, .poisonInvisibleKeys = false}));
        };
        TimedCall all = timed(1.0);
        setBlockMask(problem, 128);
        TimedCall quarter = timed(0.25);
        TimedCall nothing = timed(0.0);
        vkf::test::checkTimeFalls(all, quarter, nothing, 0.2);
    }
}

TEST_CASE("all reference algorithms agree under a block mask", "[reference]") {
    for (const auto& other : otherMasks) {
        for (const uint32_t block : {16U, 48U}) {
            VkfProblem problem = problemOf({2, 4, 2, 71, 133, 20, 0, VKF_TYPE_F32});
            setBlockMask(problem, block);
            other.add(problem);
            for (const double density : densities) {
                Data data = dataOf(problem, density, block);
                if (vkf::has(problem, VKF_USE_KEY_LENGTHS)) {
                    data.keyLengths = {50, 133};
                }
                const Inputs inputs = vkf::test::makeInputs(problem, data);
                INFO(other.name << " " << vkf::test::describe(problem) << " density " << density);
                const auto direct =
                    vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
                for (const auto& [algorithm, bound] : {std::pair{VKF_REFERENCE_TILED, 1e-12},
                                                       {VKF_REFERENCE_BLOCK_SPARSE, 1e-12},
                                                       {VKF_REFERENCE_TILED_FP32, 1e-4},
                                                       {VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, 1e-4}}) {
                    INFO("algorithm " << static_cast<int>(algorithm));
                    const auto result =
                        vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm, 24, 32));
                    size_t wrong = 0; // counts NaN, which a maximum of differences would leave out
                    for (size_t i = 0; i < direct.o.size(); i++) {
                        wrong += std::abs(direct.o[i] - result.o[i]) <= bound ? 0 : 1;
                    }
                    CHECK(wrong == 0);
                    for (size_t i = 0; i < direct.lse.size(); i++) {
                        const bool same = direct.lse[i] == result.lse[i]; // both -infinity
                        CHECK((same || std::abs(direct.lse[i] - result.lse[i]) <= bound));
                    }
                }
            }
        }
    }
}

// By hand: one key in each block and every score 0, so o is the mean of the values of the open blocks.
TEST_CASE("the reference reads the bits of a block mask in the order that the header shows", "[reference]") {
    VkfProblem problem = problemOf({1, 2, 1, 32, 48, 1, 0, VKF_TYPE_F32});
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    problem.blockMask.headStride = 2;
    Inputs inputs = vkf::test::makeInputs(problem, {});
    std::memset(inputs.k.data(), 0, inputs.k.size());
    for (uint64_t key = 0; key < 48; key++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), key, static_cast<double>(key - key % 16) / 16.0);
    }
    inputs.blockMask = {5U, 2U, 0xfffffff8U, 6U}; // of two heads, two rows of blocks each
    const std::array<double, 4> means = {1.0, 1.0, 0.0, 1.5};
    const std::array<double, 4> open = {2.0, 1.0, 0.0, 2.0};
    for (const VkfReferenceAlgorithm algorithm :
         {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_BLOCK_SPARSE, VKF_REFERENCE_TILED_FP32}) {
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
        for (size_t row = 0; row < 64; row++) {
            CHECK(std::abs(result.o[row] - means[row / 16]) < 1e-6);
            const double lse = std::log(16.0 * open[row / 16]);
            CHECK((result.lse[row] == lse || std::abs(result.lse[row] - lse) < 1e-6));
        }
    }
}
