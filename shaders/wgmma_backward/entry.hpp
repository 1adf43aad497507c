// SPDX-License-Identifier: MIT
//
// What the entry points of the backward pass share: their names, by the macros that the build sets for each PTX text
// (shared/wgmma_params.h).
//
//     VKF_TYPE    f16 or bf16
//     VKF_DIM     64 or 128: head and value dimension, padded
#ifndef VKF_WGMMA_BACKWARD_ENTRY_HPP
#define VKF_WGMMA_BACKWARD_ENTRY_HPP

#include "wgmma_backward/tile.hpp"

#define VKF_JOIN_4(a, b, c, d) a##b##c##d
#define VKF_BACKWARD_NAME(prefix, type, dim) VKF_JOIN_4(prefix, type, _, dim)
#define VKF_BACKWARD_ENTRY(prefix) VKF_BACKWARD_NAME(prefix, VKF_TYPE, VKF_DIM)

namespace vkf::wgmma {

enum { f16 = 0, bf16 = 1 };

// The launch chooses the size. Slots begin at multiples of 1024 bytes, because of the swizzle.
extern "C" __attribute__((shared, aligned(1024))) unsigned char vkf_slots[];

VKF_DEVICE uint32_t sharedMemory() {
    return static_cast<uint32_t>(
        reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) unsigned char*)vkf_slots));
}

} // namespace vkf::wgmma

#endif
