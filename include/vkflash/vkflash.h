/* SPDX-License-Identifier: MIT
 *
 * vkflash/vkflash.h: exact fused attention recorded into an application's own command buffer.
 *
 * The library borrows and never owns: the application gives it instance, physical device, device
 * and vkGetInstanceProcAddr. It has no queue, submits nothing, waits for nothing, and owns no
 * device memory; a context owns pipelines and nothing else. Use in order:
 *
 *     vkfGetDeviceRequirements   before vkCreateDevice: extensions and features to enable
 *     vkfCreateContext           once a device
 *     vkfCreatePlan              once a problem (shape, types, masks): checks it, picks kernel and
 *                                tiles, creates or reuses pipelines
 *     vkfGetPlanInfo             scratch bytes, steps, what was chosen
 *     vkfCmdAttention            any number of times, with the addresses of this call
 *
 * Threads: a context may be used from several threads at once. A plan is immutable: any number of
 * threads may record it at once, each into its own command buffer. Destroying needs that nobody
 * else uses the object, and that no submitted command buffer still uses the plan's context.
 *
 * Structs start with structSize = sizeof(struct): a larger one than this version knows is refused
 * with VKF_ERROR_STRUCT_SIZE, so that programs built against older headers keep working.
 * Messages may be NULL everywhere.
 */
#ifndef VKFLASH_VKFLASH_H
#define VKFLASH_VKFLASH_H

#include <vulkan/vulkan_core.h>

#include "append.h"
#include "merge.h"
#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfContext_T* VkfContext;
typedef struct VkfPlan_T* VkfPlan;
typedef struct VkfMerge_T* VkfMerge;
typedef struct VkfAppend_T* VkfAppend;

/* ---- Device requirements ------------------------------------------------------------------- */

/* Device features this library can use. A bit set in VkfContextCreateInfo::features promises that
 * the device was created with the feature (and the extension it belongs to) enabled. */
typedef enum VkfFeatureBits VKF_INT32_ENUM {
    VKF_FEATURE_BUFFER_DEVICE_ADDRESS = 1 << 0, /* needed always */
    VKF_FEATURE_STORAGE_16BIT = 1 << 1,         /* storageBuffer16BitAccess: fp16, bf16 and block
                                                   types, paths decode and standard */
    VKF_FEATURE_FULL_SUBGROUPS = 1 << 2,        /* subgroupSizeControl and computeFullSubgroups: reductions
                                                   by subgroup operations instead of shared memory */
    VKF_FEATURE_COOPERATIVE_MATRIX = 1 << 3,    /* VK_KHR_cooperative_matrix, vulkanMemoryModel, shaderFloat16:
                                                   path coopmat */
    VKF_FEATURE_BFLOAT16_MATRIX = 1 << 4,       /* VK_KHR_shader_bfloat16 with cooperative matrices: path coopmat
                                                   for bf16 */
    VKF_FEATURE_FORCE_INT32 = 0x7fffffff
} VkfFeatureBits;
typedef uint32_t VkfFeatures;

/* A physical device, before or after a VkDevice exists. */
typedef struct VkfDeviceQuery {
    size_t structSize;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr;
    VkInstance instance; /* created for Vulkan 1.2 or later */
    VkPhysicalDevice physicalDevice;
} VkfDeviceQuery;

#define VKF_MAX_DEVICE_EXTENSIONS 16

/* What to enable on the device. The feature structs are linked into a chain that starts at
 * `features` (pass &requirements.features as VkDeviceCreateInfo::pNext, pEnabledFeatures = NULL) and
 * points into this struct: do not copy or move it before vkCreateDevice. An application with a
 * chain of its own enables the same members there. */
typedef struct VkfDeviceRequirements {
    size_t structSize;
    VkfFeatures usableFeatures; /* supported by the device and enabled by the chain below */
    VkfFeatures neededFeatures; /* without these vkfCreateContext fails */
    uint32_t extensionCount;    /* device extensions that belong to usableFeatures; static strings */
    const char* extensions[VKF_MAX_DEVICE_EXTENSIONS];
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDeviceBufferDeviceAddressFeatures bufferDeviceAddress;
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizeControl;
    VkPhysicalDeviceVulkanMemoryModelFeatures vulkanMemoryModel;
    VkPhysicalDeviceShaderFloat16Int8Features float16;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperativeMatrix;
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
} VkfDeviceRequirements;

