// SPDX-License-Identifier: MIT
#include "host/transfer.hpp"

#include <cstring>
#include <string>
#include <utility>

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

void Downloads::add(void* to, const Buffer& from, const char* name) {
    requirePointer(to, from.size(), name);
    if (from.size() == 0) {
        return;
    }
    // Without initializers, which would touch all the memory once more.
    std::unique_ptr<unsigned char[]> bytes(new unsigned char[from.size()]);
    device_.download(bytes.get(), from, from.size());
    copies_.push_back({std::move(bytes), from.size(), std::nullopt, static_cast<unsigned char*>(to)});
}

void Downloads::addRows(const VkfTensorLayout& layout, void* to, const Buffer& from, const char* name) {
    add(to, from, name);
    if (from.size() != 0 && hasGaps(layout)) {
        copies_.back().layout = layout;
    }
}

void Downloads::write() const noexcept {
    for (const Copy& copy : copies_) {
        if (copy.layout) {
            copyRows(*copy.layout, copy.bytes.get(), copy.to);
        } else {
            std::memcpy(copy.to, copy.bytes.get(), copy.size);
        }
    }
}

} // namespace vkf::host
