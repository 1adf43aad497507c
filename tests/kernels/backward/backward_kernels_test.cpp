// SPDX-License-Identifier: MIT
//
// The backward pass on the device against the reference: each feature, zero sizes, steps and repeats.
#include <catch2/catch_test_macros.hpp>

#include <catch2/matchers/catch_matchers_string.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::BackwardCase;
using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Data;
using vkf::test::fittedBackward;
using vkf::test::Inputs;
using vkf::test::leavesOut;
using vkf::test::problemOf;
using vkf::test::testDevice;
using vkf::test::Variation;

// The variations of path scalar, which differ in shared memory for the backward pass.
constexpr uint32_t backwardVariations[] = {0, 2};

void check(const Variation& variation, VkfProblem forward, const Data& data, bool hasDlse) {
    if (leavesOut(deviceOf(variation), variation.path)) {
        return;
    }
    forward = fittedBackward(deviceOf(variation), forward);
    apply(variation, forward);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    vkf::enable(problem, VKF_USE_DLSE, hasDlse);
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    const BackwardOutcome outcome =
        runBackward(deviceOf(variation), problem, inputs, vkf::test::makeBackwardInputs(problem, data.seed));
    INFO(outcome.text());
    CHECK(outcome.passed());
}

std::span<const BackwardCase> casesOfEveryFeature() {
    return vkf::test::wholeSweeps() ? vkf::test::backwardCases() : vkf::test::combinedBackwardCases();
}

} // namespace

TEST_CASE("the backward pass of every feature agrees with the reference", "[backward]") {
    for (const BackwardCase& one : casesOfEveryFeature()) {
        for (const uint32_t number : vkf::test::inTurn({0, 2})) {
            const Variation& variation = vkf::test::variations[number];
            Data data;
            VkfProblem forward = vkf::test::problemOf(one.shape);
            one.change(forward, data);
            INFO(one.name << " on " << variation.name);
            check(variation, forward, data, one.hasDlse);
        }
    }
}

TEST_CASE("the backward pass of every feature on matrices agrees with the reference", "[backward]") {
    uint32_t count = 0;
    for (const BackwardCase& one : casesOfEveryFeature()) {
        const VkfType type = count++ % 4 < 2 ? VKF_TYPE_F16 : VKF_TYPE_BF16;
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            const Variation& variation = vkf::test::variations[number];
            if (leavesOut(deviceOf(variation), variation.path)) {
                continue;
            }
            vkf::test::Shape shape = one.shape;
            shape.type = type;
            if (!vkf::test::takes(variation, vkf::test::problemOf(shape))) {
                shape.type = VKF_TYPE_F16; // the device multiplies no bf16
            }
            Data data;
            VkfProblem forward = vkf::test::problemOf(shape);
            one.change(forward, data);
            INFO(one.name << " on " << variation.name);
            check(variation, forward, data, one.hasDlse);
        }
    }
}

namespace {

// Every fifth row is empty, or one row of the second head alone.
void checkEmptyRows(const Variation& variation, bool everyFifth) {
    if (leavesOut(deviceOf(variation), variation.path)) {
        return;
    }
    constexpr uint32_t rows = 192;
    const VkfType type = variation.path == VKF_PATH_COOPMAT ? VKF_TYPE_F16 : VKF_TYPE_F32;
    VkfProblem forward = problemOf({1, 4, 1, rows, rows, 8, 0, type});
    vkf::enable(forward, VKF_USE_BIAS);
    forward.bias = vkf::test::broadcast(forward, VKF_TYPE_F32, false, true, true);
    apply(variation, forward);
    Inputs inputs = vkf::test::makeInputs(forward, Data{});
    for (uint64_t row = 0; row < uint64_t{4} * rows; row++) {
        const bool empty = everyFifth ? row % 5 == 0 : row == rows + 70;
        for (uint64_t key = 0; empty && key < rows; key++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), row * rows + key,
                            -std::numeric_limits<double>::infinity());
        }
    }
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    const BackwardOutcome outcome =
        runBackward(deviceOf(variation), problem, inputs, vkf::test::makeBackwardInputs(problem));
    INFO((everyFifth ? "every fifth row, " : "one row, ") << outcome.text());
    CHECK(outcome.passed());
}

} // namespace

