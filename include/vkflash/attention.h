/* SPDX-License-Identifier: MIT
 *
 * vkflash/attention.h: plans of attention calls, and how to record them. problem.h says what a call computes. The rules
 * at the top of vkflash.h hold here too.
 */
#ifndef VKFLASH_ATTENTION_H
#define VKFLASH_ATTENTION_H

#include "device.h"
#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfPlan_T* VkfPlan; /* one problem, ready to be recorded */

/* Checks whether the context can run a problem. vkfCreatePlan gives the same results, but can also fail because the
 * driver fails, or because this build lacks a shader (inspect.h). Creates nothing, does not block, and frees the host
 * memory that it allocates. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (this version, path or device cannot do the problem), VKF_ERROR_OUT_OF_HOST_MEMORY,
 * VKF_ERROR_VULKAN. The message names the field and the limit. */
VKF_API VkfResult vkfCheckSupport(VkfContext context, const VkfProblem* problem, VkfMessage* message);

/* Does what vkfCheckSupport does, for a device that need not have a VkDevice yet. Assumes that every usable feature
 * gets enabled, and that the context has no tuning data, no matrixLayouts, no added quirks and all shared memory of the
 * device. vkfCheckProblem needs no device at all. Creates nothing, does not block. Thread-safe.
 *
 * Errors: those of vkfCheckSupport, and VKF_ERROR_MISSING_FEATURE as from vkfGetDeviceRequirements. */
VKF_API VkfResult vkfCheckDeviceSupport(const VkfDeviceQuery* query, const VkfProblem* problem, VkfMessage* message);

/* ---- Plan ---------------------------------------------------------------------------------- */

/* Creates a plan: checks the problem, chooses path and tiles, and creates the pipelines that the context does not have
 * yet. Copies the problem. Allocates host memory, but no device memory except what the driver needs for pipelines.
 * Thread-safe.
 *
 * Blocks while the driver compiles new pipelines, which can take seconds. It also waits while another thread compiles
 * one of the same pipelines. It never waits for other pipelines. Call it from a worker thread where that matters. A
 * plan whose pipelines exist already compiles nothing.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (this version, path, device or build cannot do the problem), VKF_ERROR_OUT_OF_HOST_MEMORY,
 * VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN. Pipelines that were compiled before the
 * failure stay in the context. */
VKF_API VkfResult vkfCreatePlan(VkfContext context, const VkfProblem* problem, VkfPlan* plan, VkfMessage* message);

/* Destroys a plan. NULL is ignored. Recorded command buffers stay valid, because the pipelines belong to the context.
 * Does not block. Not thread-safe for one plan. */
VKF_API void vkfDestroyPlan(VkfPlan plan);

#define VKF_DESCRIPTION_CAPACITY 512 /* bytes of a description, with its zero byte */
#define VKF_TILE_CAPACITY 96         /* bytes of the text of a tile, with its zero byte */

/* What a plan needs and what was chosen for it. vkfGetPlanInfo fills all fields but structSize. */
typedef struct VkfPlanInfo {
    size_t structSize;
    /* The path that was chosen; never VKF_PATH_AUTO. */
    VkfPath path;
    /* Number of steps, for vkfCmdAttentionSteps. 0 if the output is empty. */
    uint32_t stepCount;
    /* Bytes of scratch memory that one call needs; 0 = none. It holds:
     * - with key splits: o, m and l of each split, in fp32
     * - on path standard: all scores, and m and l of each row
     * - on path key_outer: o, m and l of each row, in fp32
     * - for probabilities without lse, where they are not written by the softmax: lse
     * - with some optional inputs: their addresses and strides, a map of tiles, or a list of packed sequences
     * - on path coopmat with k and v of block types, and on path wgmma with fp8 types: the converted k and v
     *   (VkfProblem::maxScratchBytes) */
    VkDeviceSize scratchBytes;
    /* Bytes that the address of the scratch memory must be a multiple of. */
    VkDeviceSize scratchAlignment;
    /* Query rows that a workgroup works on, those of all its heads together. */
    uint32_t tileRows;
    /* Keys of one K/V tile. */
    uint32_t tileKeys;
    /* Invocations of a workgroup. */
    uint32_t workgroupSize;
    /* Bytes of shared memory for each workgroup of this tile. Rows whose bias is a mask may have a larger tile. */
    uint32_t sharedMemoryBytes;
    /* 1 = kernels reduce by subgroup operations; 0 = in shared memory. */
    uint32_t subgroupReductions;
    /* Number of key splits; 1 = the keys are not split. */
    uint32_t kvSplits;
    /* Bytes that the addresses of q, k and v must be a multiple of. */
    VkDeviceSize inputAlignment;
    /* Type in which p enters the product p v; VKF_TYPE_F32 = unrounded. q of type F32, and k and v of block types,
     * enter products in it too. Goes into VkfReferenceOptions::productType. */
    VkfType productType;
    /* Multiplications and additions of the visible pairs, counted separately. Counts causal masks and windows. The
     * contents of arrays are not known: all other masks and keyLengths count as if they dropped nothing, and packed
     * sequences as if all had the same length. */
    double operations;
    /* Minimum memory traffic in bytes: q, k and v read once; o, lse and probabilities written once. */
    double minimumBytes;
    /* The plan in one line, for people and bug reports: the path, then the problem (shape, types, masks, arrays, pages,
     * tensors that are not dense; "empty" if there is nothing to do), then what was chosen. Ends in a zero byte; cut
     * off at the capacity. */
    char description[VKF_DESCRIPTION_CAPACITY];
    /* Tile and key splits, as tuning data writes them. Other paths use the same spelling. Ends in a zero byte. */
    char tile[VKF_TILE_CAPACITY];
    /* 1 = `tile` comes from the context's tuning data; 0 = the library chose it. */
    uint32_t tuned;
    /* 0 */
    uint32_t reserved;
    /* Bytes of the map of tiles, from which kernels know empty and full tiles; 0 = the plan has no map. Maps need a
     * boolean mask, documents, a long bias, first keys beside many others, or functions with VKF_FUNCTION_KEEP, and
     * path scalar or coopmat. With VKF_USE_TILE_MAP they are the bytes of the binding tileMap, else a part of
     * scratchBytes. */
    VkDeviceSize tileMapBytes;
} VkfPlanInfo;

