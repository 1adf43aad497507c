// SPDX-License-Identifier: MIT
//
// Memory for calls on a device that computes on the CPU. Pages that nobody may touch lie around each array. A kernel
// that reads or writes past an array ends the program by a signal, and the running test case fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <vkflash/host.hpp>

namespace vkf::test {

class Fenced {
public:
    // Empty on devices whose addresses are not addresses of this process.
    static std::optional<Fenced> create(host::Device& device, uint64_t bytes);
    Fenced(Fenced&& other) noexcept;
    Fenced& operator=(Fenced&&) = delete;
    ~Fenced();

    // Room for an array. It ends at a forbidden page, or with `atBegin` it begins at one. No bytes have no binding.
    VkfBinding place(uint64_t bytes, bool atBegin);
    template <typename T> VkfBinding place(const std::vector<T>& values, bool atBegin) {
        return place(values.data(), values.size() * sizeof(T), atBegin);
    }
    // Frees all arrays.
    void clear() noexcept;

private:
    explicit Fenced(host::Buffer buffer) : buffer_(std::move(buffer)) {}
    VkfBinding place(const void* values, uint64_t bytes, bool atBegin);
    std::byte* at(uint64_t offset) const noexcept;
    void forbidPage(uint64_t first);

    host::Buffer buffer_;
    uint64_t next_ = 0; // first byte behind the last array's fence
};

} // namespace vkf::test