// Tiles of 64 rows and 64 keys lie inside, so that no mask makes them partial. With one empty row, full tiles of its
// head lie before it, and those of other heads before and after it.
TEST_CASE("rows whose bias is -infinity everywhere give nothing, NaN included", "[backward]") {
    for (const std::vector<uint32_t>& numbers : {vkf::test::usually(4, 5), vkf::test::usually(0, 2)}) {
        for (const uint32_t number : numbers) {
            for (const bool everyFifth : {true, false}) {
                checkEmptyRows(vkf::test::variations[number], everyFifth);
            }
        }
    }
}

// SwiftShader compiles this kernel only without unrolled loops.
TEST_CASE("the backward pass has the same bits on every run and for any steps", "[backward][slice]") {
    VkfProblem forward = fittedBackward(testDevice(), problemOf({2, 4, 2, 150, 203, 40, 24, VKF_TYPE_F16}));
    forward.path = VKF_PATH_SCALAR;
    forward.use |= VKF_USE_CAUSAL;
    forward.dropout = {0.2F, 0, 7, {}};
    vkf::enable(forward, VKF_USE_BIAS | VKF_USE_SINKS);
    forward.bias = vkf::test::broadcast(forward, VKF_TYPE_F16, false, true, true);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    const Inputs inputs = vkf::test::makeInputs(forward, Data{});
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
    const BackwardOutcome first = runBackwardUnjudged(testDevice(), problem, inputs, more);
    CHECK(repeatsBits(testDevice(), problem, inputs, more, first));
    forward.maxStepOperations = 1;
    const BackwardOutcome stepped = runBackwardUnjudged(testDevice(), problem, inputs, more, 1);
    CHECK(stepped.info.stepCount > 2 * first.info.stepCount);
    CHECK(stepped.outputs == first.outputs);
    forward.maxStepOperations = 3000000;
    CHECK(runBackwardUnjudged(testDevice(), problem, inputs, more, 3).outputs == first.outputs);
}

// Tiles of keys that lie inside the sequence would be full if there were rows. The memory of q has no bytes then.
TEST_CASE("without query heads dk and dv are zeros", "[backward]") {
    for (const uint32_t number : {0U, 2U, 4U, 5U}) {
        for (const bool packed : {false, true}) {
            if (packed && number != 0 && number != 4 && !vkf::test::wholeSweeps()) {
                continue;
            }
            const Variation& variation = vkf::test::variations[number];
            VkfProblem forward = problemOf({2, 0, 5, 130, 140, 16, 0, VKF_TYPE_F16});
            Data data;
            if (packed) {
                setPacked(forward, data, {100, 30}, {10, 200});
            }
            INFO(variation.name << (packed ? ", packed" : ""));
            check(variation, forward, data, true);
        }
    }
}

TEST_CASE("the backward pass on matrices has the same bits on every run and for any steps", "[backward]") {
    for (const uint32_t number : vkf::test::usually(4, 5)) {
        const Variation& variation = vkf::test::variations[number];
        if (leavesOut(deviceOf(variation), variation.path)) {
            continue;
        }
        VkfProblem forward = problemOf({2, 4, 2, 150, 203, 40, 24, VKF_TYPE_F16});
        apply(variation, forward);
        forward.use |= VKF_USE_CAUSAL;
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        const Inputs inputs = vkf::test::makeInputs(forward, Data{});
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        vkf::test::computeForward(forward, inputs, VKF_TYPE_F16, &more);
        vkf::host::Device& device = deviceOf(variation);
        const BackwardOutcome first = runBackwardUnjudged(device, problem, inputs, more);
        CHECK(first.info.path == VKF_PATH_COOPMAT);
        CHECK(first.info.productType == VKF_TYPE_F16);
        CHECK(first.info.inputAlignment == 16);
        CHECK(repeatsBits(device, problem, inputs, more, first));
        forward.maxStepOperations = 1;
        const BackwardOutcome stepped = runBackwardUnjudged(device, problem, inputs, more, 1);
        CHECK(stepped.info.stepCount > 2 * first.info.stepCount);
        CHECK(stepped.outputs == first.outputs);
    }
}

