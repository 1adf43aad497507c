// SPDX-License-Identifier: MIT
//
// What ggml calls a backend: a stream of graphs. One thread computes with it at a time.
#pragma once

#include <ggml-backend.h>

#include <vkflash/vkflash.hpp>

#include "commands.hpp"
#include "plans.hpp"

namespace vkf::ggml {

class Stream {
public:
    Stream(Accelerator& accelerator, ggml_backend_buffer_type_t bufferType);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Computes the nodes of a graph, one after the other, and waits for the device. Logs why it fails.
    ggml_status compute(ggml_cgraph* graph) noexcept;

private:
    // One node, ready to be recorded.
    struct Call {
        const ggml_tensor* node = nullptr;
        CachedPlan* plan = nullptr;
        VkfBindings bindings{};
    };
    void record(const ggml_tensor& node);
    void prepare(const ggml_tensor& node);
    CachedPlan* planOf(const NodeProblem& asked);
    void bind(const ggml_tensor& node, const NodeProblem& asked);
    VkfBinding binding(const ggml_tensor* tensor, const char* name) const;
    void growScratch(uint64_t bytes);
    void recordSteps(uint32_t first, uint32_t count);
    void flush();
    void startRecording();

    Accelerator& accelerator_;
    ggml_backend_buffer_type_t bufferType_;
    CommandRing ring_;
    PlanCache plans_;
    host::Buffer scratch_;                      // all nodes share it, because they run one after the other
    Call call_;                                 // of the last node: graphs that measure repeat one node
    VkCommandBuffer commands_ = VK_NULL_HANDLE; // that is being recorded
    uint32_t recordedSteps_ = 0;                // in commands_
    double recordedOperations_ = 0;             // in commands_
    uint32_t maxSteps_ = 0;                     // of the next submission
};

} // namespace vkf::ggml
