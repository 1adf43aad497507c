// SPDX-License-Identifier: MIT
//
// The map of empty, full and partial tiles. How a kernel treats a tile of a mask or of documents must show only in the
// time, never in the result.
#include <catch2/catch_test_macros.hpp>

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
using vkf::test::problemOf;
using vkf::test::TimedCall;
using vkf::test::Variation;

// Path scalar with and without subgroups, and path coopmat with known and unknown element layout.
void checkInTiles(const VkfProblem& problem, const Data& data) {
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    for (const uint32_t variation : vkf::test::inTurn({4U, 0U, 5U, 1U, 2U}, problem)) {
        checkOn(vkf::test::variations[variation], problem, inputs);
    }
}

} // namespace

TEST_CASE("masks make empty, full and partial tiles of any shape", "[tile_map]") {
    uint32_t seed = 1;
    for (const VkfType type : {VKF_TYPE_BOOL8, VKF_TYPE_BOOL1}) {
        for (const uint32_t square : {32U, 100U}) {
            for (const bool heads : {false, true}) {
                if (heads != (type == VKF_TYPE_BOOL1) && !vkf::test::wholeSweeps()) {
                    continue;
                }
                VkfProblem problem = problemOf({2, 4, heads ? 2U : 4U, 150, 700, 40, 0, VKF_TYPE_F16});
                problem.mask = broadcast(problem, type, heads, heads, true, square == 32 ? 4 : 3);
                vkf::enable(problem, VKF_USE_MASK);
                vkf::enable(problem, VKF_USE_CAUSAL, square == 32);
                Data data;
                data.seed = seed++;
                data.maskSquare = square;
                checkInTiles(problem, data);
            }
        }
    }
}

TEST_CASE("a tile map respects windows, lengths, splits and block masks", "[tile_map]") {
    VkfProblem problem = problemOf({2, 2, 1, 130, 600, 64, 0, VKF_TYPE_F16});
    problem.mask = broadcast(problem, VKF_TYPE_BOOL8, false, false, true);
    vkf::enable(problem, VKF_USE_MASK);
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    problem.kvSplits = 3;
    problem.window = {300, 10, 50};
    problem.use |= VKF_USE_WINDOW;
    Data data;
    data.maskSquare = 64;
    data.keyLengths = {0, 511};
    checkInTiles(problem, data);
    problem.kvSplits = 1;
    problem.window = {};
    vkf::enable(problem, VKF_USE_WINDOW, false);
    problem.blockMask.blockSize = 48;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    problem.blockMask.headStride = vkf::blockMaskLayoutOf(problem).words;
    data.blockDensity = 0.7;
    checkInTiles(problem, data);
    problem.blockMask.blockSize = 0;
    vkf::enable(problem, VKF_USE_BLOCK_MASK, false);
    problem.blockMask.headStride = 0;
    vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
    data.documentKeys = 90;
    checkInTiles(problem, data);
}

TEST_CASE("documents make empty, full and partial tiles", "[tile_map]") {
    uint32_t seed = 1;
    for (const uint32_t documentKeys : {30U, 200U}) {
        for (const uint32_t rows : {600U, 640U}) { // with the last one, some rows stand before the first key
            VkfProblem problem = problemOf({2, 4, 2, rows, 600, 40, 0, VKF_TYPE_F16});
            vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
            vkf::enable(problem, VKF_USE_CAUSAL, documentKeys == 30);
            Data data;
            data.seed = seed++;
            data.documentKeys = documentKeys;
            checkInTiles(problem, data);
        }
    }
}

TEST_CASE("a mask that drops nothing gives the bits of no mask", "[tile_map]") {
    VkfProblem problem = problemOf({1, 4, 2, 300, 512, 64, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    Data data;
    data.maskDensity = 1.0;
    data.documentKeys = 1U << 31;
    const Inputs plain = vkf::test::makeInputs(problem, data);
    for (const Variation& variation : vkf::test::variations) {
        if ((variation.path != VKF_PATH_SCALAR && variation.path != VKF_PATH_COOPMAT) || !takes(variation, problem)) {
            continue;
        }
        const bool usual = variation.quirks == 0 && variation.maxSharedMemoryBytes == 0;
        if (!usual && !vkf::test::wholeSweeps()) {
            continue;
        }
        VkfProblem masked = problem;
        masked.mask = broadcast(masked, VKF_TYPE_BOOL8, false, false, true);
        vkf::enable(masked, VKF_USE_MASK);
        vkf::enable(masked, VKF_USE_DOCUMENT_IDS);
        const Inputs inputs = vkf::test::makeInputs(masked, data);
        apply(variation, problem);
        apply(variation, masked);
        INFO(variation.name);
        vkf::host::Device& device = vkf::test::deviceOf(variation);
        CHECK(vkf::test::runCall(device, masked, inputs).o == vkf::test::runCall(device, problem, plain).o);
    }
}

TEST_CASE("the time falls with the pairs that masks and documents leave", "[tile_map_time]") {
    for (const Variation& variation : {vkf::test::variations[0], vkf::test::variations[4]}) {
        vkf::host::Device& device = vkf::test::deviceOf(variation);
        INFO(variation.name);
        Data data;
        data.poisonInvisibleKeys = false;
        VkfProblem problem = vkf::test::longProblem(variation);
        TimedCall all(device, problem, vkf::test::makeInputs(problem, data));
        VkfProblem ofDocuments = problem;
        vkf::enable(ofDocuments, VKF_USE_DOCUMENT_IDS);
        Inputs documents = vkf::test::makeInputs(ofDocuments, data);
        for (size_t key = 0; key < documents.documentIds.size(); key++) {
            documents.documentIds[key] = static_cast<int32_t>(key * 4 / problem.keys);
        }
        TimedCall quarter(device, ofDocuments, documents);
        problem.mask = broadcast(problem, VKF_TYPE_BOOL1, false, false, true);
        vkf::enable(problem, VKF_USE_MASK);
        data.maskDensity = 0;
        TimedCall nothing(device, problem, vkf::test::makeInputs(problem, data));
        vkf::test::checkTimeFalls(all, quarter, nothing, 0.3);
    }
}