// The tiles of the wider heads keep v or dout in shared memory, or write dk and dv in two phases.
TEST_CASE("the backward pass on matrices takes every head dimension", "[backward]") {
    const struct {
        vkf::test::Shape shape;
        bool hasDlse;
    } cases[] = {
        {{1, 2, 1, 70, 67, 256, 256, VKF_TYPE_F16}, true},
        {{1, 2, 2, 33, 130, 136, 120, VKF_TYPE_F16}, false},
        {{1, 2, 2, 130, 33, 112, 136, VKF_TYPE_F16}, false},
    };
    for (const auto& [shape, hasDlse] : cases) {
        for (const uint32_t number : vkf::test::usually(4, 5)) {
            check(vkf::test::variations[number], problemOf(shape), Data{}, hasDlse);
        }
    }
}

TEST_CASE("the backward pass on matrices takes fp32 tensors beside 16-bit ones", "[backward]") {
    for (const uint32_t number : vkf::test::usually(4, 5)) {
        const Variation& variation = vkf::test::variations[number];
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            VkfProblem forward = problemOf({1, 4, 2, 90, 110, 64, 72, type});
            if (!vkf::test::takes(variation, forward)) {
                continue; // the device multiplies no bf16
            }
            forward.use |= VKF_USE_CAUSAL;
            apply(variation, forward);
            forward.q.type = VKF_TYPE_F32;
            VkfBackwardProblem problem = vkf::test::backwardOf(forward);
            problem.dout.type = problem.dq.type = problem.dk.type = problem.dv.type = VKF_TYPE_F32;
            const Inputs inputs = vkf::test::makeInputs(forward, Data{});
            const BackwardOutcome outcome =
                runBackward(deviceOf(variation), problem, inputs, vkf::test::makeBackwardInputs(problem));
            INFO(outcome.text());
            CHECK(outcome.passed());
        }
    }
}

// Rows of such a head dimension are not whole words of 16 bytes, so tiles arrive element by element.
TEST_CASE("the backward pass on matrices takes odd head dimensions", "[backward]") {
    for (const uint32_t number : vkf::test::usually(4, 5)) {
        const Variation& variation = vkf::test::variations[number];
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            if (!vkf::test::takes(variation, problemOf({1, 1, 1, 1, 1, 8, 8, type}))) {
                continue; // the device multiplies no bf16
            }
            VkfProblem forward = problemOf({3, 3, 3, 2, 70, 65, 65, type});
            vkf::enable(forward, VKF_USE_KEY_LENGTHS);
            check(variation, forward, Data{.keyLengths = {4, 70, 1}}, true);
        }
    }
}

namespace {

void checkLargeGradients(const Variation& variation, bool causal) {
    if (leavesOut(deviceOf(variation), variation.path)) {
        return;
    }
    VkfProblem forward = problemOf({1, 2, 1, causal ? 100U : 256U, causal ? 120U : 64U, 32, 0, VKF_TYPE_F16});
    vkf::enable(forward, VKF_USE_CAUSAL, causal);
    forward.scale = 1e-4F;
    apply(variation, forward);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.dq.type = problem.dk.type = problem.dv.type = VKF_TYPE_F32;
    Data data;
    data.magnitude = 40.0;
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    const BackwardOutcome outcome =
        runBackward(deviceOf(variation), problem, inputs, vkf::test::makeBackwardInputs(problem, 0, 10000.0));
    INFO((causal ? "causal, " : "full, ") << outcome.text());
    CHECK(outcome.passed());
    for (size_t i = 0; i < outcome.outputs.dq.size() / sizeof(float); i++) {
        REQUIRE(std::isfinite(vkfLoadElement(VKF_TYPE_F32, outcome.outputs.dq.data(), i)));
    }
}

} // namespace

// dp is of the size of dout v here, which is past 65504 for most pairs. In the causal problem the first rows see few
// keys and have large p. In the other one tiles are full, and p is about 1 / 64.
TEST_CASE("a ds past the largest fp16 does not become infinite", "[backward]") {
    for (const uint32_t number : vkf::test::usually(4, 5)) {
        for (const bool causal : {false, true}) {
            checkLargeGradients(vkf::test::variations[number], causal);
        }
    }
}

