// SPDX-License-Identifier: MIT
//
// The context that a plan, a merge, an append or a backward pass belongs to.
#pragma once

#include <atomic>
#include <cstdint>

#include <vkflash/vkflash.h>

namespace vkf {

// Whether a context counts its objects: with VKF_DEBUG_LIFETIMES, and in debug builds always.
constexpr bool countsObjects([[maybe_unused]] VkfDebug debug) {
#ifdef NDEBUG
    return (debug & VKF_DEBUG_LIFETIMES) != 0;
#else
    return true;
#endif
}

// The objects of a context that exist.
class LivingObjects {
public:
    explicit LivingObjects(bool counted) : counted_(counted) {}

    bool areCounted() const { return counted_; }
    uint32_t count() const { return count_; }
    void add() { ++count_; }
    void remove() { --count_; }

private:
    bool counted_;
    std::atomic<uint32_t> count_ = 0;
};

// A pointer to the context. While it exists it counts as an object of the context. Where objects are not counted, it
// does not touch the context when it goes: that may be gone already.
class ObjectContext {
public:
    ObjectContext(VkfContext context);
    ~ObjectContext();
    ObjectContext(const ObjectContext&) = delete;
    ObjectContext& operator=(const ObjectContext&) = delete;

    VkfContext_T* operator->() const { return context_; }
    VkfContext_T& operator*() const { return *context_; }

private:
    VkfContext context_;
    LivingObjects* living_ = nullptr; // null where objects are not counted
};

} // namespace vkf
