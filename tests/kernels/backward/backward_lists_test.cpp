// SPDX-License-Identifier: MIT
//
// Lists of tiles of a backward pass with boolean masks and documents (shaders/backward/tile_lists.glsl).
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "kernels/backward/listed_ways.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Data;
using vkf::test::infoOf;
using vkf::test::Inputs;
using vkf::test::ListedWay;
using vkf::test::listedWays;
using vkf::test::problemOf;

void useMask(VkfProblem& p, const VkfBroadcastArray& mask) {
    p.mask = mask;
    vkf::enable(p, VKF_USE_MASK);
}

void useMask(VkfProblem& p, VkfType type, bool batches, bool heads, bool rows, uint64_t gap = 0) {
    useMask(p, vkf::test::broadcast(p, type, batches, heads, rows, gap));
}

// Rows of all heads stand one after another.
void useTransposedMask(VkfProblem& p, VkfType type) {
    VkfBroadcastArray mask{};
    mask.type = type;
    mask.headStride = p.keys + 3;
    mask.rowStride = mask.headStride * p.queryHeads;
    useMask(p, mask);
}

struct Situation {
    const char* name;
    void (*change)(VkfProblem& problem, Data& data);
    bool hasMap = true;
};

// Squares of a mask and documents are smaller and larger than tiles.
constexpr Situation situations[] = {
    {"documents",
     [](VkfProblem& p, Data& data) {
         vkf::enable(p, VKF_USE_DOCUMENT_IDS);
         data.documentKeys = 90;
     }},
    {"documents and a causal mask",
     [](VkfProblem& p, Data& data) {
         vkf::enable(p, VKF_USE_DOCUMENT_IDS | VKF_USE_CAUSAL);
         data.documentKeys = 70;
     }},
    {"mask of bytes, causal",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL8, true, true, true, 3);
         vkf::enable(p, VKF_USE_CAUSAL);
         data.maskSquare = 64;
     }},
    {"mask of bits for all heads, key lengths and top-left causal",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL1, false, false, true, 5);
         vkf::enable(p, VKF_USE_KEY_LENGTHS | VKF_USE_CAUSAL);
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
         data.keyLengths = {150, 290};
         data.maskSquare = 100;
     }},
    {"transposed mask and a window",
     [](VkfProblem& p, Data& data) {
         useTransposedMask(p, VKF_TYPE_BOOL8);
         vkf::test::setWindow(p, 100, 70);
         data.maskSquare = 32;
     }},
    {"mask of all rows",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL8, true, true, false);
         data.maskSquare = 130;
     }},
    {"documents, and rows without keys",
     [](VkfProblem& p, Data& data) {
         p.keys = 170;
         vkf::enable(p, VKF_USE_DOCUMENT_IDS | VKF_USE_CAUSAL);
         data.documentKeys = 60;
     }},
    {"mask that repeats by modulo, and dropout",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL1, true, true, true);
         p.mask.heads = 2;
         p.dropout.probability = 0.3F;
         p.dropout.seed = 77;
         data.maskSquare = 90;
     }},
    {"mask, documents, bias and sinks",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL8, false, false, true);
         p.bias = vkf::test::broadcast(p, VKF_TYPE_F16, false, true, true, 3);
         vkf::enable(p, VKF_USE_BIAS | VKF_USE_SINKS | VKF_USE_DOCUMENT_IDS);
         data.documentKeys = 110;
         data.maskSquare = 120;
     }},
    {"mask, first keys and a window",
     [](VkfProblem& p, Data& data) {
         useMask(p, VKF_TYPE_BOOL8, true, false, true);
         vkf::test::setWindow(p, 60, 50, 10);
         data.maskSquare = 64;
     }},
    {"first keys that all rows see, and key lengths",
     [](VkfProblem& p, Data& data) {
         vkf::test::setWindow(p, -1, 0, 135);
         vkf::enable(p, VKF_USE_KEY_LENGTHS);
         data.keyLengths = {290, 131};
     }},
    {"first keys and a window, causal",
     [](VkfProblem& p, Data&) {
         vkf::test::setWindow(p, 70, 0, 110);
         vkf::enable(p, VKF_USE_CAUSAL);
     }},
    {"documents and blocks of keys",
     [](VkfProblem& p, Data& data) {
         p.blockMask.blockSize = 48;
         vkf::enable(p, VKF_USE_BLOCK_MASK | VKF_USE_DOCUMENT_IDS);
         data.documentKeys = 130;
     }},
    {"mask of the last keys",
     [](VkfProblem& p, Data& data) {
         useMask(p, vkf::test::lastKeysMask(p, VKF_TYPE_BOOL8, 120, true, false, true));
         data.maskSquare = 50;
     }},
    {"mask without empty and full tiles", [](VkfProblem& p, Data&) { useMask(p, VKF_TYPE_BOOL8, true, true, true); }},
    {"odd sizes and gaps between rows, steps of one work item",
     [](VkfProblem& p, Data& data) {
         p.headDim = 23;
         p.valueDim = 41;
         p.queryRows = 131;
         p.keys = 259;
         p.q.rowStride = 29;
         p.k.rowStride = 31;
         p.maxStepOperations = 1;
         useMask(p, VKF_TYPE_BOOL1, true, true, true, 1);
         data.maskSquare = 70;
     }},
    {"wide heads and documents",
     [](VkfProblem& p, Data& data) {
         p.headDim = 136;
         p.valueDim = 144;
         vkf::enable(p, VKF_USE_DOCUMENT_IDS | VKF_USE_CAUSAL);
         data.documentKeys = 100;
     }},
    {"packed documents",
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {130, 70}, {130, 160});
         vkf::enable(p, VKF_USE_DOCUMENT_IDS);
     },
     false},
};

