// SPDX-License-Identifier: MIT
#include "measure/problem_memory.hpp"

#include <algorithm>
#include <cmath>

#include "measure/own_objects.hpp"
#include "tensors/block_mask.hpp"
#include "tensors/cache.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr double rotatedBytes = 512.0 * 1024 * 1024;

constexpr std::array<VkfTensorRole, 3> inputRoles = {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V};

uint64_t bytesOf(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

uint64_t lseElements(const VkfProblem& problem) {
    return has(problem, VKF_USE_LSE) ? uint64_t{problem.batch} * problem.queryHeads * problem.queryRows : 0;
}

// Generating billions of numbers takes longer than using them, so the inputs repeat some numbers. The count is a prime,
// or a prime number of blocks. Therefore no row of a tensor equals another row, and no tile looks like its neighbour.
constexpr uint64_t repeatedElements = 1048573;
constexpr uint64_t repeatedBlocks = 32749;

} // namespace

uint64_t repeatedOf(VkfType type) {
    const uint64_t block = vkfBlockElements(type);
    return block == 1 ? repeatedElements : repeatedBlocks * block;
}

void repeat(host::Device& device, std::span<const std::byte> block, const host::Buffer& to, uint64_t bytes) {
    uint64_t done = std::min<uint64_t>(block.size(), bytes);
    device.upload(to, block.data(), done);
    const auto copy = load<PFN_vkCmdCopyBuffer>(device, "vkCmdCopyBuffer");
    for (uint64_t copied = 0; done < bytes; done += copied) {
        copied = std::min(done, bytes - done);
        const VkBufferCopy region{0, done, copied};
        device.submit([&](VkCommandBuffer commands) { copy(commands, to.handle(), to.handle(), 1, &region); });
    }
}

bool ensureRoom(host::Device& device, host::Buffer& buffer, uint64_t bytes) {
    if (buffer.size() >= bytes)
        return false;
    buffer = {};
    buffer = device.createBuffer(bytes);
    return true;
}

void BenchMemory::prepare(const VkfProblem& problem, uint64_t scratchBytes, size_t maxSets, double blockDensity) {
    problem_ = problem;
    blockMask_ = randomBlockMask(problem_, blockDensity, 1);
    blockTable_ = shuffledPages(problem_);
    chosenKeys_ = scatteredKeys(problem_);
    blockMaskBuffer_ = uploaded(device_, blockMask_);
    blockTableBuffer_ = uploaded(device_, blockTable_);
    chosenKeysBuffer_ = uploaded(device_, chosenKeys_);
    tensorBytes_ = bytesOf(vkf::layoutOf(problem_, VKF_TENSOR_O)) + lseElements(problem_) * sizeof(float);
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (inputOf(i) != i)
            continue;
        const VkfTensorLayout layout = vkf::layoutOf(problem_, inputRoles[i]);
        generate(i, layout);
        tensorBytes_ += bytesOf(layout);
    }
    const double setBytes = std::max(1.0, static_cast<double>(tensorBytes_ + scratchBytes));
    const auto wanted = static_cast<size_t>(std::min(std::ceil(rotatedBytes / setBytes), 1e6));
    count_ = std::clamp<size_t>(wanted, 1, maxSets);
    sets_.resize(std::max(sets_.size(), count_)); // never shrinks; the next shape may need as many sets as the last one
    for (size_t i = 0; i < count_; ++i)
        fill(i, scratchBytes);
}

void BenchMemory::generate(size_t input, const VkfTensorLayout& layout) {
    Input& there = inputs_[input];
    const uint64_t elements = std::min(repeatedOf(layout.type), layout.elements);
    if (there.type == layout.type && there.block.size() >= vkfStoredBytes(layout.type, elements))
        return;
    // A longer input starts with the shorter one. Sets of the same type therefore stay valid.
    if (there.type != layout.type)
        for (Set& set : sets_)
            set.inputs[input] = {};
    there.type = layout.type;
    there.bytes = {};
    there.block = normalBlock(layout.type, elements, input + 1);
}

void BenchMemory::fill(size_t index, uint64_t scratchBytes) {
    Set& set = sets_[index];
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const uint64_t bytes = inputOf(i) == i ? bytesOf(vkf::layoutOf(problem_, inputRoles[i])) : 0;
        if (ensureRoom(device_, set.inputs[i], bytes))
            repeat(device_, inputs_[i].block, set.inputs[i], bytes);
    }
    ensureRoom(device_, set.o, bytesOf(vkf::layoutOf(problem_, VKF_TENSOR_O)));
    ensureRoom(device_, set.lse, lseElements(problem_) * sizeof(float));
    poison(index);
    // Scratch may take gigabytes for one path. The next path may need that memory.
    if (set.scratch.size() != scratchBytes)
        set.scratch = {};
    ensureRoom(device_, set.scratch, scratchBytes);
}

void BenchMemory::poison(size_t set) {
    device_.fill(sets_[set].o, notANumber);
    device_.fill(sets_[set].lse, notANumber);
}

VkfBindings BenchMemory::bindings(size_t set) const {
    const Set& from = sets_[set];
    auto bindings = make<VkfBindings>();
    bindings.q = from.inputs[0].binding();
    bindings.k = from.inputs[1].binding();
    bindings.v = from.inputs[inputOf(VKF_TENSOR_V)].binding();
    bindings.o = from.o.binding();
    bindings.lse = from.lse.binding();
    bindings.blockMask = blockMaskBuffer_.binding();
    bindings.blockTable = blockTableBuffer_.binding();
    bindings.chosenKeys = chosenKeysBuffer_.binding();
    bindings.scratch = from.scratch.binding();
    return bindings;
}

std::vector<std::byte> BenchMemory::inputRange(VkfTensorRole role, uint64_t firstElement, uint64_t elements) const {
    const Input& input = inputs_[inputOf(static_cast<size_t>(role))];
    std::vector<std::byte> bytes(vkfStoredBytes(input.type, elements));
    repeatBlock(input.block, vkfStoredBytes(input.type, firstElement), bytes);
    return bytes;
}

host::HostTensors BenchMemory::downloadOutputs(size_t set) {
    o_.resize(bytesOf(vkf::layoutOf(problem_, VKF_TENSOR_O)));
    lse_.resize(lseElements(problem_));
    device_.download(o_.data(), sets_[set].o, o_.size());
    device_.download(lse_.data(), sets_[set].lse, lse_.size() * sizeof(float));
    host::HostTensors tensors;
    tensors.o = o_.data();
    tensors.lse = lse_.empty() ? nullptr : lse_.data();
    tensors.blockMask = blockMask_.data();
    tensors.blockTable = blockTable_.data();
    tensors.chosenKeys = chosenKeys_.data();
    return tensors;
}

host::HostTensors BenchMemory::download(size_t set) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const VkfTensorLayout layout = vkf::layoutOf(problem_, inputRoles[i]);
        if (inputOf(i) == i && inputs_[i].bytes.size() < bytesOf(layout))
            inputs_[i].bytes = inputRange(inputRoles[i], 0, layout.elements);
    }
    host::HostTensors tensors = downloadOutputs(set);
    tensors.q = inputs_[0].bytes.data();
    tensors.k = inputs_[1].bytes.data();
    tensors.v = inputs_[inputOf(VKF_TENSOR_V)].bytes.data();
    return tensors;
}

} // namespace vkf::tools
