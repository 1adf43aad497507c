// SPDX-License-Identifier: MIT
//
// What the entry points of the backward pass share: their names, by the macros that the build sets for each PTX text
// (shared/wgmma_params.h).
//
//     VKF_TYPE               f16 or bf16
//     VKF_DIM                64 or 128: head and value dimension, padded
//     VKF_SOFTCAP_OR_ALIBI   defined if scores have a softcap or ALiBi
#ifndef VKF_WGMMA_BACKWARD_ENTRY_HPP
#define VKF_WGMMA_BACKWARD_ENTRY_HPP

#include "wgmma_backward/tile.hpp"

#define VKF_JOIN_4(a, b, c, d) a##b##c##d
#define VKF_BACKWARD_NAME(prefix, type, dim, suffix) VKF_JOIN_4(prefix, type, _##dim, suffix)
#define VKF_BACKWARD_EXPANDED(prefix, type, dim, suffix) VKF_BACKWARD_NAME(prefix, type, dim, suffix)
#define VKF_BACKWARD_ENTRY(prefix) VKF_BACKWARD_EXPANDED(prefix, VKF_TYPE, VKF_DIM, VKF_SUFFIX)
#ifdef VKF_SOFTCAP_OR_ALIBI
#define VKF_SUFFIX _terms
#else
#define VKF_SUFFIX
#endif

namespace vkf::wgmma {

enum { f16 = 0, bf16 = 1 };
#ifdef VKF_SOFTCAP_OR_ALIBI
constexpr bool HAS_SOFTCAP_OR_ALIBI = true;
#else
constexpr bool HAS_SOFTCAP_OR_ALIBI = false;
#endif

// The launch chooses the size. Slots begin at multiples of 1024 bytes, because of the swizzle.
extern "C" __attribute__((shared, aligned(1024))) unsigned char vkf_slots[];

VKF_DEVICE uint32_t sharedMemory() {
    return static_cast<uint32_t>(
        reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) unsigned char *)vkf_slots));
}

} // namespace vkf::wgmma

#endif
