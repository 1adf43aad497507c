// SPDX-License-Identifier: MIT
#include "kernels/hostile/fenced.hpp"

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

void Fenced::clear() {
    if (next_ != 0) {
        allow(true, 0, next_);
    }
    next_ = 0;
}

// Rounds to the pages that lie within the buffer as a whole.
void Fenced::allow(bool allowed, uint64_t first, uint64_t bytes) {
    const uint64_t begin = wholePages(buffer_.address() + first);
    if (mprotect(reinterpret_cast<void*>(begin), bytes, allowed ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
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
    allow(false, next_, pageBytes());
    allow(false, end, pageBytes());
    next_ = end + pageBytes();
    const uint64_t base = wholePages(buffer_.address());
    binding.address = base + (atBegin ? first : end - bytes);
    binding.size = bytes;
    auto* to = reinterpret_cast<void*>(binding.address);
    if (values != nullptr) {
        std::memcpy(to, values, bytes);
    } else {
        std::memset(to, 0xff, bytes);
    }
    return binding;
}

} // namespace vkf::test
