/* SPDX-License-Identifier: MIT
 *
 * vkflash/append.h: appends to KV caches on the device. append_problem.h says what an append does. The rules at the top
 * of vkflash.h hold here too.
 */
#ifndef VKFLASH_APPEND_H
#define VKFLASH_APPEND_H

#include "append_problem.h"
#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfAppend_T* VkfAppend; /* one append to a KV cache, ready to be recorded */

/* Creates an append: checks the problem, and creates its pipelines if the context does not have them yet.
 * append_problem.h says what an append does. Appends that differ in rows alone share pipelines. Copies the problem.
 * Allocates host memory. Blocks while the driver compiles, like vkfCreatePlan. Thread-safe. The append is immutable:
 * any number of threads may record it at once.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (a limit, a type, types other than fp32 without VKF_FEATURE_STORAGE_16BIT, or a shader that
 * this build lacks), VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST,
 * VKF_ERROR_VULKAN. */
VKF_API VkfResult vkfCreateAppend(VkfContext context, const VkfAppendProblem* problem, VkfAppend* append,
                                  VkfMessage* message);

/* Destroys an append. NULL is ignored. Recorded command buffers stay valid, because the pipelines belong to the
 * context. Does not block. Not thread-safe for one append. */
VKF_API void vkfDestroyAppend(VkfAppend append);

/* Device memory of one append. Bindings of arrays that the problem does not have must be zero. Outputs must overlap
 * neither inputs nor each other, as VkfBindings says. rotatedQ may be at the address of q, with the same type and
 * strides. */
typedef struct VkfAppendBindings {
    size_t structSize;
    /* New rows of k, as VkfAppendProblem::newK says. Alignment: the element size. */
    VkfBinding newK;
    /* New rows of v, as VkfAppendProblem::newV says. Alignment: the element size. */
    VkfBinding newV;
    /* Output: the cache of k, as VkfAppendProblem::k says. Alignment: the element size; 2 bytes for block types, 16 for
     * fp8 types. */
    VkfBinding k;
    /* Output: the cache of v, as VkfAppendProblem::v says. Alignment: as of k. */
    VkfBinding v;
    /* Rows that each sequence's cache holds before the append. int32 [batch]. Alignment: 4 bytes. */
    VkfBinding lengths;
    /* Output: min(length + its new rows, keys) of each sequence. int32 [batch]. With VKF_USE_NEW_LENGTHS. Alignment: 4
     * bytes. Must not be at the address of `lengths`. */
    VkfBinding newLengths;
    /* With VKF_USE_BLOCK_TABLE. int32 [batch, paging.maxPages]. Alignment: 4 bytes. */
    VkfBinding blockTable;
    /* With VKF_USE_QUERIES. Queries, as VkfAppendProblem::q says. Alignment: the element size. */
    VkfBinding q;
    /* Output. With VKF_USE_QUERIES. Rotated queries, as VkfAppendProblem::rotatedQ says. May be bound where q is,
     * with the same type and strides. Alignment: the element size. */
    VkfBinding rotatedQ;
    /* With VKF_USE_ROTARY_TABLES. Cosines, fp32 [rotary.tableRows, rotary.dim / 2]. Alignment: 4 bytes. */
    VkfBinding cos;
    /* With VKF_USE_ROTARY_TABLES. Sines, fp32 [rotary.tableRows, rotary.dim / 2]. Alignment: 4 bytes. */
    VkfBinding sin;
    /* With VKF_USE_CU_SEQLENS. int32 [batch + 1]. Alignment: 4 bytes. */
    VkfBinding cuSeqlens;
    /* With VKF_USE_ROTARY_POSITIONS. int32 [batch, rows], packed [rows]. Alignment: 4 bytes. */
    VkfBinding rotaryPositions;
    /* With VKF_USE_KV_SCALES. fp32 [k.scales + v.scales]: the numbers of k, then those of v. Alignment: 4 bytes. */
    VkfBinding kvScales;
} VkfAppendBindings;

/* Records an append: one dispatch for k and v, and one for q. The two dispatches have no barrier between them. Rows
 * that are dropped leave the cache as it is. Allocates nothing and does not block. Threads, command buffer, disturbed
 * state and barriers are as for vkfCmdAttention. Outputs are k, v, newLengths and rotatedQ.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, a binding without memory or with a wrong alignment, or an output that
 * overlaps another binding), VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. */
VKF_API VkfResult vkfCmdAppend(VkCommandBuffer commandBuffer, VkfAppend append, const VkfAppendBindings* bindings,
                               VkfMessage* message);

/* Records lengths[b] = min(lengths[b] + rows, keys), in place, for the end of a decode step. A length outside [0, keys]
 * is clamped first. `lengths` is int32 [batch], aligned to 4 bytes. Allocates nothing and does not block. Threads,
 * command buffer and disturbed state are as for vkfCmdAttention.
 *
 * The application places two barriers from VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT to
 * VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT: one before, so that everything that reads the old lengths has ended; and one
 * after, before anything reads the new lengths.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a binding without memory or with a wrong alignment),
 * VKF_ERROR_BINDING_TOO_SMALL, VKF_ERROR_UNSUPPORTED (packed new rows: copy newLengths to lengths instead). */
VKF_API VkfResult vkfCmdAdvance(VkCommandBuffer commandBuffer, VkfAppend append, const VkfBinding* lengths,
                                VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
