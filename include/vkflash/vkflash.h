/* SPDX-License-Identifier: MIT
 *
 * vkflash/vkflash.h: exact fused attention, recorded into an application's own command buffer.
 *
 * The application owns everything: instance, physical device, device, queues, command buffers and memory. The library
 * has no queue. It submits nothing, waits for nothing on the device, and owns no device memory. A context owns
 * pipelines and one pipeline layout, and nothing else. Use in this order:
 *
 *     vkfGetDeviceRequirements   before vkCreateDevice: which extensions and features to enable
 *     vkfCreateContext           once for each device
 *     vkfCreatePlan              once for each problem (shape, types, masks): checks the problem, chooses kernel and
 *                                tiles, creates or reuses pipelines
 *     vkfGetPlanInfo             scratch bytes, steps, and what was chosen
 *     vkfCmdAttention            any number of times, with the addresses of the call
 *
 * merge.h, append.h and gradient.h describe three more kinds of object. They are created, recorded and destroyed like
 * plans. backward.h, which this file includes, has the functions for gradients.
 *
 * Device memory. The kernels read and write memory through device addresses and use no descriptors. Hence:
 * - Create each buffer with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. The library needs no other usage flag. The
 *   programs under examples/ and host.hpp set VK_BUFFER_USAGE_STORAGE_BUFFER_BIT too.
 * - Bind the buffer to memory that was allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, in
 *   VkMemoryAllocateFlagsInfo::flags.
 * - Enable the feature bufferDeviceAddress, which vkfGetDeviceRequirements asks for.
 *
 * Threads:
 * - Several threads may use one context at once. Threads compile different pipelines side by side. Each pipeline is
 *   compiled once: a second thread that needs it waits for the first one.
 * - Plans, merges, appends and gradients are immutable. Any number of threads may record one of them at once, each
 * thread into a command buffer of its own.
 * - A destroy function needs that no other thread uses the object.
 * - Functions on different contexts are independent. "Thread-safe" below means that any number of threads may call the
 *   function at once.
 *
 * Lifetimes, from the object that goes first to the object that goes last:
 * 1. Plans, merges, appends and gradients: destroy all of them before their context. Recorded command buffers stay
 *    valid, because the pipelines belong to the context.
 * 2. The context: destroy it when no command buffer that uses its pipelines is pending. Do not submit such a command
 *    buffer afterwards.
 * 3. VkfContextCreateInfo::pipelineCache and VkfContextCreateInfo::allocator, then the device and the instance.
 *
 * Structs. The ABI of the C interface stays: programs run with later versions of the library, and with earlier ones
 * that have all functions that the program calls.
 * - Structs that may grow start with structSize. Set it to sizeof(struct), and set fields that you do not use to 0.
 * - A smaller struct comes from an older header. Its missing fields count as 0.
 * - A larger struct comes from a newer header. The library takes an input struct if the fields that it does not know
 *   are 0. It sets the fields of an output struct that it does not know to 0.
 * - VKF_ERROR_STRUCT_SIZE refuses other structs: smaller than in their first version, with unknown fields that are not
 *   0, or over 4096 bytes larger than this version knows.
 * - Structs without structSize never change their size. They have `reserved` fields, except for VkfMessage and
 *   VkfOnlineSoftmax (reference.h).
 * The C++ class library of host.hpp has no such promise: build it together with the program.
 *
 * Errors. A call that fails has changed nothing: no handle is written, no output struct is filled, no command is
 * recorded. Every `message` may be NULL. Otherwise a call that fails writes one sentence to it.
 * - VKF_ERROR_OUT_OF_HOST_MEMORY: an allocation of host memory failed, in the library or in the driver.
 * - VKF_ERROR_DEVICE_LOST: a Vulkan call lost the device. From then on, every call that needs a pipeline of the context
 *   fails with this result, without a Vulkan call. Destroy the objects, and create a new device.
 * - VKF_ERROR_VULKAN: another Vulkan call failed, or the C++ runtime did.
 * After any other error than VKF_ERROR_DEVICE_LOST the same call may be tried again. docs/errors.md says more.
 */
#ifndef VKFLASH_VKFLASH_H
#define VKFLASH_VKFLASH_H

#include <vulkan/vulkan_core.h>

