// SPDX-License-Identifier: MIT
#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t allocations = 0;

void* allocate(size_t bytes, size_t alignment) {
    ++allocations;
    // aligned_alloc wants a multiple of the alignment, and both may return null for no bytes.
    const size_t rounded = (bytes / alignment + 1) * alignment;
    void* memory =
        alignment <= alignof(std::max_align_t) ? std::malloc(rounded) : std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

} // namespace

// The array and nothrow forms of the standard library call these.
void* operator new(size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) { return allocate(bytes, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace vkf::test {

size_t allocationCount() noexcept { return allocations; }

} // namespace vkf::test
