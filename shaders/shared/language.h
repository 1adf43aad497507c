/* SPDX-License-Identifier: MIT
 *
 * The types of struct members that host and shader share. A member, or an element of an array, has 4 or 8 bytes. One of
 * 8 bytes has an offset that is a multiple of 8. C++ and std430 then give each member the same offset. */
#ifndef VKF_LANGUAGE_H
#define VKF_LANGUAGE_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
namespace vkf::shared {
using Address = uint64_t;
using Uint = uint32_t;
using Int = int32_t;
using Float = float;
} // namespace vkf::shared
#else
#define Address uvec2
#define Uint uint
#define Int int
#define Float float
#endif

#endif