// A problem as it is on the way.
VkfProblem onWay(const ListedWay& way, VkfProblem forward) {
    forward = vkf::test::fittedBackward(deviceOf(way.of()), forward);
    apply(way.of(), forward);
    return forward;
}

// Whether the device makes maps for the few pairs of these tests. A GPU makes them for more pairs only.
bool mapsFewPairs(const ListedWay& way) {
    VkfProblem forward = problemOf({2, 4, 2, 128, 128, 16, 0, way.type()});
    vkf::enable(forward, VKF_USE_DOCUMENT_IDS);
    forward = onWay(way, forward);
    return infoOf(deviceOf(way.of()), vkf::test::backwardOf(forward, way)).tileMapBytes != 0;
}

void check(const ListedWay& way, VkfProblem forward, const Data& data, bool hasMap) {
    vkf::host::Device& device = deviceOf(way.of());
    forward = onWay(way, forward);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, way);
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    const BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    const BackwardOutcome outcome = runBackward(device, problem, inputs, more, 3);
    INFO(way.name << ", " << outcome.text());
    CHECK(outcome.passed());
    CHECK((outcome.info.tileMapBytes != 0) == hasMap);
    const std::string description = outcome.info.description;
    CHECK((description.find("map of tiles") != std::string::npos));
    CHECK((description.find("no map of tiles") != std::string::npos) == !hasMap);
    CHECK((outcome.info.bandKeys != 0) == (way.stores() && !vkf::test::leavesHoles(forward, hasMap)));
    CHECK((outcome.info.bandKeys == 0 || vkf::test::ignoresScratch(device, problem, inputs)));
}

bool hasLists(const ListedWay& way) { return (way.of().quirks & VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT) == 0; }

} // namespace

TEST_CASE("gradients by lists of tiles agree with the reference for all masks and documents", "[backward_map]") {
    for (size_t i = 0; i < std::size(situations); i++) {
        for (size_t number = 0; number < std::size(listedWays); number++) {
            const ListedWay& way = listedWays[number];
            const bool chosen = vkf::test::wholeSweeps() || number == i % 3 || (i == 0 && !hasLists(way));
            if (!chosen || way.isLeftOut()) {
                continue;
            }
            const Situation& situation = situations[i];
            INFO(situation.name);
            VkfProblem forward = problemOf({2, 4, 2, 200, 290, 16, 0, way.type()});
            Data data;
            situation.change(forward, data);
            check(way, forward, data, situation.hasMap && hasLists(way) && mapsFewPairs(way));
        }
    }
}

// So every device runs the kernels with lists that path coopmat has. References of so many pairs take long.
TEST_CASE("gradients of long documents agree with the reference", "[backward_map]") {
    for (const ListedWay& way : listedWays) {
        if (way.isLeftOut() || !way.stores() || mapsFewPairs(way)) {
            continue; // the test before runs these kernels
        }
        VkfProblem forward = problemOf({1, 1, 1, 1024, 1024, 64, 0, way.type()});
        vkf::enable(forward, VKF_USE_DOCUMENT_IDS | VKF_USE_CAUSAL);
        const auto mapBytes = [&] {
            const VkfProblem made = onWay(way, forward);
            return infoOf(deviceOf(way.of()), vkf::test::backwardOf(made, way)).tileMapBytes;
        };
        while (mapBytes() == 0) {
            forward.queryHeads *= 2;
        }
        Data data;
        data.documentKeys = 200;
        check(way, forward, data, true);
    }
}

TEST_CASE("lists of tiles give the same bits on every run and for any steps", "[backward_map]") {
    const ListedWay& way = listedWays[2];
    if (way.isLeftOut()) {
        return;
    }
    VkfProblem forward = problemOf({2, 4, 2, 200, 290, 16, 0, way.type()});
    useMask(forward, VKF_TYPE_BOOL8, true, false, true);
    forward = onWay(way, forward);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, way);
    Data data;
    data.maskSquare = 64;
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkf::test::computeForward(forward, inputs, VKF_TYPE_F16, &more);
    vkf::host::Device& device = deviceOf(way.of());
    const BackwardOutcome first = runBackwardUnjudged(device, problem, inputs, more);
    CHECK(repeatsBits(device, problem, inputs, more, first));
    forward.maxStepOperations = 300000;
    CHECK(runBackwardUnjudged(device, problem, inputs, more, 3).outputs == first.outputs);
}
