/* SPDX-License-Identifier: MIT
 *
 * vkflash/backward.h: backward passes on the device. backward_problem.h says what a backward pass computes. The rules
 * at the top of vkflash.h hold here too.
 */
#ifndef VKFLASH_BACKWARD_H
#define VKFLASH_BACKWARD_H

#include "attention.h"
#include "backward_problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfBackward_T* VkfBackward; /* one backward pass, ready to be recorded */

/* Tells whether the context's device can do the backward problem. Creates nothing. Allocates host memory and does not
 * block. Thread-safe.
 *
 * Errors: those of vkfCreateBackward, except those of the driver. */
VKF_API VkfResult vkfCheckBackwardSupport(VkfContext context, const VkfBackwardProblem* problem, VkfMessage* message);

/* Creates a backward pass: checks the problem, chooses path and tiles, and creates the pipelines that the context does
 * not have yet. Copies the problem and its forward problem. Allocates host memory. Blocks while the driver
 * compiles, like vkfCreatePlan. Thread-safe. The backward pass is immutable: any number of threads may record it at
 * once.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (this version, path, device or build cannot do the problem), VKF_ERROR_OUT_OF_HOST_MEMORY,
 * VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN. */
VKF_API VkfResult vkfCreateBackward(VkfContext context, const VkfBackwardProblem* problem, VkfBackward* backward,
                                    VkfMessage* message);

/* Destroys a backward pass. NULL is ignored. Recorded command buffers stay valid, because the pipelines belong to the
 * context. Does not block. Not thread-safe for one backward pass. */
VKF_API void vkfDestroyBackward(VkfBackward backward);

/* What a backward pass needs and what was chosen for it. vkfGetBackwardInfo fills all fields but structSize. */
typedef struct VkfBackwardInfo {
    size_t structSize;
    /* The path that was chosen; never VKF_PATH_AUTO. */
    VkfPath path;
    /* Number of steps, for vkfCmdBackwardSteps. 0 if all outputs are empty. */
    uint32_t stepCount;
    /* Bytes of scratch memory that one call needs; 0 = none. It holds two fp32 numbers for each row of each query head,
     * the addresses and strides of the call, lists of packed sequences, a map of tiles, and what
     * VkfBackwardProblem::maxScratchBytes allows. */
    VkDeviceSize scratchBytes;
    /* Bytes that the address of the scratch memory must be a multiple of. */
    VkDeviceSize scratchAlignment;
    /* Bytes that the addresses of q, k, v and dout must be a multiple of. */
    VkDeviceSize inputAlignment;
    /* Type in which p and ds enter products; VKF_TYPE_F32 = unrounded. */
    VkfType productType;
    /* Invocations of a workgroup, the most of all kernels. */
    uint32_t workgroupSize;
    /* Bytes of shared memory for each workgroup, the most of all kernels. */
    uint32_t sharedMemoryBytes;
    /* 1 = a tile comes from the context's tuning data; 0 = the library chose all of them. */
    uint32_t tuned;
    /* Keys of a band, whose ds lies in scratch memory (VkfBackwardProblem::maxScratchBytes). 0 = ds is not stored. */
    uint32_t bandKeys;
    /* Bytes of the map of tiles and the lists made from it, a part of scratchBytes; 0 = there is none, and
     * `description` says why. A map needs a function `keep`, a boolean mask, documents or first keys, and sequences
     * that are not packed. All but functions have one where it is expected to save time. The kernels skip the empty
     * tiles of the map, and test no masks in the full ones. */
    VkDeviceSize tileMapBytes;
    /* 2.5 times VkfPlanInfo::operations of the forward call: five products instead of two. Kernels that compute scores
     * again do more. Wanted gradients do not change the number. */
    double operations;
    /* Minimum memory traffic in bytes: q, k, v, o, dout, lse and dlse read once; dq, dk and dv that are wanted written
     * once. */
    double minimumBytes;
    /* The backward pass in one line, as VkfPlanInfo::description. */
    char description[VKF_DESCRIPTION_CAPACITY];
    /* Tile of the kernel that writes dq. Ends in a zero byte; empty without this kernel. */
    char rowTile[VKF_TILE_CAPACITY];
    /* Tile of the kernel that writes dk and dv; that of dk, "; " and that of dv where each has a kernel. Ends in a zero
     * byte; empty without such a kernel. */
    char keyTile[2 * VKF_TILE_CAPACITY];
} VkfBackwardInfo;

