/* SPDX-License-Identifier: MIT
 *
 * Passes every struct with a structSize to the library, and prints what comes back. It prints the same whether program
 * and library know the same fields or not: run.cmake compares the outputs of programs and libraries of two versions. */
#include "border.h"

#include <stdio.h>

#include <vkflash/inspect.h>

bool isAll(const void* bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; i++) {
        if (((const unsigned char*)bytes)[i] != value) {
            return false;
        }
    }
    return true;
}

void printArray(const char* name, const Array* array) {
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < array->bytes; i++) {
        hash = (hash ^ ((const unsigned char*)array->data)[i]) * 16777619U;
    }
    printf("%s: %08x\n", name, (unsigned)hash);
}

Array arrayOf(const Gpu* gpu, const void* bytes, size_t count) {
    Array array;
    createArray(gpu, count, &array);
    memcpy(array.data, bytes, count);
    return array;
}

static void printRequirements(const Gpu* gpu) {
    const VkfDeviceQuery query = {.structSize = sizeof query,
                                  .getInstanceProcAddr = vkGetInstanceProcAddr,
                                  .instance = gpu->instance,
                                  .physicalDevice = gpu->physicalDevice};
    VkfMessage message;
    DECLARE_OUTPUT(VkfDeviceRequirements, needs);
    checkVkflash(vkfGetDeviceRequirements(&query, &needs.value, &message), &message);
    CHECK_OUTPUT(needs);
    printf("features %x, needed %x\n", (unsigned)needs.value.usableFeatures, (unsigned)needs.value.neededFeatures);
    for (const VkBaseInStructure* s = needs.value.features; s != NULL; s = s->pNext) {
        printf("  chain: %d\n", (int)s->sType);
    }
    for (uint32_t i = 0; i < needs.value.extensionCount; i++) {
        printf("  extension: %s\n", needs.value.extensions[i]);
    }
    vkfFreeDeviceRequirements(&needs.value);
    CHECK_OUTPUT(needs);
    require(needs.value.features == NULL && needs.value.extensions == NULL, "freed requirements still have pointers");
}

static void printMatrix(VkfContext context) {
    VkfMessage message;
    DECLARE_OUTPUT(VkfMatrixInfo, matrix);
    const VkfResult result = vkfGetMatrixInfo(context, VKF_TYPE_F16, &matrix.value, &message);
    if (result == VKF_ERROR_UNSUPPORTED) {
        puts("no matrices");
        return;
    }
    checkVkflash(result, &message);
    CHECK_OUTPUT(matrix);
    printf("matrix %u x %u x %u, layout %u\n", (unsigned)matrix.value.rows, (unsigned)matrix.value.columns,
           (unsigned)matrix.value.depth, (unsigned)matrix.value.layoutKnown);
}

static void printPlan(VkfPlan plan) {
    VkfMessage message;
    DECLARE_OUTPUT(VkfPlanInfo, info);
    checkVkflash(vkfGetPlanInfo(plan, &info.value, &message), &message);
    CHECK_OUTPUT(info);
    printf("plan %s, tile %s, %u steps, %g operations, %g bytes\n", info.value.description, info.value.tile,
           (unsigned)info.value.stepCount, info.value.operations, info.value.minimumBytes);
    for (uint32_t i = 0; i < vkfGetPlanTileCount(plan); i++) {
        DECLARE_OUTPUT(VkfTileCandidate, candidate);
        checkVkflash(vkfGetPlanTile(plan, i, &candidate.value, &message), &message);
        CHECK_OUTPUT(candidate);
        printf("  tile %s: reason %d, value %u, limit %u\n", candidate.value.tile, (int)candidate.value.reason,
               (unsigned)candidate.value.value, (unsigned)candidate.value.limit);
    }
}

static void planAndAttend(const Gpu* gpu, VkfContext context, const Call* call) {
    VkfPlan plan = NULL;
    VkfMessage message;
    checkVkflash(vkfCreatePlan(context, &call->problem, &plan, &message), &message);
    printPlan(plan);
    vkfDestroyPlan(plan);

    attend(gpu, context, call);
    checkResults(call);
    printArray("o", &call->o);
    printArray("lse", &call->lse);
}

int main(void) {
    Gpu gpu;
    openGpu(&gpu);
    printRequirements(&gpu);
    VkfContext context = createContext(&gpu);
    printMatrix(context);
    Call call;
    createCall(&gpu, &call);

    describeProblems(&call.problem);
    planAndAttend(&gpu, context, &call);
    verify(&call);
    mergeParts(&gpu, context);
    appendRow(&gpu, context);
#ifdef VKFLASH_LATER
    checkRefusals(&gpu, context, &call);
#endif

    destroyCall(&gpu, &call);
    vkfDestroyContext(context);
    closeGpu(&gpu);
    return 0;
}
