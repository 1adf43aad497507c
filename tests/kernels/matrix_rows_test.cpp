// SPDX-License-Identifier: MIT
//
// Tiles of path coopmat that the library chooses for large problems on GPUs. Tuning data chooses them here, for small
// problems on any device.
//
// Subgroups with two matrices of rows: under most masks these matrices are spread over the tile. Where registers are
// short, depths of q lie in shared memory.
//
// Subgroups with one matrix of rows: under causal masks and windows, the last full tile fetches the first partial one.
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::problemOf;
using vkf::test::setWindow;
using vkf::test::testDevice;

// Tiles with eight matrices of rows, `rowTiles` of them in each subgroup, and with few keys. So only some matrices see
// a key of a partial tile.
std::string tuningOfMatrices(uint32_t rowTiles) {
    const uint32_t subgroups = 8 / rowTiles;
    std::string text = vkf::test::tuningHead(testDevice());
    for (const char* type : {"f16", "bf16", "f32"}) {
        for (const char* masked : {"no", "yes"}) {
            text += fmt::format("coopmat type={} masked={} headDim=1..256 valueDim=1..256 rows=1..9999 keys=1..9999 "
                                "heads=1..99 subgroups={} rowTiles={} keyTiles=1 splits=1\n",
                                type, masked, subgroups, rowTiles);
        }
    }
    return text;
}

void causal(VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }
void topLeft(VkfProblem& p) {
    causal(p);
    p.alignment = VKF_ALIGNMENT_TOP_LEFT;
}
void window(VkfProblem& p) { setWindow(p, 50, 9); }
void narrowWindow(VkfProblem& p) { setWindow(p, 3, 0); }
void firstKeys(VkfProblem& p) { setWindow(p, 40, 0, 19); }
void keyLengths(VkfProblem& p) {
    causal(p);
    vkf::enable(p, VKF_USE_KEY_LENGTHS);
}
void softcap(VkfProblem& p) {
    causal(p);
    p.softcap = 2.0F;
}
void alibi(VkfProblem& p) {
    causal(p);
    p.use |= VKF_USE_ALIBI;
}
void bias(VkfProblem& p) {
    causal(p);
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F16, false, true, true, 3);
    vkf::enable(p, VKF_USE_BIAS);
}
void mask(VkfProblem& p) {
    window(p);
    p.mask = vkf::test::broadcast(p, VKF_TYPE_BOOL1, false, false, true);
    vkf::enable(p, VKF_USE_MASK);
}
void documents(VkfProblem& p) {
    causal(p);
    vkf::enable(p, VKF_USE_DOCUMENT_IDS);
}
void dropout(VkfProblem& p) {
    causal(p);
    p.dropout = {0.3F, 0, 1};
}

struct Case {
    const char* name;
    void (*set)(VkfProblem&);
};
const std::vector<Case> cases = {
    Case{"no mask", [](VkfProblem&) {}},
    Case{"causal", causal},
    Case{"causal, top left", topLeft},
    Case{"window", window},
    Case{"narrow window", narrowWindow},
    Case{"window and first keys", firstKeys},
    Case{"key lengths", keyLengths},
    Case{"bias", bias},
    Case{"ALiBi", alibi},
    Case{"softcap", softcap},
    Case{"mask", mask},
    Case{"documents", documents},
    Case{"dropout", dropout},
};

// 128 keeps depths of q in shared memory, 64 has a kernel of its own for most masks, and 37 fills no matrix. Types that
// not every device multiplies come last.
const std::vector<vkf::test::Shape> shapes = {
    {2, 1, 1, 150, 150, 128, 128, VKF_TYPE_F16}, {1, 6, 2, 45, 97, 128, 120, VKF_TYPE_F16},
    {1, 4, 2, 131, 201, 64, 64, VKF_TYPE_F16},   {1, 2, 1, 140, 139, 37, 53, VKF_TYPE_F16},
    {1, 6, 2, 45, 97, 128, 120, VKF_TYPE_BF16},  {1, 2, 1, 140, 139, 37, 53, VKF_TYPE_F32},
};

// Runs each case with such tiles: on the next of the shapes, or on all of them in a whole sweep.
void runOn(uint32_t rowTiles, const std::vector<Case>& some, const std::vector<vkf::test::Shape>& inTurn) {
    vkf::host::DeviceOptions options;
    options.tuning = tuningOfMatrices(rowTiles);
    vkf::host::Device device = vkf::test::openTestDevice(options);
    uint32_t ran = 0;
    size_t first = 0;
    for (const Case& masked : some) {
        for (const vkf::test::Shape& shape : vkf::test::eachNth(inTurn, inTurn.size(), first++ % inTurn.size())) {
            VkfProblem problem = problemOf(shape);
            problem.path = VKF_PATH_COOPMAT;
            vkf::enable(problem, VKF_USE_LSE);
            masked.set(problem);
            INFO(masked.name << ", " << vkf::test::describe(problem));
            if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
                continue;
            }
            vkf::test::Data data;
            data.keyLengths = {static_cast<int32_t>(problem.keys) - 20, 77};
            data.biasSquare = 40; // some squares of the bias are a mask
            const vkf::test::Outcome outcome = vkf::test::runCall(device, problem, data);
            INFO(outcome.text());
            CHECK(outcome.passed());
            CHECK(outcome.plan.tuned == 1);
            ran++;
        }
    }
    if (ran == 0) {
        SKIP("the device has no matrices for path coopmat");
    }
}

} // namespace

TEST_CASE("rows of subgroups with two matrices of rows, spread and side by side", "[matrix_rows]") {
    runOn(2, vkf::test::eachNth(cases, 3, 1), shapes);
}

// Unlike other boolean masks, a mask of few last keys leaves depths of q in shared memory.
TEST_CASE("subgroups with two matrices of rows, and a mask of the last keys", "[matrix_rows]") {
    const Case lastKeys = {"mask of the last keys", [](VkfProblem& p) {
                               p.mask = vkf::test::lastKeysMask(p, VKF_TYPE_BOOL1, 50, false, false, true);
                               vkf::enable(p, VKF_USE_MASK);
                           }};
    runOn(2, {lastKeys, lastKeys}, {shapes[0], shapes[1]});
}

TEST_CASE("the last full tile fetches the first partial one", "[matrix_rows]") {
    const std::vector<Case> ranges = {
        Case{"causal", causal},
        Case{"window", window},
        Case{"causal, top left", topLeft},
        Case{"key lengths", keyLengths},
        Case{"wide window", [](VkfProblem& p) { setWindow(p, 90, 30); }},
        Case{"ALiBi", alibi},
        Case{"softcap", softcap},
        Case{"dropout", dropout},
    };
    // Over 128 columns, the first tile is early too. The last tiles of 201 and 139 keys do not exist in full.
    const std::vector<vkf::test::Shape> wide = {
        {2, 1, 1, 150, 150, 128, 128, VKF_TYPE_F16},  {1, 2, 1, 131, 201, 256, 256, VKF_TYPE_F16},
        {1, 6, 2, 45, 97, 128, 120, VKF_TYPE_F16},    {1, 2, 1, 140, 139, 200, 72, VKF_TYPE_F16},
        {1, 2, 1, 150, 150, 128, 128, VKF_TYPE_BF16},
    };
    runOn(1, vkf::test::eachNth(ranges, 2), wide);
}
