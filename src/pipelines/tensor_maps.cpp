// SPDX-License-Identifier: MIT
#include "pipelines/tensor_maps.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "pipelines/wgmma_kernels.hpp"

namespace vkf {
namespace {

// No head and no sequence is past the last one, so their limits only have to be large enough. The chip refuses 2^32.
constexpr uint32_t mostHeads = 0x10000;
constexpr uint32_t mostSequences = 0x80000000;

} // namespace

// What a chip of compute capability 9.0 reads. NVIDIA documents the fields (cuTensorMapEncodeTiled of the CUDA driver,
// and tensormap.replace of PTX), but not where they lie. That was found by comparing what cuTensorMapEncodeTiled
// writes for many arguments:
//
//     words 0 and 1    address
//     word 2           bits 4 to 6: dimensions - 1; 7 to 10: type; 13 and 14: swizzle
//     words 3 to 6     strides / 16, of all dimensions but the first one: the lower 32 bits
//     word 7           bits 4 i to 4 i + 3: the upper bits of word 3 + i
//     words 8 to 12    lengths of dimensions - 1
//     word 13          bits 24 to 31: length of a box in the first dimension - 1
//     word 14          bits 8 i to 8 i + 7: length of a box in dimension 1 + i, - 1
//     word 16          bytes of a box
//     word 18          bytes after which the swizzle repeats
//
// Zero stands for no interleaving, steps of one element, zeros outside of the tensor, and reads of L2 as they come.
shared::TensorMap tensorMap(uint64_t address, uint32_t columns, uint32_t keys, const std::array<uint64_t, 3>& strides,
                            uint32_t boxKeys) {
    constexpr uint32_t dimensions = 4;
    constexpr uint32_t fp16 = 6; // the copy of bf16 is the same
    constexpr uint32_t swizzle128Bytes = 3;
    constexpr uint32_t line = shared::WGMMA_BOX_COLUMNS * sizeof(uint16_t);
    shared::TensorMap map{};
    map.words[0] = static_cast<uint32_t>(address);
    map.words[1] = static_cast<uint32_t>(address >> 32);
    map.words[2] = (dimensions - 1) << 4 | fp16 << 7 | swizzle128Bytes << 13;
    for (uint32_t i = 0; i < strides.size(); i++) {
        const uint64_t words = strides[i] / 16;
        map.words[3 + i] = static_cast<uint32_t>(words);
        map.words[7] |= static_cast<uint32_t>(words >> 32 & 0xf) << 4 * i;
    }
    map.words[8] = columns - 1;
    map.words[9] = keys - 1;
    map.words[10] = mostHeads - 1;
    map.words[11] = mostSequences - 1;
    map.words[13] = (shared::WGMMA_BOX_COLUMNS - 1) << 24;
    map.words[14] = boxKeys - 1;
    map.words[16] = boxKeys * line;
    map.words[18] = 8 * line;
    return map;
}

shared::WgmmaMaps tensorMapsOf(const shared::CallParams& params, const shared::WgmmaConstants& constants) {
    const shared::WgmmaTile& tile = wgmmaTileFor(Kernel::attentionWgmma, constants.head_dim, constants.value_dim);
    const auto mapOf = [&](uint32_t tensor, uint32_t columns, uint32_t boxKeys) {
        const std::array<uint64_t, 3> strides = {params.row_stride[tensor],
                                                 uint64_t{params.head_stride[tensor]} << constants.stride_shift,
                                                 uint64_t{params.batch_stride[tensor]} << constants.stride_shift};
        return tensorMap(params.tensor[tensor], columns, params.keys, strides, boxKeys);
    };
    return {mapOf(VKF_K, constants.head_dim, tile.keys),
            mapOf(VKF_V, constants.value_dim, tile.keys / shared::WGMMA_MAP_PIECES)};
}

} // namespace vkf