/* Fills *requirements (structSize set by the caller). VKF_ERROR_MISSING_FEATURE names what the
 * device lacks. Creates nothing. Thread-safe. */
VKF_API VkfResult vkfGetDeviceRequirements(const VkfDeviceQuery* query, VkfDeviceRequirements* requirements,
                                           VkfMessage* message);

/* ---- Context ------------------------------------------------------------------------------- */

/* Driver trouble to work around. The library sets what it knows from the driver's identity; an
 * application can add to it. */
typedef enum VkfQuirkBits VKF_INT32_ENUM {
    VKF_QUIRK_NO_SUBGROUP_SHUFFLE = 1 << 0,   /* shuffles give wrong results: reduce in shared memory */
    VKF_QUIRK_ROLLED_LOOPS = 1 << 1,          /* the driver takes seconds to compile long shaders, or spills where
                                                 loops are unrolled: leave those of paths coopmat and decode alone */
    VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT = 1 << 2, /* the driver's layout of a cooperative matrix is not the one that was
                                                 seen: scores of path coopmat pass through shared memory */
    VKF_QUIRK_LOCKSTEP_SUBGROUPS = 1 << 3,    /* a barrier of a subgroup waits for its whole workgroup, and is not
                                                 needed because the subgroup runs in lockstep: leave it out */
    VKF_QUIRK_FORCE_INT32 = 0x7fffffff
} VkfQuirkBits;
typedef uint32_t VkfQuirks;

typedef struct VkfContextCreateInfo {
    size_t structSize;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr;
    VkInstance instance;
    VkPhysicalDevice physicalDevice;
    VkDevice device;
    VkfFeatures features;                   /* enabled on the device; usually VkfDeviceRequirements::usableFeatures */
    VkfQuirks quirks;                       /* added to the built-in ones */
    VkPipelineCache pipelineCache;          /* optional; used under the context's own lock */
    const VkAllocationCallbacks* allocator; /* optional; handed on to the Vulkan calls */
    uint32_t maxSharedMemoryBytes;          /* 0 = the device's limit; less forces smaller tiles */
    const char* tuning;                     /* text that `vkflash tune` wrote (tuning.h); read during the call */
    size_t tuningBytes;                     /* 0 = no tuning */
} VkfContextCreateInfo;

/* Reads the device's limits and prepares an empty pipeline store. Compiles nothing. */
VKF_API VkfResult vkfCreateContext(const VkfContextCreateInfo* info, VkfContext* context, VkfMessage* message);

/* Destroys the pipelines. Every plan of the context must have been destroyed. NULL is ignored. */
VKF_API void vkfDestroyContext(VkfContext context);

/* VKF_SUCCESS if vkfCreatePlan would accept the problem. Creates nothing. Thread-safe. */
VKF_API VkfResult vkfCheckSupport(VkfContext context, const VkfProblem* problem, VkfMessage* message);

/* The same for a device that has no VkDevice yet, assuming that every usable feature gets enabled.
 * vkfCheckProblem answers without any device. */
VKF_API VkfResult vkfCheckDeviceSupport(const VkfDeviceQuery* query, const VkfProblem* problem, VkfMessage* message);

/* ---- Plan ---------------------------------------------------------------------------------- */

/* Checks the problem, chooses path and tiles, and creates the pipelines that are not there yet (the
 * only slow part: the driver compiles). The problem is copied. */
VKF_API VkfResult vkfCreatePlan(VkfContext context, const VkfProblem* problem, VkfPlan* plan, VkfMessage* message);

/* NULL is ignored. Recorded command buffers stay valid: pipelines belong to the context. */
VKF_API void vkfDestroyPlan(VkfPlan plan);

#define VKF_TILE_CAPACITY 96

