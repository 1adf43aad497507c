/* SPDX-License-Identifier: MIT */
#include "attend.h"

VkfContext createContext(const Gpu* gpu) {
    const VkfContextCreateInfo info = {.structSize = sizeof info,
                                       .getInstanceProcAddr = vkGetInstanceProcAddr,
                                       .instance = gpu->instance,
                                       .physicalDevice = gpu->physicalDevice,
                                       .device = gpu->device,
                                       .features = gpu->features};
    VkfContext context = NULL;
    VkfMessage message;
    checkVkflash(vkfCreateContext(&info, &context, &message), &message);
    return context;
}

VkfBinding bindingOf(const Array* array) {
    const VkfBinding binding = {.address = array->address, .size = array->bytes};
    return binding;
}

/* Records the call between the barriers that vkflash.h asks for. */
static void record(const Gpu* gpu, VkfPlan plan, const Call* call, const Array* scratch) {
    const VkfBindings bindings = {.structSize = sizeof bindings,
                                  .q = bindingOf(&call->q),
                                  .k = bindingOf(&call->k),
                                  .v = bindingOf(&call->v),
                                  .keyLengths = bindingOf(&call->keyLengths),
                                  .o = bindingOf(&call->o),
                                  .lse = bindingOf(&call->lse),
                                  .scratch = bindingOf(scratch)};
    VkfMessage message;
    recordPoison(gpu, &call->o);
    recordPoison(gpu, &call->lse);
    barrierBeforeCompute(gpu);
    checkVkflash(vkfCmdAttention(gpu->commandBuffer, plan, &bindings, &message), &message);
    barrierAfterCompute(gpu);
}

void attend(const Gpu* gpu, VkfContext context, const Call* call) {
    VkfPlan plan = NULL;
    VkfMessage message;
    checkVkflash(vkfCreatePlan(context, &call->problem, &plan, &message), &message);
    VkfPlanInfo info = {.structSize = sizeof info};
    checkVkflash(vkfGetPlanInfo(plan, &info, &message), &message);

    Array scratch = {0}; /* a plan may need none */
    if (info.scratchBytes != 0) {
        createArray(gpu, info.scratchBytes, &scratch);
    }
    beginCommands(gpu);
    record(gpu, plan, call, &scratch);
    submitCommands(gpu);
    destroyArray(gpu, &scratch);
    vkfDestroyPlan(plan);
}
