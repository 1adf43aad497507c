// SPDX-License-Identifier: MIT
#include "objects.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace vkf::layer {
namespace {

// The loader's own pointer at the start of an object: the same for all objects of an instance, and for all of a device.
template <typename Handle> void* keyOf(Handle handle) {
    return handle == VK_NULL_HANDLE ? nullptr : *reinterpret_cast<void**>(handle);
}

struct Objects {
    std::shared_mutex mutex;
    std::unordered_map<void*, std::unique_ptr<Instance>> instances;
    std::unordered_map<void*, std::unique_ptr<Device>> devices;
    std::map<std::pair<const Device*, VkCommandPool>, std::shared_ptr<CommandPool>> pools;
    std::unordered_map<VkCommandBuffer, std::unique_ptr<CommandBuffer>> commandBuffers;
    // Changes whenever a device or a command buffer comes or goes, because Vulkan may give its handle to a new one.
    std::atomic<uint64_t> generation{1};
};

Objects& objects() {
    static auto* all = new Objects; // never destroyed: other threads may still run when the program ends
    return *all;
}

template <typename Map, typename Key> auto* findIn(Map& map, const Key& key) {
    const std::shared_lock lock(objects().mutex);
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second.get();
}

// The object that a thread asked for last. A thread asks for one device and one command buffer many times in turn.
template <typename Handle, typename Object> class Last {
public:
    template <typename Find> Object* find(Handle handle, const Find& lookUp) {
        const uint64_t generation = objects().generation.load(std::memory_order_relaxed);
        if (handle_ != handle || generation_ != generation) {
            handle_ = handle;
            generation_ = generation;
            object_ = lookUp();
        }
        return object_;
    }

private:
    Handle handle_ = VK_NULL_HANDLE;
    uint64_t generation_ = 0;
    Object* object_ = nullptr;
};

void removeHandles(Objects& all, const std::vector<VkCommandBuffer>& handles) {
    for (VkCommandBuffer handle : handles) {
        all.commandBuffers.erase(handle);
    }
    all.generation.fetch_add(1);
}

} // namespace

void addInstance(std::unique_ptr<Instance> instance) {
    const std::unique_lock lock(objects().mutex);
    objects().instances[keyOf(instance->handle)] = std::move(instance);
}

void removeInstance(VkInstance handle) {
    const std::unique_lock lock(objects().mutex);
    objects().instances.erase(keyOf(handle));
}

Instance* instanceOf(VkInstance handle) { return findIn(objects().instances, keyOf(handle)); }
Instance* instanceOf(VkPhysicalDevice handle) { return findIn(objects().instances, keyOf(handle)); }

Device& addDevice(std::unique_ptr<Device> device) {
    const std::unique_lock lock(objects().mutex);
    std::unique_ptr<Device>& place = objects().devices[keyOf(device->handle())];
    place = std::move(device);
    objects().generation.fetch_add(1);
    return *place;
}

void removeDevice(VkDevice handle) {
    Objects& all = objects();
    const std::unique_lock lock(all.mutex);
    const auto device = all.devices.find(keyOf(handle));
    if (device == all.devices.end()) {
        return;
    }
    // What is left of a device that an application destroys with objects.
    std::vector<VkCommandBuffer> left;
    for (const auto& [commands, state] : all.commandBuffers) {
        if (&state->device() == device->second.get()) {
            left.push_back(commands);
        }
    }
    removeHandles(all, left);
    const Device* gone = device->second.get();
    for (auto pool = all.pools.begin(); pool != all.pools.end();) {
        pool = pool->first.first == gone ? all.pools.erase(pool) : std::next(pool);
    }
    all.devices.erase(device);
}

Device* deviceOf(VkDevice handle) {
    thread_local Last<VkDevice, Device> last;
    return last.find(handle, [=] { return findIn(objects().devices, keyOf(handle)); });
}

void addCommandPool(Device& device, VkCommandPool pool) {
    const std::unique_lock lock(objects().mutex);
    objects().pools[{&device, pool}] = std::make_shared<CommandPool>();
}

void resetCommandPool(const Device& device, VkCommandPool pool) {
    Objects& all = objects();
    const std::shared_lock lock(all.mutex);
    const auto found = all.pools.find({&device, pool});
    if (found == all.pools.end()) {
        return;
    }
    for (VkCommandBuffer handle : found->second->commandBuffers) {
        all.commandBuffers.at(handle)->reset();
    }
}

void removeCommandPool(const Device& device, VkCommandPool pool) {
    Objects& all = objects();
    const std::unique_lock lock(all.mutex);
    const auto found = all.pools.find({&device, pool});
    if (found != all.pools.end()) {
        removeHandles(all, found->second->commandBuffers);
        all.pools.erase(found);
    }
}

void addCommandBuffers(Device& device, VkCommandPool pool, uint32_t count, const VkCommandBuffer* handles) {
    Objects& all = objects();
    const std::unique_lock lock(all.mutex);
    std::shared_ptr<CommandPool>& shared = all.pools[{&device, pool}];
    if (shared == nullptr) {
        shared = std::make_shared<CommandPool>();
    }
    for (uint32_t i = 0; i < count; i++) {
        all.commandBuffers[handles[i]] = std::make_unique<CommandBuffer>(device, pool, shared, handles[i]);
        shared->commandBuffers.push_back(handles[i]);
    }
}

void removeCommandBuffers(uint32_t count, const VkCommandBuffer* handles) {
    Objects& all = objects();
    const std::unique_lock lock(all.mutex);
    for (uint32_t i = 0; i < count; i++) {
        const auto found = all.commandBuffers.find(handles[i]);
        if (found == all.commandBuffers.end()) {
            continue; // a null handle
        }
        const auto pool = all.pools.find({&found->second->device(), found->second->pool()});
        if (pool != all.pools.end()) {
            std::vector<VkCommandBuffer>& own = pool->second->commandBuffers;
            own.erase(std::remove(own.begin(), own.end(), handles[i]), own.end());
        }
        removeHandles(all, {handles[i]});
    }
}

CommandBuffer& commandBufferOf(VkCommandBuffer handle) {
    thread_local Last<VkCommandBuffer, CommandBuffer> last;
    return *last.find(handle, [=] { return findIn(objects().commandBuffers, handle); });
}

} // namespace vkf::layer