#include "append.h"
#include "matrix_layout.h"
#include "merge.h"
#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfContext_T* VkfContext; /* a device with its pipelines */
typedef struct VkfPlan_T* VkfPlan;       /* one problem, ready to be recorded */
typedef struct VkfMerge_T* VkfMerge;     /* one merge of partial results, ready to be recorded */
typedef struct VkfAppend_T* VkfAppend;   /* one append to a KV cache, ready to be recorded */

/* ---- Device requirements ------------------------------------------------------------------- */

/* Device features that the library can use. A bit in VkfContextCreateInfo::features promises that the application
 * enabled the feature, and its extension if there is one, when it created the device. */
typedef enum VkfFeatureBits VKF_INT32_ENUM {
    /* bufferDeviceAddress. Always needed. */
    VKF_FEATURE_BUFFER_DEVICE_ADDRESS = 1 << 0,
    /* storageBuffer16BitAccess. Needed for block types, for paths decode and standard, and for more than one key split.
     * Also needed for tensors of fp16 and bf16, but see VkfType for attention on paths scalar and key_outer. */
    VKF_FEATURE_STORAGE_16BIT = 1 << 1,
    /* subgroupSizeControl and computeFullSubgroups. Kernels then reduce by subgroup operations instead of in shared
     * memory. The device must also have shuffles, and be able to require a subgroup size, in compute shaders. */
    VKF_FEATURE_FULL_SUBGROUPS = 1 << 2,
    /* VK_KHR_cooperative_matrix with cooperativeMatrix, vulkanMemoryModel and shaderFloat16. Needed for path coopmat,
     * together with VKF_FEATURE_FULL_SUBGROUPS. Paths decode and standard use it if it is there. The device must also
     * have votes in compute shaders. */
    VKF_FEATURE_COOPERATIVE_MATRIX = 1 << 3,
    /* VK_KHR_shader_bfloat16 with shaderBFloat16Type and shaderBFloat16CooperativeMatrix, beside
     * VKF_FEATURE_COOPERATIVE_MATRIX. Needed for path coopmat with bf16. */
    VKF_FEATURE_BFLOAT16_MATRIX = 1 << 4,
    VKF_FEATURE_FORCE_INT32 = 0x7fffffff
} VkfFeatureBits;
typedef uint32_t VkfFeatures; /* bits of VkfFeatureBits */

/* A physical device, before or after a VkDevice exists. No pointer may be null. */
typedef struct VkfDeviceQuery {
    size_t structSize;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr; /* the application's loader entry; used during the call only */
    VkInstance instance;                           /* created for Vulkan 1.2 or later */
    VkPhysicalDevice physicalDevice;               /* of that instance; must support Vulkan 1.2 or later */
    VkfFeatures withoutFeatures; /* features to leave out, as if the device lacked them. 0 = none. Bits that no feature
                                    has, and VKF_FEATURE_BUFFER_DEVICE_ADDRESS, are VKF_ERROR_INVALID_ARGUMENT. */
    uint32_t reserved;           /* 0; else VKF_ERROR_INVALID_ARGUMENT */
} VkfDeviceQuery;

/* What to enable on the device. vkfGetDeviceRequirements fills all fields but structSize. The strings are static. The
 * library owns all other memory behind the pointers until vkfFreeDeviceRequirements. */
typedef struct VkfDeviceRequirements {
    size_t structSize;
    VkfFeatures usableFeatures;    /* features that the device supports and that `features` enables */
    VkfFeatures neededFeatures;    /* features without which vkfCreateContext fails */
    const void* features;          /* chain of Vulkan's feature structs, for VkDeviceCreateInfo::pNext. It starts with a
                                      VkPhysicalDeviceFeatures2, so pEnabledFeatures must be NULL. VkfFeatureBits lists
                                      what it enables. */
    const char* const* extensions; /* [extensionCount]: device extensions that belong to usableFeatures, for
                                      VkDeviceCreateInfo::ppEnabledExtensionNames; NULL if there are none */
    uint32_t extensionCount;       /* number of extensions */
    uint32_t reserved;             /* 0 */
} VkfDeviceRequirements;

/* Fills *requirements for a physical device. The caller sets structSize in both structs, and gives *requirements back
 * to vkfFreeDeviceRequirements after vkCreateDevice. An application that has a feature chain of its own enables there
 * what VkfFeatureBits lists for the usable features, and does not pass `features`.
 *
 * Creates no Vulkan object and does not block. Allocates host memory. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or withoutFeatures is wrong), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_MISSING_FEATURE (no Vulkan 1.2 or no bufferDeviceAddress; the message says which),
 * VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_VULKAN. There is nothing to free after an error. */
