// SPDX-License-Identifier: MIT
#include "pipelines/tensor_maps.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "pipelines/wgmma_kernels.hpp"

namespace vkf {
namespace {

using Strides = std::array<uint64_t, 3>; // bytes, from dimension 1 on

// Heads and sequences have no limit here, because no coordinate is past them. A chip refuses a map with a limit of 2^32.
constexpr uint32_t anyNumber = 0xffff;

// What a chip of compute capability 9.0 reads. The layout is what `tensormap.replace` writes, field by field (Parallel
// Thread Execution ISA, 9.7.9.27), and cuTensorMapEncodeTiled beside it:
//
//     words 0, 1     address
//     word 2         bits 4 to 6 dimensions - 1, 7 to 10 type, 13 and 14 swizzle, 17 and 18 bytes that L2 reads at once
//     words 3 to 6   strides / 16, lower 32 bits, without that of dimension 0
//     word 7         their upper 4 bits
//     words 8 to 12  lengths - 1
//     word 13        bits 24 to 31 length of a box - 1, in dimension 0
//     word 14        the same in dimensions 1 to 4, 8 bits each
//     words 16, 18   bytes of a box, bytes after which the swizzle repeats
shared::TensorMap tensorMap(uint64_t address, uint32_t columns, uint32_t keys, const Strides& strides,
                            uint32_t boxKeys) {
    constexpr uint32_t dimensions = 4;
    constexpr uint32_t halves = 6; // 16-bit numbers of fp16; the copy of bf16 is the same
    constexpr uint32_t swizzle128 = 3;
    constexpr uint32_t boxColumns = 64;
    constexpr uint32_t line = boxColumns * sizeof(uint16_t);
    shared::TensorMap map{};
    map.words[0] = static_cast<uint32_t>(address);
    map.words[1] = static_cast<uint32_t>(address >> 32);
    map.words[2] = (dimensions - 1) << 4 | halves << 7 | swizzle128 << 13;
    for (size_t i = 0; i < strides.size(); i++) {
        const uint64_t units = strides[i] / 16;
        map.words[3 + i] = static_cast<uint32_t>(units);
        map.words[7] |= static_cast<uint32_t>(units >> 32 & 0xf) << 4 * i;
    }
    map.words[8] = columns - 1;
    map.words[9] = keys - 1;
    map.words[10] = map.words[11] = anyNumber;
    map.words[13] = (boxColumns - 1) << 24;
    map.words[14] = boxKeys - 1;
    map.words[16] = boxKeys * line;
    map.words[18] = 8 * line;
    return map;
}

} // namespace

shared::WgmmaMaps tensorMapsOf(const shared::AttentionParams& params, const shared::WgmmaConstants& constants) {
    const shared::WgmmaTile& tile =
        wgmmaTileFor(Kernel::attentionWgmma, constants.head_dim, constants.value_dim);
    const auto mapOf = [&](uint64_t address, uint32_t tensor, uint32_t columns, uint32_t boxKeys) {
        const Strides strides = {params.row_stride[tensor],
                                 uint64_t{params.head_stride[tensor]} << constants.stride_shift,
                                 uint64_t{params.batch_stride[tensor]} << constants.stride_shift};
        return tensorMap(address, columns, params.keys, strides, boxKeys);
    };
    return {mapOf(params.k, VKF_K, constants.head_dim, tile.keys),
            mapOf(params.v, VKF_V, constants.value_dim, tile.keys / shared::WGMMA_MAP_PIECES)};
}

} // namespace vkf
