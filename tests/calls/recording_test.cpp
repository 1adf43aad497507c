// SPDX-License-Identifier: MIT
//
// Recording allocates nothing. Functions that do nothing replace the driver's commands, so the test counts only the
// library's allocations.
#include <initializer_list>
#include <memory>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <vkflash/vkflash.hpp>

#include "calls/fake_addresses.hpp"
#include "shared/append_params.h"
#include "support/allocations.hpp"
#include "support/call.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"

namespace {

using vkf::test::allocationCount;
using vkf::test::testDevice;

size_t dispatches = 0;
uint64_t workgroups = 0; // of all dispatches, in dimensions x and z; dimension y counts columns or tensors

void VKAPI_CALL bindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t x, uint32_t, uint32_t z) {
    ++dispatches;
    workgroups += uint64_t{x} * z;
}
void VKAPI_CALL pushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t, const void*) {}
void VKAPI_CALL pipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                uint32_t, const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                const VkImageMemoryBarrier*) {}

struct Replacement {
    std::string_view name;
    PFN_vkVoidFunction function;
};

const Replacement replacements[] = {
    {"vkCmdBindPipeline", reinterpret_cast<PFN_vkVoidFunction>(bindPipeline)},
    {"vkCmdDispatch", reinterpret_cast<PFN_vkVoidFunction>(dispatch)},
    {"vkCmdPushConstants", reinterpret_cast<PFN_vkVoidFunction>(pushConstants)},
    {"vkCmdPipelineBarrier", reinterpret_cast<PFN_vkVoidFunction>(pipelineBarrier)},
};

// A function pointer has no state. Therefore the driver's own functions are found through the test's device.
PFN_vkVoidFunction VKAPI_CALL deviceFunction(VkDevice device, const char* name) {
    for (const Replacement& replacement : replacements) {
        if (replacement.name == name) {
            return replacement.function;
        }
    }
    const auto real = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
        testDevice().getInstanceProcAddr()(testDevice().instance(), "vkGetDeviceProcAddr"));
    return real(device, name);
}

PFN_vkVoidFunction VKAPI_CALL instanceFunction(VkInstance instance, const char* name) {
    if (std::string_view(name) == "vkGetDeviceProcAddr") {
        return reinterpret_cast<PFN_vkVoidFunction>(deviceFunction);
    }
    return testDevice().getInstanceProcAddr()(instance, name);
}

vkf::Context createContext() {
    const vkf::host::Device& device = testDevice();
    auto info = vkf::make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = instanceFunction;
    info.instance = device.instance();
    info.physicalDevice = device.physicalDevice();
    info.device = device.handle();
    info.features = device.summary().features;
    vkf::Context context;
    REQUIRE(vkfCreateContext(&info, context.put(), nullptr) == VKF_SUCCESS);
    return context;
}

// Gives each binding a made-up piece of memory, from piece `first` on.
void giveAddresses(std::initializer_list<VkfBinding*> bindings, uint64_t first = 0) {
    for (VkfBinding* binding : bindings) {
        binding->address = vkf::test::fakeAddress(first++);
    }
}

VkfBindings madeUpBindings(VkDeviceSize scratchBytes) {
    auto bindings = vkf::make<VkfBindings>();
    giveAddresses({&bindings.q, &bindings.k, &bindings.v, &bindings.o, &bindings.lse, &bindings.scratch});
    bindings.scratch.size = scratchBytes;
    return bindings;
}

} // namespace

TEST_CASE("the test program counts allocations", "[library]") {
    const size_t before = allocationCount();
    const auto number = std::make_unique<int>(1);
    const auto numbers = std::make_unique<int[]>(100);
    struct alignas(64) Wide {
        char bytes[64];
    };
    const auto wide = std::make_unique<Wide>();
    CHECK(allocationCount() - before == 3);
}