VKF_API VkfResult vkfGetDeviceRequirements(const VkfDeviceQuery* query, VkfDeviceRequirements* requirements,
                                           VkfMessage* message);

/* Frees the memory behind the pointers and sets them to NULL. Does nothing if `requirements` is NULL, or was freed
 * before, or is zeroed. Does not block. Thread-safe for different structs. */
VKF_API void vkfFreeDeviceRequirements(VkfDeviceRequirements* requirements);

/* ---- Context ------------------------------------------------------------------------------- */

/* Driver trouble to work around. The library sets the bits that it knows from the driver's identity. An application
 * can add bits, but cannot remove any. All quirks but VKF_QUIRK_LOCKSTEP_SUBGROUPS and VKF_QUIRK_FP16X3 give right
 * results on any device. */
typedef enum VkfQuirkBits VKF_INT32_ENUM {
    /* Subgroup shuffles give wrong results. Kernels reduce in shared memory and use no cooperative matrices, so that
     * path coopmat is not available. Set for MoltenVK. */
    VKF_QUIRK_NO_SUBGROUP_SHUFFLE = 1 << 0,
    /* The driver takes seconds to compile long shaders, or spills registers where loops are unrolled. Kernels with many
     * unrolled loops (those of path decode, those on cooperative matrices, and merges) keep their loops. Set for
     * llvmpipe and SwiftShader. */
    VKF_QUIRK_ROLLED_LOOPS = 1 << 1,
    /* The library must not rely on any element layout of cooperative matrices, neither on one that it knows for this
     * driver nor on one of matrixLayouts. Scores of path coopmat pass through shared memory. */
    VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT = 1 << 2,
    /* A subgroup barrier waits for the whole workgroup, and is not needed because a subgroup runs in lockstep. Kernels
     * on cooperative matrices leave such barriers out. Results are wrong where subgroups do not run in lockstep. Set
     * for llvmpipe. */
    VKF_QUIRK_LOCKSTEP_SUBGROUPS = 1 << 3,
    /* For tests on drivers without bf16 matrices; no driver needs it. Path coopmat divides fp32 numbers into fp16
     * parts, not bf16 parts. fp16 has few exponents, so numbers far below 1 lose bits, and results may be outside the
     * bound of fp32. */
    VKF_QUIRK_FP16X3 = 1 << 4,
    /* Loads of cooperative matrices from shared memory give wrong elements. Kernels use no cooperative matrices, so
     * that path coopmat is not available. Mesa's driver does so on Intel's Xe3 GPUs. The library has no queue to find
     * out; vkf::host::Device tests it (vkf::host::Device::quirks). matrix_layout.h says how to test without host.hpp.
     */
    VKF_QUIRK_WRONG_MATRIX_LOADS = 1 << 5,
    VKF_QUIRK_FORCE_INT32 = 0x7fffffff
} VkfQuirkBits;
typedef uint32_t VkfQuirks; /* bits of VkfQuirkBits */

