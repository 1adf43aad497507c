// SPDX-License-Identifier: MIT
//
// The workgroup of the kernels that merge partial results (shaders/merge/merge_rows.glsl).
#pragma once

#include <cstdint>

#include "device/caps.hpp"
#include "pipelines/variant.hpp"

namespace vkf {

// Most invocations that share a row which is merged in one piece.
inline constexpr uint32_t maxMergeLanes = 64;

struct MergeTile {
    uint32_t lanes = 0;  // invocations that share a row, a power of two
    uint32_t groups = 0; // groups of lanes that share the partial results of a row, a power of two
    uint32_t atOnce = 0; // partial results that an invocation loads at once
    uint32_t rows = 0;   // rows of a workgroup

    uint32_t workgroupSize() const { return lanes * groups * rows; }
    void setConstants(Constants& constants) const;
};

// `lanes` must be a power of two, and at most maxMergeLanes. The device takes workgroups of at least 128 invocations.
MergeTile chooseMergeTile(uint32_t partialResults, uint32_t lanes, const Caps& caps);

} // namespace vkf
