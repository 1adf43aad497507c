// SPDX-License-Identifier: MIT
//
// vkflash/vkflash.hpp: owning handles for C++17, on top of vkflash.h. It adds no behaviour, allocates nothing and
// throws nothing. problem.hpp, which it includes, has shorthands for problems.
//
//     vkf::Context context;
//     VkfResult result = vkfCreateContext(&info, context.put(), &message);
//     vkf::Plan plan; // after the context, so that it is destroyed before the context
//     result = vkfCreatePlan(context.get(), &problem, plan.put(), &message);
#ifndef VKFLASH_VKFLASH_HPP
#define VKFLASH_VKFLASH_HPP

#include <utility>

#include "problem.hpp"
#include "vkflash.h"

namespace vkf {

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
using Backward = Unique<VkfBackward, vkfDestroyBackward>;

} // namespace vkf

#endif
