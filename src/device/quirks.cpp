// SPDX-License-Identifier: MIT
#include "device/quirks.hpp"

namespace vkf {

VkfQuirks driverQuirks(VkDriverId driver) {
    switch (driver) {
    case VK_DRIVER_ID_MOLTENVK:
        // Shuffles on AMD GPUs under MoltenVK return wrong lanes: github.com/ggml-org/llama.cpp/pull/23218
        return VKF_QUIRK_NO_SUBGROUP_SHUFFLE;
    case VK_DRIVER_ID_MESA_LLVMPIPE:
        // llvmpipe holds matrices in arrays, and LLVM takes tens of seconds to compile unrolled products of them. All
        // barriers of llvmpipe wait for the workgroup: visit_barrier in
        // gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/gallium/auxiliary/gallivm/lp_bld_nir_soa.c
        return VKF_QUIRK_ROLLED_LOOPS | VKF_QUIRK_LOCKSTEP_SUBGROUPS | VKF_QUIRK_LATE_SPECIALIZATION |
               VKF_QUIRK_LOADS_PAST_LOOPS;
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER:
        // SwiftShader looks for the back edge of a loop by walking every path through its body. Each branch doubles the
        // number of paths, and unrolled loops repeat branches: it never compiles the eight loads of a merge, nor v of
        // 132 columns without subgroup operations. See Spirv::Function::ExistsPath in
        // swiftshader.googlesource.com/SwiftShader/+/refs/heads/master/src/Pipeline/SpirvShaderControlFlow.cpp
        return VKF_QUIRK_ROLLED_LOOPS | VKF_QUIRK_ROLLED_SCALAR_LOOPS | VKF_QUIRK_LATE_SPECIALIZATION;
    case VK_DRIVER_ID_MESA_RADV:
    case VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA:
    case VK_DRIVER_ID_MESA_NVK:
    case VK_DRIVER_ID_MESA_TURNIP:
        // Mesa puts all functions of a shader in place of their calls before it leaves out code that cannot run:
        // vk_spirv_to_nir in gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/vulkan/runtime/vk_nir.c
        return VKF_QUIRK_LATE_SPECIALIZATION;
    default:
        return 0;
    }
}

} // namespace vkf
