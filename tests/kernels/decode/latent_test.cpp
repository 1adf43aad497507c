// SPDX-License-Identifier: MIT
//
// Path decode with heads that are too wide for other paths: latent attention, where v is the first columns of k.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/dice.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::runCall;

constexpr std::array<uint32_t, 6> headDims = {576, 576, 512, 320, 288, 264};
constexpr std::array<uint32_t, 3> valueDims = {512, 256, 72};
constexpr std::array<uint32_t, 5> groups = {1, 5, 16, 33, 128};
constexpr std::array<uint32_t, 5> keyCounts = {1, 15, 16, 97, 203};
constexpr std::array<uint32_t, 4> splitCounts = {0, 1, 2, 7};
constexpr std::array<uint32_t, 4> pageSizes = {1, 3, 48, 64};

// Devices whose shared memory has room for the larger or for the smaller tile of the matrix kernel.
vkf::host::Device& largeDevice() { return vkf::test::deviceOf(vkf::test::variations[6]); }
vkf::host::Device& smallDevice() { return vkf::test::deviceOf(vkf::test::variations[2]); }

// fp16, or bf16 if the device multiplies it.
VkfType chooseType(Dice& dice, const VkfProblem& problem) {
    VkfProblem other = problem;
    other.q.type = other.k.type = other.v.type = VKF_TYPE_BF16;
    other.path = VKF_PATH_COOPMAT;
    other.headDim = other.valueDim = 64;
    const bool multiplies = vkfCheckSupport(largeDevice().context(), &other, nullptr) == VKF_SUCCESS;
    return dice.oneIn(2) && multiplies ? VKF_TYPE_BF16 : VKF_TYPE_F16;
}

void chooseMasks(Dice& dice, VkfProblem& p, Data& data) {
    vkf::enable(p, VKF_USE_CAUSAL, dice.oneIn(2));
    p.alignment = dice.oneIn(3) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(3)) {
        p.window = {static_cast<int64_t>(dice.below(90)) - 1, static_cast<int64_t>(dice.below(40)) - 1, 0};
        p.use |= VKF_USE_WINDOW;
        vkf::test::endAtDiagonal(p);
    }
    if (dice.oneIn(3)) {
        vkf::enable(p, VKF_USE_KEY_LENGTHS);
        for (uint32_t b = 0; b < p.batch; b++) {
            data.keyLengths.push_back(static_cast<int32_t>(dice.below(p.keys + 20)) - 5);
        }
    }
    p.softcap = dice.oneIn(4) ? 10.0F : 0.0F;
    p.scale = dice.oneIn(4) ? -0.1F : 0.0F;
    vkf::enable(p, VKF_USE_LSE, !dice.oneIn(3));
}

// Rows with gaps of whole words between them. The gaps hold NaN.
void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    tensor.rowStride = dim + 8 * uint64_t{dice.below(3)};
    tensor.headStride = rows * tensor.rowStride + 8 * uint64_t{dice.below(3)};
    tensor.batchStride = heads * tensor.headStride + 8 * uint64_t{dice.below(3)};
}

VkfProblem randomProblem(Dice& dice, Data& data) {
    const uint32_t kvHeads = dice.oneIn(4) ? 2 : 1;
    vkf::test::Shape shape{1 + dice.below(2), kvHeads * dice.of(groups), kvHeads, 1, dice.of(keyCounts), 0, 0};
    shape.Nq = dice.oneIn(2) || shape.H > 64 ? 1 : 1 + dice.below(16);
    shape.D = dice.of(headDims);
    shape.Dv = std::min(dice.of(valueDims), shape.D);
    VkfProblem p = problemOf(shape);
    p.q.type = p.k.type = p.v.type = p.o.type = chooseType(dice, p);
    p.o.type = dice.oneIn(2) ? VKF_TYPE_F32 : p.o.type;
    p.q.type = dice.oneIn(3) ? VKF_TYPE_F32 : p.q.type;
    uint64_t rows = shape.Nk;
    if (dice.oneIn(3)) {
        rows = dice.of(pageSizes);
        vkf::test::setPages(p, static_cast<uint32_t>(rows), dice.below(4));
    }
    scatter(dice, p.k, kvHeads, rows, shape.D);
    p.v.batchStride = p.k.batchStride; // these strides make v a view of k
    p.v.headStride = p.k.headStride;
    p.v.rowStride = p.k.rowStride;
    p.kvSplits = dice.of(splitCounts);
    p.path = VKF_PATH_DECODE;
    chooseMasks(dice, p, data);
    return p;
}

