// SPDX-License-Identifier: MIT
//
// The tiles of the backward pass on path wgmma. Head dimensions alone decide them, because the kernels are compiled
// before.
#pragma once

#include <cstdint>
#include <string>

#include "pipelines/wgmma_kernels.hpp"
#include "tiles/backward/backward_tile.hpp"

namespace vkf {

struct BackwardWgmmaTile {
    Kernel kernel{};
    const shared::WgmmaTile* sizes = nullptr; // null = no tile
    BackwardOwner owner{};                    // rows or keys

    bool makesDqOrDk() const { return true; }
    bool makesDv() const { return owner == BackwardOwner::keys; }
    bool needsDp() const { return true; }
    uint32_t workgroupSize() const { return sizes != nullptr ? sizes->threads : 0; }
    uint32_t rows() const { return sizes->rows; }
    uint32_t keys() const { return sizes->keys; }
    uint32_t sharedBytes() const { return sizes->shared_bytes; }
    // A warpgroup of 128 threads owns 64 rows or keys. A thread holds half a row of each sum, of s and of dp, and a
    // quarter of a row of each operand.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// The tile of the kernel that owns rows or keys. It has no workgroup if the device takes too few invocations or has too
// little shared memory, or if a dimension is over maxWgmmaDim.
BackwardWgmmaTile chooseBackwardWgmmaTile(const Caps& caps, BackwardOwner owner, uint32_t headDim, uint32_t valueDim);

} // namespace vkf