/* What vkfCreateContext makes a context of. */
typedef struct VkfContextCreateInfo {
    size_t structSize;
    /* The application's loader entry. Must not be null. The library uses it during vkfCreateContext only. */
    PFN_vkGetInstanceProcAddr getInstanceProcAddr;
    /* Created for Vulkan 1.2 or later. Must not be null. Must outlive the context. */
    VkInstance instance;
    /* The physical device of `device`. Must not be null. */
    VkPhysicalDevice physicalDevice;
    /* Must not be null. Must outlive the context. */
    VkDevice device;
    /* Features that are enabled on `device`; usually VkfDeviceRequirements::usableFeatures. Must contain
     * VKF_FEATURE_BUFFER_DEVICE_ADDRESS. A bit that the physical device does not support is an error. */
    VkfFeatures features;
    /* Quirks to add to the built-in ones. 0 = none. */
    VkfQuirks quirks;
    /* Pipeline cache for vkCreateComputePipelines. VK_NULL_HANDLE = none. Must outlive the context, which does not
     * destroy it. The context's threads may use it at the same time. It must therefore not have
     * VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT. */
    VkPipelineCache pipelineCache;
    /* Allocation callbacks for the Vulkan objects of the context. NULL = the driver's. The library keeps the pointer,
     * so that the struct must outlive the context. */
    const VkAllocationCallbacks* allocator;
    /* Bytes of shared memory that a workgroup may use. 0 = the device's limit, which larger values do not raise. A
     * small value forces small tiles, or makes problems unsupported. */
    uint32_t maxSharedMemoryBytes;
    /* Tuning data: text that `vkflash tune` wrote (tuning.h). Needs no zero byte at its end. Read during the call only.
     */
    const char* tuning;
    /* Bytes of `tuning`. 0 = no tuning data. */
    size_t tuningBytes;
    /* Element layouts of the device's cooperative matrices (matrix_layout.h), [matrixLayoutCount]. Read during the call
     * only. The application must have tested them on this device, as matrix_layout.h says: a wrong one gives wrong
     * results.
     * - Layouts of shapes with as many columns as depth take the place of the library's own for their type. Among
     *   several, the library uses the largest shape that kernels can use.
     * - A shape with fewer columns than that one, and the same rows and depth, makes path decode faster. It must be
     *   laid out like the large shape without the columns that it lacks. Otherwise the library ignores it.
     * - Where kernels can use no given layout of a type, scores pass through shared memory. That is no error.
     *   VkfMatrixInfo (inspect.h) shows it, and vkfCheckMatrixLayout has the reason. */
    const VkfMatrixLayout* matrixLayouts;
    /* Number of matrixLayouts. 0 = none: the library uses the layouts that it knows. */
    size_t matrixLayoutCount;
} VkfContextCreateInfo;

/* Creates a context: reads the device's limits and tuning data, and creates a pipeline layout. Compiles nothing and
 * does not block. Allocates host memory. Thread-safe.
 *
 * Errors:
 * - VKF_ERROR_INVALID_ARGUMENT: null, or malformed tuning data (the message has the line and the field)
 * - VKF_ERROR_INVALID_ARGUMENT: a layout of matrixLayouts for which vkfCheckMatrixLayout returns this code, or whose
 *   shape the device does not have (the message has its number)
 * - VKF_ERROR_STRUCT_SIZE
 * - VKF_ERROR_UNSUPPORTED: tuning data of a format version other than 1
 * - VKF_ERROR_MISSING_FEATURE: the device has no Vulkan 1.2 or no bufferDeviceAddress
 * - VKF_ERROR_MISSING_FEATURE: `features` has bits that the device does not support, or lacks a needed one
 * - VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN */
VKF_API VkfResult vkfCreateContext(const VkfContextCreateInfo* info, VkfContext* context, VkfMessage* message);

/* Destroys a context with its pipelines. NULL is ignored. All plans, merges and appends of the context must have been
 * destroyed before. No command buffer that uses its pipelines may be pending. Not thread-safe for one context. */
VKF_API void vkfDestroyContext(VkfContext context);

/* Checks whether the context's device, features and tiles can do a problem. vkfCreatePlan gives the same results, but
 * can also fail because the driver fails, or because this build lacks a shader (inspect.h). Creates nothing, does not
 * block, and frees the host memory that it allocates. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (this version, path or device cannot do the problem), VKF_ERROR_OUT_OF_HOST_MEMORY,
 * VKF_ERROR_VULKAN. The message names the field and the limit. */
VKF_API VkfResult vkfCheckSupport(VkfContext context, const VkfProblem* problem, VkfMessage* message);

/* Does what vkfCheckSupport does, for a device that need not have a VkDevice yet. Assumes that every usable feature
 * gets enabled, and that the context has no tuning data, no matrixLayouts, no added quirks and all shared memory of the
 * device.
 * vkfCheckProblem needs no device at all. Creates nothing, does not block. Thread-safe.
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
 * plan whose pipelines exist already takes no compilation.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (this version, path, device or build cannot do the problem), VKF_ERROR_OUT_OF_HOST_MEMORY,
 * VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN. Pipelines that were compiled before the
 * failure stay in the context. */
VKF_API VkfResult vkfCreatePlan(VkfContext context, const VkfProblem* problem, VkfPlan* plan, VkfMessage* message);

/* Destroys a plan. NULL is ignored. Recorded command buffers stay valid, because the pipelines belong to the context.
 * Does not block. Not thread-safe for one plan. */
