// SPDX-License-Identifier: MIT
//
// A shared library for tests of the program `vkflash`, which LD_PRELOAD puts into it. One allocation of C++ throws.
// Environment:
//   VKFLASH_FAULTY_ALLOCATION  which one, from 0 on. Counted are calls of operator new from the program's own code and
//                              after it looks for the Vulkan loader. So a driver in the process never fails, and
//                              neither does CLI11, some of whose functions end the program if they cannot allocate.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

std::atomic<long> untilFailure = -1; // allocations before the one that fails; below 0 = none fails
uintptr_t codeBegin = 0;
uintptr_t codeEnd = 0;

// The first object of the list is the program.
int rememberProgram(dl_phdr_info* info, size_t, void*) {
    codeBegin = UINTPTR_MAX;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
            codeBegin = begin < codeBegin ? begin : codeBegin;
            codeEnd = begin + segment.p_memsz > codeEnd ? begin + segment.p_memsz : codeEnd;
        }
    }
    return 1;
}

void beginCounting() {
    dl_iterate_phdr(rememberProgram, nullptr);
    const char* number = std::getenv("VKFLASH_FAULTY_ALLOCATION");
    untilFailure = number != nullptr ? std::atol(number) : -1;
}

void* allocate(size_t bytes, const void* caller) {
    const auto from = reinterpret_cast<uintptr_t>(caller);
    const bool fails = from >= codeBegin && from < codeEnd && untilFailure >= 0 && untilFailure-- == 0;
    void* const memory = fails ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

} // namespace

#define VKF_TEST_EXPORTED __attribute__((visibility("default")))

VKF_TEST_EXPORTED void* operator new(size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
VKF_TEST_EXPORTED void* operator new[](size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
VKF_TEST_EXPORTED void operator delete(void* memory) noexcept { std::free(memory); }
VKF_TEST_EXPORTED void operator delete[](void* memory) noexcept { std::free(memory); }
VKF_TEST_EXPORTED void operator delete(void* memory, size_t) noexcept { std::free(memory); }
VKF_TEST_EXPORTED void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

extern "C" VKF_TEST_EXPORTED void* dlopen(const char* name, int flags) {
    const auto open = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
    if (name != nullptr && std::string_view(name).starts_with("libvulkan") && codeEnd == 0) {
        beginCounting();
    }
    return open(name, flags);
}
