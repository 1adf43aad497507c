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
    DECLARE_OUTPUT(VkfTensorLayout, k);
    checkVkflash(vkfCheckProblem(problem, &message), &message);
    checkVkflash(vkfGetTensorLayout(problem, VKF_TENSOR_K, &k.value, &message), &message);
    CHECK_OUTPUT(k);
    printTensorLayout("k", &k.value);

    VkfProblem blocks = *problem;
    blocks.arrays |= VKF_ARRAY_BLOCK_MASK;
    blocks.blockMask.blockSize = 16;
    DECLARE_OUTPUT(VkfBlockMaskLayout, mask);
    checkVkflash(vkfGetBlockMaskLayout(&blocks, &mask.value, &message), &message);
    CHECK_OUTPUT(mask);
    printf("block mask: %u x %u blocks, %u words of %llu\n", (unsigned)mask.value.rowBlocks,
           (unsigned)mask.value.keyBlocks, (unsigned)mask.value.rowWords, (unsigned long long)mask.value.words);
}

static void describeAppend(void) {
    const VkfAppendProblem problem = smallAppend();
    VkfMessage message;
    DECLARE_OUTPUT(VkfTensorLayout, cache);
    checkVkflash(vkfCheckAppend(&problem, &message), &message);
    checkVkflash(vkfGetAppendTensorLayout(&problem, VKF_APPEND_K, &cache.value, &message), &message);
    CHECK_OUTPUT(cache);
    printTensorLayout("cache", &cache.value);
}

static void describeMerge(void) {
    const VkfMergeProblem problem = smallMerge();
    VkfMessage message;
    DECLARE_OUTPUT(VkfTensorLayout, part);
    checkVkflash(vkfCheckMerge(&problem, &message), &message);
    checkVkflash(vkfGetMergeTensorLayout(&problem, VKF_MERGE_PART, &part.value, &message), &message);
    CHECK_OUTPUT(part);
    printTensorLayout("part", &part.value);

    DECLARE_OUTPUT(VkfMergeLayout, all);
    checkVkflash(vkfGetMergeLayout(&problem, &all.value, &message), &message);
    CHECK_OUTPUT(all);
    printf("parts: strides %llu %llu, %llu and %llu elements\n", (unsigned long long)all.value.partStride,
           (unsigned long long)all.value.lsePartStride, (unsigned long long)all.value.partElements,
           (unsigned long long)all.value.lseElements);
}

void describeProblems(const VkfProblem* problem) {
    describeAttention(problem);
    describeAppend();
    describeMerge();
}
