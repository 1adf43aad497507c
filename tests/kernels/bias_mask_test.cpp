// SPDX-License-Identifier: MIT
//
// Biases that are masks: of 0 and -infinity, as some systems pass them. A map of tiles finds what they leave.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"
#include "support/timed_call.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::broadcast;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::TimedCall;
using vkf::test::Variation;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The paths that have maps: scalar with and without subgroups, and coopmat with known and unknown element layout.
void checkInTiles(const VkfProblem& problem, const Inputs& inputs) {
    for (const uint32_t variation : vkf::test::inTurn({4U, 0U, 5U, 1U, 2U}, problem)) {
        checkOn(vkf::test::variations[variation], problem, inputs);
    }
}

void checkInTiles(const VkfProblem& problem, const Data& data) {
    checkInTiles(problem, vkf::test::makeInputs(problem, data));
}

void setBias(VkfProblem& problem, VkfType type, bool heads = false, uint64_t gap = 0) {
    problem.bias = broadcast(problem, type, heads, heads, true, gap);
    vkf::enable(problem, VKF_USE_BIAS);
}

// Calls set(row, key) for each element of a bias that all sequences and heads share.
template <typename Value> void fillBias(const VkfProblem& problem, Inputs& inputs, const Value& value) {
    for (uint64_t row = 0; row < problem.queryRows; row++) {
        for (uint64_t key = 0; key < problem.keys; key++) {
            vkfStoreElement(problem.bias.type, inputs.bias.data(), row * problem.bias.rowStride + key, value(row, key));
        }
    }
}

// A problem with one KV head and a bias with factors.
VkfProblem halfClosed(const Variation& variation, uint32_t heads, uint32_t rows, uint32_t keys) {
    VkfProblem problem = problemOf({1, heads, 1, rows, keys, 64, 0, VKF_TYPE_F16});
    setBias(problem, VKF_TYPE_F16);
    vkf::enable(problem, VKF_USE_BIAS_FACTORS);
    apply(variation, problem);
    return problem;
}

// The plan then has steps for the map and its order, besides those of the table and of attention.
bool makesMap(vkf::host::Device& device, const VkfProblem& problem) {
    return vkf::host::Plan(device, problem).info().stepCount > 3;
}

} // namespace

TEST_CASE("biases of 0, -infinity and numbers make tiles of any kind, whatever their type and strides", "[bias_mask]") {
    uint32_t seed = 1;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16}) {
        for (const uint64_t gap : {0U, 4U, 3U}) { // rows of 700 elements: in words, in pieces of f16, in neither
            if (seed % 4 != 1 && !vkf::test::wholeSweeps()) { // each type once, each gap once
                seed++;
                continue;
            }
            const bool heads = gap == 4;
            VkfProblem problem = problemOf({2, 4, heads ? 2U : 4U, 150, 700, 40, 0, VKF_TYPE_F16});
            setBias(problem, type, heads, gap);
            vkf::enable(problem, VKF_USE_CAUSAL, gap == 3);
            Data data;
            data.seed = seed++;
            data.biasSquare = heads ? 64 : 100;
            checkInTiles(problem, data);
        }
    }
}

TEST_CASE("a causal mask in a bias is one, also where tiles end after the last row and key", "[bias_mask]") {
    for (const uint32_t keys : {301U, 512U}) {
        VkfProblem problem = problemOf({1, 4, 2, 300, keys, 64, 0, VKF_TYPE_F16});
        setBias(problem, VKF_TYPE_F16, false, (8 - keys % 8) % 8);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        fillBias(problem, inputs,
                 [&](uint64_t row, uint64_t key) { return key + 300 <= row + keys ? 0.0 : -infinity; });
        checkInTiles(problem, inputs);
        problem.kvSplits = 2;
        vkf::enable(problem, VKF_USE_SINKS);
        inputs.sinks = {0.5F, -1.0F, 2.0F, 0.0F};
        checkInTiles(problem, inputs);
    }
}

TEST_CASE("rows whose bias is a mask see its holes, and rows with another number get it added", "[bias_mask]") {
    struct Case {
        uint32_t dim;
        VkfType type;
        uint64_t gap;
        bool factors;
    };
    const std::vector<Case> cases = {{40, VKF_TYPE_F16, 0, true},
                                     {128, VKF_TYPE_BF16, 4, true},
                                     {160, VKF_TYPE_F16, 1, false},
                                     {128, VKF_TYPE_F32, 3, false}};
    for (const Case& one : vkf::test::eachNth(cases, 3)) {
        VkfProblem problem = problemOf({1, 2, 1, 150, 1000, one.dim, 0, VKF_TYPE_F16});
        setBias(problem, one.type, false, one.gap);
        vkf::enable(problem, VKF_USE_BIAS_FACTORS, one.factors);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        fillBias(problem, inputs, [&](uint64_t row, uint64_t key) {
            const bool hole = key >= 450 && key < 480 && (7 * row + key) % 3 == 0;
            const bool closed = key >= 700 && key < 800;
            return hole || closed ? -infinity : row == 140 && key == 77 ? 2.5 : 0.0;
        });
        checkInTiles(problem, inputs);
    }
}

