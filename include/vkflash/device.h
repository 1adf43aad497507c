/* SPDX-License-Identifier: MIT
 *
 * vkflash/device.h: what a device must have, the context that keeps its pipelines, and bindings of device memory.
 * The rules at the top of vkflash.h hold here too.
 */
#ifndef VKFLASH_DEVICE_H
#define VKFLASH_DEVICE_H

#include <vulkan/vulkan_core.h>

#include "matrix_layout.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfContext_T* VkfContext; /* a device with its pipelines */

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
    /* VK_KHR_shader_bfloat16 with shaderBFloat16Type and shaderBFloat16CooperativeMatrix, in addition to
     * VKF_FEATURE_COOPERATIVE_MATRIX. Needed for path coopmat with bf16. */
    VKF_FEATURE_BFLOAT16_MATRIX = 1 << 4,
    /* VK_NVX_binary_import, on chips of compute capability 9.0 (NVIDIA's GH100: H100, H200, GH200). Needed for path
     * wgmma. The extension has no feature struct. */
    VKF_FEATURE_BINARY_IMPORT = 1 << 5,
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
 * to vkfFreeDeviceRequirements after vkCreateDevice. An application that has a feature chain of its own calls
 * vkfEnableFeatures and does not pass `features`.
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

/* Sets the members of Vulkan's feature structs that belong to `features`, in a chain that the application owns. It need
 * not pass VkfDeviceRequirements::features then. `chain` is the first struct, of any type. Each member is set in the
 * first struct of the chain that has it:
 *
 *     feature                              member                           struct of a version   struct of its own
 *     VKF_FEATURE_BUFFER_DEVICE_ADDRESS    bufferDeviceAddress              Vulkan12              BufferDeviceAddress
 *     VKF_FEATURE_STORAGE_16BIT            storageBuffer16BitAccess         Vulkan11              16BitStorage
 *     VKF_FEATURE_FULL_SUBGROUPS           subgroupSizeControl              Vulkan13              SubgroupSizeControl
 *                                          computeFullSubgroups             Vulkan13              SubgroupSizeControl
 *     VKF_FEATURE_COOPERATIVE_MATRIX       vulkanMemoryModel                Vulkan12              VulkanMemoryModel
 *                                          shaderFloat16                    Vulkan12              ShaderFloat16Int8
 *                                          cooperativeMatrix                -                     CooperativeMatrix
 *     VKF_FEATURE_BFLOAT16_MATRIX          shaderBFloat16Type               -                     ShaderBfloat16
 *                                          shaderBFloat16CooperativeMatrix  -                     ShaderBfloat16
 *     VKF_FEATURE_BINARY_IMPORT            -                                -                     -
 *
 * Names of structs omit VkPhysicalDevice at their front and Features at their end. Does not block. Thread-safe for
 * different chains.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (an unknown bit, or no struct of the chain has a member; the message names both).
 * Nothing is set then. */
VKF_API VkfResult vkfEnableFeatures(VkfFeatures features, void* chain, VkfMessage* message);

/* Returns a static string, the name of the constant. Never NULL; "unknown bit" for other values. */
VKF_API const char* vkfFeatureString(VkfFeatureBits bit);

/* ---- Context ------------------------------------------------------------------------------- */

/* Driver trouble to work around. The library sets the bits that it knows from the driver's identity. An application can
 * add bits, but cannot remove any. All quirks but VKF_QUIRK_LOCKSTEP_SUBGROUPS and VKF_QUIRK_FP16X3 give correct
 * results on any device. */
typedef enum VkfQuirkBits VKF_INT32_ENUM {
    /* Subgroup shuffles give wrong results. Kernels reduce in shared memory and use no cooperative matrices, so that
     * path coopmat is not available. Set for MoltenVK. */
    VKF_QUIRK_NO_SUBGROUP_SHUFFLE = 1 << 0,
    /* The driver takes seconds to compile long shaders, or spills registers where loops are unrolled. Loops that
     * kernels unroll elsewhere (on path decode, on cooperative matrices, in merges) are not unrolled. Set for llvmpipe
     * and SwiftShader. */
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
    /* Kernels of plain arithmetic, which VKF_QUIRK_ROLLED_LOOPS leaves as they are, are not unrolled either. Set for
     * SwiftShader, which does not compile some of them otherwise. Elsewhere for tests, and where the latency of the
     * first call matters most: drivers that compile for a CPU compile such a kernel in less time, and on llvmpipe it is
     * several times slower. */
    VKF_QUIRK_ROLLED_SCALAR_LOOPS = 1 << 6,
    /* The driver works on what specialization constants switch off, for a large part of the time that it takes to
     * compile a shader. It gets shaders without these parts. Set for SwiftShader, and for Mesa's llvmpipe, RADV,
     * ANV, NVK and Turnip. */
    VKF_QUIRK_LATE_SPECIALIZATION = 1 << 7,
    /* The driver executes one more iteration after the end of a loop, with its loads. Loops that load
     * from tensors stay unrolled in spite of VKF_QUIRK_ROLLED_SCALAR_LOOPS. Set for llvmpipe. */
    VKF_QUIRK_LOADS_PAST_LOOPS = 1 << 8,
    VKF_QUIRK_FORCE_INT32 = 0x7fffffff
} VkfQuirkBits;
typedef uint32_t VkfQuirks; /* bits of VkfQuirkBits */