// A tile on the diagonal is partial, others are full. With the first edit, the column of dout is infinite in dv of the
// keys that the row sees. With the second one the scores of a key are -infinity, so that its p is 0 and its k makes one
// column of dq NaN. With the last one whole rows of dq become NaN.
TEST_CASE("infinity and NaN in visible rows and keys reach the gradients", "[backward]") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr uint32_t dim = 16;
    VkfType type = VKF_TYPE_F16;
    const auto set = [&](std::vector<std::byte>& to, uint64_t row, uint64_t column, double x) {
        vkfStoreElement(type, to.data(), row * dim + column, x);
    };
    const auto editDout = [&](Inputs&, BackwardInputs& more) {
        set(more.dout, 70, 3, infinity);
        set(more.dout, 120, 5, nan);
    };
    const auto editScores = [&](Inputs& inputs, BackwardInputs&) {
        for (uint64_t row = 0; row < 200; row++) {
            set(inputs.q, row, 7, 0.5);
        }
        set(inputs.k, 95, 7, -infinity);
    };
    const auto editKeys = [&](Inputs& inputs, BackwardInputs&) {
        set(inputs.v, 90, 2, infinity);
        if (!vkf::test::losesNan(testDevice())) {
            set(inputs.k, 95, 7, nan);
        }
    };
    const auto editStates = [&](Inputs&, BackwardInputs& more) { more.dlse[130] = std::bit_cast<float>(~0U); };
    const std::function<void(Inputs&, BackwardInputs&)> edits[] = {editDout, editScores, editKeys, editStates};
    const auto checkEdit = [&](const Variation& variation, size_t edit) {
        VkfProblem forward = problemOf({1, 2, 1, 100, 100, dim, 0, type});
        forward.use |= VKF_USE_CAUSAL;
        apply(variation, forward);
        if (!takes(variation, forward)) {
            return; // the device multiplies no bf16
        }
        forward = fittedBackward(deviceOf(variation), forward);
        type = forward.q.type;
        Inputs inputs = vkf::test::makeInputs(forward, Data{});
        VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        problem.use |= VKF_USE_DLSE;
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        edits[edit](inputs, more);
        const BackwardOutcome outcome = runBackward(deviceOf(variation), problem, inputs, more);
        INFO(variation.name << ", type " << vkfTypeName(type) << ", edit " << edit << ": " << outcome.text());
        CHECK(outcome.passed());
    };
    for (const VkfType each : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const uint32_t number : {0U, 4U, 5U}) {
            const bool near = each == VKF_TYPE_F16 ? number == 5 : number == 0; // has a kernel like another one's
            for (size_t edit = 0; edit < std::size(edits) && (!near || vkf::test::wholeSweeps()); edit++) {
                type = each;
                checkEdit(vkf::test::variations[number], edit);
            }
        }
    }
}

TEST_CASE("each gradient alone has the bits that it has among all", "[backward]") {
    VkfProblem forward = problemOf({1, 4, 2, 70, 90, 32, 0, VKF_TYPE_F32});
    forward.path = VKF_PATH_SCALAR;
    vkf::enable(forward, VKF_USE_SINKS);
    const VkfBackwardProblem all = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    const Inputs inputs = vkf::test::makeInputs(forward, Data{});
    BackwardInputs more = vkf::test::makeBackwardInputs(all);
    vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
    const vkf::test::GradientOutputs together = runBackwardUnjudged(testDevice(), all, inputs, more).outputs;
    for (const VkfGradients one :
         std::initializer_list<VkfGradients>{VKF_GRADIENT_Q, VKF_GRADIENT_K, VKF_GRADIENT_V, VKF_GRADIENT_SINKS}) {
        VkfBackwardProblem alone = vkf::test::backwardOf(forward, one);
        const vkf::test::GradientOutputs outputs = runBackwardUnjudged(testDevice(), alone, inputs, more).outputs;
        CHECK(outputs.dq == (one == VKF_GRADIENT_Q ? together.dq : std::vector<std::byte>{}));
        CHECK(outputs.dk == (one == VKF_GRADIENT_K ? together.dk : std::vector<std::byte>{}));
        CHECK(outputs.dv == (one == VKF_GRADIENT_V ? together.dv : std::vector<std::byte>{}));
        CHECK(outputs.dsinks == (one == VKF_GRADIENT_SINKS ? together.dsinks : std::vector<std::byte>{}));
    }
}

