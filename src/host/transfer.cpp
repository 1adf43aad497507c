// SPDX-License-Identifier: MIT
#include "host/transfer.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace vkf::host {
namespace {

// Whether there are gaps between the rows of a tensor. Rows do not overlap, so that a span as long as all rows together
// has no gaps.
bool hasGaps(const VkfTensorLayout& layout) {
    return layout.elements != uint64_t{layout.batch} * layout.heads * layout.rows * layout.dim;
}

void copyRows(const VkfTensorLayout& layout, const unsigned char* from, unsigned char* to) {
    const size_t elementBytes = vkfTypeBytes(layout.type);
    for (uint64_t batch = 0; batch < layout.batch; ++batch) {
        for (uint64_t head = 0; head < layout.heads; ++head) {
            for (uint64_t row = 0; row < layout.rows; ++row) {
                const uint64_t offset =
                    (batch * layout.batchStride + head * layout.headStride + row * layout.rowStride) * elementBytes;
                std::memcpy(to + offset, from + offset, layout.dim * elementBytes);
            }
        }
    }
}

} // namespace

uint64_t tensorBytes(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

void requirePointer(const void* pointer, uint64_t bytes, const char* name) {
    if (pointer == nullptr && bytes > 0) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, std::string(name) + " is null");
    }
}

void uploadAll(Device& device, const Buffer& to, const void* from, const char* name) {
    requirePointer(from, to.size(), name);
    device.upload(to, from, to.size());
}

void downloadAll(Device& device, void* to, const Buffer& from, const char* name) {
    requirePointer(to, from.size(), name);
    device.download(to, from, from.size());
}

void downloadRows(Device& device, const VkfTensorLayout& layout, void* to, const Buffer& from, const char* name) {
    if (to == nullptr || !hasGaps(layout)) {
        downloadAll(device, to, from, name);
        return;
    }
    std::vector<unsigned char> span(from.size());
    device.download(span.data(), from, span.size());
    copyRows(layout, span.data(), static_cast<unsigned char*>(to));
}

} // namespace vkf::host