VKF_API void vkfDestroyPlan(VkfPlan plan);

#define VKF_TILE_CAPACITY 96 /* bytes of the text of a tile, with its zero byte */

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
     * - on path coopmat, with k and v of block types: what VkfProblem::maxScratchBytes says */
    VkDeviceSize scratchBytes;
    /* Bytes that the address of the scratch memory must be a multiple of. */
    VkDeviceSize scratchAlignment;
    /* Query rows that a workgroup works on, those of all its heads together. */
    uint32_t tileRows;
    /* Keys of one K/V tile. */
    uint32_t tileKeys;
    /* Invocations of a workgroup. */
    uint32_t workgroupSize;
    /* Bytes of shared memory for each workgroup. */
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
    /* Multiplications and additions of the visible pairs, counted separately. Counts causal masks and windows. A plan
     * knows no contents of arrays: all other masks and keyLengths count as if they dropped nothing, and packed
     * sequences as if all had the same length. */
    double operations;
    /* Least bytes of memory traffic: q, k and v read once; o, lse and probabilities written once. */
    double minimumBytes;
    /* The plan in one line, for people and bug reports. Ends in a zero byte; cut off at the capacity. */
    char description[VKF_MESSAGE_CAPACITY];
    /* Tile and key splits, as tuning data writes them. Other paths use the same spelling. Ends in a zero byte. */
    char tile[VKF_TILE_CAPACITY];
    /* 1 = `tile` comes from the context's tuning data; 0 = the library chose it. */
    uint32_t tuned;
    /* 0 */
    uint32_t reserved;
} VkfPlanInfo;

/* Fills *info. The caller sets structSize. Allocates nothing and does not block. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null), VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetPlanInfo(VkfPlan plan, VkfPlanInfo* info, VkfMessage* message);

/* ---- Record -------------------------------------------------------------------------------- */

/* Device memory of one tensor or array: a device address or a buffer, plus an offset. The top of this file says which
 * flags the buffer and its memory need. The struct that holds a binding says how much memory the call touches and which
 * alignment it needs. Alignment is that of address + offset.
 *
 * - VKF_ERROR_INVALID_ARGUMENT: an address or a buffer is given for an optional array without its bit in the problem's
 *   arrays. The result would be another than the caller expects.
 * - Otherwise a binding of which the call touches no bytes is not looked at. For other bindings:
 * - VKF_ERROR_INVALID_ARGUMENT: neither address nor buffer is given, the alignment is wrong, or `reserved` is not 0.
 * - VKF_ERROR_BINDING_TOO_SMALL: `size` is not 0, and less than the bytes that the call touches. With a size the
 * library finds many wrong shapes, types and strides. */
typedef struct VkfBinding {
    /* Device address, as vkGetBufferDeviceAddress returns it. 0 = use `buffer`. */
    VkDeviceAddress address;
    /* Buffer whose address the library asks the driver for. Used only if `address` is 0. */
    VkBuffer buffer;
    /* Bytes from `address`, or from the start of `buffer`, to the first element. Default 0. */
    VkDeviceSize offset;
    /* Bytes that the call may touch from address + offset on. 0 = not checked; not allowed for scratch. */
    VkDeviceSize size;
    /* Room for later versions: 0, else VKF_ERROR_INVALID_ARGUMENT. */
    uint64_t reserved;
} VkfBinding;

