/* SPDX-License-Identifier: MIT
 *
 * Descriptions that need no device. */
#include "border.h"

#include <stdio.h>

static void printTensorLayout(const char* name, const VkfTensorLayout* layout) {
    printf("%s: type %d, %u x %u x %u x %u, strides %llu %llu %llu, %llu elements\n", name, (int)layout->type,
           (unsigned)layout->batch, (unsigned)layout->heads, (unsigned)layout->rows, (unsigned)layout->dim,
           (unsigned long long)layout->batchStride, (unsigned long long)layout->headStride,
           (unsigned long long)layout->rowStride, (unsigned long long)layout->elements);
}

static void describeAttention(const VkfProblem* problem) {
    VkfMessage message;
    VkfTensorLayout* k = poisonedOutput(sizeof *k);
    checkVkflash(vkfCheckProblem(problem, &message), &message);
    checkVkflash(vkfGetTensorLayout(problem, VKF_TENSOR_K, k, &message), &message);
    checkOutput(k, sizeof *k);
    printTensorLayout("k", k);

    VkfProblem blocks = *problem;
    blocks.use |= VKF_USE_BLOCK_MASK;
    blocks.blockMask.blockSize = 16;
    VkfBlockMaskLayout* mask = poisonedOutput(sizeof *mask);
    checkVkflash(vkfGetBlockMaskLayout(&blocks, mask, &message), &message);
    checkOutput(mask, sizeof *mask);
    printf("block mask: %u x %u blocks, %u words of %llu\n", (unsigned)mask->rowBlocks, (unsigned)mask->keyBlocks,
           (unsigned)mask->rowWords, (unsigned long long)mask->words);
}

static void describeAppend(void) {
    const VkfAppendProblem problem = smallAppend();
    VkfMessage message;
    VkfTensorLayout* cache = poisonedOutput(sizeof *cache);
    checkVkflash(vkfCheckAppend(&problem, &message), &message);
    checkVkflash(vkfGetAppendTensorLayout(&problem, VKF_APPEND_K, cache, &message), &message);
    checkOutput(cache, sizeof *cache);
    printTensorLayout("cache", cache);
}

static void describeMerge(void) {
    const VkfMergeProblem problem = smallMerge();
    VkfMessage message;
    VkfTensorLayout* partial = poisonedOutput(sizeof *partial);
    checkVkflash(vkfCheckMerge(&problem, &message), &message);
    checkVkflash(vkfGetMergeTensorLayout(&problem, VKF_MERGE_PARTIAL, partial, &message), &message);
    checkOutput(partial, sizeof *partial);
    printTensorLayout("partial", partial);

    VkfMergeLayout* all = poisonedOutput(sizeof *all);
    checkVkflash(vkfGetMergeLayout(&problem, all, &message), &message);
    checkOutput(all, sizeof *all);
    printf("partials: strides %llu %llu, %llu and %llu elements\n", (unsigned long long)all->partialStride,
           (unsigned long long)all->lsePartialStride, (unsigned long long)all->partialElements,
           (unsigned long long)all->lseElements);
}

static void describeBackward(void) {
    const VkfProblem forward = smallForward();
    const VkfBackwardProblem problem = smallBackward(&forward);
    VkfMessage message;
    VkfTensorLayout* dk = poisonedOutput(sizeof *dk);
    checkVkflash(vkfCheckBackward(&problem, &message), &message);
    checkVkflash(vkfGetBackwardTensorLayout(&problem, VKF_BACKWARD_DK, dk, &message), &message);
    checkOutput(dk, sizeof *dk);
    printTensorLayout("dk", dk);
}

static VkfResult noKernel(void* user, const char* kernel, const uint32_t** words, size_t* wordCount,
                          VkfMessage* message) {
    (void)user, (void)kernel, (void)words, (void)wordCount, (void)message;
    return VKF_ERROR_UNSUPPORTED;
}

static void describeFunctions(void) {
    const VkfFunctionArray table = {.name = "table", .element = VKF_ELEMENT_I32};
    const VkfFunctionsCreateInfo info = {.structSize = sizeof info,
                                         .functions = VKF_FUNCTION_KEEP,
                                         .arrayCount = 1,
                                         .arrays = &table,
                                         .getKernel = noKernel};
    VkfMessage message;
    VkfFunctions functions = NULL;
    VkfFunctionArray declared[2];
    checkVkflash(vkfCreateFunctions(&info, &functions, &message), &message);
    printf("functions: set %u, %u arrays, %s\n", (unsigned)vkfGetFunctionSet(functions),
           (unsigned)vkfGetFunctionArrays(functions, declared, 2), declared[0].name);
    vkfDestroyFunctions(functions);
}

void describeProblems(const VkfProblem* problem) {
    describeAttention(problem);
    describeAppend();
    describeMerge();
    describeBackward();
    describeFunctions();
}
