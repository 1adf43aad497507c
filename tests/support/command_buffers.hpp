// SPDX-License-Identifier: MIT
//
// Secondary command buffers. Each has its own pool, so threads can record at once.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <vkflash/host.hpp>

namespace vkf::test {

class CommandBuffers {
public:
    CommandBuffers(host::Device& device, size_t count);
    ~CommandBuffers();
    CommandBuffers(const CommandBuffers&) = delete;
    CommandBuffers& operator=(const CommandBuffers&) = delete;

    // Begins, records and ends buffer `index`. Threads may work on different buffers at once.
    void record(size_t index, const std::function<void(VkCommandBuffer)>& commands);
    // A barrier between two calls that write the same output.
    void barrier(VkCommandBuffer commandBuffer) const;
    // Runs all buffers in one submission.
    void submitAll();

private:
    template <typename Function> Function load(const char* name) const;

    host::Device& device_;
    std::vector<VkCommandPool> pools_;
    std::vector<VkCommandBuffer> buffers_;
};

} // namespace vkf::test