typedef struct VkfPlanInfo {
    size_t structSize;
    VkfPath path;              /* the path chosen, never AUTO */
    uint32_t stepCount;        /* 0 when the output is empty */
    VkDeviceSize scratchBytes; /* 0, or in fp32: o, m and l of each split; standard: all scores; key_outer: o, m, l;
                                  lse, for probabilities without it */
    VkDeviceSize scratchAlignment;
    uint32_t tileRows;                      /* query rows a workgroup works on, of all its heads */
    uint32_t tileKeys;                      /* keys of one K/V tile */
    uint32_t workgroupSize;                 /* invocations */
    uint32_t sharedMemoryBytes;             /* a workgroup */
    uint32_t subgroupReductions;            /* 1 = by subgroup operations, 0 = in shared memory */
    uint32_t kvSplits;                      /* parts that the keys are split into */
    VkDeviceSize inputAlignment;            /* bytes that q, k and v must be aligned to */
    VkfType productType;                    /* in which p enters the product p v; F32 = unrounded */
    double operations;                      /* multiplications and additions of the visible pairs; a plan does not know
                                               which blocks of a block mask are open and counts all of them, nor how
                                               long packed sequences are and counts them as of one length */
    double minimumBytes;                    /* q, k, v read once, o, lse and probabilities written once */
    char description[VKF_MESSAGE_CAPACITY]; /* the plan in one line, for people and bug reports */
    char tile[VKF_TILE_CAPACITY];           /* tile and splits as tuning data writes them, or would */
    uint32_t tuned;                         /* 1 = they are those of the context's tuning */
    uint32_t reserved;                      /* 0 */
} VkfPlanInfo;

/* Fills *info (structSize set by the caller). Thread-safe. */
VKF_API VkfResult vkfGetPlanInfo(VkfPlan plan, VkfPlanInfo* info, VkfMessage* message);

/* ---- Record -------------------------------------------------------------------------------- */

/* Device memory of one tensor or array: either an address, or a buffer created with
 * VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, plus an offset in bytes. Must be aligned to the element
 * size, 4 bytes at least for fp32, int32 and blockMask, 2 for block types; q, k and v to VkfPlanInfo::inputAlignment.
 * size = bytes available from there, checked if not zero. */
typedef struct VkfBinding {
    VkDeviceAddress address; /* used if not zero */
    VkBuffer buffer;         /* used if address is zero */
    VkDeviceSize offset;     /* bytes, added to either */
    VkDeviceSize size;       /* bytes from there to the end of what may be touched; 0 = not checked */
} VkfBinding;

/* Addresses of one call. Bindings that the problem does not use are ignored. */
typedef struct VkfBindings {
    size_t structSize;
    VkfBinding q;
    VkfBinding k;
    VkfBinding v;
    VkfBinding o;
    VkfBinding lse;
    VkfBinding keyLengths;
    VkfBinding scratch;     /* VkfPlanInfo::scratchBytes; size must be given. Not shared by calls that may
                               run at the same time. */
    VkfBinding blockMask;   /* 4 bytes for each word of vkfBlockMaskLayout */
    VkfBinding probabilities;     /* fp32 [batch, queryHeads, queryRows or probabilityRows, keys], of problems with probabilities */
    VkfBinding blockTable;  /* int32 [batch, paging.maxPages], of problems with paging */
    VkfBinding sinks;       /* fp32 [queryHeads], of problems with sinks */
    VkfBinding alibiSlopes; /* fp32 [queryHeads], of problems with alibiCustom */
    VkfBinding documentIds; /* int32 [batch, keys], of packed keys [keys], of problems with documents */
    VkfBinding bias;        /* as the problem's strides say; read in words of 4 bytes, so that its address is a */
    VkfBinding mask;        /* multiple of 4 and its bytes are rounded up to one; the same of the mask */
    VkfBinding cuSeqlensQ;  /* int32 [batch + 1], of packed problems */
    VkfBinding cuSeqlensK;  /* the same; not of problems with paging */
    VkfBinding dropoutMask; /* likewise, of problems with a dropoutMask */
    VkfBinding dropoutSeed; /* uint64, at a multiple of 8 bytes, of problems with dropout.deviceSeed */
    VkfBinding probabilityRows;  /* int32 [probabilityRows], of problems with probabilities of chosen rows */
    VkfBinding biasFactors; /* fp32 [queryHeads], of problems with biasFactors */
} VkfBindings;

/* Records every step of the plan into a command buffer in the recording state, outside a render
 * pass, of a queue family with compute. Allocates nothing; takes under two microseconds.
 *
 * Disturbs the compute pipeline binding and push constants, no descriptor sets.
 * Barriers: writes to inputs must have been made available to
 * VK_PIPELINE_STAGE_COMPUTE_SHADER / VK_ACCESS_SHADER_READ before, and so must earlier uses of o, lse,
 * probabilities and scratch have ended; the caller places the barrier from COMPUTE_SHADER / SHADER_WRITE before
 * anything reads o, lse or probabilities. Barriers between the plan's own dispatches are recorded by the library. */
