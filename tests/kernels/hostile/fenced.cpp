// SPDX-License-Identifier: MIT
#include "kernels/hostile/fenced.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace vkf::test {

namespace {

uint64_t pageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t wholePages(uint64_t bytes) { return (bytes + pageBytes() - 1) / pageBytes() * pageBytes(); }

} // namespace

std::optional<Fenced> Fenced::create(host::Device& device, uint64_t bytes) {
    host::Buffer buffer = device.createBuffer(bytes + 2 * pageBytes(), host::Memory::staging);
    if (device.summary().kind != host::DeviceKind::cpu ||
        buffer.address() != reinterpret_cast<uintptr_t>(buffer.mapped())) {
        return std::nullopt;
    }
    return Fenced(std::move(buffer));
}

Fenced::Fenced(Fenced&& other) noexcept : buffer_(std::move(other.buffer_)), next_(std::exchange(other.next_, 0)) {}

Fenced::~Fenced() { clear(); }

void Fenced::clear() noexcept {
    if (next_ != 0 && mprotect(at(0), next_, PROT_READ | PROT_WRITE) != 0) {
        std::abort(); // nobody could use or free this memory
    }
    next_ = 0;
}

// The memory begins at the first whole page of the buffer.
std::byte* Fenced::at(uint64_t offset) const noexcept {
    const uint64_t unused = wholePages(buffer_.address()) - buffer_.address();
    return static_cast<std::byte*>(buffer_.mapped()) + unused + offset;
}

void Fenced::forbidPage(uint64_t first) {
    if (mprotect(at(first), pageBytes(), PROT_NONE) != 0) {
        throw std::runtime_error("mprotect failed");
    }
}

VkfBinding Fenced::place(uint64_t bytes, bool atBegin) { return place(nullptr, bytes, atBegin); }

VkfBinding Fenced::place(const void* values, uint64_t bytes, bool atBegin) {
    VkfBinding binding{};
    if (bytes == 0) {
        return binding;
    }
    const uint64_t first = next_ + pageBytes();
    const uint64_t end = first + wholePages(bytes);
    if (end + 2 * pageBytes() > buffer_.size()) {
        throw std::runtime_error("the fenced memory is full");
    }
    forbidPage(next_);
    forbidPage(end);
    next_ = end + pageBytes();
    std::byte* const to = at(atBegin ? first : end - bytes);
    binding.address = reinterpret_cast<uintptr_t>(to);
    binding.size = bytes;
    if (values != nullptr) {
        std::memcpy(to, values, bytes);
    } else {
        std::memset(to, 0xff, bytes);
    }
    return binding;
}

} // namespace vkf::test
