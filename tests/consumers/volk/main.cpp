// SPDX-License-Identifier: MIT
//
// A C++17 program that loads Vulkan by volk and has no prototypes of Vulkan functions. It computes attention, and
// compares o and lse with a loop in double.
#include <volk.h>

#include <vkflash/vkflash.hpp>

#include <cstdio>

#include "call.h"

namespace {

vkf::Context createContext(const Gpu& gpu) {
    auto info = vkf::make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = vkGetInstanceProcAddr; // volk's variable
    info.instance = gpu.instance;
    info.physicalDevice = gpu.physicalDevice;
    info.device = gpu.device;
    info.features = gpu.features;
    vkf::Context context;
    VkfMessage message;
    checkVkflash(vkfCreateContext(&info, context.put(), &message), &message);
    return context;
}

vkf::Plan createPlan(const vkf::Context& context, const VkfProblem& problem) {
    vkf::Plan plan;
    VkfMessage message;
    checkVkflash(vkfCreatePlan(context.get(), &problem, plan.put(), &message), &message);
    auto info = vkf::make<VkfPlanInfo>();
    checkVkflash(vkfGetPlanInfo(plan.get(), &info, &message), &message);
    require(info.scratchBytes == 0, "this small call needs scratch memory");
    return plan;
}

// vkflash asks the driver for the address.
VkfBinding bindingOf(const Array& array) {
    VkfBinding binding{};
    binding.buffer = array.buffer;
    binding.size = array.bytes;
    return binding;
}

void record(const Gpu& gpu, const vkf::Plan& plan, const Call& call) {
    auto bindings = vkf::make<VkfBindings>();
    bindings.q = bindingOf(call.q);
    bindings.k = bindingOf(call.k);
    bindings.v = bindingOf(call.v);
    bindings.keyLengths = bindingOf(call.keyLengths);
    bindings.o = bindingOf(call.o);
    bindings.lse = bindingOf(call.lse);
    VkfMessage message;
    recordPoison(&gpu, &call.o);
    recordPoison(&gpu, &call.lse);
    barrierBeforeCompute(&gpu);
    checkVkflash(vkfCmdAttention(gpu.commandBuffer, plan.get(), &bindings, &message), &message);
    barrierAfterCompute(&gpu);
}

} // namespace

int main() {
    Gpu gpu{};
    openGpu(&gpu);
    Call call{};
    createCall(&gpu, &call);
    {
        const vkf::Context context = createContext(gpu);
        const vkf::Plan plan = createPlan(context, call.problem);
        beginCommands(&gpu);
        record(gpu, plan, call);
        submitCommands(&gpu);
    }
    checkResults(&call);
    std::puts("o and lse are right");
    destroyCall(&gpu, &call);
    closeGpu(&gpu);
    return 0;
}
