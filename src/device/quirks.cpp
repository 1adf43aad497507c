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
        return VKF_QUIRK_ROLLED_LOOPS | VKF_QUIRK_LOCKSTEP_SUBGROUPS;
    default:
        return 0;
    }
}

} // namespace vkf