/* Device memory of one attention call. Bindings of arrays that the problem does not have must be zero.
 *
 * `o`, `lse`, `probabilities` and `scratch` are written; they must overlap neither each other nor any memory that the
 * call reads. The contents of all other bindings are read on the device, so that they may change between
 * submissions. */
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
    /* Output. With VKF_ARRAY_LSE. fp32, dense [batch, queryHeads, queryRows]; for packed sequences [queryHeads,
     * queryRows]. Alignment: 4 bytes. */
    VkfBinding lse;
    /* With VKF_ARRAY_KEY_LENGTHS. int32 [batch]. Alignment: 4 bytes. */
    VkfBinding keyLengths;
    /* Scratch memory of VkfPlanInfo::scratchBytes; used if that is not 0. `size` must be given, or else
     * VKF_ERROR_BINDING_TOO_SMALL is returned. Alignment: VkfPlanInfo::scratchAlignment. Its contents before and after
     * a call mean nothing. Calls that may run at the same time must not share it. */
    VkfBinding scratch;
    /* With VKF_ARRAY_BLOCK_MASK. uint32 [VkfBlockMaskLayout::words]. Alignment: 4 bytes. */
    VkfBinding blockMask;
    /* Output. With VKF_ARRAY_PROBABILITIES. fp32, dense [batch, queryHeads, W, keys], where W is
     * probabilityRowCount with VKF_ARRAY_PROBABILITY_ROWS, else queryRows. Alignment: 4 bytes. */
    VkfBinding probabilities;
    /* With VKF_ARRAY_BLOCK_TABLE. int32 [batch, paging.maxPages]. Alignment: 4 bytes. The page of each key under its
     * sequence's length must be in [0, paging.pages). */
    VkfBinding blockTable;
    /* With VKF_ARRAY_SINKS. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding sinks;
    /* With VKF_ARRAY_ALIBI_SLOPES. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding alibiSlopes;
    /* With VKF_ARRAY_DOCUMENT_IDS. int32 [batch, keys]; for packed sequences without pages [keys]. Alignment: 4
     * bytes. */
    VkfBinding documentIds;
    /* With VKF_ARRAY_BIAS. Type and strides as VkfProblem::bias says. Alignment: 4 bytes. Size: vkfBroadcastBytes,
     * which is rounded up to 4 bytes. */
    VkfBinding bias;
    /* With VKF_ARRAY_MASK. Type and strides as VkfProblem::mask says. Alignment: 4 bytes. Size: vkfBroadcastBytes,
     * which is rounded up to 4 bytes. */
    VkfBinding mask;
    /* With VKF_ARRAY_CU_SEQLENS. int32 [batch + 1]: where the rows of each sequence start. Alignment: 4 bytes. */
    VkfBinding cuSeqlensQ;
    /* With VKF_ARRAY_CU_SEQLENS, without pages. int32 [batch + 1]: where the keys of each sequence start. Alignment: 4
     * bytes. */
    VkfBinding cuSeqlensK;
    /* With VKF_ARRAY_DROPOUT_MASK. Type and strides as VkfProblem::dropoutMask says. Alignment: 4 bytes. Size:
     * vkfBroadcastBytes, which is rounded up to 4 bytes. */
    VkfBinding dropoutMask;
    /* With VKF_ARRAY_DROPOUT_SEED, if dropout.probability is not 0 and there is no dropoutMask. One uint64. Alignment:
     * 8 bytes. */
    VkfBinding dropoutSeed;
    /* With VKF_ARRAY_PROBABILITY_ROWS. int32 [probabilityRowCount]: the query rows whose probabilities are written.
     * Alignment: 4 bytes. */
    VkfBinding probabilityRows;
    /* With VKF_ARRAY_BIAS_FACTORS. fp32 [queryHeads]. Alignment: 4 bytes. */
    VkfBinding biasFactors;
} VkfBindings;

/* Records all steps of the plan. A plan with an empty output records nothing and looks at no binding. Allocates
 * nothing, does not block, and takes under two microseconds. Thread-safe for one plan, as long as no two threads use
 * one command buffer.
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
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a binding without memory or with a wrong alignment),
 * VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. A call that fails records nothing. */
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

/* ---- Merge ----------------------------------------------------------------------------------- */

/* Creates a merge: checks the problem, and creates its pipeline if the context does not have it yet. merge.h says what
 * a merge computes. Copies the problem. Allocates host memory. Blocks while the driver compiles, like vkfCreatePlan.
 * Thread-safe. The merge is immutable: any number of threads may record it at once.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a field that no device could accept), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_UNSUPPORTED (a limit, a type, 16-bit types without VKF_FEATURE_STORAGE_16BIT, or a shader that this build
 * lacks), VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN. */
VKF_API VkfResult vkfCreateMerge(VkfContext context, const VkfMergeProblem* problem, VkfMerge* merge,
                                 VkfMessage* message);

/* Destroys a merge. NULL is ignored. Recorded command buffers stay valid, because the pipeline belongs to the context.
 * Does not block. Not thread-safe for one merge. */
VKF_API void vkfDestroyMerge(VkfMerge merge);

