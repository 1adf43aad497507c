// SPDX-License-Identifier: MIT
//
// The backward pass of tensors with distances over 4 GiB, of many rows in many steps, and made and recorded by several
// threads at once.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "support/command_buffers.hpp"
#include "support/device.hpp"
#include "support/guarded.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::host::Buffer;
using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;
using vkf::test::testDevice;

// Whether the device can do the problem. Problems on path coopmat need cooperative matrices.
bool isSupported(const VkfBackwardProblem& problem) {
    return vkfCheckBackwardSupport(testDevice().context(), &problem, nullptr) == VKF_SUCCESS;
}

VkfType productTypeOf(const VkfProblem& forward) {
    return forward.path == VKF_PATH_COOPMAT ? forward.q.type : VKF_TYPE_F32;
}

// Two pieces of device memory that lie over 4 GiB apart. Hardly any of the memory between them is touched.
class FarMemory {
public:
    explicit FarMemory(vkf::host::Device& device) : device_(device) {
        try {
            for (int i = 0; i < 5; i++) { // the distance of two of them is over 4 GiB wherever they lie
                buffers_.push_back(device.createBuffer((uint64_t{1} << 30) + (1 << 20)));
            }
        } catch (const vkf::host::Error& error) {
            SKIP(error.what());
        }
        std::sort(buffers_.begin(), buffers_.end(),
                  [](const Buffer& a, const Buffer& b) { return a.address() < b.address(); });
        // Distances below 2^48 fit 32 bits in this unit. All strides of a call must be multiples of it.
        constexpr uint64_t unit = 1 << 16;
        shift_ = (unit - (high().address() - low().address()) % unit) % unit;
    }

    uint64_t address() const { return low().address(); }
    uint64_t distance() const { return high().address() + shift_ - low().address(); }

    // Half of the bytes lie at `place` of the first piece, half in the second one.
    void upload(const std::vector<std::byte>& bytes, uint64_t place) {
        const size_t half = bytes.size() / 2;
        device_.upload(low(), bytes.data(), half, place);
        device_.upload(high(), bytes.data() + half, half, shift_ + place);
    }

    std::vector<std::byte> download(size_t bytes, uint64_t place) {
        std::vector<std::byte> all(bytes);
        device_.download(all.data(), low(), bytes / 2, place);
        device_.download(all.data() + bytes / 2, high(), bytes / 2, shift_ + place);
        return all;
    }

private:
    const Buffer& low() const { return buffers_.front(); }
    const Buffer& high() const { return buffers_.back(); }

    vkf::host::Device& device_;
    std::vector<Buffer> buffers_;
    uint64_t shift_ = 0;
};

// Runs the backward pass with the second head of all tensors far away.
vkf::test::GradientOutputs runFar(FarMemory& memory, const VkfProblem& forward, const Inputs& inputs,
                                  const BackwardInputs& more) {
    vkf::host::Device& device = testDevice();
    VkfProblem far = forward;
    VkfBackwardProblem problem = vkf::test::backwardOf(far);
    for (VkfTensor* tensor : {&far.q, &far.k, &far.v, &far.o, &problem.dout, &problem.dq, &problem.dk, &problem.dv}) {
        tensor->rowStride = forward.headDim;
        tensor->headStride = memory.distance() / vkfTypeBytes(forward.q.type);
    }
    VkfMessage message{};
    vkf::Backward backward;
    const VkfResult made = vkfCreateBackward(device.context(), &problem, backward.put(), &message);
    INFO(message.text);
    REQUIRE(made == VKF_SUCCESS);
    auto info = vkf::make<VkfBackwardInfo>();
    REQUIRE(vkfGetBackwardInfo(backward.get(), &info, &message) == VKF_SUCCESS);
    const Buffer scratch = device.createBuffer(info.scratchBytes);
    const vkf::test::Guarded lse = vkf::test::uploaded(device, more.lse);
    auto call = vkf::make<VkfBindings>();
    auto bindings = vkf::make<VkfBackwardBindings>();
    bindings.forward = &call;
    bindings.scratch = scratch.binding();
    call.lse = lse.binding();
    const size_t bytes = inputs.q.size(); // of each tensor
    uint64_t place = 0;
    const auto add = [&](VkfBinding* binding, const std::vector<std::byte>& contents) {
        binding->address = memory.address() + place;
        memory.upload(contents, place);
        place += bytes;
    };
    add(&call.q, inputs.q);
    add(&call.k, inputs.k);
    add(&call.v, inputs.v);
    add(&call.o, more.o);
    add(&bindings.dout, more.dout);
    for (VkfBinding* output : {&bindings.dq, &bindings.dk, &bindings.dv}) {
        add(output, std::vector<std::byte>(bytes, std::byte{0xff}));
    }
    device.submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdBackward(commandBuffer, backward.get(), &bindings, &message) == VKF_SUCCESS);
    });
    return {memory.download(bytes, place - 3 * bytes),
            memory.download(bytes, place - 2 * bytes),
            memory.download(bytes, place - bytes),
            {},
            {}};
}

} // namespace

TEST_CASE("the backward pass finds heads that lie over 4 GiB apart", "[backward]") {
    FarMemory memory(testDevice());
    REQUIRE(memory.distance() > UINT32_MAX);
    for (const auto& [path, type] :
         {std::pair{VKF_PATH_SCALAR, VKF_TYPE_F32}, std::pair{VKF_PATH_COOPMAT, VKF_TYPE_F16}}) {
        VkfProblem forward = problemOf({1, 2, 2, 64, 64, 16, 0, type});
        forward.path = path;
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        if (!isSupported(problem)) {
            continue;
        }
        const Inputs inputs = vkf::test::makeInputs(forward, Data{});
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        vkf::test::computeForward(forward, inputs, productTypeOf(forward), &more);
        const BackwardOutcome dense = runBackwardUnjudged(testDevice(), problem, inputs, more);
        INFO(dense.info.description);
        CHECK(runFar(memory, forward, inputs, more) == dense.outputs);
    }
}

