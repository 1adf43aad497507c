// SPDX-License-Identifier: MIT
//
// Kernels that are compiled when somebody first asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "functions/kernels.hpp"

namespace vkf::functions {

// Thread-safe: several threads may compile different kernels at the same time.
class KernelCache {
public:
    explicit KernelCache(UserFile file) : file_(std::move(file)) {}

    const UserFile& file() const { return file_; }

    // Returns the SPIR-V of a kernel, which stays where it is until the cache is destroyed. The first thread that asks
    // for it compiles it, and the others wait. A compilation that fails is tried again by the next call. Throws Error.
    const std::vector<uint32_t>& words(const std::string& name) {
        Kernel& kernel = find(name);
        const std::lock_guard lock(kernel.mutex);
        if (kernel.words.empty()) {
            kernel.words = compileKernel(file_, name);
        }
        return kernel.words;
    }

private:
    struct Kernel {
        std::mutex mutex;
        std::vector<uint32_t> words; // never change once they are there
    };

    Kernel& find(const std::string& name) {
        const std::lock_guard lock(mutex_);
        return kernels_[name];
    }

    UserFile file_;
    std::mutex mutex_;
    std::map<std::string, Kernel> kernels_; // its elements keep their places
};

} // namespace vkf::functions
