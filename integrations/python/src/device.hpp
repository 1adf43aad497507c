// SPDX-License-Identifier: MIT
//
// A device that several threads of Python share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <nanobind/nanobind.h>
#include <vkflash/host.hpp>

namespace vkf::python {

namespace nb = nanobind;

// Buffers that nobody uses at the moment. A new buffer costs an allocation in the driver, which takes longer than many
// kernels.
class BufferPool {
public:
    // A buffer of at least `bytes` bytes. The caller is within Device::use().
    host::Buffer take(host::Device& device, uint64_t bytes);
    // Any thread may give a buffer back. take() alone destroys buffers, because they belong to the thread of use().
    void give(host::Buffer buffer) noexcept;
    // Destroys all buffers. The caller is within Device::use().
    void clear() noexcept;

private:
    host::Buffer takeFree(uint64_t bytes);

    std::mutex mutex_;
    std::vector<host::Buffer> free_; // the oldest first
    uint64_t freeBytes_ = 0;
};

class Device {
public:
    explicit Device(const host::DeviceOptions& options);

    // Calls work() without the lock of the interpreter, one thread at a time. All calls that need the device are in
    // here. A thread never waits for this mutex while it holds the lock of the interpreter.
    template <typename Work> auto use(const Work& work) {
        const nb::gil_scoped_release released;
        const std::lock_guard lock(mutex_);
        return work();
    }

    host::Device& host() noexcept { return device_; }
    BufferPool& pool() noexcept { return pool_; }
    // Copies bytes between two buffers, in a submission of its own. The caller is within use().
    void copy(const VkBufferCopy& range, const host::Buffer& from, const host::Buffer& to);

private:
    host::Device device_;
    BufferPool pool_;
    std::mutex mutex_;
    PFN_vkCmdCopyBuffer copyBuffer_ = nullptr;
};

// A buffer of a pool for the time of one call.
class PooledBuffer {
public:
    // The caller is within Device::use().
    PooledBuffer(Device& device, uint64_t bytes) : pool_(device.pool()) {
        if (bytes > 0) {
            buffer_ = pool_.take(device.host(), bytes);
        }
    }
    ~PooledBuffer() { pool_.give(std::move(buffer_)); }
    PooledBuffer(const PooledBuffer&) = delete;
    PooledBuffer& operator=(const PooledBuffer&) = delete;

    // All zeros without bytes.
    VkfBinding binding() const noexcept { return buffer_.binding(); }

private:
    BufferPool& pool_;
    host::Buffer buffer_;
};

// Throws the interpreter's exception if Ctrl-C was pressed. Long calls ask between steps, without the lock of the
// interpreter.
void raiseInterrupt();

void defineDevices(nb::module_& module);

} // namespace vkf::python
