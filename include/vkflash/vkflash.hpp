// SPDX-License-Identifier: MIT
//
// vkflash/vkflash.hpp: owning handles and defaults for C++17 on top of vkflash.h. No behaviour of its
// own, no exceptions.
#ifndef VKFLASH_VKFLASH_HPP
#define VKFLASH_VKFLASH_HPP

#include <utility>

#include "vkflash.h"

namespace vkf {

// A zeroed struct with structSize set: `auto problem = vkf::make<VkfProblem>();`
template <typename Struct> Struct make() {
    Struct value{};
    value.structSize = sizeof(Struct);
    return value;
}

// A tensor of dense layout [batch, heads, rows, dim].
inline VkfTensor dense(VkfType type) {
    VkfTensor tensor{};
    tensor.type = type;
    return tensor;
}

// A tensor of layout [batch, rows, heads, dim], as frameworks keep activations.
inline VkfTensor rowsFirst(VkfType type, uint64_t rows, uint64_t heads, uint64_t dim) {
    VkfTensor tensor{};
    tensor.type = type;
    tensor.batchStride = rows * heads * dim;
    tensor.headStride = dim;
    tensor.rowStride = heads * dim;
    return tensor;
}

// Owns one library object; destroys it when it goes out of scope.
template <typename Handle, void (*destroy)(Handle)> class Unique {
public:
    Unique() = default;
    explicit Unique(Handle handle) : handle_(handle) {}
    Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Unique& operator=(Unique&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Unique() { destroy(handle_); }

    Handle get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    // For a create function to write into; what was owned before is destroyed.
    Handle* put() noexcept {
        destroy(std::exchange(handle_, nullptr));
        return &handle_;
    }

private:
    Handle handle_ = nullptr;
};

using Context = Unique<VkfContext, vkfDestroyContext>;
using Plan = Unique<VkfPlan, vkfDestroyPlan>;
using Merge = Unique<VkfMerge, vkfDestroyMerge>;
using Append = Unique<VkfAppend, vkfDestroyAppend>;

} // namespace vkf

#endif
