// SPDX-License-Identifier: MIT
//
// The scratch memory of a plan: what lies in it, and where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vkf {

// Alignment of the scratch memory in bytes, and of most ranges in it.
inline constexpr uint64_t scratchAlignment = 16;

enum class ScratchRange : uint32_t {
    partialOutputs, // o of each key split; on path standard S, then P; on path key_outer o
    rowState,       // (m, l) of each row and key split; in a backward pass (lse, delta) of each row
    lse,            // of each row, for the probabilities of a caller who wants no lse
    tileMap,        // TileMapMemory
    dequantizedK,
    dequantizedV,
    rowSequences,     // of packed sequences: the sequence of each tile of rows
    keyTileSequences, // of each tile of keys
    table,            // of the optional inputs
    storedDs,         // of a band of keys
    storedP,          // of a band of keys
    partialSums,      // of dq
};
inline constexpr size_t scratchRangeCount = 12;

class Scratch {
public:
    // Reserves bytes at the end of the memory for a range. Before and after the range are `margin` of these bytes.
    void reserve(ScratchRange range, uint64_t bytes, uint64_t alignment = scratchAlignment, uint64_t margin = 0) {
        const uint64_t begin = (bytes_ + alignment - 1) / alignment * alignment;
        offsets_[static_cast<size_t>(range)] = begin + margin;
        bytes_ = begin + bytes;
    }

    // 0 for ranges that were not reserved.
    uint64_t offset(ScratchRange range) const { return offsets_[static_cast<size_t>(range)]; }
    uint64_t bytes() const { return bytes_; }

private:
    uint64_t bytes_ = 0;
    std::array<uint64_t, scratchRangeCount> offsets_{};
};

} // namespace vkf
