// SPDX-License-Identifier: MIT
//
// Buffers with memory of their own: on the device, mapped, or host memory of another owner that the device takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vkflash/host.hpp>

#include "device/vulkan_functions.hpp"

namespace vkf::mpi {

enum class Place {
    device, // fast for kernels
    host,   // mapped, coherent, cached by the CPU
};

class Gpu;

// A buffer and its memory. Move-only. The Gpu must outlive it.
class Memory {
public:
    Memory() = default;
    Memory(const Gpu& gpu, uint64_t bytes, Place place);
    // Host memory of another owner, for copies. Address and bytes are multiples of Gpu::importAlignment.
    static Memory import(const Gpu& gpu, std::byte* host, uint64_t bytes);
    Memory(Memory&& other) noexcept { swap(other); }
    Memory& operator=(Memory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Memory();

    uint64_t bytes() const { return bytes_; }
    VkBuffer handle() const { return buffer_; }
    std::byte* mapped() const { return mapped_; } // of Place::host
    VkfBinding binding(uint64_t offset, uint64_t bytes) const;
    VkDeviceAddress address(uint64_t offset = 0) const { return address_ + offset; }

private:
    void swap(Memory& other) noexcept;
    void create(uint64_t bytes, Place place);
    void createImport(std::byte* host, uint64_t bytes);

    const Gpu* gpu_ = nullptr;
    uint64_t bytes_ = 0;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceAddress address_ = 0;
    std::byte* mapped_ = nullptr;
};

} // namespace vkf::mpi