/* Fills *info. The caller sets structSize. Allocates nothing and does not block. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null), VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetPlanInfo(VkfPlan plan, VkfPlanInfo* info, VkfMessage* message);

/* ---- Record -------------------------------------------------------------------------------- */

/* Device memory of one attention call. Bindings of arrays that the problem does not have must be zero.
 *
 * `o`, `lse`, `probabilities` and `scratch` are outputs. An output must overlap neither another output nor memory that
 * the call reads. Tensors whose rows have gaps may lie in each other's gaps. The library returns
 * VKF_ERROR_INVALID_ARGUMENT for overlaps that are certain: an output at the address of another binding, or a range
 * without gaps that holds the first or the last byte of another one.
 *
 * The contents of all other bindings are read on the device, so that they may change between submissions. */
typedef struct VkfBindings {
    size_t structSize;
    /* Queries, as VkfProblem::q says. Alignment: VkfPlanInfo::inputAlignment. */
    VkfBinding q;
    /* Keys, as VkfProblem::k says. Alignment: VkfPlanInfo::inputAlignment. */
    VkfBinding k;
    /* Values, as VkfProblem::v says. Alignment: VkfPlanInfo::inputAlignment. */
    VkfBinding v;
    /* Output, as VkfProblem::o says. Alignment: 4 bytes for fp32, 2 bytes for fp16 and bf16; 8 bytes for fp16 and bf16
     * without VKF_FEATURE_STORAGE_16BIT. */
    VkfBinding o;
    /* Output. With VKF_USE_LSE. fp32, dense [batch, queryHeads, queryRows]; for packed sequences [queryHeads,
     * queryRows]. Alignment: 4 bytes. */
    VkfBinding lse;
    /* With VKF_USE_KEY_LENGTHS. int32 [batch]. Alignment: 4 bytes. */
    VkfBinding keyLengths;
    /* Scratch memory of VkfPlanInfo::scratchBytes; used if that is not 0. Its `size` must be set, else
     * VKF_ERROR_BINDING_TOO_SMALL. Alignment: VkfPlanInfo::scratchAlignment. Its contents before and after
     * a call mean nothing. Calls that may run at the same time must not share it. */
    VkfBinding scratch;
    /* With VKF_USE_BLOCK_MASK. uint32 [VkfBlockMaskLayout::words]. Alignment: 4 bytes. */
    VkfBinding blockMask;
    /* Output. With VKF_USE_PROBABILITIES. fp32, dense [batch, queryHeads, W, keys], where W is
     * probabilityRowCount with VKF_USE_PROBABILITY_ROWS, else queryRows. Alignment: 4 bytes. */
    VkfBinding probabilities;
    /* With VKF_USE_BLOCK_TABLE. int32 [batch, paging.maxPages]. Alignment: 4 bytes. Keys whose entry is not in
     * [0, paging.pages) are absent. */
    VkfBinding blockTable;
    /* With VKF_USE_SINKS. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding sinks;
    /* With VKF_USE_ALIBI_SLOPES. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding alibiSlopes;
    /* With VKF_USE_DOCUMENT_IDS. int32 [batch, keys]; for packed sequences without pages [keys]. Alignment: 4
     * bytes. */
    VkfBinding documentIds;
    /* With VKF_USE_BIAS. Type and strides as VkfProblem::bias says. Alignment: 4 bytes. Size: vkfGetArrayBytes,
     * which is rounded up to 4 bytes. */
    VkfBinding bias;
    /* With VKF_USE_MASK. Type and strides as VkfProblem::mask says. Alignment: 4 bytes. Size: vkfGetArrayBytes,
     * which is rounded up to 4 bytes. */
    VkfBinding mask;
    /* With VKF_USE_CU_SEQLENS. int32 [batch + 1]: where the rows of each sequence start. Alignment: 4 bytes. */
    VkfBinding cuSeqlensQ;
    /* With VKF_USE_CU_SEQLENS, without pages. int32 [batch + 1]: where the keys of each sequence start. Alignment: 4
     * bytes. */
    VkfBinding cuSeqlensK;
    /* With VKF_USE_DROPOUT_MASK. Type and strides as VkfProblem::dropoutMask says. Alignment: 4 bytes. Size:
     * vkfGetArrayBytes, which is rounded up to 4 bytes. */
    VkfBinding dropoutMask;
    /* With VKF_USE_DROPOUT_SEED, if dropout.probability is not 0 and there is no dropoutMask. One uint64. Alignment:
     * 8 bytes. */
    VkfBinding dropoutSeed;
    /* With VKF_USE_PROBABILITY_ROWS. int32 [probabilityRowCount]: the query rows whose probabilities are written.
     * Alignment: 4 bytes. */
    VkfBinding probabilityRows;
    /* With VKF_USE_BIAS_FACTORS. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding biasFactors;
    /* With VKF_USE_FUNCTIONS: the arrays that the functions declare, in their order. Alignment: 4 bytes. The memory
     * must end at a multiple of 4 bytes. If a size is given, it is the size of the array: the functions must not read
     * past it. Entries past the declared arrays are not read. */
    VkfBinding functionArrays[VKF_MAX_FUNCTION_ARRAYS];
    /* With VKF_USE_ROW_OFFSETS. int32 [batch]. Alignment: 4 bytes. */
    VkfBinding rowOffsets;
    /* With VKF_USE_TILE_MAP: VkfPlanInfo::tileMapBytes, which vkfCmdMapTiles wrote. Not read if that is 0. Alignment:
     * VkfPlanInfo::scratchAlignment. Calls that run at the same time may share it. */
    VkfBinding tileMap;
    /* With VKF_USE_KV_SCALES. fp32 [k.scales + v.scales]: the numbers of k, then those of v. Alignment: 4 bytes. */
    VkfBinding kvScales;
    /* With VKF_USE_CHOSEN_KEYS. int32 lists, with strides as VkfProblem::chosenKeys says. Alignment: 4 bytes. */
    VkfBinding chosenKeys;
} VkfBindings;