VKF_API VkfResult vkfCmdAttention(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                                  VkfMessage* message);

/* The same for steps [firstStep, firstStep + stepCount) only, so that a long call can be spread over
 * several submissions. All steps must run, each once, in order, on one queue, with the same bindings
 * and nothing else writing scratch in between; the result then has the same bits. */
VKF_API VkfResult vkfCmdAttentionSteps(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                                       uint32_t firstStep, uint32_t stepCount, VkfMessage* message);

/* ---- Merge ----------------------------------------------------------------------------------- */

/* Checks the problem and creates the pipeline that goes with it, if it is not there yet. merge.h tells what is
 * merged. Immutable like a plan: any number of threads may record it at once. */
VKF_API VkfResult vkfCreateMerge(VkfContext context, const VkfMergeProblem* problem, VkfMerge* merge,
                                 VkfMessage* message);

/* NULL is ignored. Recorded command buffers stay valid. */
VKF_API void vkfDestroyMerge(VkfMerge merge);

/* Addresses of one merge; outputs overlap no input. */
typedef struct VkfMergeBindings {
    size_t structSize;
    VkfBinding parts;   /* o_k */
    VkfBinding partLse; /* lse_k, fp32 */
    VkfBinding o;
    VkfBinding lse; /* if the problem has it */
} VkfMergeBindings;

/* Records the merge. Allocates nothing. Parts are added up in an order that their number fixes: the same inputs give
 * the same bits each time. What vkfCmdAttention says of command buffer, disturbed state and barriers holds, with parts
 * and partLse for inputs and o and lse for outputs. */
VKF_API VkfResult vkfCmdMerge(VkCommandBuffer commandBuffer, VkfMerge merge, const VkfMergeBindings* bindings,
                              VkfMessage* message);

/* ---- Append ---------------------------------------------------------------------------------- */

/* Checks the problem and creates the pipelines that go with it, if they are not there yet. append.h tells what is
 * appended. Objects that differ in rows alone share pipelines. Immutable like a plan: any number of threads may record
 * it at once. */
VKF_API VkfResult vkfCreateAppend(VkfContext context, const VkfAppendProblem* problem, VkfAppend* append,
                                  VkfMessage* message);

/* NULL is ignored. Recorded command buffers stay valid. */
VKF_API void vkfDestroyAppend(VkfAppend append);

/* Addresses of one append, aligned to the element size, of block types to 2 bytes. Those that the problem does not use
 * are ignored. Outputs overlap no input, but for a q rotated in place. */
typedef struct VkfAppendBindings {
    size_t structSize;
    VkfBinding newK;
    VkfBinding newV;
    VkfBinding k; /* the cache */
    VkfBinding v;
    VkfBinding lengths;    /* int32 [batch], before the append */
    VkfBinding newLengths; /* optional; int32 [batch], written: min(length + rows, keys). Not where lengths is. */
    VkfBinding blockTable; /* int32 [batch, paging.maxPages] */
    VkfBinding q;
    VkfBinding rotatedQ;
    VkfBinding cos; /* fp32 [rotary.tableRows, rotary.dim / 2] */
    VkfBinding sin;
} VkfAppendBindings;

/* Records the append: a dispatch for k and v and one for q, which may run side by side. Allocates nothing. What
 * vkfCmdAttention says of command buffer, disturbed state and barriers holds; k, v, newLengths and rotatedQ are the
 * outputs. Rows that are dropped leave the cache as it is. */
VKF_API VkfResult vkfCmdAppend(VkCommandBuffer commandBuffer, VkfAppend append, const VkfAppendBindings* bindings,
                               VkfMessage* message);

/* Records lengths[b] = min(lengths[b] + rows, keys), for the end of a step. All that reads the old lengths must have
 * ended: place a barrier before, from COMPUTE_SHADER to COMPUTE_SHADER, and one after, before anything reads the
 * new ones. */
VKF_API VkfResult vkfCmdAdvance(VkCommandBuffer commandBuffer, VkfAppend append, const VkfBinding* lengths,
                                VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