/* Returns a static string, the name of the constant. Never NULL; "unknown bit" for other values. */
VKF_API const char* vkfQuirkString(VkfQuirkBits bit);

/* Debugging aids for the application. All bits cost time and are off by default. */
typedef enum VkfDebugBits VKF_INT32_ENUM {
    /* Every call that records commands records a full barrier before and after them: all commands, all memory accesses.
     *
     * No validation layer finds a missing barrier between two calls, because the kernels use device addresses, which
     * synchronization validation does not follow. If results change with this bit, a barrier is missing around a call:
     * before it, after it, or between it and a copy. */
    VKF_DEBUG_FULL_BARRIERS = 1 << 0,
    /* The context counts the plans, merges, appends and backward passes that are made from it. vkfDestroyContext then
     * refuses to destroy a context that some of them still use: it writes a line to stderr, and the context stays.
     * Builds of the library without NDEBUG always have this bit. */
    VKF_DEBUG_LIFETIMES = 1 << 1,
    VKF_DEBUG_FORCE_INT32 = 0x7fffffff
} VkfDebugBits;
typedef uint32_t VkfDebug; /* bits of VkfDebugBits */

/* Returns a static string, the name of the constant. Never NULL; "unknown bit" for other values. */
VKF_API const char* vkfDebugString(VkfDebugBits bit);

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
     * - If kernels can use none of the layouts of a type, scores pass through shared memory, without an
     *   error. VkfMatrixInfo (inspect.h) shows it, and vkfCheckMatrixLayout has the reason. */
    const VkfMatrixLayout* matrixLayouts;
    /* Number of matrixLayouts. 0 = none: the library uses the layouts that it knows. */
    size_t matrixLayoutCount;
    /* Bits of VkfDebugBits. 0 = none. Bits that this version does not know are VKF_ERROR_INVALID_ARGUMENT. */
    VkfDebug debug;
    /* Room for later versions: 0, else VKF_ERROR_INVALID_ARGUMENT. */
    uint32_t reserved;
} VkfContextCreateInfo;

/* Creates a context: reads the device's limits and tuning data, and creates a pipeline layout. Compiles nothing and
 * does not block. Allocates host memory. Thread-safe.
 *
 * Errors:
 * - VKF_ERROR_INVALID_ARGUMENT: null, an unknown bit of `debug`, or malformed tuning data (the message has the line
 *   and the field)
 * - VKF_ERROR_INVALID_ARGUMENT: a layout of matrixLayouts for which vkfCheckMatrixLayout returns this code, or whose
 *   shape the device does not have (the message has its number)
 * - VKF_ERROR_STRUCT_SIZE
 * - VKF_ERROR_UNSUPPORTED: tuning data of a format version other than 1
 * - VKF_ERROR_MISSING_FEATURE: the device has no Vulkan 1.2 or no bufferDeviceAddress
 * - VKF_ERROR_MISSING_FEATURE: `features` has bits that the device does not support, or lacks a needed one
 * - VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_DEVICE_LOST, VKF_ERROR_VULKAN */
VKF_API VkfResult vkfCreateContext(const VkfContextCreateInfo* info, VkfContext* context, VkfMessage* message);

/* Destroys a context with its pipelines. NULL is ignored. All plans, merges, appends and backward passes of the context
 * must have been destroyed before; VKF_DEBUG_LIFETIMES checks that. No command buffer that uses its pipelines may be
 * pending. Not thread-safe for one context. */
VKF_API void vkfDestroyContext(VkfContext context);

/* ---- Device memory --------------------------------------------------------------------------- */

/* Device memory of one tensor or array: a device address or a buffer, plus an offset. The top of vkflash.h says which
 * flags the buffer and its memory need. The struct that holds a binding says how much memory the call touches and which
 * alignment it needs. Alignment is that of address + offset.
 *
 * - VKF_ERROR_INVALID_ARGUMENT: an address or a buffer is given for an optional array without its bit in the problem's
 *   `use`. The result would not be what the caller expects.
 * - Otherwise a binding of which the call touches no bytes is ignored. For other bindings:
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

#ifdef __cplusplus
}
#endif

#endif