void check(vkf::host::Device& device, const VkfProblem& problem, const Inputs& inputs) {
    INFO(vkf::test::describe(problem));
    const Outcome outcome = runCall(device, problem, inputs);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

uint32_t tileKeys(vkf::host::Device& device, const VkfProblem& problem) {
    return vkf::host::Plan(device, problem).info().tileKeys;
}

VkfProblem latent(uint32_t heads, uint32_t rows, uint32_t keys) {
    VkfProblem problem = problemOf({1, heads, 1, rows, keys, 576, 512, VKF_TYPE_F16});
    problem.v.rowStride = 576;
    problem.v.headStride = problem.v.batchStride = uint64_t{keys} * 576;
    problem.path = VKF_PATH_DECODE;
    return problem;
}

} // namespace

TEST_CASE("wide heads agree with the reference, v a view of k or not", "[latent]") {
    for (uint32_t seed = 1; seed <= (vkf::test::wholeSweeps() ? 30 : 9); seed++) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        const VkfProblem problem = randomProblem(dice, data);
        vkf::host::Device& device = dice.oneIn(3) ? smallDevice() : largeDevice();
        INFO("seed " << seed);
        Inputs inputs = vkf::test::makeInputs(problem, data);
        if (!dice.oneIn(3)) {
            inputs.viewV();
        }
        check(device, problem, inputs);
    }
}

TEST_CASE("wide heads agree with the reference in plain arithmetic", "[latent]") {
    for (uint32_t seed = 100; seed < (vkf::test::wholeSweeps() ? 108 : 103); seed++) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        VkfProblem problem = randomProblem(dice, data);
        problem.precision = VKF_PRECISION_FP32;
        INFO("seed " << seed);
        Inputs inputs = vkf::test::makeInputs(problem, data);
        inputs.viewV();
        check(dice.oneIn(2) ? largeDevice() : vkf::test::deviceOf(vkf::test::variations[8]), problem, inputs);
    }
    VkfProblem blocks = problemOf({1, 16, 1, 2, 50, 576, 512, VKF_TYPE_F32});
    blocks.k.type = blocks.v.type = VKF_TYPE_Q8_0;
    blocks.precision = VKF_PRECISION_FP32;
    check(largeDevice(), blocks, vkf::test::makeInputs(blocks, {}));
}

TEST_CASE("block types of wide heads agree with the reference on matrices", "[latent]") {
    constexpr std::array blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_F8_E4M3, VKF_TYPE_Q4_1,
                                       VKF_TYPE_Q5_0, VKF_TYPE_Q5_1, VKF_TYPE_F8_E5M2};
    constexpr std::array<uint32_t, 3> rowCounts = {1, 6, 40};
    for (uint32_t seed = 0; seed < (vkf::test::wholeSweeps() ? 21 : 7); seed++) {
        Dice dice(seed);
        const bool view = seed % 3 == 0;
        const bool narrowV = !view && dice.oneIn(2);
        VkfProblem p = problemOf({1 + dice.below(2), 10, 2, rowCounts[seed % 3], dice.of(keyCounts),
                                  dice.oneIn(2) ? 576U : 320U, narrowV ? 256U : 320U, VKF_TYPE_F32});
        p.k.type = p.v.type = blockTypes[seed % blockTypes.size()];
        p.q.type = seed % 4 == 1 ? VKF_TYPE_F16 : VKF_TYPE_F32;
        if (!view && dice.oneIn(2)) {
            p.v.type = dice.oneIn(2) ? VKF_TYPE_F16 : blockTypes[dice.below(blockTypes.size())];
        }
        uint64_t rows = p.keys;
        if (dice.oneIn(3)) {
            rows = dice.of(pageSizes);
            vkf::test::setPages(p, static_cast<uint32_t>(rows), dice.below(4));
        }
        p.k.rowStride = p.headDim + 64; // gaps of two blocks
        p.k.headStride = rows * p.k.rowStride;
        p.k.batchStride = p.kvHeads * p.k.headStride;
        p.v.rowStride = p.k.rowStride;
        p.v.headStride = p.k.headStride;
        p.v.batchStride = p.k.batchStride;
        p.kvSplits = dice.of(splitCounts);
        p.path = VKF_PATH_DECODE;
        vkf::test::setScales(p, seed % 2 == 0 ? p.kvHeads : 0, 1);
        Data data;
        data.seed = seed;
        chooseMasks(dice, p, data);
        INFO("seed " << seed << (view ? ", v a view of k" : ""));
        Inputs inputs = vkf::test::makeInputs(p, data);
        if (view) {
            inputs.viewV();
        }
        vkf::host::Device& device = seed % 5 == 4 ? smallDevice() : largeDevice();
        check(device, p, inputs);
        CHECK((vkf::host::Plan(device, p).info().productType == VKF_TYPE_F16 || seed % 5 == 4));
    }
}