TEST_CASE("wide heads have a backward pass in 16 KiB of shared memory too", "[backward]") {
    for (const uint32_t number : backwardVariations) {
        if (number == 2 || vkf::test::wholeSweeps()) {
            check(vkf::test::variations[number], problemOf({1, 2, 1, 70, 67, 256, 256, VKF_TYPE_F32}), Data{}, true);
        }
        if (number == 0 || vkf::test::wholeSweeps()) {
            check(vkf::test::variations[number], problemOf({1, 2, 2, 33, 130, 200, 136, VKF_TYPE_BF16}), Data{}, false);
        }
    }
}

TEST_CASE("the backward pass refuses in words", "[backward]") {
    using Catch::Matchers::ContainsSubstring;
    VkfProblem forward = problemOf({1, 1, 1, 8, 8, 16, 0, VKF_TYPE_F32});
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    VkfMessage message{};
    vkf::Backward backward;
    const VkfContext context = testDevice().context();
    forward.path = VKF_PATH_COOPMAT;
    CHECK(vkfCreateBackward(context, &problem, backward.put(), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) ==
          "the backward pass on path coopmat: k and v must both be f16 or both be bf16, as q unless q is f32");
    CHECK(vkfCheckBackwardSupport(context, &problem, &message) == VKF_ERROR_UNSUPPORTED);
    forward.path = VKF_PATH_AUTO;
    CHECK(vkfCreateBackward(nullptr, &problem, backward.put(), &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfCreateBackward(context, &problem, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    REQUIRE(vkfCheckBackwardSupport(context, &problem, &message) == VKF_SUCCESS);
    REQUIRE(vkfCreateBackward(context, &problem, backward.put(), &message) == VKF_SUCCESS);
    auto info = vkf::make<VkfBackwardInfo>();
    REQUIRE(vkfGetBackwardInfo(backward.get(), &info, nullptr) == VKF_SUCCESS);
    CHECK(info.path == VKF_PATH_SCALAR);
    CHECK(info.operations == 2.5 * 8 * 8 * 2 * 32);
    CHECK(info.minimumBytes == 4 * (8 * 8 * 16 + 8));
    CHECK(vkfGetBackwardInfo(nullptr, &info, &message) == VKF_ERROR_INVALID_ARGUMENT);

    // Bindings. No command is recorded, so any address will do.
    auto call = vkf::make<VkfBindings>();
    auto bindings = vkf::make<VkfBackwardBindings>();
    VkDeviceAddress address = 0x1000;
    for (VkfBinding* binding : {&call.q, &call.k, &call.v, &call.o, &call.lse, &bindings.dout, &bindings.dq,
                                &bindings.dk, &bindings.dv, &bindings.scratch}) {
        binding->address = address;
        address += 0x1000;
    }
    const auto refused = [&](const char* text) {
        testDevice().submit([&](VkCommandBuffer commandBuffer) {
            CHECK(vkfCmdBackward(commandBuffer, backward.get(), &bindings, &message) != VKF_SUCCESS);
        });
        CHECK_THAT(std::string(message.text), ContainsSubstring(text));
    };
    refused("forward is null");
    bindings.forward = &call;
    refused("the size of scratch is 0");
    bindings.dlse.address = 0x1000;
    refused("dlse is bound, but use of the backward problem lacks VKF_USE_DLSE");
    bindings.dlse.address = 0;
    bindings.dsinks.address = 0x1000;
    refused("dsinks is bound, but gradients lacks VKF_GRADIENT_SINKS");
    bindings.dsinks.address = 0;
    bindings.dk.size = 100;
    refused("dk needs 512 bytes; its binding has 100");
    bindings.dk.size = 0;
    bindings.dv.address = 0x1002;
    refused("the address of dv, 0x1002, is not aligned to 4 bytes");
    bindings.dv.address = 0x1000;
    call.lse.address = 0;
    refused("lse has neither address nor buffer");
}