TEST_CASE("rows whose bias is a mask may have larger tiles than the others", "[bias_mask]") {
    for (const bool causal : vkf::test::inTurn({true, false})) {
        VkfProblem problem = problemOf({1, 28, 28, 2065, 130, 72, 0, VKF_TYPE_F16}); // 252 tiles of 256 rows
        setBias(problem, VKF_TYPE_F16);
        vkf::enable(problem, VKF_USE_CAUSAL, causal);
        problem.alignment = VKF_ALIGNMENT_TOP_LEFT; // most rows see all keys
        Inputs inputs = vkf::test::makeInputs(problem, {});
        fillBias(problem, inputs, [&](uint64_t row, uint64_t key) {
            const bool closed = key >= 32 && key < 96 && row < 1800;
            return closed || (row + key) % 120 == 0 ? -infinity : row / 256 == 3 && key == 5 ? 1.5 : 0.0;
        });
        checkOn(vkf::test::variations[4], problem, inputs);
    }
}

TEST_CASE("biases that are masks go with masks, windows, lengths and other terms", "[bias_mask]") {
    VkfProblem problem = problemOf({2, 2, 1, 130, 600, 64, 0, VKF_TYPE_F16});
    setBias(problem, VKF_TYPE_F16);
    Data data;
    data.biasSquare = 64;
    data.keyLengths = {0, 511};
    VkfProblem lengths = problem;
    vkf::enable(lengths, VKF_USE_KEY_LENGTHS);
    lengths.window = {300, 10, 50};
    lengths.use |= VKF_USE_WINDOW;
    lengths.softcap = 7;
    checkInTiles(lengths, data);
    VkfProblem masked = problem;
    masked.mask = broadcast(masked, VKF_TYPE_BOOL1, false, true, true, 3);
    vkf::enable(masked, VKF_USE_MASK | VKF_USE_BIAS_FACTORS);
    data.maskSquare = 48;
    masked.use |= VKF_USE_ALIBI;
    checkInTiles(masked, data);
    VkfProblem blocks = problem;
    blocks.blockMask.blockSize = 48;
    vkf::enable(blocks, VKF_USE_BLOCK_MASK);
    blocks.blockMask.headStride = vkf::blockMaskLayoutOf(blocks).words;
    checkInTiles(blocks, data);
    VkfProblem documents = problem;
    vkf::enable(documents, VKF_USE_DOCUMENT_IDS);
    data.documentKeys = 90;
    documents.use |= VKF_USE_CAUSAL;
    documents.dropout.probability = 0.2F;
    checkInTiles(documents, data);
}

// Blocks are smaller than tiles, and nearly every tile has one that is visible.
TEST_CASE("biases that are numbers everywhere go with block masks", "[bias_mask]") {
    for (const uint32_t number : {4U, 0U}) {
        const Variation& variation = vkf::test::variations[number];
        vkf::host::Device& device = vkf::test::deviceOf(variation);
        if (vkf::test::leavesOut(device, variation.path)) {
            continue;
        }
        VkfProblem problem = problemOf({1, 45, 45, 203, 304, 40, 0, VKF_TYPE_F16}); // many heads have large tiles
        problem.blockMask.blockSize = 16;
        vkf::enable(problem, VKF_USE_BLOCK_MASK);
        setBias(problem, VKF_TYPE_F16); // rows are read in words
        const auto hasMap = [&] {
            VkfProblem made = problem;
            apply(variation, made);
            return vkf::host::Plan(device, made).info().tileMapBytes != 0;
        };
        while (!hasMap()) { // a GPU makes maps only of long biases
            problem.queryRows *= 2;
            problem.keys *= 2;
            setBias(problem, VKF_TYPE_F16);
            REQUIRE(problem.keys < 10000);
        }
        checkOn(variation, problem, vkf::test::makeInputs(problem, {.blockDensity = 0.8}));
    }
}

