// SPDX-License-Identifier: MIT
//
// Device memory of one array.
#pragma once

#include <cstdint>
#include <memory>

#include "device.hpp"

namespace vkf::python {

// Its buffer goes back to the pool of the device when nobody refers to the storage any more.
class Storage {
public:
    Storage(std::shared_ptr<Device> device, uint64_t bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    uint64_t bytes() const noexcept { return bytes_; }
    const std::shared_ptr<Device>& device() const noexcept { return device_; }
    const host::Buffer& buffer() const noexcept { return buffer_; }
    // Binding of the bytes from `offset` on.
    VkfBinding binding(uint64_t offset) const;

    // Copies the bytes that an array of the host spans to the storage. Strides are not negative.
    void upload(nb::handle array, uint64_t offset);
    // Copies bytes of the storage to a contiguous array of the host.
    void download(nb::handle array, uint64_t offset);
    // Copies bytes of another storage of the same device.
    void copyFrom(const Storage& from, uint64_t fromOffset, uint64_t offset, uint64_t bytes);

private:
    void requireRange(uint64_t offset, uint64_t bytes) const;

    std::shared_ptr<Device> device_;
    uint64_t bytes_;
    host::Buffer buffer_;
};

void defineStorage(nb::module_& module);

} // namespace vkf::python
