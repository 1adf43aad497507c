// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "log.hpp"

namespace vkf::layer {
namespace {

constexpr VkAccessFlags reads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_MEMORY_READ_BIT;
constexpr VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
constexpr VkPipelineStageFlags computeStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

// The kernels read words of up to 16 bytes. A descriptor may end in the middle of one. So its range counts up to the
// end of the word, but not past the end of the buffer.
constexpr VkDeviceSize loadBytes = 16;

// Vulkan counts push constants in words of 4 bytes.
constexpr uint32_t constantBytes = 4;

// A device without memory is not asked for more in every call.
constexpr uint32_t requestsBeforeRetry = 256;

VkDeviceSize roundUp(VkDeviceSize bytes) { return (bytes + loadBytes - 1) / loadBytes * loadBytes; }

// Orders all memory accesses of the stages: those of compute shaders, or of all commands.
void barrier(const DeviceFunctions& next, VkCommandBuffer commands, VkPipelineStageFlags stages) {
    const bool compute = stages == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    memory.srcAccessMask = compute ? VK_ACCESS_SHADER_WRITE_BIT : VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = memory.srcAccessMask | (compute ? VK_ACCESS_SHADER_READ_BIT : VK_ACCESS_MEMORY_READ_BIT);
    next.CmdPipelineBarrier(commands, stages, stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

} // namespace

void CommandBuffer::reset() {
    pipeline_ = VK_NULL_HANDLE;
    kernel_ = nullptr;
    setLayout_ = VK_NULL_HANDLE;
    set_ = VK_NULL_HANDLE;
    constants_ = {};
    heldBack_ = nullptr;
    scratchBusy_ = true;
    kept_.clear();
}

void CommandBuffer::pipelineBound(VkPipelineBindPoint point, VkPipeline pipeline) {
    if (point == VK_PIPELINE_BIND_POINT_COMPUTE) {
        pipeline_ = pipeline;
        kernel_ = device_.findKernel(pipeline);
    }
}

void CommandBuffer::setsBound(VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t count,
                              const VkDescriptorSet* sets, uint32_t dynamicOffsets) {
    if (point == VK_PIPELINE_BIND_POINT_COMPUTE && first == 0 && count != 0) {
        if (dynamicOffsets != 0) {
            beforeOtherCommand(); // which could not bind them again
        }
        setLayout_ = layout;
        set_ = dynamicOffsets == 0 ? sets[0] : VK_NULL_HANDLE;
    }
}

void CommandBuffer::constantsPushed(VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset, uint32_t bytes,
                                    const void* values) {
    if (offset + bytes > constants_.bytes.size()) {
        constantsUntracked();
        return;
    }
    if (layout != constants_.layout || stages != constants_.stages || constants_.untracked) {
        constants_.layout = layout;
        constants_.stages = stages;
        constants_.words = 0;
        constants_.untracked = false;
    }
    constants_.words |= wordMask(offset, bytes);
    std::memcpy(constants_.bytes.data() + offset, values, bytes);
}

void CommandBuffer::barrierRecorded(VkPipelineStageFlags before, VkPipelineStageFlags after, uint32_t count,
                                    const VkMemoryBarrier* barriers) {
    if ((before & computeStages) == 0 || (after & computeStages) == 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool ordersWrites = (barriers[i].srcAccessMask & writes) != 0 &&
                                  (barriers[i].dstAccessMask & writes) != 0 && (barriers[i].dstAccessMask & reads) != 0;
        scratchBusy_ = scratchBusy_ && !ordersWrites;
    }
}

void CommandBuffer::dispatch(uint32_t x, uint32_t y, uint32_t z) {
    if (kernel_ != nullptr && kernel_->kind == KernelKind::attention) {
        beforeOtherCommand();
        dispatchAttention({x, y, z});
        return;
    }
    if (heldBack_) {
        ReductionConstants reduction{};
        if (kernel_ != nullptr && pushed(sizeof reduction)) {
            std::memcpy(&reduction, constants_.bytes.data(), sizeof reduction);
            if (recordInsteadOf(reduction)) {
                return;
            }
        }
        recordHeldBack();
    }
    next().CmdDispatch(handle_, x, y, z);
}

void CommandBuffer::dispatchAttention(std::array<uint32_t, 3> groups) {
    std::string refusal = "push constants or descriptors were set in a way that the layer does not follow";
    if (pushed(pushConstantBytes) && set_ != VK_NULL_HANDLE) {
        Dispatch dispatch{kernel_->constants, {}, groups};
        std::memcpy(&dispatch.push, constants_.bytes.data(), sizeof dispatch.push);
        std::shared_ptr<const PlannedCall> call = device_.plans().find(dispatch);
        const BoundBuffers buffers = device_.descriptors().find(set_);
        refusal = call->refusal;
        if (refusal.empty() && dispatch.push.splits > 1) {
            heldBack_ = std::make_unique<HeldBack>(
                HeldBack{std::move(call), dispatch, buffers, pipeline_, setLayout_, set_, constants_, {}});
            return;
        }
        if (refusal.empty()) {
            refusal = record(*call, buffers, buffers[atResult]);
        }
    }
    if (refusal.empty()) {
        tally().replaced();
        return;
    }
    tally().passedThrough(refusal);
    next().CmdDispatch(handle_, groups[0], groups[1], groups[2]);
}

bool CommandBuffer::recordInsteadOf(const ReductionConstants& reduction) {
    const BoundBuffers buffers = device_.descriptors().find(set_);
    const VkDescriptorBufferInfo& partial = heldBack_->buffers[atResult];
    const bool sameSinks = reduction.sinks == 0 || heldBack_->buffers[atSinks].buffer == buffers[atReducedSinks].buffer;
    if (!belongs(reduction, heldBack_->dispatch) || !sameSinks || partial.buffer != buffers[atSplits].buffer ||
        partial.offset != buffers[atSplits].offset) {
        return false;
    }
    heldBack_->refusal = record(*heldBack_->call, heldBack_->buffers, buffers[atReduced]);
    if (!heldBack_->refusal.empty()) {
        return false;
    }
    heldBack_ = nullptr;
    tally().replaced();
    return true;
}

void CommandBuffer::recordHeldBack() {
    const std::unique_ptr<HeldBack> held = std::move(heldBack_);
    tally().passedThrough(held->refusal.empty() ? "no reduction follows an attention kernel with key splits"
                                                : held->refusal);
    next().CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, held->pipeline);
    next().CmdBindDescriptorSets(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, held->setLayout, 0, 1, &held->set, 0,
                                 nullptr);
    next().CmdPushConstants(handle_, held->constants.layout, held->constants.stages, 0, pushConstantBytes,
                            held->constants.bytes.data());
    next().CmdDispatch(handle_, held->dispatch.groups[0], held->dispatch.groups[1], held->dispatch.groups[2]);
    // The application's barrier behind the dispatch is recorded already, so that it is too early.
    barrier(next(), handle_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    if (set_ != VK_NULL_HANDLE) {
        next().CmdBindDescriptorSets(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, setLayout_, 0, 1, &set_, 0, nullptr);
    }
    restoreBindings();
}

std::string CommandBuffer::record(const PlannedCall& call, const BoundBuffers& buffers,
                                  const VkDescriptorBufferInfo& result) {
    auto bindings = vkf::make<VkfBindings>();
    std::string refusal = bind(call, buffers, result, bindings);
    if (refusal.empty() && call.scratchBytes != 0) {
        refusal = takeScratch(call.scratchBytes, bindings);
    }
    if (!refusal.empty()) {
        return refusal;
    }
    VkfMessage message{};
    if (vkfCmdAttention(handle_, call.plan.get(), &bindings, &message) != VKF_SUCCESS) {
        return message.text;
    }
    scratchBusy_ = scratchBusy_ || call.scratchBytes != 0;
    keep(call.factors);
    restoreBindings();
    return {};
}

std::string CommandBuffer::bind(const PlannedCall& call, const BoundBuffers& buffers,
                                const VkDescriptorBufferInfo& result, VkfBindings& bindings) const {
    struct Bound {
        VkfBinding* to;
        const VkDescriptorBufferInfo* from;
        bool used;
    };
    const std::array all = {
        Bound{&bindings.q, &buffers[atQ], true},
        Bound{&bindings.k, &buffers[atK], true},
        Bound{&bindings.v, &buffers[atV], true},
        Bound{&bindings.bias, &buffers[atMask], (call.use & VKF_USE_BIAS) != 0},
        Bound{&bindings.sinks, &buffers[atSinks], (call.use & VKF_USE_SINKS) != 0},
        Bound{&bindings.o, &result, true},
    };
    for (const Bound& bound : all) {
        if (!bound.used) {
            continue;
        }
        const std::optional<KnownBuffer> known = device_.findBuffer(bound.from->buffer);
        if (!known || !known->hasAddress || bound.from->offset >= known->size) {
            return "a tensor is not in a storage buffer with a device address";
        }
        const VkDeviceSize rest = known->size - bound.from->offset;
        bound.to->buffer = bound.from->buffer;
        bound.to->offset = bound.from->offset;
        bound.to->size = bound.from->range == VK_WHOLE_SIZE ? rest : std::min(rest, roundUp(bound.from->range));
    }
    if (bindings.bias.buffer != VK_NULL_HANDLE && bindings.bias.size < call.maskBytes) {
        return "the mask is larger than its binding";
    }
    if (call.factors != nullptr) {
        bindings.biasFactors = call.factors->binding();
    }
    return {};
}

std::string CommandBuffer::takeScratch(VkDeviceSize bytes, VkfBindings& bindings) {
    if (!growScratch(bytes)) {
        return "there is no memory for scratch memory";
    }
    const std::shared_ptr<Memory>& scratch = pool_->scratch;
    if (scratchBusy_) {
        barrier(next(), handle_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    }
    scratchBusy_ = false;
    bindings.scratch = scratch->binding();
    keep(scratch);
    return {};
}

bool CommandBuffer::growScratch(VkDeviceSize bytes) {
    std::shared_ptr<Memory>& scratch = pool_->scratch;
    if (scratch != nullptr && scratch->size() >= bytes) {
        return true;
    }
    if (pool_->lacking != 0 && bytes >= pool_->lacking && ++pool_->requests % requestsBeforeRetry != 0) {
        return false;
    }
    // Twice the old size, so that a growing cache needs few allocations. Commands that use the old memory keep it.
    const VkDeviceSize twice = scratch == nullptr ? 0 : 2 * scratch->size();
    for (const VkDeviceSize size : {std::clamp(twice, bytes, mostScratchBytes), bytes}) {
        if (std::shared_ptr<Memory> grown = device_.allocate(size, false); grown != nullptr) {
            scratch = std::move(grown);
            pool_->lacking = 0;
            return true;
        }
    }
    pool_->lacking = bytes;
    pool_->requests = 0;
    return false;
}

void CommandBuffer::keep(const std::shared_ptr<Memory>& memory) {
    if (memory != nullptr && std::find(kept_.begin(), kept_.end(), memory) == kept_.end()) {
        kept_.push_back(memory);
    }
}

void CommandBuffer::restoreBindings() const {
    if (pipeline_ != VK_NULL_HANDLE) {
        next().CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    }
    constexpr uint32_t all = sizeof constants_.bytes / constantBytes;
    for (uint32_t word = 0; word < all; word++) {
        const uint32_t begin = word;
        while (word < all && (constants_.words >> word & 1) != 0) {
            word++;
        }
        if (word > begin) {
            next().CmdPushConstants(handle_, constants_.layout, constants_.stages, begin * constantBytes,
                                    (word - begin) * constantBytes,
                                    constants_.bytes.data() + size_t{begin} * constantBytes);
        }
    }
}

uint64_t CommandBuffer::wordMask(uint32_t offset, uint32_t bytes) {
    const uint32_t count = bytes / constantBytes;
    const uint64_t ones = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    return count == 0 ? 0 : ones << (offset / constantBytes);
}

} // namespace vkf::layer