// Kernels skip no tile of rows with such a bias. So nothing but the first keys says which tiles are full.
TEST_CASE("biases that are numbers everywhere go with first keys", "[bias_mask]") {
    const Variation& variation = vkf::test::variations[4];
    vkf::host::Device& device = vkf::test::deviceOf(variation);
    if (vkf::test::leavesOut(device, variation.path)) {
        return;
    }
    VkfProblem problem = problemOf({1, 45, 45, 203, 65, 40, 0, VKF_TYPE_F16}); // many heads have large tiles
    setBias(problem, VKF_TYPE_F16, false, 7);                                  // rows are read in words
    vkf::test::setWindow(problem, 109, 0, 22);
    problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    const auto hasMap = [&] {
        VkfProblem made = problem;
        apply(variation, made);
        return makesMap(device, made);
    };
    while (!hasMap()) { // a GPU makes maps only of long biases
        problem.queryRows *= 2;
        problem.keys = problem.keys * 2 + 5;
        setBias(problem, VKF_TYPE_F16, false, (8 - problem.keys % 8) % 8);
        vkf::test::setWindow(problem, problem.keys + 44, 0, problem.keys / 3);
        REQUIRE(problem.keys < 4096);
    }
    checkOn(variation, problem, vkf::test::makeInputs(problem, {}));
}

TEST_CASE("every path takes a bias of 0 and -infinity, and rows that it leaves no key are zero", "[bias_mask]") {
    for (const uint32_t rows : {5U, 77U}) {
        VkfProblem problem = problemOf({2, 4, 2, rows, 131, 40, 24, VKF_TYPE_F16});
        setBias(problem, rows == 5 ? VKF_TYPE_BF16 : VKF_TYPE_F16, false, 1);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        fillBias(problem, inputs, [&](uint64_t row, uint64_t key) {
            return row == 3 || key / 32 == row / 32 ? -infinity : key % 2 == 0 ? 0.0 : -0.0;
        });
        for (const Variation* variation : vkf::test::variationsInTurn(problem, 3)) {
            checkOn(*variation, problem, inputs);
        }
    }
}

// The contract leaves both open. A kernel that computed what it may skip would return NaN here.
TEST_CASE("tiles that a bias closes are skipped, and a bias of 0 is not multiplied by its factor", "[bias_mask]") {
    for (const uint32_t variation : {0U, 4U, 5U}) {
        const Variation& chosen = vkf::test::variations[variation];
        vkf::host::Device& device = vkf::test::deviceOf(chosen);
        if (vkf::test::leavesOut(device, chosen.path) || (variation == 5 && !vkf::test::wholeSweeps())) {
            continue;
        }
        INFO(chosen.name);
        VkfProblem problem = halfClosed(chosen, 2, 256, 512);
        if (!makesMap(device, problem)) { // a GPU makes maps only of long biases
            problem = halfClosed(chosen, 16, 2048, 4096);
            REQUIRE(makesMap(device, problem));
        }
        Inputs inputs = vkf::test::makeInputs(problem, {});
        inputs.biasFactors.assign(problem.queryHeads, 1.0F);
        fillBias(problem, inputs,
                 [&](uint64_t /*row*/, uint64_t key) { return key < problem.keys / 2 ? 0.0 : -infinity; });
        const Outcome clean = vkf::test::runUnjudged(device, problem, inputs);
        const auto from = static_cast<std::ptrdiff_t>(inputs.v.size() / 2);
        std::fill(inputs.v.begin() + from, inputs.v.end(), std::byte{0xff});
        std::fill(inputs.k.begin() + from, inputs.k.end(), std::byte{0xff});
        inputs.biasFactors.assign(problem.queryHeads, std::numeric_limits<float>::quiet_NaN());
        inputs.biasFactors.front() = std::numeric_limits<float>::infinity();
        CHECK(vkf::test::runUnjudged(device, problem, inputs).o == clean.o);
    }
}

TEST_CASE("the time falls with the pairs that a bias leaves", "[tile_map_time]") {
    for (const Variation& variation : {vkf::test::variations[0], vkf::test::variations[4]}) {
        vkf::host::Device& device = vkf::test::deviceOf(variation);
        INFO(variation.name);
        const Data data{.poisonInvisibleKeys = false};
        VkfProblem problem = vkf::test::longProblem(variation);
        setBias(problem, VKF_TYPE_F16);
        while (!makesMap(device, problem)) { // all heads share the map, which pays where they are many
            problem.queryHeads *= 2;
            problem.kvHeads *= 2;
        }
        Inputs inputs = vkf::test::makeInputs(problem, data);
        TimedCall all(device, problem, inputs);
        fillBias(problem, inputs,
                 [&](uint64_t /*row*/, uint64_t key) { return key < problem.keys / 4 ? 0.0 : -infinity; });
        TimedCall quarter(device, problem, inputs);
        fillBias(problem, inputs, [](uint64_t /*row*/, uint64_t /*key*/) { return -infinity; });
        TimedCall nothing(device, problem, inputs);
        vkf::test::checkTimeFalls(all, quarter, nothing, 0.4);
    }
}
