// SPDX-License-Identifier: MIT
#include "benches/decode_step.hpp"

#include "benches/uploaded.hpp"
#include "cli/verdict.hpp"
#include "measure/compute_shader.hpp"
#include "measure/own_objects.hpp"

namespace vkf::tools {

namespace {

constexpr uint64_t seed = 1;

VkfProblem withLengths(VkfProblem problem) {
    enable(problem, VKF_USE_KEY_LENGTHS);
    return problem;
}

VkfAppendProblem appendOf(const VkfProblem& problem) {
    auto append = make<VkfAppendProblem>();
    append.batch = problem.batch;
    append.kvHeads = problem.kvHeads;
    append.queryHeads = problem.queryHeads;
    append.rows = problem.queryRows;
    append.keys = problem.keys;
    append.headDim = problem.headDim;
    append.newK = append.newV = append.q = append.rotatedQ = dense(problem.q.type);
    append.k = problem.k;
    append.v = problem.v;
    append.paging = problem.paging;
    append.rotary.pairs = VKF_ROTARY_HALVES;
    append.use = VKF_USE_QUERIES | VKF_USE_NEW_LENGTHS;
    enable(append, VKF_USE_BLOCK_TABLE, has(problem, VKF_USE_BLOCK_TABLE));
    return append;
}

Append createAppend(const host::Device& device, const VkfAppendProblem& problem) {
    Append append;
    VkfMessage message{};
    check(vkfCreateAppend(device.context(), &problem, append.put(), &message), message);
    return append;
}

} // namespace

DecodeStep::DecodeStep(host::Device& device, const StepShape& shape)
    : device_(device), problem_(withLengths(shape.attention)), appendProblem_(appendOf(problem_)),
      plan_(device, problem_), append_(createAppend(device, appendProblem_)), tensors_(problem_, seed),
      newK_(normalBlock(problem_.q.type, vkf::layoutOf(appendProblem_, VKF_APPEND_NEW_K).elements, seed + 1)),
      newV_(normalBlock(problem_.q.type, vkf::layoutOf(appendProblem_, VKF_APPEND_NEW_V).elements, seed + 2)),
      lengths_(problem_.batch, static_cast<int32_t>(shape.keysBefore)), q_(uploaded(device, tensors_.q)),
      rotatedQ_(device.createBuffer(tensors_.q.size())), newKBuffer_(uploaded(device, newK_)),
      newVBuffer_(uploaded(device, newV_)), lengthsBuffer_(uploaded(device, lengths_)),
      newLengths_(uploaded(device, lengths_)), blockTable_(uploaded(device, tensors_.blockTable)),
      scratch_(device.createBuffer(plan_.info().scratchBytes)) {
    for (uint32_t i = 0; i < shape.layers; ++i) {
        layers_.push_back(
            {uploaded(device, tensors_.k), uploaded(device, tensors_.v), uploaded(device, tensors_.o)}); // o is NaN
    }
}

void DecodeStep::recordAppend(VkCommandBuffer commands, const Layer& layer) const {
    auto bindings = make<VkfAppendBindings>();
    bindings.newK = newKBuffer_.binding();
    bindings.newV = newVBuffer_.binding();
    bindings.k = layer.k.binding();
    bindings.v = layer.v.binding();
    bindings.lengths = lengthsBuffer_.binding();
    bindings.newLengths = newLengths_.binding();
    bindings.blockTable = blockTable_.binding();
    bindings.q = q_.binding();
    bindings.rotatedQ = rotatedQ_.binding();
    VkfMessage message{};
    check(vkfCmdAppend(commands, append_.get(), &bindings, &message), message);
    recordComputeBarrier(device_, commands);
}

void DecodeStep::recordAttention(VkCommandBuffer commands, const Layer& layer) const {
    auto bindings = make<VkfBindings>();
    bindings.q = rotatedQ_.binding();
    bindings.k = layer.k.binding();
    bindings.v = layer.v.binding();
    bindings.o = layer.o.binding();
    bindings.keyLengths = newLengths_.binding();
    bindings.blockTable = blockTable_.binding();
    bindings.scratch = scratch_.binding();
    VkfMessage message{};
    check(vkfCmdAttention(commands, plan_.handle(), &bindings, &message), message);
    recordComputeBarrier(device_, commands);
}

void DecodeStep::recordAppends(VkCommandBuffer commands) const {
    for (const Layer& layer : layers_)
        recordAppend(commands, layer);
}

void DecodeStep::recordAttention(VkCommandBuffer commands) const {
    for (const Layer& layer : layers_)
        recordAttention(commands, layer);
}

void DecodeStep::record(VkCommandBuffer commands) const {
    for (const Layer& layer : layers_) {
        recordAppend(commands, layer);
        recordAttention(commands, layer);
    }
    const VkfBinding lengths = lengthsBuffer_.binding();
    VkfMessage message{};
    check(vkfCmdAdvance(commands, append_.get(), &lengths, &message), message);
    recordComputeBarrier(device_, commands);
}

VkfVerdict DecodeStep::verify(uint32_t steps) {
    std::vector<std::byte> q = tensors_.q;
    auto buffers = make<VkfAppendBuffers>();
    buffers.newK = newK_.data();
    buffers.newV = newV_.data();
    buffers.k = tensors_.k.data();
    buffers.v = tensors_.v.data();
    buffers.lengths = buffers.newLengths = lengths_.data();
    buffers.blockTable = tensors_.blockTable.data();
    buffers.q = tensors_.q.data();
    buffers.rotatedQ = q.data();
    VkfMessage message{};
    for (uint32_t i = 0; i < steps; ++i)
        check(vkfReferenceAppend(&appendProblem_, &buffers, &message), message);
    device_.download(tensors_.o.data(), layers_.back().o, tensors_.o.size());
    host::HostTensors tensors = tensors_.pointers(problem_);
    tensors.q = q.data();
    tensors.keyLengths = lengths_.data();
    return verifyResult(problem_, tensors, plan_.info());
}

} // namespace vkf::tools
