// SPDX-License-Identifier: MIT
//
// vkflash/vkflash.hpp: owning handles and defaults for C++17, on top of vkflash.h. It adds no behaviour, allocates
// nothing and throws nothing.
//
//     vkf::Context context;
//     VkfResult result = vkfCreateContext(&info, context.put(), &message);
//     vkf::Plan plan; // after the context, so that it is destroyed before the context
//     result = vkfCreatePlan(context.get(), &problem, plan.put(), &message);
#ifndef VKFLASH_VKFLASH_HPP
#define VKFLASH_VKFLASH_HPP

#include <utility>

#include "vkflash.h"

namespace vkf {

// Returns a struct with structSize set and all other fields 0: `auto problem = vkf::make<VkfProblem>();`. `Struct` is a
// struct of the C interface that starts with structSize.
template <typename Struct> Struct make() {
    Struct value{};
    value.structSize = sizeof(Struct);
    return value;
}

// Returns a tensor of dense layout [batch, heads, rows, dim]: all strides are 0.
inline VkfTensor dense(VkfType type) {
    VkfTensor tensor{};
    tensor.type = type;
    return tensor;
}

// Returns a tensor of dense layout [batch, rows, heads, dim], as frameworks keep activations. rows, heads and dim are
// those of the tensor: queryRows, queryHeads and headDim for q.
inline VkfTensor rowsFirst(VkfType type, uint64_t rows, uint64_t heads, uint64_t dim) {
    VkfTensor tensor{};
    tensor.type = type;
    tensor.batchStride = rows * heads * dim;
    tensor.headStride = dim;
    tensor.rowStride = heads * dim;
    return tensor;
}

// Owns one library object, or none, and destroys it when it goes out of scope. Move-only. Declare a Context before the
// objects that are made from it, so that they are destroyed before the Context.
template <typename Handle, void (*destroy)(Handle)> class Unique {
public:
    // Owns nothing.
    Unique() = default;
    // Takes ownership of an object. `handle` may be null.
    explicit Unique(Handle handle) : handle_(handle) {}
    // Takes the object of `other`, which then owns nothing.
    Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    // Swaps the objects. `other` destroys the object that it got when it goes out of scope.
    Unique& operator=(Unique&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Unique() { destroy(handle_); }

    // The object, for calls of the C interface; null if there is none. Ownership does not change.
    Handle get() const noexcept { return handle_; }
    // Whether there is an object.
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    // Destroys the object that is owned, if any. Returns where a create function writes the new one.
    Handle* put() noexcept {
        destroy(std::exchange(handle_, nullptr));
        return &handle_;
    }

private:
    Handle handle_ = nullptr;
};

// Owning handles of the objects of vkflash.h.
using Context = Unique<VkfContext, vkfDestroyContext>;
using Plan = Unique<VkfPlan, vkfDestroyPlan>;
using Merge = Unique<VkfMerge, vkfDestroyMerge>;
using Append = Unique<VkfAppend, vkfDestroyAppend>;

} // namespace vkf

#endif