// Few keys see all rows: dk and dv are long sums, and the phases have very different numbers of steps.
TEST_CASE("the backward pass of very many rows is right in any number of steps", "[backward]") {
    const uint32_t rows = vkf::test::wholeSweeps() ? 1U << 20 : 1U << 14;
    for (const auto& [path, type] :
         {std::pair{VKF_PATH_SCALAR, VKF_TYPE_F32}, std::pair{VKF_PATH_COOPMAT, VKF_TYPE_F16}}) {
        VkfProblem forward = problemOf({1, 1, 1, rows, 5, 16, 0, type});
        forward.path = path;
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        if (!isSupported(problem)) {
            continue;
        }
        const Inputs inputs = vkf::test::makeInputs(forward, Data{});
        const BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        forward.maxStepOperations = uint64_t{rows} * 5;
        const BackwardOutcome stepped = runBackward(testDevice(), problem, inputs, more, 7);
        INFO(stepped.text());
        CHECK(stepped.passed());
        CHECK(stepped.info.stepCount > 20);
        forward.maxStepOperations = 0;
        const BackwardOutcome whole = runBackward(testDevice(), problem, inputs, more);
        CHECK(whole.info.stepCount < 8);
        CHECK(whole.outputs == stepped.outputs);
    }
}

namespace {

// Outputs and scratch memory of one of several calls with the same inputs.
struct ThreadMemory {
    ThreadMemory(vkf::host::Device& device, const BackwardOutcome& like)
        : dq(device, like.outputs.dq.size()), dk(device, like.outputs.dk.size()), dv(device, like.outputs.dv.size()),
          scratch(device, like.info.scratchBytes) {}

    vkf::test::Guarded dq, dk, dv, scratch;
};

} // namespace

TEST_CASE("eight threads create and record backward passes of one context at once", "[backward]") {
    constexpr size_t count = 8;
    vkf::host::Device& device = testDevice();
    VkfProblem forward = problemOf({1, 2, 1, 33, 40, 24});
    forward.path = VKF_PATH_SCALAR;
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    const Inputs inputs = vkf::test::makeInputs(forward, Data{});
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
    const BackwardOutcome expected = runBackwardUnjudged(device, problem, inputs, more);

    const vkf::test::DeviceInputs memory(device, inputs);
    const vkf::test::Guarded dout = vkf::test::uploaded(device, more.dout);
    const vkf::test::Guarded o = vkf::test::uploaded(device, more.o);
    const vkf::test::Guarded lse = vkf::test::uploaded(device, more.lse);
    VkfBindings call = memory.bindings(forward);
    call.o = o.binding();
    call.lse = lse.binding();
    std::deque<ThreadMemory> outputs;
    for (size_t t = 0; t < count; t++) {
        outputs.emplace_back(device, expected);
    }
    vkf::test::CommandBuffers commands(device, count);
    vkf::Backward shared; // recorded by all threads
    REQUIRE(vkfCreateBackward(device.context(), &problem, shared.put(), nullptr) == VKF_SUCCESS);
    std::vector<VkfResult> results(3 * count, VKF_ERROR_VULKAN);
    const auto work = [&](size_t t) {
        // One backward pass has pipelines that all threads want, the other one has its own.
        VkfProblem same = problemOf({1, 1, 1, 8, 8, 32});
        VkfProblem other = problemOf({1, 1, 1, 8, 8, static_cast<uint32_t>(33 + t)});
        same.path = other.path = VKF_PATH_SCALAR;
        const VkfProblem* const problems[] = {&same, &other};
        for (size_t i = 0; i < 2; i++) {
            const VkfBackwardProblem made = vkf::test::backwardOf(*problems[i]);
            vkf::Backward backward;
            results[3 * t + i] = vkfCreateBackward(device.context(), &made, backward.put(), nullptr);
        }
        auto bindings = vkf::make<VkfBackwardBindings>();
        bindings.forward = &call;
        bindings.dout = dout.binding();
        bindings.dq = outputs[t].dq.binding();
        bindings.dk = outputs[t].dk.binding();
        bindings.dv = outputs[t].dv.binding();
        bindings.scratch = outputs[t].scratch.binding();
        commands.record(t, [&](VkCommandBuffer commandBuffer) {
            for (int i = 0; i < 20; i++) {
                results[3 * t + 2] = vkfCmdBackward(commandBuffer, shared.get(), &bindings, nullptr);
                commands.barrier(commandBuffer);
            }
        });
    };
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; t++) {
        threads.emplace_back(work, t);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const VkfResult result : results) {
        REQUIRE(result == VKF_SUCCESS);
    }
    commands.submitAll();
    for (const ThreadMemory& one : outputs) {
        for (const auto& [memoryOf, right] :
             {std::pair{&one.dq, &expected.outputs.dq}, std::pair{&one.dk, &expected.outputs.dk},
              std::pair{&one.dv, &expected.outputs.dv}}) {
            const std::vector<std::byte> all = memoryOf->download(device);
            CHECK(memoryOf->intact(all));
            CHECK(
                std::equal(right->begin(), right->end(), all.begin() + static_cast<std::ptrdiff_t>(memoryOf->offset)));
        }
    }
}
