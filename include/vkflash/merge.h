/* SPDX-License-Identifier: MIT
 *
 * vkflash/merge.h: merges of partial results on the device. merge_problem.h says what a merge computes. The rules at
 * the top of vkflash.h hold here too.
 */
#ifndef VKFLASH_MERGE_H
#define VKFLASH_MERGE_H

#include "device.h"
#include "merge_problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfMerge_T* VkfMerge; /* one merge of partial results, ready to be recorded */

/* Creates a merge: checks the problem, and creates its pipeline if the context does not have it yet. merge_problem.h
 * says what a merge computes. Copies the problem. Allocates host memory. Blocks while the driver compiles, like
 * vkfCreatePlan. Thread-safe. The merge is immutable: any number of threads may record it at once.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (a limit, a type, 16-bit types without VKF_FEATURE_STORAGE_16BIT, or a shader that this build
 * lacks), VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN. */
VKF_API VkfResult vkfCreateMerge(VkfContext context, const VkfMergeProblem* problem, VkfMerge* merge,
                                 VkfMessage* message);

/* Destroys a merge. NULL is ignored. Recorded command buffers stay valid, because the pipeline belongs to the context.
 * Does not block. Not thread-safe for one merge. */
VKF_API void vkfDestroyMerge(VkfMerge merge);

/* Device memory of one merge. Outputs must overlap neither inputs nor each other, as VkfBindings says. */
typedef struct VkfMergeBindings {
    size_t structSize;
    /* The partial outputs o_k, as VkfMergeProblem::partial and partialStride say. Alignment: the element size. */
    VkfBinding partials;
    /* The partial lse_k: fp32, dense [batch, heads, rows] each, lsePartialStride apart. Alignment: 4 bytes. */
    VkfBinding partialLse;
    /* Output, as VkfMergeProblem::o says. Alignment: the element size. */
    VkfBinding o;
    /* Output. With VKF_USE_LSE. fp32, dense [batch, heads, rows]. Alignment: 4 bytes. */
    VkfBinding lse;
} VkfMergeBindings;

/* Records a merge. The number of partial results fixes the order in which they are added up, so that the same inputs
 * give the same bits each time. Allocates nothing and does not block. Threads, command buffer, disturbed state and
 * barriers are as for vkfCmdAttention. Inputs are partials and partialLse, outputs are o and lse.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, a binding without memory or with a wrong alignment, or an output that
 * overlaps another binding), VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. */
VKF_API VkfResult vkfCmdMerge(VkCommandBuffer commandBuffer, VkfMerge merge, const VkfMergeBindings* bindings,
                              VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