/* Records all steps of the plan. A plan with an empty output records nothing and ignores all bindings. Allocates
 * nothing and does not block. Thread-safe for one plan, as long as no two threads use one command buffer.
 *
 * The command buffer must be in the recording state, outside a render pass, and of a queue family with compute. The
 * call disturbs the compute pipeline binding and push constants. It leaves descriptor sets alone.
 *
 * Barriers:
 * - Before: the application makes writes to inputs available to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with
 *   VK_ACCESS_SHADER_READ_BIT. Earlier uses of o, lse, probabilities and scratch must have ended.
 * - Between the plan's own dispatches: the library records the barriers.
 * - After: the application places a barrier from VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with VK_ACCESS_SHADER_WRITE_BIT
 *   before anything reads o, lse or probabilities.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, a binding without memory or with a wrong alignment, or an output that
 * overlaps another binding), VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. A call that fails records nothing. */
VKF_API VkfResult vkfCmdAttention(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                                  VkfMessage* message);

/* Records steps [firstStep, firstStep + stepCount) only, so that a long call can be spread over several submissions.
 * Everything else is as for vkfCmdAttention. The result has the same bits, if:
 * - every step runs exactly once, in order, on one queue
 * - all steps have the same bindings
 * - nothing else writes the scratch memory in between
 *
 * Errors: those of vkfCmdAttention, and VKF_ERROR_INVALID_ARGUMENT if firstStep + stepCount is over
 * VkfPlanInfo::stepCount. */
VKF_API VkfResult vkfCmdAttentionSteps(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                                       uint32_t firstStep, uint32_t stepCount, VkfMessage* message);

/* Records the kernels that make the map of tiles of a problem with VKF_USE_TILE_MAP. `bindings` are those of the call.
 * They are checked as in vkfCmdAttention, but only masks, lengths, the bias and arrays of functions are read, and only
 * tileMap and scratch are written. Records nothing if VkfPlanInfo::tileMapBytes is 0.
 *
 * A map is valid for any number of calls of any plan of an equal problem in the same context, as long as nothing that
 * the map was made from changes:
 * - the contents of mask, blockMask, documentIds, bias, biasFactors, keyLengths and rowOffsets
 * - the functions, and the contents of the arrays that they read
 *
 * Other tensors may differ, so all layers of a model can share one map. The library cannot see that a map is no longer
 * valid: the results are then unspecified, but no kernel reads or writes outside of the bindings.
 *
 * Barriers are those of vkfCmdAttention. The application also places a barrier between this call and the calls that
 * read the map or use the scratch memory, as before a read of o.
 *
 * Errors: those of vkfCmdAttention, and VKF_ERROR_INVALID_ARGUMENT if the problem lacks VKF_USE_TILE_MAP. */
VKF_API VkfResult vkfCmdMapTiles(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                                 VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
