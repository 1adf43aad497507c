// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "accelerator.hpp"
#include "log.hpp"
#include "problem.hpp"

namespace vkf::ggml {
namespace {

// The first submission of a graph is small, so that the device begins soon. Later ones are larger, because a
// submission costs more than a node.
constexpr uint32_t fewestSteps = 8;
constexpr uint32_t maxStepsOfAll = 256;
// The limit of a plan's own steps on plain units. Steps on matrix units may have more: each is then a submission of its
// own.
constexpr double maxOperations = double{VKF_DEFAULT_STEP_OPERATIONS};

bool hasWork(const ggml_tensor& node) {
    return !onlyDescribes(node) && (node.flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && !ggml_is_empty(&node);
}

host::Error invalid(const std::string& text) { return {VKF_ERROR_INVALID_ARGUMENT, text}; }

ggml_status statusOf(VkfResult result) {
    const bool memory = result == VKF_ERROR_OUT_OF_HOST_MEMORY || result == VKF_ERROR_OUT_OF_DEVICE_MEMORY;
    return memory ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

} // namespace

Stream::Stream(Accelerator& accelerator, ggml_backend_buffer_type_t bufferType)
    : accelerator_(accelerator), bufferType_(bufferType), ring_(accelerator), plans_(accelerator) {}

Stream::~Stream() {
    try {
        ring_.wait();
        accelerator_.deleteBuffer(std::move(scratch_));
    } catch (const host::Error& error) {
        log(GGML_LOG_LEVEL_ERROR, error.what());
    }
}

ggml_status Stream::compute(ggml_cgraph* graph) noexcept {
    ggml_status status = GGML_STATUS_FAILED;
    try {
        const uint64_t messages = accelerator_.validationMessages();
        try {
            call_ = {};
            startRecording();
            maxSteps_ = fewestSteps;
            const int nodes = ggml_graph_n_nodes(graph);
            for (int i = 0; i < nodes; i++) {
                const ggml_tensor& node = *ggml_graph_node(graph, i);
                if (hasWork(node)) {
                    record(node);
                }
            }
            flush();
            ring_.wait();
            status = accelerator_.validationMessages() == messages ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
        } catch (const host::Error& error) {
            status = statusOf(error.result());
            log(GGML_LOG_LEVEL_ERROR, error.what());
        }
        ring_.wait(); // after an error too: the caller may free tensors that the device uses
    } catch (...) {
        logException("compute");
        status = GGML_STATUS_FAILED;
    }
    return status;
}

void Stream::record(const ggml_tensor& node) {
    if (call_.node != &node) {
        prepare(node);
    }
    const uint32_t steps = call_.plan->info.stepCount;
    if (call_.plan->info.operations <= maxOperations) {
        recordSteps(0, steps);
        return;
    }
    for (uint32_t step = 0; step < steps; step++) {
        flush();
        recordSteps(step, 1);
    }
    flush();
}

void Stream::prepare(const ggml_tensor& node) {
    if (node.op != GGML_OP_FLASH_ATTN_EXT) {
        throw invalid(std::string("cannot compute a node ") + ggml_op_desc(&node));
    }
    NodeProblem asked;
    const std::string reason = describe(node, &asked);
    if (!reason.empty()) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, reason);
    }
    call_.plan = planOf(asked);
    growScratch(call_.plan->info.scratchBytes);
    bind(node, asked);
    call_.node = &node;
}

CachedPlan* Stream::planOf(const NodeProblem& asked) {
    CachedPlan* plan = plans_.find(asked);
    if (plan == nullptr) {
        if (plans_.full()) {
            flush();
            ring_.wait();
        }
        plan = plans_.make(asked);
    }
    return plan;
}

void Stream::growScratch(uint64_t bytes) {
    if (bytes <= scratch_.size()) {
        return;
    }
    flush();
    ring_.wait();
    accelerator_.deleteBuffer(std::move(scratch_));
    scratch_ = accelerator_.newBuffer(bytes);
}

void Stream::bind(const ggml_tensor& node, const NodeProblem& asked) {
    VkfBindings& call = call_.bindings;
    call = vkf::make<VkfBindings>();
    call.q = binding(node.src[sourceQ], "q");
    call.k = binding(node.src[sourceK], "k");
    call.v = binding(node.src[sourceV], "v");
    call.o = binding(&node, "the result");
    if (has(asked.problem, VKF_USE_BIAS)) {
        call.bias = binding(node.src[sourceMask], "mask");
    }
    if (has(asked.problem, VKF_USE_SINKS)) {
        call.sinks = binding(node.src[sourceSinks], "sinks");
    }
    if (has(asked.problem, VKF_USE_BIAS_FACTORS)) {
        call.biasFactors = call_.plan->factors.binding();
    }
    call.scratch = scratch_.binding();
}

// The size reaches to the end of the tensor's buffer, so that the library finds tensors that pass it.
VkfBinding Stream::binding(const ggml_tensor* tensor, const char* name) const {
    VkfBinding binding{};
    if (ggml_is_empty(tensor)) {
        return binding;
    }
    ggml_backend_buffer_t buffer = tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
    if (buffer == nullptr || tensor->data == nullptr) {
        throw invalid(std::string(name) + " has no memory");
    }
    if (ggml_backend_buffer_get_type(buffer) != bufferType_) {
        throw invalid(std::string(name) + " lies in a buffer of " + ggml_backend_buffer_name(buffer) +
                      ", which the device cannot read");
    }
    const auto base = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer));
    const auto data = reinterpret_cast<uintptr_t>(tensor->data);
    const size_t alignment = ggml_backend_buft_get_alignment(bufferType_);
    const size_t bytes = (ggml_backend_buffer_get_size(buffer) + alignment - 1) / alignment * alignment;
    if (data < base || data - base >= bytes) {
        throw invalid(std::string(name) + " lies outside of its buffer");
    }
    binding.address = data;
    binding.size = bytes - (data - base);
    return binding;
}

void Stream::recordSteps(uint32_t first, uint32_t count) {
    if (commands_ != VK_NULL_HANDLE &&
        (recordedSteps_ >= maxSteps_ || recordedOperations_ + call_.plan->info.operations > maxOperations)) {
        flush();
    }
    if (commands_ == VK_NULL_HANDLE) {
        commands_ = ring_.begin();
    } else {
        ring_.barrier(commands_);
    }
    VkfMessage message{};
    const VkfResult result =
        vkfCmdAttentionSteps(commands_, call_.plan->plan.get(), &call_.bindings, first, count, &message);
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
    recordedSteps_++;
    recordedOperations_ += call_.plan->info.operations;
}

void Stream::flush() {
    if (commands_ == VK_NULL_HANDLE) {
        return;
    }
    startRecording();
    maxSteps_ = std::min(2 * maxSteps_, maxStepsOfAll);
    ring_.submit();
}

void Stream::startRecording() {
    commands_ = VK_NULL_HANDLE;
    recordedSteps_ = 0;
    recordedOperations_ = 0;
}

} // namespace vkf::ggml
