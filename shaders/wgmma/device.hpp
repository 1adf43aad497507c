// SPDX-License-Identifier: MIT
//
// The few words of CUDA that the wgmma kernels need, so that clang compiles them without CUDA's headers. Without
// __CUDA__ a file that includes only this one compiles for the host too, where tests call its functions.
#ifndef VKF_WGMMA_DEVICE_HPP
#define VKF_WGMMA_DEVICE_HPP

#include <cstddef>
#include <cstdint>

#ifdef __CUDA__
#define VKF_DEVICE __attribute__((device, always_inline)) inline
#define VKF_KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads, 1))) void
// The address space of device memory. A load from it needs no test of where a generic address leads.
#define VKF_GLOBAL __attribute__((address_space(1)))
#define VKF_UNROLL _Pragma("unroll")
#define VKF_KEEP_LOOP _Pragma("nounroll")
#else
#define VKF_DEVICE inline
#define VKF_GLOBAL
#define VKF_UNROLL
#define VKF_KEEP_LOOP
#endif

namespace vkf::wgmma {

// A number at an address in device memory.
template <typename T> VKF_DEVICE T loadGlobal(const uint64_t address) { return *(const VKF_GLOBAL T*)address; }
template <typename T> VKF_DEVICE void storeGlobal(const uint64_t address, const T value) {
    *(VKF_GLOBAL T*)address = value;
}

template <typename T> VKF_DEVICE constexpr T min(const T a, const T b) { return a < b ? a : b; }
template <typename T> VKF_DEVICE constexpr T max(const T a, const T b) { return a > b ? a : b; }
// Both values exist before. A conditional expression of two elements of an array would keep the array in memory.
template <typename T> VKF_DEVICE constexpr T select(const bool condition, const T a, const T b) {
    return condition ? a : b;
}
template <typename T> VKF_DEVICE constexpr T clamp(const T x, const T low, const T high) {
    return min(max(x, low), high);
}

} // namespace vkf::wgmma

#endif
