// SPDX-License-Identifier: MIT
//
// The layout of a file of compiled functions (.vkfn). The compiler library writes it, and the core reads it. All
// numbers are little-endian:
//
//     offset  bytes  content
//          0      8  the magic
//          8      4  version of the layout
//         12      4  version of the library, as vkfVersion gives it
//         16      8  checksum: hashOf (hash.hpp) of all bytes that follow
//         24      8  key of the functions (VkfFunctionsCreateInfo::key)
//         32      4  VkfFunctionSet
//         36      4  number of arrays
//         40      4  number of kernels
//         44      4  0
//         48     40  for each array: the bytes of its name, its VkfElement, 0
//                80  for each kernel: the bytes of its name, the number of its words in 8 bytes, 0 in 8 bytes
//                    the words of all kernels, in this order
#pragma once

#include <cstddef>
#include <cstdint>

namespace vkf {

inline constexpr char functionsMagic[8] = {'V', 'K', 'F', '\r', '\n', 0x1a, 'F', 'N'};
inline constexpr uint32_t functionsFormatVersion = 1;

inline constexpr size_t checksumOffset = 16;
inline constexpr size_t checkedOffset = 24; // the checksum covers the bytes from here on
inline constexpr size_t functionsHeaderBytes = 48;
inline constexpr size_t arrayRowBytes = 40;
inline constexpr size_t kernelRowBytes = 80;
inline constexpr size_t kernelNameBytes = 64; // with at least one zero byte at the end

} // namespace vkf
