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

static union {
    size_t structSize;
    uint64_t alignment;
    unsigned char bytes[2048];
} output;

void* poisonedOutput(size_t structSize) {
    require(structSize <= sizeof output / 2, "the struct is too large for this test");
    memset(&output, poison, sizeof output);
    output.structSize = structSize;
    return &output;
}

void checkOutput(const void* filled, size_t structSize) {
    require(filled == &output, "this is another output");
    require(output.structSize == structSize, "a call has changed structSize");
    require(isAll(output.bytes + structSize, sizeof output - structSize, poison), "a call wrote behind its output");
#ifdef VKFLASH_LATER
    const size_t later = sizeof(uint64_t[4]);
    require(isAll(output.bytes + structSize - later, later, 0), "fields that the library does not know are not 0");
#endif
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
    VkfDeviceRequirements* needs = poisonedOutput(sizeof *needs);
    checkVkflash(vkfGetDeviceRequirements(&query, needs, &message), &message);
    checkOutput(needs, sizeof *needs);
    printf("features %x, needed %x\n", (unsigned)needs->usableFeatures, (unsigned)needs->neededFeatures);
    for (const VkBaseInStructure* s = needs->features; s != NULL; s = s->pNext) {
        printf("  chain: %d\n", (int)s->sType);
    }
    for (uint32_t i = 0; i < needs->extensionCount; i++) {
        printf("  extension: %s\n", needs->extensions[i]);
    }
    vkfFreeDeviceRequirements(needs);
    checkOutput(needs, sizeof *needs);
    require(needs->features == NULL && needs->extensions == NULL, "freed requirements still have pointers");
}

static void printMatrix(VkfContext context) {
    VkfMessage message;
    VkfMatrixInfo* matrix = poisonedOutput(sizeof *matrix);
    const VkfResult result = vkfGetMatrixInfo(context, VKF_TYPE_F16, matrix, &message);
    if (result == VKF_ERROR_UNSUPPORTED) {
        puts("no matrices");
        return;
    }
    checkVkflash(result, &message);
    checkOutput(matrix, sizeof *matrix);
    printf("matrix %u x %u x %u, layout %u\n", (unsigned)matrix->rows, (unsigned)matrix->columns,
           (unsigned)matrix->depth, (unsigned)matrix->layoutKnown);
}

static void printPlan(VkfPlan plan) {
    VkfMessage message;
    VkfPlanInfo* info = poisonedOutput(sizeof *info);
    checkVkflash(vkfGetPlanInfo(plan, info, &message), &message);
    checkOutput(info, sizeof *info);
    printf("plan %s, tile %s, %u steps, %g operations, %g bytes\n", info->description, info->tile,
           (unsigned)info->stepCount, info->operations, info->minimumBytes);
    for (int path = VKF_PATH_SCALAR; path <= VKF_PATH_WGMMA; path++) {
        VkfPathDecision* decision = poisonedOutput(sizeof *decision);
        checkVkflash(vkfGetPlanPath(plan, (VkfPath)path, decision, &message), &message);
        checkOutput(decision, sizeof *decision);
        printf("  path %s: taken %u, %s\n", vkfPathName((VkfPath)path), (unsigned)decision->taken, decision->reason);
    }
    for (uint32_t i = 0; i < vkfGetPlanTileCount(plan); i++) {
        VkfTileCandidate* candidate = poisonedOutput(sizeof *candidate);
        checkVkflash(vkfGetPlanTile(plan, i, candidate, &message), &message);
        checkOutput(candidate, sizeof *candidate);
        printf("  tile %s: reason %d, value %u, limit %u\n", candidate->tile, (int)candidate->reason,
               (unsigned)candidate->value, (unsigned)candidate->limit);
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
    backward();
    backwardOnDevice(&gpu, context);
    mergePartials(&gpu, context);
    appendRow(&gpu, context);
#ifdef VKFLASH_LATER
    checkRefusals(&gpu, context, &call);
#endif

    destroyCall(&gpu, &call);
    vkfDestroyContext(context);
    closeGpu(&gpu);
    return 0;
}
