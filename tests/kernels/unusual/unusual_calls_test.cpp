// SPDX-License-Identifier: MIT
//
// Calls that other attention libraries got wrong: views with unusual strides, buffers longer than what a call reads,
// large element numbers, one plan with several sets of tensors.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "kernels/backward/backward_runs.hpp"
#include "support/device.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"

namespace {

using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::DeviceInputs;
using vkf::test::Guarded;
using vkf::test::Inputs;
using vkf::test::inTurn;
using vkf::test::leavesOut;
using vkf::test::problemOf;
using vkf::test::Variation;
using vkf::test::variations;

using Bytes = std::vector<std::byte>;

// [rows, heads, dim], so that a longer buffer begins with the shorter one.
void putRowsFirst(VkfProblem& p) {
    p.q = p.o = vkf::rowsFirst(p.q.type, p.queryRows, p.queryHeads, p.headDim);
    p.k = p.v = vkf::rowsFirst(p.k.type, p.keys, p.kvHeads, p.headDim);
}

// The packed problem in buffers that have 14 rows and 9 keys more than the last cumulative lengths. Their bytes are
// NaN.
VkfProblem longer(VkfProblem p) {
    p.queryRows += 14;
    p.keys += 9;
    putRowsFirst(p);
    return p;
}

Bytes withTail(Bytes bytes, const VkfTensorLayout& layout) {
    bytes.resize(layout.elements * vkfTypeBytes(layout.type), std::byte{0xff});
    return bytes;
}

Inputs withTails(Inputs inputs, const VkfProblem& p) {
    inputs.q = withTail(inputs.q, vkf::layoutOf(p, VKF_TENSOR_Q));
    inputs.k = withTail(inputs.k, vkf::layoutOf(p, VKF_TENSOR_K));
    inputs.v = withTail(inputs.v, vkf::layoutOf(p, VKF_TENSOR_V));
    return inputs;
}

// lse is dense [heads, rows], so that each head gets a tail.
std::vector<float> withTails(const std::vector<float>& lse, uint32_t rows, uint32_t moreRows) {
    std::vector<float> all;
    for (size_t row = 0; row < lse.size(); row += rows) {
        all.insert(all.end(), lse.begin() + static_cast<std::ptrdiff_t>(row),
                   lse.begin() + static_cast<std::ptrdiff_t>(row + rows));
        all.insert(all.end(), moreRows, std::numeric_limits<float>::quiet_NaN());
    }
    return all;
}

bool beginsWith(const Bytes& all, const Bytes& first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

// Two sequences, with longestRows and longestKeys, so that both lengths of the buffers get one tile.
VkfProblem packedCall(VkfType type, Data& data) {
    VkfProblem problem = problemOf({1, 4, 2, 1, 1, 64, 0, type});
    setPacked(problem, data, {20, 30}, {25, 40});
    problem.use |= VKF_USE_CAUSAL;
    data.poisonInvisibleKeys = false;
    putRowsFirst(problem);
    return problem;
}

// Records a plan twice into one command buffer, each time with other tensors.
void checkTwoRecordings(vkf::host::Device& device, const VkfProblem& problem) {
    const vkf::host::Plan plan(device, problem);
    const uint64_t bytes = vkf::layoutOf(problem, VKF_TENSOR_O).elements * vkfTypeBytes(problem.o.type);
    std::vector<Inputs> inputs;
    std::vector<DeviceInputs> memory;
    std::vector<Guarded> outputs;
    std::vector<Guarded> scratch;
    for (const uint32_t seed : {1U, 2U}) {
        Data data;
        data.seed = seed;
        inputs.push_back(vkf::test::makeInputs(problem, data));
        memory.emplace_back(device, inputs.back());
        outputs.emplace_back(device, bytes);
        scratch.emplace_back(device, plan.info().scratchBytes);
    }
    device.submit([&](VkCommandBuffer commandBuffer) {
        for (size_t i = 0; i < 2; i++) {
            VkfBindings bindings = memory[i].bindings(problem);
            bindings.o = outputs[i].binding();
            bindings.scratch = scratch[i].binding();
            CHECK(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
        }
    });
    for (size_t i = 0; i < 2; i++) {
        const vkf::test::Outcome expected = runCall(device, problem, inputs[i]);
        INFO(expected.text());
        CHECK(expected.passed());
        const Bytes all = outputs[i].download(device);
        CHECK(outputs[i].intact(all));
        CHECK(std::memcmp(all.data() + outputs[i].offset, expected.o.data(), bytes) == 0);
    }
}

} // namespace

TEST_CASE("packed buffers may be longer than their sequences, with NaN behind them", "[unusual_calls]") {
    for (const uint32_t number : inTurn({0U, 4U, 6U, 7U})) {
        const Variation& variation = variations[number];
        if (leavesOut(deviceOf(variation), {VKF_TYPE_F16})) {
            continue;
        }
        Data data;
        VkfProblem exact = packedCall(VKF_TYPE_F16, data);
        apply(variation, exact);
        const Inputs inputs = vkf::test::makeInputs(exact, data);
        const vkf::test::Outcome expected = runCall(deviceOf(variation), exact, inputs);
        const VkfProblem long_ = longer(exact);
        const vkf::test::Outcome outcome = vkf::test::runUnjudged(deviceOf(variation), long_, withTails(inputs, long_));
        INFO(variation.name << ": " << expected.text());
        CHECK(expected.passed());
        CHECK(beginsWith(outcome.o, expected.o));
        for (uint32_t head = 0; head < exact.queryHeads; head++) {
            CHECK(std::equal(expected.lse.begin() + head * exact.queryRows,
                             expected.lse.begin() + (head + 1) * exact.queryRows,
                             outcome.lse.begin() + head * long_.queryRows));
        }
        CHECK(outcome.guardsIntact);
    }
}

TEST_CASE("the backward pass takes packed buffers that are longer than their sequences", "[unusual_calls]") {
    for (const uint32_t number : inTurn({0U, 4U})) {
        const Variation& variation = variations[number];
        if (leavesOut(deviceOf(variation), {VKF_TYPE_F16})) {
            continue;
        }
        Data data;
        VkfProblem exact = packedCall(VKF_TYPE_F16, data);
        apply(variation, exact);
        const auto problemFor = [](const VkfProblem& forward) {
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.dout = problem.dq = forward.q;
            problem.dk = problem.dv = forward.k;
            return problem;
        };
        const VkfBackwardProblem problem = problemFor(exact);
        const Inputs inputs = vkf::test::makeInputs(exact, data);
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        vkf::test::computeForward(exact, inputs, VKF_TYPE_F32, &more);
        const BackwardOutcome expected = runBackwardUnjudged(deviceOf(variation), problem, inputs, more);
        CHECK(runBackward(deviceOf(variation), problem, inputs, more).passed());

        const VkfProblem long_ = longer(exact);
        const VkfBackwardProblem longProblem = problemFor(long_);
        BackwardInputs longMore = more;
        longMore.dout = withTail(more.dout, vkf::layoutOf(longProblem, VKF_BACKWARD_DOUT));
        longMore.o = withTail(more.o, vkf::layoutOf(long_, VKF_TENSOR_O));
        longMore.lse = withTails(more.lse, exact.queryRows, 14);
        const BackwardOutcome outcome =
            runBackwardUnjudged(deviceOf(variation), longProblem, withTails(inputs, long_), longMore);
        INFO(variation.name << ": " << expected.text());
        CHECK(beginsWith(outcome.outputs.dq, expected.outputs.dq));
        CHECK(beginsWith(outcome.outputs.dk, expected.outputs.dk));
        CHECK(beginsWith(outcome.outputs.dv, expected.outputs.dv));
        CHECK(outcome.guardsIntact);
    }
}

TEST_CASE("rows of a bias may be one element longer than the keys", "[unusual_calls]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        VkfProblem problem = problemOf({1, 2, 2, 20, 1024, 64, 0, VKF_TYPE_F16});
        problem.bias = vkf::test::broadcast(problem, type, true, true, true, 1);
        vkf::enable(problem, VKF_USE_BIAS);
        CHECK(problem.bias.rowStride == 1025);
        checkEverywhere(problem);
    }
}

TEST_CASE("all KV heads may share one k and one v by strides of 0", "[unusual_calls]") {
    VkfProblem problem = problemOf({2, 4, 4, 40, 150, 64, 0, VKF_TYPE_F16});
    problem.k.rowStride = problem.v.rowStride = 64;
    problem.k.batchStride = problem.v.batchStride = uint64_t{64} * 150;
    const Inputs inputs = vkf::test::makeInputs(vkf::test::fitted(vkf::test::testDevice(), problem), {});
    for (const uint32_t number : vkf::test::eachNth(std::vector{0U, 3U, 4U, 6U, 9U}, 2)) {
        checkOn(variations[number], problem, inputs);
    }
    for (const uint32_t number : inTurn({0U, 4U})) {
        const Variation& variation = variations[number];
        if (!leavesOut(deviceOf(variation), {VKF_TYPE_F16})) {
            VkfProblem forward = problem;
            apply(variation, forward);
            const VkfBackwardProblem backward = vkf::test::backwardOf(forward); // dk and dv are dense
            const BackwardOutcome outcome =
                runBackward(deviceOf(variation), backward, inputs, vkf::test::makeBackwardInputs(backward));
            INFO(outcome.text());
            CHECK(outcome.passed());
        }
    }
}

// The distances lead nowhere, because there is one head of one sequence.
TEST_CASE("strides past 4 GiB of dimensions with one entry need no memory", "[unusual_calls]") {
    for (const uint64_t stride : {(uint64_t{1} << 31) + 1, (uint64_t{1} << 32) + 3, uint64_t{1} << 61}) {
        VkfProblem problem = problemOf({1, 1, 1, 40, 150, 64, 0, VKF_TYPE_F16});
        for (VkfTensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.o}) {
            tensor->rowStride = 64;
            tensor->headStride = stride;
            tensor->batchStride = stride + 1;
        }
        checkEverywhere(problem);
    }
}

