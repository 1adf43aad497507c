// SPDX-License-Identifier: MIT
//
// What several threads compile: each key once, different keys side by side.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include <vkflash/vkflash.h>

namespace vkf {

template <typename Key, typename Value> class CompiledOnce {
public:
    // Returns the value of a key, and makes it with compile(Value*) if it is new. Thread-safe: several threads can
    // compile different keys at the same time. Each key is compiled once, unless its compilation fails. A caller never
    // waits for the compilation of another key.
    template <typename Compile> VkfResult get(const Key& key, Value* value, const Compile& compile) {
        if (findOrReserve(key, value)) {
            return VKF_SUCCESS;
        }
        VkfResult result = VKF_SUCCESS;
        try {
            result = compile(value);
        } catch (...) {
            settle(key, nullptr);
            throw;
        }
        settle(key, result == VKF_SUCCESS ? value : nullptr);
        return result;
    }

    // Calls visit(value) for each value. No other thread may use the object.
    template <typename Visit> void forEach(const Visit& visit) const {
        for (const auto& [key, value] : values_) {
            visit(*value);
        }
    }

private:
    // Fills *value, or reserves the key for the caller to compile. Waits while another thread compiles the key.
    bool findOrReserve(const Key& key, Value* value) {
        std::unique_lock lock(mutex_);
        for (;;) {
            const auto [entry, isNew] = values_.try_emplace(key);
            if (isNew) {
                return false;
            }
            if (entry->second) {
                *value = *entry->second;
                return true;
            }
            // If the other thread's compilation fails, this thread tries again and gets an error of its own.
            settled_.wait(lock);
        }
    }

    // Ends the reservation: keeps the value, or forgets the key if there is none.
    void settle(const Key& key, const Value* value) {
        {
            const std::lock_guard lock(mutex_);
            if (value != nullptr) {
                values_.at(key) = *value;
            } else {
                values_.erase(key);
            }
        }
        settled_.notify_all();
    }

    std::mutex mutex_; // guards values_; no thread compiles while it holds it
    std::condition_variable settled_;
    std::map<Key, std::optional<Value>> values_; // empty while a thread compiles
};

} // namespace vkf
