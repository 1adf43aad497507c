// SPDX-License-Identifier: MIT
//
// Moves the tensors of a call between host arrays and buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <vkflash/host.hpp>

namespace vkf::host {

// Bytes from the first element of a tensor to one past the last one.
uint64_t tensorBytes(const VkfTensorLayout& layout);

// Throws Error if an array of `bytes` bytes has no memory. `name` is the array's name in messages.
void requirePointer(const void* pointer, uint64_t bytes, const char* name);

// Fills the whole buffer.
void uploadAll(Device& device, const Buffer& to, const void* from, const char* name);

// Downloads the outputs of a call: all of them, or nothing if anything fails. For this, it takes copies in host memory.
class Downloads {
public:
    explicit Downloads(Device& device) : device_(device) {}

    // Copies a whole buffer to the host, but writes nothing to `to` yet.
    void add(void* to, const Buffer& from, const char* name);
    // Does so with the rows of a tensor. Bytes between rows will keep their values.
    void addRows(const VkfTensorLayout& layout, void* to, const Buffer& from, const char* name);
    // Writes all outputs.
    void write() const noexcept;

private:
    struct Copy {
        std::unique_ptr<unsigned char[]> bytes;
        uint64_t size;
        std::optional<VkfTensorLayout> layout; // of a tensor with gaps between its rows
        unsigned char* to;
    };
    Device& device_;
    std::vector<Copy> copies_;
};

} // namespace vkf::host