TEST_CASE("recording a merge and an append allocates nothing, refused or not", "[library]") {
    const vkf::Context context = createContext();
    char nothingBehind = 0;
    const auto commands = reinterpret_cast<VkCommandBuffer>(&nothingBehind);
    auto mergeProblem = vkf::make<VkfMergeProblem>();
    mergeProblem.partials = mergeProblem.heads = mergeProblem.dim = 8;
    mergeProblem.batch = 1;
    mergeProblem.rows = 10'000'000; // several dispatches where one takes 65535 workgroups
    vkf::Merge merge;
    REQUIRE(vkfCreateMerge(context.get(), &mergeProblem, merge.put(), nullptr) == VKF_SUCCESS);
    auto appendProblem = vkf::make<VkfAppendProblem>();
    appendProblem.batch = appendProblem.kvHeads = appendProblem.queryHeads = appendProblem.rows = 2;
    appendProblem.keys = appendProblem.headDim = 8;
    appendProblem.rotary.pairs = VKF_ROTARY_HALVES;
    appendProblem.use = VKF_USE_QUERIES;
    vkf::Append append;
    REQUIRE(vkfCreateAppend(context.get(), &appendProblem, append.put(), nullptr) == VKF_SUCCESS);

    auto mergeBindings = vkf::make<VkfMergeBindings>();
    giveAddresses({&mergeBindings.partials, &mergeBindings.partialLse, &mergeBindings.o});
    auto appendBindings = vkf::make<VkfAppendBindings>();
    giveAddresses({&appendBindings.newK, &appendBindings.newV, &appendBindings.k, &appendBindings.v,
                   &appendBindings.lengths, &appendBindings.q, &appendBindings.rotatedQ});
    const auto nothing = vkf::make<VkfAppendBindings>();
    VkfMessage message{};

    dispatches = 0;
    const size_t before = allocationCount();
    const VkfResult merged = vkfCmdMerge(commands, merge.get(), &mergeBindings, &message);
    const size_t ofMerge = dispatches;
    const VkfResult appended = vkfCmdAppend(commands, append.get(), &appendBindings, &message);
    const VkfResult advanced = vkfCmdAdvance(commands, append.get(), &appendBindings.lengths, &message);
    const VkfResult refused = vkfCmdAppend(commands, append.get(), &nothing, &message);
    const size_t allocated = allocationCount() - before;

    INFO(message.text);
    CHECK(merged == VKF_SUCCESS);
    CHECK(appended == VKF_SUCCESS);
    CHECK(advanced == VKF_SUCCESS);
    CHECK(refused == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(ofMerge >= 1);
    CHECK(dispatches - ofMerge == 3);
    CHECK(allocated == 0);
}

TEST_CASE("merges and appends of the most rows have a workgroup for each row", "[library]") {
    const vkf::Context context = createContext();
    char nothingBehind = 0;
    const auto commands = reinterpret_cast<VkCommandBuffer>(&nothingBehind);
    auto mergeProblem = vkf::make<VkfMergeProblem>();
    mergeProblem.partials = mergeProblem.batch = mergeProblem.heads = 1;
    mergeProblem.dim = 256; // 64 invocations for each row
    mergeProblem.rows = VKF_MAX_ROWS;
    vkf::Merge merge;
    REQUIRE(vkfCreateMerge(context.get(), &mergeProblem, merge.put(), nullptr) == VKF_SUCCESS);
    auto mergeBindings = vkf::make<VkfMergeBindings>();
    giveAddresses({&mergeBindings.partials, &mergeBindings.partialLse, &mergeBindings.o});
    workgroups = 0;
    REQUIRE(vkfCmdMerge(commands, merge.get(), &mergeBindings, nullptr) == VKF_SUCCESS);
    CHECK(workgroups == VKF_MAX_ROWS / 2);
    mergeProblem.rows++;
    VkfMessage message{};
    CHECK(vkfCreateMerge(context.get(), &mergeProblem, merge.put(), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string_view(message.text) == "batch * heads * rows is 1073676289, over the limit of 1073676288");

    auto appendProblem = vkf::make<VkfAppendProblem>();
    appendProblem.batch = appendProblem.kvHeads = 1;
    appendProblem.rows = appendProblem.keys = VKF_MAX_ROWS;
    appendProblem.headDim = 256;
    vkf::Append append;
    REQUIRE(vkfCreateAppend(context.get(), &appendProblem, append.put(), nullptr) == VKF_SUCCESS);
    auto appendBindings = vkf::make<VkfAppendBindings>();
    giveAddresses(
        {&appendBindings.newK, &appendBindings.newV, &appendBindings.k, &appendBindings.v, &appendBindings.lengths});
    workgroups = 0;
    REQUIRE(vkfCmdAppend(commands, append.get(), &appendBindings, nullptr) == VKF_SUCCESS);
    CHECK(workgroups >= VKF_MAX_ROWS / 2); // whole layers
    CHECK(workgroups - VKF_MAX_ROWS / 2 < VKF_APPEND_GROUPS);
    appendProblem.rows++;
    CHECK(vkfCreateAppend(context.get(), &appendProblem, append.put(), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string_view(message.text) == "rows is 1073676289; it must be 1 to 1073676288");
}

TEST_CASE("recording a backward pass allocates nothing, refused or not", "[library]") {
    const vkf::Context context = createContext();
    char nothingBehind = 0;
    const auto commands = reinterpret_cast<VkCommandBuffer>(&nothingBehind);
    VkfProblem forward = vkf::test::problemOf({.B = 2, .H = 4, .Hkv = 2, .Nq = 300, .Nk = 300});
    forward.maxStepOperations = 100'000'000; // several steps
    auto problem = vkf::make<VkfBackwardProblem>();
    problem.forward = &forward;
    vkf::Backward backward;
    REQUIRE(vkfCreateBackward(context.get(), &problem, backward.put(), nullptr) == VKF_SUCCESS);
    auto info = vkf::make<VkfBackwardInfo>();
    REQUIRE(vkfGetBackwardInfo(backward.get(), &info, nullptr) == VKF_SUCCESS);
    const VkfBindings call = madeUpBindings(0);
    auto bindings = vkf::make<VkfBackwardBindings>();
    bindings.forward = &call;
    giveAddresses({&bindings.dout, &bindings.dq, &bindings.dk, &bindings.dv, &bindings.scratch}, 100);
    bindings.scratch.size = info.scratchBytes;
    const auto nothing = vkf::make<VkfBackwardBindings>();
    VkfMessage message{};

    dispatches = 0;
    const size_t before = allocationCount();
    const VkfResult whole = vkfCmdBackward(commands, backward.get(), &bindings, &message);
    const size_t ofWhole = dispatches;
    const VkfResult step = vkfCmdBackwardSteps(commands, backward.get(), &bindings, 2, 1, &message);
    const VkfResult past = vkfCmdBackwardSteps(commands, backward.get(), &bindings, info.stepCount, 1, &message);
    const VkfResult refused = vkfCmdBackward(commands, backward.get(), &nothing, &message);
    const size_t allocated = allocationCount() - before;

    INFO(info.description << "\n" << message.text);
    CHECK(whole == VKF_SUCCESS);
    CHECK(step == VKF_SUCCESS);
    CHECK(past == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(refused == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(info.stepCount > 4);
    CHECK(ofWhole > info.stepCount); // the table takes several dispatches
    CHECK(dispatches == ofWhole + 1);
    CHECK(allocated == 0);
}

TEST_CASE("recording allocates nothing, refused or not", "[library]") {
    const vkf::Context context = createContext();
    // Not a handle of the driver. Only the replacements see it.
    char nothingBehind = 0;
    const auto commands = reinterpret_cast<VkCommandBuffer>(&nothingBehind);
    for (const VkfPath path : {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_STANDARD}) {
        if (vkf::test::leavesOut(testDevice(), path)) {
            continue;
        }
        VkfProblem problem = vkf::test::problemOf({.B = 2, .H = 4, .Hkv = 2, .Nq = 300, .Nk = 300});
        problem.path = path;
        vkf::enable(problem, VKF_USE_LSE);
        problem.maxStepOperations = 10'000'000; // several steps
        vkf::Plan plan;
        REQUIRE(vkfCreatePlan(context.get(), &problem, plan.put(), nullptr) == VKF_SUCCESS);
        auto info = vkf::make<VkfPlanInfo>();
        REQUIRE(vkfGetPlanInfo(plan.get(), &info, nullptr) == VKF_SUCCESS);
        const VkfBindings bindings = madeUpBindings(info.scratchBytes);
        const auto nothing = vkf::make<VkfBindings>();
        VkfMessage message{};

        dispatches = 0;
        const size_t before = allocationCount();
        const VkfResult whole = vkfCmdAttention(commands, plan.get(), &bindings, &message);
        const size_t ofWhole = dispatches;
        const VkfResult step = vkfCmdAttentionSteps(commands, plan.get(), &bindings, 1, 1, &message);
        const VkfResult refused = vkfCmdAttention(commands, plan.get(), &nothing, &message);
        const size_t allocated = allocationCount() - before;

        INFO(info.description << "\n" << message.text);
        CHECK(whole == VKF_SUCCESS);
        CHECK(step == VKF_SUCCESS);
        CHECK(refused == VKF_ERROR_INVALID_ARGUMENT);
        // With fp32 on matrices, each dispatch of the plain arithmetic that may compute all again is one more.
        CHECK((info.path == VKF_PATH_COOPMAT ? ofWhole >= info.stepCount : ofWhole == info.stepCount));
        CHECK(dispatches == ofWhole + 1);
        CHECK(info.stepCount > 1);
        CHECK(allocated == 0);
    }
}
