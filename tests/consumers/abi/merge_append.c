/* SPDX-License-Identifier: MIT
 *
 * A merge and an append on the device, with the CPU reference as the judge. */
#include "border.h"

#include <math.h>
#include <stdio.h>

#include <vkflash/reference.h>

enum { dim = 4, partials = 2, rows = 2, cacheRows = 3 };

VkfMergeProblem smallMerge(void) {
    const VkfMergeProblem problem = {.structSize = sizeof problem,
                                     .partials = partials,
                                     .batch = 1,
                                     .heads = 1,
                                     .rows = rows,
                                     .dim = dim,
                                     .use = VKF_USE_LSE};
    return problem;
}

static const float partialOutputs[partials * rows * dim] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8};
static const float partialLse[partials * rows] = {0, 1, 2, -1};

static void compareMerged(const VkfMergeProblem* problem, const Array* o, const Array* lse) {
    double expected[rows * dim];
    double expectedLse[rows];
    VkfMessage message;
    checkVkflash(vkfReferenceMerge(problem, partialOutputs, partialLse, expected, expectedLse, &message), &message);
    for (int i = 0; i < rows * dim; i++) {
        require(fabs((double)((const float*)o->data)[i] - expected[i]) < 1e-5, "a merged o is wrong");
    }
    for (int i = 0; i < rows; i++) {
        require(fabs((double)((const float*)lse->data)[i] - expectedLse[i]) < 1e-5, "a merged lse is wrong");
    }
}

void mergePartials(const Gpu* gpu, VkfContext context) {
    const VkfMergeProblem problem = smallMerge();
    VkfMerge merge = NULL;
    VkfMessage message;
    checkVkflash(vkfCreateMerge(context, &problem, &merge, &message), &message);
    Array inputs = arrayOf(gpu, partialOutputs, sizeof partialOutputs);
    Array inputLse = arrayOf(gpu, partialLse, sizeof partialLse);
    Array o, lse;
    createArray(gpu, sizeof(float) * rows * dim, &o);
    createArray(gpu, sizeof(float) * rows, &lse);

    const VkfMergeBindings bindings = {.structSize = sizeof bindings,
                                       .partials = bindingOf(&inputs),
                                       .partialLse = bindingOf(&inputLse),
                                       .o = bindingOf(&o),
                                       .lse = bindingOf(&lse)};
    beginCommands(gpu);
    checkVkflash(vkfCmdMerge(gpu->commandBuffer, merge, &bindings, &message), &message);
    barrierAfterCompute(gpu);
    submitCommands(gpu);
    compareMerged(&problem, &o, &lse);
    printArray("merged o", &o);
    printArray("merged lse", &lse);

    destroyArray(gpu, &inputs);
    destroyArray(gpu, &inputLse);
    destroyArray(gpu, &o);
    destroyArray(gpu, &lse);
    vkfDestroyMerge(merge);
}

VkfAppendProblem smallAppend(void) {
    const VkfAppendProblem problem = {.structSize = sizeof problem,
                                      .batch = 1,
                                      .kvHeads = 1,
                                      .rows = 1,
                                      .keys = cacheRows,
                                      .headDim = dim,
                                      .use = VKF_USE_NEW_LENGTHS};
    return problem;
}

static const float newK[dim] = {1, 2, 3, 4};
static const float newV[dim] = {5, 6, 7, 8};
static const float emptyCache[cacheRows * dim] = {0};
static const int32_t oneRow = 1;

static bool equal(const Array* array, const float* expected) {
    for (size_t i = 0; i < array->bytes / sizeof(float); i++) {
        if (((const float*)array->data)[i] != expected[i]) {
            return false;
        }
    }
    return true;
}

static void compareAppended(const VkfAppendProblem* problem, const Array* k, const Array* v, const Array* lengths) {
    float expectedK[cacheRows * dim] = {0};
    float expectedV[cacheRows * dim] = {0};
    int32_t expectedLength = 0;
    const VkfAppendBuffers buffers = {.structSize = sizeof buffers,
                                      .newK = newK,
                                      .newV = newV,
                                      .k = expectedK,
                                      .v = expectedV,
                                      .lengths = &oneRow,
                                      .newLengths = &expectedLength};
    VkfMessage message;
    checkVkflash(vkfReferenceAppend(problem, &buffers, &message), &message);
    require(equal(k, expectedK), "the cache of k is wrong");
    require(equal(v, expectedV), "the cache of v is wrong");
    require(*(const int32_t*)lengths->data == expectedLength && expectedLength == 2, "the new length is wrong");
}

void appendRow(const Gpu* gpu, VkfContext context) {
    const VkfAppendProblem problem = smallAppend();
    VkfAppend append = NULL;
    VkfMessage message;
    checkVkflash(vkfCreateAppend(context, &problem, &append, &message), &message);
    Array rowK = arrayOf(gpu, newK, sizeof newK);
    Array rowV = arrayOf(gpu, newV, sizeof newV);
    Array k = arrayOf(gpu, emptyCache, sizeof emptyCache);
    Array v = arrayOf(gpu, emptyCache, sizeof emptyCache);
    Array lengths = arrayOf(gpu, &oneRow, sizeof oneRow);
    Array newLengths;
    createArray(gpu, sizeof oneRow, &newLengths);

    const VkfAppendBindings bindings = {.structSize = sizeof bindings,
                                        .newK = bindingOf(&rowK),
                                        .newV = bindingOf(&rowV),
                                        .k = bindingOf(&k),
                                        .v = bindingOf(&v),
                                        .lengths = bindingOf(&lengths),
                                        .newLengths = bindingOf(&newLengths)};
    beginCommands(gpu);
    checkVkflash(vkfCmdAppend(gpu->commandBuffer, append, &bindings, &message), &message);
    barrierAfterCompute(gpu);
    submitCommands(gpu);
    compareAppended(&problem, &k, &v, &newLengths);
    printArray("cache of k", &k);
    printArray("cache of v", &v);

    Array* const arrays[] = {&rowK, &rowV, &k, &v, &lengths, &newLengths};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        destroyArray(gpu, arrays[i]);
    }
    vkfDestroyAppend(append);
}