/* Fills *info. The caller sets structSize. Allocates nothing and does not block. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null), VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetBackwardInfo(VkfBackward backward, VkfBackwardInfo* info, VkfMessage* message);

/* Device memory of one backward call. Bindings of gradients that are not wanted must be zero. Outputs and scratch must
 * overlap neither each other nor any memory that the call reads, as VkfBindings says. */
typedef struct VkfBackwardBindings {
    size_t structSize;
    /* Bindings of the forward call. Must not be null. Read while the call is recorded.
     *
     * - o and lse are inputs here: the outputs of the forward call. lse may come from any program.
     * - Alignment of q, k and v: VkfBackwardInfo::inputAlignment. Alignment of o and of arrays:
     *   that of VkfBindings.
     * - Its scratch, probabilities and probabilityRows are ignored. */
    const VkfBindings* forward;
    /* The gradient of o, as VkfBackwardProblem::dout says. Alignment: VkfBackwardInfo::inputAlignment. */
    VkfBinding dout;
    /* The gradient of lse. With VKF_USE_DLSE. fp32, dense like lse. Alignment: 4 bytes. */
    VkfBinding dlse;
    /* Output. With VKF_GRADIENT_Q. As VkfBackwardProblem::dq says. Alignment: the element size. */
    VkfBinding dq;
    /* Output. With VKF_GRADIENT_K. As VkfBackwardProblem::dk says. Alignment: the element size. */
    VkfBinding dk;
    /* Output. With VKF_GRADIENT_V. As VkfBackwardProblem::dv says. Alignment: the element size. */
    VkfBinding dv;
    /* Output. With VKF_GRADIENT_BIAS. As VkfBackwardProblem::dbiasType says. Size: vkfGetBackwardArrayBytes. Alignment:
     * the element size. */
    VkfBinding dbias;
    /* Output. With VKF_GRADIENT_SINKS. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding dsinks;
    /* Scratch memory of VkfBackwardInfo::scratchBytes. `size` must be given, or else VKF_ERROR_BINDING_TOO_SMALL is
     * returned. Alignment: VkfBackwardInfo::scratchAlignment. Its contents before and after a call mean nothing. Calls
     * that may run at the same time must not share it. */
    VkfBinding scratch;
} VkfBackwardBindings;

/* Records all steps of the backward pass. A backward pass with empty outputs records nothing and ignores all bindings.
 * Allocates nothing and does not block. Threads, command buffer, disturbed state and barriers are as for
 * vkfCmdAttention. Outputs are dq, dk, dv, dbias and dsinks. The forward call must have ended: place a barrier between
 * the two calls.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, memory bound for a gradient that is not wanted, a binding without memory or
 * with a wrong alignment, or an output that overlaps another binding), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_BINDING_TOO_SMALL. A call that fails records nothing. */
VKF_API VkfResult vkfCmdBackward(VkCommandBuffer commandBuffer, VkfBackward backward,
                                 const VkfBackwardBindings* bindings, VkfMessage* message);

/* Records steps [firstStep, firstStep + stepCount) only. Everything else is as for vkfCmdBackward, and the result has
 * the same bits under the conditions of vkfCmdAttentionSteps.
 *
 * Errors: those of vkfCmdBackward, and VKF_ERROR_INVALID_ARGUMENT if firstStep + stepCount is over
 * VkfBackwardInfo::stepCount. */
VKF_API VkfResult vkfCmdBackwardSteps(VkCommandBuffer commandBuffer, VkfBackward backward,
                                      const VkfBackwardBindings* bindings, uint32_t firstStep, uint32_t stepCount,
                                      VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