// The window keeps the work small. Path standard would hold all scores.
TEST_CASE("dropout counts rows and keys past 2^32 pairs, with the largest seed", "[unusual_calls]") {
    VkfProblem problem = problemOf({1, 1, 1, 70000, 70000, 64, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    vkf::test::setWindow(problem, 3, 0);
    problem.dropout = {0.3F, 0, UINT64_MAX, {}};
    const VkfProblem possible = vkf::test::fitted(vkf::test::testDevice(), problem);
    const Inputs inputs = vkf::test::makeInputs(possible, {});
    for (const uint32_t number : inTurn({0U, 4U})) {
        checkOn(variations[number], possible, inputs);
    }
}

TEST_CASE("calls that differ in the strides of a mask alone do not mix them up", "[unusual_calls]") {
    VkfProblem problem = problemOf({2, 4, 2, 40, 150, 64, 0, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_MASK);
    for (const uint32_t number : inTurn({0U, 4U, 6U})) {
        for (const bool batches : {true, false, true}) {
            problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL8, batches, true, true);
            Data data;
            data.seed = number + (batches ? 1 : 2);
            checkOn(variations[number], problem, vkf::test::makeInputs(problem, data));
        }
    }
}

TEST_CASE("one plan is recorded twice into one command buffer, with other tensors", "[unusual_calls]") {
    for (const uint32_t number : inTurn({0U, 4U, 6U, 9U})) {
        const Variation& variation = variations[number];
        auto& device = deviceOf(variation);
        if (leavesOut(device, {VKF_TYPE_F16})) {
            continue;
        }
        VkfProblem problem = problemOf({1, 4, 2, 9, 700, 64, 0, VKF_TYPE_F16});
        vkf::enable(problem, VKF_USE_SINKS);
        vkf::enable(problem, VKF_USE_LSE, false);
        apply(variation, problem);
        INFO(variation.name);
        checkTwoRecordings(device, problem);
    }
}

TEST_CASE("on path wgmma one plan is recorded twice into one command buffer, with other tensors", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : {64U, 256U}) { // without and with tensor maps
        VkfProblem problem = problemOf({2, 4, 2, 200, 700, dim, 0, VKF_TYPE_F16});
        vkf::enable(problem, VKF_USE_LSE, false);
        problem.path = VKF_PATH_WGMMA;
        checkTwoRecordings(vkf::test::testDevice(), problem);
    }
}

TEST_CASE("a KV head may have 71, 11 or 24 query heads", "[unusual_calls]") {
    for (const auto& [heads, kvHeads] : {std::pair{71U, 1U}, std::pair{33U, 3U}, std::pair{24U, 1U}}) {
        for (const uint32_t rows : {1U, 7U}) {
            if (rows != (heads == 33 ? 7U : 1U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            checkEverywhere(problemOf({1, heads, kvHeads, rows, 150, 64, 0, VKF_TYPE_F16}));
        }
    }
}

TEST_CASE("keys that a window has left behind may be NaN, in pages of 32", "[unusual_calls]") {
    for (const uint32_t rows : {1U, 40U}) {
        VkfProblem problem = problemOf({2, 4, 2, rows, 200, 64, 0, VKF_TYPE_F16});
        vkf::test::setPages(problem, 32, 3);
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        problem.use |= VKF_USE_CAUSAL;
        vkf::test::setWindow(problem, 45, 0);
        Data data; // keys that no row sees are NaN
        data.keyLengths = {200, 133};
        const VkfProblem possible = vkf::test::fitted(vkf::test::testDevice(), problem);
        const Inputs inputs = vkf::test::makeInputs(possible, data);
        for (const uint32_t number : inTurn({0U, 4U, 6U})) {
            checkOn(variations[number], possible, inputs);
        }
    }
}
