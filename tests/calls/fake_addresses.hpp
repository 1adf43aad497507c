// SPDX-License-Identifier: MIT
//
// Device addresses of memory that nobody touches, for tests that only record.
#pragma once

#include <cstdint>

namespace vkf::test {

// The address of all memory that a test only reads. Outputs, which need memory of their own, do not reach it.
inline constexpr uint64_t fakeInputs = uint64_t{1} << 63;

// Returns the address of piece `number` of made-up memory. Pieces are 2^48 bytes apart, so that tensors do not overlap.
constexpr uint64_t fakeAddress(uint64_t number) { return (number + 1) << 48; }

} // namespace vkf::test
