// SPDX-License-Identifier: MIT
#include "gpu_model.hpp"

#include <algorithm>
#include <cstring>

#include "program.hpp"

namespace {

uint32_t groupsOf64(uint32_t count) { return (count + 63) / 64; }

} // namespace

GpuModel::GpuModel(Gpu& gpu, const Weights& weights, const std::vector<int32_t>& prompt,
                   const std::vector<int32_t>& blockTable)
    : gpu_(gpu), kernels_(gpu.device()), context_(createContext(gpu)) {
    const VkfAppendProblem problem = appendProblem(1);
    const auto cacheOf = [&](VkfAppendRole role) {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        return gpu_.allocate(vkfStoredBytes(layout.type, layout.elements));
    };
    for (const Layer& layer : weights.layer) {
        layers_.push_back({upload(layer.attentionNorm), upload(layer.qkv), upload(layer.attentionOutput),
                           upload(layer.mlpNorm), upload(layer.gateAndUp), upload(layer.down), cacheOf(VKF_APPEND_K),
                           cacheOf(VKF_APPEND_V)});
    }
    embedding_ = upload(weights.embedding);
    norm_ = upload(weights.norm);
    output_ = upload(weights.output);
    const auto rows = static_cast<uint32_t>(prompt.size());
    const auto rowsOfFloats = [&](uint32_t columns) { return gpu_.allocate(size_t{rows} * columns * sizeof(float)); };
    x_ = rowsOfFloats(width);
    normed_ = rowsOfFloats(width);
    qkv_ = rowsOfFloats(qkvWidth);
    attended_ = rowsOfFloats(width);
    gateAndUp_ = rowsOfFloats(2 * hidden);
    gated_ = rowsOfFloats(hidden);
    logits_ = rowsOfFloats(vocabulary);
    history_ = gpu_.allocate(size_t{context} * vocabulary * sizeof(float));
    tokens_ = gpu_.allocate(size_t{context + 1} * sizeof(int32_t));
    std::memcpy(tokens_.mapped, prompt.data(), prompt.size() * sizeof(int32_t));
    blockTable_ = gpu_.allocate(blockTable.size() * sizeof(int32_t));
    std::copy(blockTable.begin(), blockTable.end(), static_cast<int32_t*>(blockTable_.mapped));
    lengths_ = gpu_.allocate(sizeof(int32_t));
    *static_cast<int32_t*>(lengths_.mapped) = 0;
    newLengths_ = gpu_.allocate(sizeof(int32_t));
}

Allocation GpuModel::upload(const std::vector<float>& values) {
    const Allocation allocation = gpu_.allocate(values.size() * sizeof(float));
    std::memcpy(allocation.mapped, values.data(), values.size() * sizeof(float));
    return allocation;
}

Step GpuModel::prepare(uint32_t rows) {
    VkfMessage message{};
    Step step;
    step.rows = rows;
    const VkfAppendProblem append = appendProblem(rows);
    check(vkfCreateAppend(context_.get(), &append, step.append.put(), &message), message);
    const VkfProblem attention = attentionProblem(rows);
    check(vkfCreatePlan(context_.get(), &attention, step.attention.put(), &message), message);
    auto info = vkf::make<VkfPlanInfo>();
    check(vkfGetPlanInfo(step.attention.get(), &info, &message), message);
    step.scratchBytes = info.scratchBytes;
    step.scratch = gpu_.allocate(info.scratchBytes);
    return step;
}

Arguments GpuModel::rowsOf(const Allocation& weight, const Allocation& source, const Allocation& target, uint32_t from,
                           uint32_t to) const {
    return {weight.address, source.address, target.address, tokens_.address, lengths_.address, from, to, 0, 0};
}

// Appends the new k and v to the cache, rotates q, and lets q attend to the new content of the cache.
void GpuModel::recordAttention(VkCommandBuffer commandBuffer, const Step& step, const LayerMemory& layer) const {
    VkfMessage message{};
    auto append = vkf::make<VkfAppendBindings>();
    append.q = append.rotatedQ = at(qkv_);
    append.newK = at(qkv_, size_t{heads} * headDim);
    append.newV = at(qkv_, size_t{heads + kvHeads} * headDim);
    append.k = at(layer.k);
    append.v = at(layer.v);
    append.lengths = at(lengths_);
    append.newLengths = at(newLengths_);
    append.blockTable = at(blockTable_);
    recordBarrier(commandBuffer);
    check(vkfCmdAppend(commandBuffer, step.append.get(), &append, &message), message);

    auto attention = vkf::make<VkfBindings>();
    attention.q = at(qkv_);
    attention.k = at(layer.k);
    attention.v = at(layer.v);
    attention.o = at(attended_);
    attention.keyLengths = at(newLengths_);
    attention.blockTable = at(blockTable_);
    attention.scratch = at(step.scratch);
    attention.scratch.size = step.scratchBytes;
    recordBarrier(commandBuffer);
    check(vkfCmdAttention(commandBuffer, step.attention.get(), &attention, &message), message);
}

void GpuModel::recordLayer(VkCommandBuffer commandBuffer, const Step& step, const LayerMemory& layer) const {
    const auto matvec = [&](const Allocation& weight, const Allocation& source, const Allocation& target, uint32_t from,
                            uint32_t to, uint32_t add) {
        Arguments arguments = rowsOf(weight, source, target, from, to);
        arguments.add = add;
        kernels_.record(commandBuffer, Kernel::matvec, arguments, to, step.rows);
    };
    kernels_.record(commandBuffer, Kernel::rmsNorm, rowsOf(layer.attentionNorm, x_, normed_, width, width), 1,
                    step.rows);
    matvec(layer.qkv, normed_, qkv_, width, qkvWidth, 0);
    recordAttention(commandBuffer, step, layer);
    matvec(layer.attentionOutput, attended_, x_, width, width, 1);
    kernels_.record(commandBuffer, Kernel::rmsNorm, rowsOf(layer.mlpNorm, x_, normed_, width, width), 1, step.rows);
    matvec(layer.gateAndUp, normed_, gateAndUp_, width, 2 * hidden, 0);
    kernels_.record(commandBuffer, Kernel::swiglu, rowsOf({}, gateAndUp_, gated_, 2 * hidden, hidden),
                    groupsOf64(hidden), step.rows);
    matvec(layer.down, gated_, x_, hidden, width, 1);
}

void GpuModel::record(VkCommandBuffer commandBuffer, const Step& step) const {
    kernels_.record(commandBuffer, Kernel::embed, rowsOf(embedding_, {}, x_, width, width), groupsOf64(width),
                    step.rows);
    for (const LayerMemory& layer : layers_) {
        recordLayer(commandBuffer, step, layer);
    }
    kernels_.record(commandBuffer, Kernel::rmsNorm, rowsOf(norm_, x_, normed_, width, width), 1, step.rows);
    kernels_.record(commandBuffer, Kernel::matvec, rowsOf(output_, normed_, logits_, width, vocabulary), vocabulary,
                    step.rows);
    Arguments sample = rowsOf({}, logits_, history_, vocabulary, vocabulary);
    sample.rows = step.rows;
    kernels_.record(commandBuffer, Kernel::sample, sample, 1, 1);
    recordBarrier(commandBuffer);
    VkfMessage message{};
    const VkfBinding lengths = at(lengths_);
    check(vkfCmdAdvance(commandBuffer, step.append.get(), &lengths, &message), message);
}
