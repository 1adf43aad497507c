// SPDX-License-Identifier: MIT
#include "problem/strides.hpp"

namespace vkf {

ByteStrides byteStrides(const VkfTensorLayout& layout) {
    const auto bytes = [&](uint64_t elements) { return vkfStoredBytes(layout.type, elements); };
    return {layout.rows > 1 ? bytes(layout.rowStride) : 0, layout.heads > 1 ? bytes(layout.headStride) : 0,
            layout.batch > 1 ? bytes(layout.batchStride) : 0};
}

VkfResult chooseStrideShift(const std::array<ByteStrides, 4>& strides, uint32_t* shift, VkfMessage* message,
                            const std::array<const char*, 4>& names) {
    *shift = 0;
    constexpr uint32_t maxShift = 31; // of SHIFT64 in shaders/common/address64.glsl
    for (size_t i = 0; i < strides.size(); i++) {
        while (std::max(strides[i].head, strides[i].batch) >> *shift > max32) {
            ++*shift;
        }
        if (*shift > maxShift) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "a head or batch stride of %s is over 2^63 - 1 bytes",
                        names[i]);
        }
    }
    const uint64_t unit = uint64_t{1} << *shift;
    for (size_t i = 0; i < strides.size(); i++) {
        if (strides[i].row > max32) {
            return fail(message, VKF_ERROR_UNSUPPORTED,
                        "the row stride of %s is %llu bytes; it must be at most 4294967295", names[i],
                        static_cast<unsigned long long>(strides[i].row));
        }
        if ((strides[i].head | strides[i].batch) % unit != 0) {
            return fail(message, VKF_ERROR_UNSUPPORTED,
                        "the head and batch strides of %s must be multiples of %llu bytes, because a stride is over "
                        "4294967295 bytes",
                        names[i], static_cast<unsigned long long>(unit));
        }
    }
    return VKF_SUCCESS;
}

uint64_t roundUp(uint64_t x, uint32_t multiple) { return (x + multiple - 1) / multiple * multiple; }

VkfTensorLayout scratchLayout(const VkfProblem& p, uint32_t batch, uint32_t dim, uint32_t rowMultiple,
                              uint32_t columnMultiple) {
    VkfTensorLayout layout{};
    layout.type = VKF_TYPE_F32;
    layout.batch = batch;
    layout.heads = p.queryHeads;
    layout.rows = static_cast<uint32_t>(roundUp(p.queryRows, rowMultiple));
    layout.dim = dim;
    layout.rowStride = roundUp(dim, columnMultiple);
    layout.headStride = layout.rowStride * layout.rows;
    layout.batchStride = layout.headStride * layout.heads;
    layout.elements = layout.batchStride * layout.batch;
    return layout;
}

VkfTensorLayout probabilitiesLayout(const VkfProblem& p) {
    VkfProblem written = p;
    written.queryRows = probabilityRows(p);
    return scratchLayout(written, p.batch, p.keys, 1, 1);
}

bool inWholeWords(const VkfTensorLayout& layout) {
    return inWholeWords(layout, isBlockType(layout.type) ? blockWordBytes : loadedWordBytes);
}

bool inWholeWords(const VkfTensorLayout& layout, uint32_t word) {
    const ByteStrides strides = byteStrides(layout);
    return vkfStoredBytes(layout.type, layout.dim) % word == 0 &&
           (strides.row | strides.head | strides.batch) % word == 0;
}

} // namespace vkf
