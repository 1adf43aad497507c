// SPDX-License-Identifier: MIT
//
// Unpacks what CMake packs with XZ. PTX texts are long and alike: packed together, they take a sixteenth of their
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vkf {

// Returns the first `bytes` bytes of an XZ stream of one block (the .xz file format, version 1.2.1) without filters but
// LZMA2. Returns an empty string if the stream is damaged or shorter. Does not look at its check sums.
std::string unpackXz(std::span<const uint8_t> stream, size_t bytes);

} // namespace vkf
