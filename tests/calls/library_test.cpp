// SPDX-License-Identifier: MIT
//
// The C interface on a real device: requirements, context, plan, recording, steps, threads.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "support/call.hpp"
#include "support/command_buffers.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::host::Buffer;
using vkf::test::contextInfo;
using vkf::test::problemOf;
using vkf::test::queryOf;
using vkf::test::testDevice;

// A small problem. Each array is in one buffer.
struct Call {
    VkfProblem problem;
    vkf::host::Plan plan;
    Buffer q, k, v, o, lse, scratch;
    VkfBindings bindings = vkf::make<VkfBindings>();

    Call(vkf::host::Device& device, const VkfProblem& p)
        : problem(p), plan(device, p), q(device.createBuffer(1 << 20)), k(device.createBuffer(1 << 20)),
          v(device.createBuffer(1 << 20)), o(device.createBuffer(1 << 20)), lse(device.createBuffer(1 << 16)),
          scratch(device.createBuffer(plan.info().scratchBytes + 16)) {
        const vkf::test::Inputs inputs = vkf::test::makeInputs(p, {});
        device.upload(q, inputs.q.data(), inputs.q.size());
        device.upload(k, inputs.k.data(), inputs.k.size());
        device.upload(v, inputs.v.data(), inputs.v.size());
        bindings.q = q.binding();
        bindings.k = k.binding();
        bindings.v = v.binding();
        bindings.o = o.binding();
        bindings.lse = lse.binding();
        bindings.scratch = scratch.binding();
        bindings.scratch.size = plan.info().scratchBytes;
    }

    std::vector<std::byte> output(vkf::host::Device& device) const {
        std::vector<std::byte> bytes(vkf::layoutOf(problem, VKF_TENSOR_O).elements * vkfTypeBytes(problem.o.type));
        device.download(bytes.data(), o, bytes.size());
        return bytes;
    }

    std::vector<std::byte> run(vkf::host::Device& device) {
        device.fill(o, 0xffffffffU);
        device.submit([&](VkCommandBuffer commandBuffer) {
            REQUIRE(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
        });
        return output(device);
    }
};

// Result and message of a recording with changed bindings.
VkfResult recordResult(vkf::host::Device& device, const Call& call, const VkfBindings& bindings, std::string* words) {
    VkfMessage message{};
    VkfResult result = VKF_SUCCESS;
    device.submit([&](VkCommandBuffer commandBuffer) {
        result = vkfCmdAttention(commandBuffer, call.plan.handle(), &bindings, &message);
    });
    *words = message.text;
    return result;
}

} // namespace