/* Device memory of one merge. Outputs must overlap neither inputs nor each other. */
typedef struct VkfMergeBindings {
    size_t structSize;
    /* The partial outputs o_k, as VkfMergeProblem::partial and partialStride say. Alignment: the element size. */
    VkfBinding partials;
    /* The partial lse_k: fp32, dense [batch, heads, rows] each, lsePartialStride apart. Alignment: 4 bytes. */
    VkfBinding partialLse;
    /* Output, as VkfMergeProblem::o says. Alignment: the element size. */
    VkfBinding o;
    /* Output. With VKF_ARRAY_LSE. fp32, dense [batch, heads, rows]. Alignment: 4 bytes. */
    VkfBinding lse;
} VkfMergeBindings;

/* Records a merge. The number of partial results fixes the order in which they are added up, so that the same inputs
 * give the same bits each time. Allocates nothing and does not block. Threads, command buffer, disturbed state and
 * barriers are as for vkfCmdAttention. Inputs are partials and partialLse, outputs are o and lse.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or a binding without memory or with a wrong alignment),
 * VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. */
VKF_API VkfResult vkfCmdMerge(VkCommandBuffer commandBuffer, VkfMerge merge, const VkfMergeBindings* bindings,
                              VkfMessage* message);

/* ---- Append ---------------------------------------------------------------------------------- */

/* Creates an append: checks the problem, and creates its pipelines if the context does not have them yet. append.h says
 * what an append does. Appends that differ in rows alone share pipelines. Copies the problem. Allocates host memory.
 * Blocks while the driver compiles, like vkfCreatePlan. Thread-safe. The append is immutable: any number of threads may
 * record it at once.
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
 * neither inputs nor each other, except that rotatedQ may be q. */
typedef struct VkfAppendBindings {
    size_t structSize;
    /* New rows of k, as VkfAppendProblem::newK says. Alignment: the element size. */
    VkfBinding newK;
    /* New rows of v, as VkfAppendProblem::newV says. Alignment: the element size. */
    VkfBinding newV;
    /* Output: the cache of k, as VkfAppendProblem::k says. Alignment: the element size; 2 bytes for block types. */
    VkfBinding k;
    /* Output: the cache of v, as VkfAppendProblem::v says. Alignment: the element size; 2 bytes for block types. */
    VkfBinding v;
    /* Rows that each sequence's cache holds before the append. int32 [batch]. Alignment: 4 bytes. */
    VkfBinding lengths;
    /* Output: min(length + rows, keys) of each sequence. int32 [batch]. With VKF_ARRAY_NEW_LENGTHS. Alignment: 4
     * bytes. Must not be at the address of `lengths`. */
    VkfBinding newLengths;
    /* With VKF_ARRAY_BLOCK_TABLE. int32 [batch, paging.maxPages]. Alignment: 4 bytes. */
    VkfBinding blockTable;
    /* With VKF_ARRAY_QUERIES. Queries, as VkfAppendProblem::q says. Alignment: the element size. */
    VkfBinding q;
    /* Output. With VKF_ARRAY_QUERIES. Rotated queries, as VkfAppendProblem::rotatedQ says. May be bound where q is,
     * with the same type and strides. Alignment: the element size. */
    VkfBinding rotatedQ;
    /* With VKF_ARRAY_ROTARY_TABLES. Cosines, fp32 [rotary.tableRows, rotary.dim / 2]. Alignment: 4 bytes. */
    VkfBinding cos;
    /* With VKF_ARRAY_ROTARY_TABLES. Sines, fp32 [rotary.tableRows, rotary.dim / 2]. Alignment: 4 bytes. */
    VkfBinding sin;
} VkfAppendBindings;

/* Records an append: one dispatch for k and v, and one for q. The two dispatches have no barrier between them. Rows
 * that are dropped leave the cache as it is. Allocates nothing and does not block. Threads, command buffer, disturbed
 * state and barriers are as for vkfCmdAttention. Outputs are k, v, newLengths and rotatedQ.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, a binding without memory or with a wrong alignment, or newLengths at the
 * address of lengths), VKF_ERROR_STRUCT_SIZE, VKF_ERROR_BINDING_TOO_SMALL. */
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
 * VKF_ERROR_BINDING_TOO_SMALL. */
VKF_API VkfResult vkfCmdAdvance(VkCommandBuffer commandBuffer, VkfAppend append, const VkfBinding* lengths,
                                VkfMessage* message);

#ifdef __cplusplus
}
#endif

#include "backward.h"

#endif
