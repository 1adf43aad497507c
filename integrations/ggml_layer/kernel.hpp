// SPDX-License-Identifier: MIT
//
// ggml-vulkan's kernels of attention, as the layer knows them: by the interface of their modules (spirv.hpp) and by the
// values of their specialization constants. README.md lists the versions of ggml that were tested.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <optional>

#include "spirv.hpp"

namespace vkf::layer {

enum class KernelKind : uint32_t {
    attention, // scores, softmax and products, of all keys or of one split
    reduction, // joins the splits of an attention kernel
};

// Descriptor bindings of the two kernels, all in set 0.
enum AttentionBinding : uint32_t { atQ, atK, atV, atMask, atSinks, atResult, atMaskTiles, atKeyIndices };
enum ReductionBinding : uint32_t { atSplits, atReducedSinks, atReduced };
constexpr uint32_t mostBindings = 8;

// Specialization constants of the attention kernel, in the order of their ids. ggml calls them WorkGroupSize, Br, Bc,
// HSK, HSV, Clamp, D_split, row_split, SubGroupSize, SHMEM_STAGING, Flags, LIMIT_OCCUPANCY_SHMEM, FaTypeK, FaTypeV,
// FaBlockBytesK and FaBlockBytesV.
struct AttentionConstants {
    uint32_t workgroupSize, tileRows, tileKeys, headDim, valueDim, checkedKeys, columnLanes, rowLanes, subgroupSize,
        stagesKeys, flags, occupancyBytes, keyType, valueType, keyBlockBytes, valueBlockBytes;
};
constexpr uint32_t attentionConstantCount = sizeof(AttentionConstants) / sizeof(uint32_t);

// Bits of AttentionConstants::flags.
enum AttentionFlag : uint32_t {
    flagMaskTiles = 1,     // a pass before it looked for tiles that the mask closes
    flagMask = 2,          // there is a mask
    flagSoftcap = 4,       // there is a softcap
    flagOldAmdDriver = 8,  // works around a driver
    flagSelectedKeys = 16, // a pass before it listed the keys that the mask leaves open
};

// A pipeline of one of the kernels.
struct Kernel {
    KernelKind kind;
    AttentionConstants constants; // zero for a reduction
};

// The kernel that a module is, if it is one.
std::optional<KernelKind> kindOf(const ModuleInterface& module);

// The kernel of a pipeline, or nothing if its specialization constants are not what this kind has.
std::optional<Kernel> kernelOf(KernelKind kind, const VkSpecializationInfo* constants);

} // namespace vkf::layer