TEST_CASE("a block of v with an infinite or NaN scale reaches only the rows that see it", "[latent]") {
    for (const double scale : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        VkfProblem problem = problemOf({1, 1, 1, 5, 50, 320, 320, VKF_TYPE_F32});
        problem.v.type = VKF_TYPE_Q8_0;
        problem.k.type = VKF_TYPE_F16;
        problem.use |= VKF_USE_CAUSAL;
        problem.kvSplits = 1; // else a split may consist of keys that a row does not see
        Data data;
        data.edit = [scale](std::vector<std::byte>&, std::vector<std::byte>&, std::vector<std::byte>& v) {
            vkfStoreElement(VKF_TYPE_F16, v.data() + vkfStoredBytes(VKF_TYPE_Q8_0, 48 * 320 + 64), 0, scale);
        };
        INFO(scale);
        check(largeDevice(), problem, vkf::test::makeInputs(problem, data));
    }
}

TEST_CASE("latent attention runs on matrices, in the tile that fits the shared memory", "[latent]") {
    vkf::test::skipWithoutDevice();
    const VkfProblem problem = latent(16, 1, 300);
    CHECK(vkf::host::Plan(largeDevice(), problem).info().productType == VKF_TYPE_F16);
    // With 16 x 16 matrices, even one row of matrices needs more memory than the small device has. So it uses plain
    // arithmetic.
    if (vkf::host::Plan(smallDevice(), problem).info().productType == VKF_TYPE_F16) {
        CHECK(tileKeys(largeDevice(), problem) == 2 * tileKeys(smallDevice(), problem));
    } else {
        CHECK(tileKeys(largeDevice(), problem) == 32);
    }
}

TEST_CASE("v at the address of k with other strides is not a view of it", "[latent]") {
    // The value of key j is the first columns of key 2 j.
    VkfProblem problem = latent(16, 2, 60);
    problem.v.rowStride = 2 * 576;
    problem.v.headStride = problem.v.batchStride = uint64_t{120} * 576;
    problem.k.rowStride = 576;
    problem.k.headStride = problem.k.batchStride = uint64_t{120} * 576;
    Inputs inputs = vkf::test::makeInputs(latent(16, 2, 120), {});
    inputs.viewV();
    check(largeDevice(), problem, inputs);
}

TEST_CASE("a value that is not finite reaches only the rows that see it", "[latent]") {
    constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
    for (const double value : {quietNaN, std::numeric_limits<double>::infinity()}) {
        for (const bool view : {true, false}) {
            if (view && !std::isnan(value)) {
                continue; // an infinite k makes an infinite score, or none
            }
            VkfProblem problem = latent(1, 5, 50);
            problem.use |= VKF_USE_CAUSAL;
            problem.kvSplits = 1; // else a split may consist of keys that a row does not see
            problem.o.type = VKF_TYPE_F32;
            Data data;
            data.edit = [value, view](std::vector<std::byte>&, std::vector<std::byte>& k, std::vector<std::byte>& v) {
                vkfStoreElement(VKF_TYPE_F16, view ? k.data() : v.data(), 48 * 576 + 300, value); // rows 3 and 4
            };
            Inputs inputs = vkf::test::makeInputs(problem, data);
            if (view) {
                inputs.viewV();
            }
            INFO(value << (view ? ", view" : ", not view"));
            check(largeDevice(), problem, inputs);
        }
    }
}

TEST_CASE("wide heads without keys, and with sequences without keys", "[latent]") {
    VkfProblem problem = problemOf({2, 16, 1, 2, 0, 576, 512, VKF_TYPE_F16});
    check(largeDevice(), problem, vkf::test::makeInputs(problem, {}));
    problem = problemOf({2, 16, 1, 2, 40, 576, 512, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    problem.path = VKF_PATH_DECODE;
    problem.kvSplits = 3;
    check(largeDevice(), problem, vkf::test::makeInputs(problem, {.keyLengths = {0, 1}}));
}

TEST_CASE("wide heads go to path decode whatever the rows, and are refused elsewhere", "[latent]") {
    vkf::test::skipWithoutDevice();
    VkfProblem problem = latent(16, 40, 50);
    problem.path = VKF_PATH_AUTO;
    CHECK(vkf::host::Plan(largeDevice(), problem).info().path == VKF_PATH_DECODE);
    check(largeDevice(), problem, vkf::test::makeInputs(problem, {}));
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_COOPMAT, VKF_PATH_KEY_OUTER}) {
        problem.path = path;
        VkfMessage message{};
        CHECK(vkfCheckSupport(largeDevice().context(), &problem, &message) == VKF_ERROR_UNSUPPORTED);
        CHECK(std::string(message.text) ==
              std::string("headDim 576 is over the limit of 256 on path ") + vkfPathName(path));
    }
}
