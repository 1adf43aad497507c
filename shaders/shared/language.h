/* SPDX-License-Identifier: MIT
 *
 * The types of members that host and shader share. Structs have members of 4 and 8 bytes alone, widest first, so that
 * C++ and std430 lay them out alike. */
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