TEST_CASE("a context refuses null handles and features that the device lacks", "[library]") {
    const vkf::host::Device& device = testDevice();
    VkfMessage message{};
    VkfContext context = nullptr;

    auto info = contextInfo(device);
    info.device = VK_NULL_HANDLE;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    info = contextInfo(device);
    info.getInstanceProcAddr = nullptr;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    info = contextInfo(device);
    info.features |= 1U << 30;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_MISSING_FEATURE);
    info = contextInfo(device);
    info.features = 0;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_MISSING_FEATURE);
    CHECK_THAT(std::string(message.text), ContainsSubstring("BUFFER_DEVICE_ADDRESS"));
    info = contextInfo(device);
    info.debug = 4;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("debug has bits 0x4, which this version does not know"));
    info = contextInfo(device);
    info.structSize += 5000;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_STRUCT_SIZE);
    CHECK(vkfCreateContext(nullptr, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(context == nullptr);
    vkfDestroyContext(nullptr);
    vkfDestroyPlan(nullptr);
}

TEST_CASE("support can be asked without creating anything", "[library]") {
    const VkfDeviceQuery query = queryOf(testDevice());
    VkfProblem problem = problemOf({1, 2, 1, 8, 8, 64, 0, VKF_TYPE_F16});
    VkfMessage message{};
    CHECK(vkfCheckSupport(testDevice().context(), &problem, &message) == VKF_SUCCESS);
    CHECK(vkfCheckDeviceSupport(&query, &problem, &message) == VKF_SUCCESS);
    problem.headDim = 600;
    CHECK(vkfCheckSupport(testDevice().context(), &problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("headDim 600"));
    CHECK(vkfCheckDeviceSupport(&query, &problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(vkfCheckSupport(nullptr, &problem, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfCheckDeviceSupport(nullptr, &problem, &message) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a refused plan writes no handle", "[library]") {
    vkf::test::skipWithoutDevice();
    VkfPlan plan = nullptr;
    VkfProblem problem = problemOf({1, 3, 2, 8, 8, 64});
    VkfMessage message{};
    CHECK(vkfCreatePlan(testDevice().context(), &problem, &plan, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(plan == nullptr);
    problem = problemOf({1, 1, 1, 8, 8, 64});
    CHECK(vkfCreatePlan(testDevice().context(), &problem, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfCreatePlan(nullptr, &problem, &plan, &message) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("plan info describes the choice", "[library]") {
    vkf::test::skipWithoutDevice();
    VkfProblem problem = problemOf({2, 4, 2, 100, 200, 64, 32});
    problem.path = VKF_PATH_SCALAR;
    problem.kvSplits = 1;
    vkf::Plan plan;
    REQUIRE(vkfCreatePlan(testDevice().context(), &problem, plan.put(), nullptr) == VKF_SUCCESS);
    auto info = vkf::make<VkfPlanInfo>();
    REQUIRE(vkfGetPlanInfo(plan.get(), &info, nullptr) == VKF_SUCCESS);
    CHECK(info.path == VKF_PATH_SCALAR);
    CHECK(info.stepCount == 1);
    CHECK(info.scratchBytes == 0);
    CHECK(info.productType == VKF_TYPE_F32);
    CHECK(info.operations == 2.0 * 4 * 100 * 200 * 2 * (64 + 32));
    CHECK(info.minimumBytes == 4.0 * (2 * 4 * 100 * 96 + 2 * 2 * 200 * 96 + 2 * 4 * 100));
    CHECK_THAT(std::string(info.description), ContainsSubstring("scalar: B=2 H=4/2 Nq=100 Nk=200 D=64/32"));
    info.structSize = 1;
    CHECK(vkfGetPlanInfo(plan.get(), &info, nullptr) == VKF_ERROR_STRUCT_SIZE);
    CHECK(vkfGetPlanInfo(nullptr, &info, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("plan info describes key splits", "[library]") {
    vkf::test::needStorage16(testDevice(), "kvSplits over 1");
    VkfProblem problem = problemOf({2, 4, 2, 100, 200, 64, 32});
    problem.path = VKF_PATH_SCALAR; // matrices, where a device has them for fp32, have steps and scratch of their own
    problem.kvSplits = 3;
    const VkfPlanInfo split = vkf::host::Plan(testDevice(), problem).info();
    CHECK(split.kvSplits == 3);
    CHECK(split.stepCount == 2);
    CHECK(split.scratchBytes == 3 * 2 * 4 * 100 * (32 + 2) * 4);
    CHECK_THAT(std::string(split.tile), ContainsSubstring(" splits=3"));
    CHECK_THAT(std::string(split.description), ContainsSubstring(", 3 splits, "));
}

TEST_CASE("path coopmat needs 16-byte alignment of inputs whose rows are multiples of 16 bytes", "[library]") {
    vkf::host::Device& device = testDevice();
    VkfProblem problem = problemOf({1, 2, 1, 33, 40, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
        SKIP("this device has no cooperative matrices");
    }
    const Call call(device, problem);
    CHECK(call.plan.info().inputAlignment == 16);
    VkfBindings bindings = call.bindings;
    bindings.k.offset += 8;
    std::string words;
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("address of k") && ContainsSubstring("not aligned to 16"));

    VkfProblem oddRows = problem;
    oddRows.headDim = 63;
    CHECK(vkf::host::Plan(device, oddRows).info().inputAlignment == 2);
}

TEST_CASE("a plan and the context report whether scores pass through shared memory", "[library]") {
    for (const VkfQuirks quirks : {VkfQuirks{0}, VkfQuirks{VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT}}) {
        vkf::host::Device& device = testDevice(quirks);
        auto info = vkf::make<VkfMatrixInfo>();
        VkfMessage message{};
        VkfProblem problem = problemOf({1, 2, 1, 33, 40, 64, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_COOPMAT;
        const VkfResult result = vkfGetMatrixInfo(device.context(), VKF_TYPE_F16, &info, &message);
        CHECK(result == vkfCheckSupport(device.context(), &problem, nullptr));
        if (result != VKF_SUCCESS) {
            SKIP(message.text);
        }
        const bool through = info.layoutKnown == 0;
        CHECK((through || quirks == 0));
        const std::string description = vkf::host::Plan(device, problem).info().description;
        CHECK_THAT(description, ContainsSubstring(std::to_string(info.rows) + "x" + std::to_string(info.columns) + "x" +
                                                  std::to_string(info.depth) + " matrices"));
        CHECK((description.find("through shared memory") != std::string::npos) == through);

        CHECK(vkfGetMatrixInfo(device.context(), VKF_TYPE_F32, &info, &message) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(vkfGetMatrixInfo(nullptr, VKF_TYPE_F16, &info, &message) == VKF_ERROR_INVALID_ARGUMENT);
        info.structSize = 1;
        CHECK(vkfGetMatrixInfo(device.context(), VKF_TYPE_F16, &info, &message) == VKF_ERROR_STRUCT_SIZE);
    }
}

TEST_CASE("bindings are checked before anything is recorded", "[library]") {
    vkf::host::Device& device = testDevice();
    VkfProblem problem = problemOf({1, 2, 1, 33, 40, 64});
    problem.path = VKF_PATH_SCALAR; // matrices need another alignment
    const Call call(device, problem);
    std::string words;

    VkfBindings bindings = call.bindings;
    bindings.k = VkfBinding{};
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("k has neither address nor buffer"));

    bindings = call.bindings;
    bindings.q.offset += 2;
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("address of q") && ContainsSubstring("not aligned to 4"));

    bindings = call.bindings;
    bindings.o.size = uint64_t{2} * 33 * 64 * 4 - 1;
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_BINDING_TOO_SMALL);
    CHECK_THAT(words, ContainsSubstring("o needs 16896 bytes; its binding has 16895"));

    bindings = call.bindings;
    bindings.lse = VkfBinding{};
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("lse"));

    bindings = call.bindings;
    bindings.structSize = 0;
    CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_STRUCT_SIZE);
}

TEST_CASE("scratch one byte short is refused, exactly enough is taken", "[library]") {
    vkf::host::Device& device = testDevice();
    for (const VkfPath path : {VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER}) {
        if (vkf::test::leavesOut(device, path)) {
            continue;
        }
        VkfProblem problem = problemOf({1, 2, 1, 33, 40, 64});
        problem.path = path;
        Call call(device, problem);
        std::string words;

        VkfBindings bindings = call.bindings;
        bindings.scratch.size -= 1;
        CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_BINDING_TOO_SMALL);
        CHECK_THAT(words, ContainsSubstring("scratch needs"));
        bindings.scratch.size = 0;
        CHECK(recordResult(device, call, bindings, &words) == VKF_ERROR_BINDING_TOO_SMALL);
        CHECK(recordResult(device, call, call.bindings, &words) == VKF_SUCCESS);
    }
}

TEST_CASE("buffers and addresses bind the same memory", "[library]") {
    vkf::host::Device& device = testDevice();
    Call call(device, problemOf({1, 2, 1, 33, 40, 64}));
    const std::vector<std::byte> byAddress = call.run(device);
    for (VkfBinding* binding : {&call.bindings.q, &call.bindings.k, &call.bindings.v, &call.bindings.o}) {
        binding->address = 0;
    }
    call.bindings.q.buffer = call.q.handle();
    call.bindings.k.buffer = call.k.handle();
    call.bindings.v.buffer = call.v.handle();
    call.bindings.o.buffer = call.o.handle();
    CHECK(call.run(device) == byAddress);
}

TEST_CASE("a call in many steps and submissions gives the same bits as in one", "[library]") {
    vkf::host::Device& device = testDevice();
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_STANDARD}) {
        if (vkf::test::leavesOut(device, path)) {
            continue;
        }
        VkfProblem problem = problemOf({2, 4, 2, 200, 90, 40, 0, VKF_TYPE_F16});
        problem.use |= VKF_USE_CAUSAL;
        problem.path = path;
        Call whole(device, problem);
        const std::vector<std::byte> expected = whole.run(device);

        problem.maxStepOperations = 1;
        Call split(device, problem);
        const uint32_t steps = split.plan.info().stepCount;
        REQUIRE(steps > 8);
        device.fill(split.o, 0xffffffffU);
        for (uint32_t first = 0; first < steps; first += 5) {
            device.submit([&](VkCommandBuffer commandBuffer) {
                REQUIRE(vkfCmdAttentionSteps(commandBuffer, split.plan.handle(), &split.bindings, first,
                                             std::min(5U, steps - first), nullptr) == VKF_SUCCESS);
            });
        }
        CHECK(split.output(device) == expected);
    }
}

TEST_CASE("steps past the end of a plan are refused", "[library]") {
    vkf::host::Device& device = testDevice();
    const Call call(device, problemOf({1, 1, 1, 8, 8, 8}));
    VkfMessage message{};
    device.submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdAttentionSteps(commandBuffer, call.plan.handle(), &call.bindings, 0, 2, &message) ==
              VKF_ERROR_INVALID_ARGUMENT);
        CHECK_THAT(std::string(message.text), ContainsSubstring("the plan has 1"));
        CHECK(vkfCmdAttentionSteps(commandBuffer, call.plan.handle(), &call.bindings, UINT32_MAX, UINT32_MAX,
                                   &message) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(vkfCmdAttentionSteps(commandBuffer, call.plan.handle(), &call.bindings, 1, 0, &message) == VKF_SUCCESS);
        CHECK(vkfCmdAttention(commandBuffer, nullptr, &call.bindings, &message) == VKF_ERROR_INVALID_ARGUMENT);
    });
    CHECK(vkfCmdAttention(VK_NULL_HANDLE, call.plan.handle(), &call.bindings, &message) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("an empty output records nothing and needs no bindings", "[library]") {
    vkf::host::Device& device = testDevice();
    const VkfProblem problem = problemOf({1, 1, 1, 0, 8, 8});
    const vkf::host::Plan plan(device, problem);
    CHECK(plan.info().stepCount == 0);
    const auto bindings = vkf::make<VkfBindings>();
    device.submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
    });
}

TEST_CASE("threads create plans of one context at once", "[library]") {
    const VkfContext context = testDevice().context();
    std::vector<std::thread> threads;
    std::vector<VkfResult> results(64, VKF_ERROR_VULKAN);
    for (size_t t = 0; t < 4; t++) {
        threads.emplace_back([&results, context, t] {
            for (size_t i = 0; i < 16; i++) {
                // Half of the shapes are created by several threads at once.
                const auto dim = static_cast<uint32_t>(i % 2 == 0 ? 11 + i : 11 + 16 * t + i);
                const VkfProblem problem = problemOf({1, 1, 1, 8, 8, dim});
                vkf::Plan plan;
                results[16 * t + i] = vkfCreatePlan(context, &problem, plan.put(), nullptr);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const VkfResult result : results) {
        CHECK(result == VKF_SUCCESS);
    }
}

TEST_CASE("threads record one plan at once, each into its own command buffer", "[library]") {
    std::vector<std::thread> threads;
    const VkfProblem problem = problemOf({1, 2, 1, 33, 40, 64});
    vkf::host::Device& device = testDevice();
    Call shared(device, problem);
    const std::vector<std::byte> expected = shared.run(device);

    vkf::test::CommandBuffers commands(device, 4);
    std::vector<Call> calls;
    calls.reserve(4);
    for (int t = 0; t < 4; t++) {
        calls.emplace_back(device, problem);
    }
    for (size_t t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            commands.record(t, [&](VkCommandBuffer commandBuffer) {
                for (int i = 0; i < 200; i++) {
                    vkfCmdAttention(commandBuffer, shared.plan.handle(), &calls[t].bindings, nullptr);
                    commands.barrier(commandBuffer);
                }
            });
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    commands.submitAll();
    for (const Call& call : calls) {
        CHECK(call.output(device) == expected);
    }
}

TEST_CASE("every shader variant is in this build", "[library]") {
    const char* name = nullptr;
    const char* missing = nullptr;
    const uint32_t count = vkfGetShaderVariantCount();
    for (uint32_t index = 0; index < count; index++) {
        REQUIRE(vkfGetShaderVariant(index, &name, &missing) == VKF_SUCCESS);
        INFO(name);
        CHECK(missing == nullptr);
    }
    CHECK(count >= 9);
    CHECK(vkfGetShaderVariant(count, &name, &missing) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfGetShaderVariant(0, nullptr, &missing) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("heads that lie over 4 GiB apart are found", "[library]") {
    vkf::host::Device& device = testDevice();
    // The distance of two of them is over 4 GiB wherever they lie. The test touches hardly any of the memory.
    std::vector<Buffer> buffers;
    try {
        for (int i = 0; i < 5; i++) {
            buffers.push_back(device.createBuffer((uint64_t{1} << 30) + (1 << 20)));
        }
    } catch (const vkf::host::Error& error) {
        SKIP(error.what());
    }
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return a.address() < b.address(); });
    const Buffer& low = buffers.front();
    const Buffer& high = buffers.back();
    // Distances below 2^48 fit 32 bits in this unit. All strides of a call must be multiples of it.
    constexpr uint64_t unit = 1 << 16;
    const uint64_t shift = (unit - (high.address() - low.address()) % unit) % unit;
    const uint64_t distance = high.address() + shift - low.address();
    REQUIRE(distance > UINT32_MAX);

    // One problem for each kernel that computes addresses in its own way. The latent one is the last.
    constexpr struct {
        VkfPath path;
        VkfType type;
        uint32_t dim;
    } cases[] = {{VKF_PATH_SCALAR, VKF_TYPE_F32, 8},  {VKF_PATH_STANDARD, VKF_TYPE_F32, 8},
                 {VKF_PATH_COOPMAT, VKF_TYPE_F16, 8}, {VKF_PATH_DECODE, VKF_TYPE_F32, 8},
                 {VKF_PATH_DECODE, VKF_TYPE_F16, 8},  {VKF_PATH_DECODE, VKF_TYPE_F16, 264}};
    for (const auto& [path, type, dim] : cases) {
        VkfProblem problem = problemOf({1, 2, 2, 128, 128, dim, 0, type});
        vkf::enable(problem, VKF_USE_LSE, false);
        problem.path = path;
        if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
            continue;
        }
        const uint64_t headBytes = 128 * uint64_t{dim} * vkfTypeBytes(type);
        const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
        const vkf::test::Outcome dense = vkf::test::runCall(device, problem, inputs);
        VkfProblem far = problem;
        for (VkfTensor* tensor : {&far.q, &far.k, &far.v, &far.o}) {
            tensor->rowStride = dim;
            tensor->headStride = distance / vkfTypeBytes(type);
        }
        const vkf::host::Plan plan(device, far);
        const Buffer scratch = device.createBuffer(plan.info().scratchBytes);
        auto bindings = vkf::make<VkfBindings>();
        uint64_t place = 0;
        for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v, &bindings.o}) {
            binding->address = low.address() + place;
            place += headBytes;
        }
        bindings.scratch = scratch.binding();
        place = 0;
        for (const auto* tensor : {&inputs.q, &inputs.k, &inputs.v}) {
            device.upload(low, tensor->data(), headBytes, place);
            device.upload(high, tensor->data() + headBytes, headBytes, shift + place);
            place += headBytes;
        }
        device.submit([&](VkCommandBuffer commandBuffer) {
            REQUIRE(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
        });
        std::vector<std::byte> o(2 * headBytes);
        device.download(o.data(), low, headBytes, place);
        device.download(o.data() + headBytes, high, headBytes, shift + place);
        INFO(vkf::test::describe(far));
        CHECK(dense.passed());
        CHECK(o == dense.o);
    }
}

TEST_CASE("rows of one tile that span over 4 GiB are found", "[library]") {
    vkf::host::Device& device = testDevice();
    VkfProblem problem = problemOf({1, 1, 1, 8, 64, 8});
    vkf::enable(problem, VKF_USE_LSE, false);
    problem.keys = vkf::host::Plan(device, problem).info().tileKeys; // one full tile
    const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
    const vkf::test::Outcome dense = vkf::test::runCall(device, problem, inputs);

    // A row of K and its row of V side by side. The next rows are so far away that the last one starts past 4 GiB.
    constexpr uint64_t rowBytes = 8 * sizeof(float);
    constexpr uint64_t unit = 2 * rowBytes;
    const uint64_t stride = ((uint64_t{1} << 32) / (problem.keys - 1) / unit + 1) * unit;
    // Devices need not have buffers of 4 GiB. Some place smaller buffers side by side.
    std::vector<Buffer> buffers;
    try {
        for (int i = 0; i < 5; i++) {
            buffers.push_back(device.createBuffer(uint64_t{1} << 30));
        }
    } catch (const vkf::host::Error& error) {
        SKIP(error.what());
    }
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return a.address() < b.address(); });
    const uint64_t base = buffers.front().address();
    for (uint32_t key = 0; key < problem.keys; key++) {
        const uint64_t address = base + key * stride;
        const auto holder = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& b) {
            return address >= b.address() && address + unit <= b.address() + b.size();
        });
        if (holder == buffers.end()) {
            SKIP("buffers do not lie side by side on this device");
        }
        device.upload(*holder, inputs.k.data() + key * rowBytes, rowBytes, address - holder->address());
        device.upload(*holder, inputs.v.data() + key * rowBytes, rowBytes, address - holder->address() + rowBytes);
    }

    const Buffer q = device.createBuffer(inputs.q.size());
    const Buffer o = device.createBuffer(dense.o.size());
    device.upload(q, inputs.q.data(), inputs.q.size());
    auto bindings = vkf::make<VkfBindings>();
    bindings.q = q.binding();
    bindings.k.address = base;
    bindings.v.address = base + rowBytes;
    bindings.o = o.binding();
    problem.k.rowStride = problem.v.rowStride = stride / sizeof(float);
    const vkf::host::Plan plan(device, problem);
    device.submit([&](VkCommandBuffer commandBuffer) {
        REQUIRE(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
    });
    std::vector<std::byte> far(dense.o.size());
    device.download(far.data(), o, far.size());
    CHECK(dense.passed());
    CHECK(far == dense.o);
}

namespace {

// One of the considered tiles is the plan's tile, with all its numbers.
void checkTiles(const vkf::host::Plan& plan) {
    VkfMessage message{};
    uint32_t taken = 0;
    const uint32_t count = vkfGetPlanTileCount(plan.handle());
    auto candidate = vkf::make<VkfTileCandidate>();
    CHECK(vkfGetPlanTile(plan.handle(), count, &candidate, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("tiles were considered"));
    for (uint32_t index = 0; index < count; index++) {
        candidate = vkf::make<VkfTileCandidate>();
        REQUIRE(vkfGetPlanTile(plan.handle(), index, &candidate, &message) == VKF_SUCCESS);
        CHECK(candidate.structSize == sizeof candidate);
        CHECK(candidate.workgroupSize > 0);
        CHECK(candidate.registers > 0);
        if (candidate.taken != 0) {
            taken++;
            CHECK(candidate.tileRows == plan.info().tileRows);
            CHECK(candidate.tileKeys == plan.info().tileKeys);
            CHECK(candidate.workgroupSize == plan.info().workgroupSize);
            CHECK(candidate.sharedMemoryBytes == plan.info().sharedMemoryBytes);
            CHECK(candidate.kvSplits == plan.info().kvSplits);
            CHECK(std::string(plan.info().tile).starts_with(candidate.tile)); // path standard adds its softmax
        }
    }
    CHECK(count >= 3); // path wgmma has a tile for each head dimension
    CHECK(taken == 1);
}

} // namespace

TEST_CASE("a plan names the tiles that were considered and the one that it took", "[library]") {
    vkf::host::Device& device = testDevice();
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_STANDARD,
                                   VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA}) {
            VkfProblem problem = problemOf({1, 20, 2, 100, 200, 64, 0, type});
            problem.path = path;
            if (vkfCheckSupport(device.context(), &problem, nullptr) == VKF_SUCCESS) {
                INFO(vkfPathName(path) << ", " << vkfTypeName(type));
                checkTiles(vkf::host::Plan(device, problem));
            }
        }
    }
    VkfProblem problem = problemOf({1, 2, 1, 100, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    const vkf::host::Plan plan(device, problem);
    auto candidate = vkf::make<VkfTileCandidate>();
    CHECK(vkfGetPlanTileCount(nullptr) == 0);
    CHECK(vkfGetPlanTile(nullptr, 0, &candidate, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfGetPlanTile(plan.handle(), 0, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    candidate.structSize = 1;
    CHECK(vkfGetPlanTile(plan.handle(), 0, &candidate, nullptr) == VKF_ERROR_STRUCT_SIZE);
}
