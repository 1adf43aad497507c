// SPDX-License-Identifier: MIT
#include "support/allocations.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace {

constexpr size_t ordinary = alignof(std::max_align_t);

constexpr size_t never = static_cast<size_t>(-1);

thread_local size_t allocations = 0;
thread_local size_t untilFailure = never; // allocations before the one that fails
thread_local bool failed = false;
thread_local uint32_t pauses = 0; // AllocationsWork objects

// Whether this allocation is the one that fails.
bool fails() noexcept {
    if (pauses != 0 || untilFailure == never) {
        return false;
    }
    failed = untilFailure == 0;
    untilFailure = failed ? never : untilFailure - 1;
    return failed;
}

// Windows has no aligned_alloc, and memory of its own function is not for free().
#if defined(_WIN32)
void* allocateAligned(size_t alignment, size_t bytes) noexcept { return _aligned_malloc(bytes, alignment); }
void releaseAligned(void* memory) noexcept { _aligned_free(memory); }
#else
void* allocateAligned(size_t alignment, size_t bytes) noexcept { return std::aligned_alloc(alignment, bytes); }
void releaseAligned(void* memory) noexcept { std::free(memory); }
#endif

void release(void* memory, std::align_val_t alignment) noexcept {
    static_cast<size_t>(alignment) <= ordinary ? std::free(memory) : releaseAligned(memory);
}

void* allocateOrNull(size_t bytes, size_t alignment) noexcept {
    ++allocations;
    if (fails()) {
        return nullptr;
    }
    // aligned_alloc needs a multiple of the alignment. Both functions may return null for 0 bytes.
    const size_t rounded = (bytes / alignment + 1) * alignment;
    return alignment <= ordinary ? std::malloc(rounded) : allocateAligned(alignment, rounded);
}

void* allocate(size_t bytes, size_t alignment = ordinary) {
    void* memory = allocateOrNull(bytes, alignment);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

} // namespace

// All forms of operator new. The standard library's forms would call the first one, but a sanitizer has its own.
void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocateOrNull(bytes, ordinary); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocateOrNull(bytes, ordinary); }
void* operator new(size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<size_t>(a)); }
void* operator new[](size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<size_t>(a)); }
void* operator new(size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocateOrNull(bytes, static_cast<size_t>(a));
}
void* operator new[](size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocateOrNull(bytes, static_cast<size_t>(a));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t a) noexcept { release(memory, a); }
void operator delete[](void* memory, std::align_val_t a) noexcept { release(memory, a); }
void operator delete(void* memory, size_t, std::align_val_t a) noexcept { release(memory, a); }
void operator delete[](void* memory, size_t, std::align_val_t a) noexcept { release(memory, a); }
void operator delete(void* memory, std::align_val_t a, const std::nothrow_t&) noexcept { release(memory, a); }
void operator delete[](void* memory, std::align_val_t a, const std::nothrow_t&) noexcept { release(memory, a); }

namespace vkf::test {

size_t allocationCount() noexcept { return allocations; }

FailingAllocation::FailingAllocation(size_t index) noexcept {
    failed = false;
    untilFailure = index;
}
FailingAllocation::~FailingAllocation() { untilFailure = never; }
bool FailingAllocation::happened() const noexcept { return failed; }

AllocationsWork::AllocationsWork() noexcept { ++pauses; }
AllocationsWork::~AllocationsWork() { --pauses; }

} // namespace vkf::test
