// SPDX-License-Identifier: MIT
#include "tensors/random_tensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "tensors/block_mask.hpp"
#include "tensors/cache.hpp"
#include "tensors/generator.hpp"
#include "vkflash/problem.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

namespace {

std::vector<std::byte> normal(VkfType type, uint64_t elements, Generator& generator) {
    std::vector<std::byte> bytes(vkfStoredBytes(type, elements));
    std::array<float, 32> values{};
    const std::span block = std::span(values).first(std::max(vkfBlockElements(type), 1U));
    for (uint64_t i = 0; i < elements; ++i) {
        const double x = generator.nextNormal();
        block[i % block.size()] = static_cast<float>(x);
        if (vkfBlockElements(type) == 1)
            vkfStoreElement(type, bytes.data(), i, x);
        else if (i % block.size() == block.size() - 1)
            vkfQuantizeBlocks(type, block.data(), 1, &bytes[vkfStoredBytes(type, i + 1 - block.size())]);
    }
    return bytes;
}

std::vector<std::byte> normal(const VkfProblem& problem, VkfTensorRole role, Generator& generator) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    return normal(layout.type, layout.elements, generator);
}

} // namespace

std::vector<std::byte> normalBlock(VkfType type, uint64_t elements, uint64_t seed) {
    Generator generator(seed);
    return normal(type, elements, generator);
}

void repeatBlock(std::span<const std::byte> block, uint64_t first, std::span<std::byte> to) {
    uint64_t at = to.empty() ? 0 : first % block.size();
    for (size_t done = 0; done < to.size();) {
        const size_t bytes = std::min<size_t>(block.size() - at, to.size() - done);
        std::memcpy(to.data() + done, block.data() + at, bytes);
        done += bytes;
        at = 0;
    }
}

RandomTensors::RandomTensors(const VkfProblem& problem, uint64_t seed, double blockDensity) {
    Generator generator(seed);
    q = normal(problem, VKF_TENSOR_Q, generator);
    k = normal(problem, VKF_TENSOR_K, generator);
    v = normal(problem, VKF_TENSOR_V, generator);
    const VkfTensorLayout output = vkf::layoutOf(problem, VKF_TENSOR_O);
    o.assign(output.elements * vkfTypeBytes(output.type), std::byte{0xff}); // NaN in every type
    if (has(problem, VKF_USE_LSE))
        lse.assign(size_t{problem.batch} * problem.queryHeads * problem.queryRows,
                   std::numeric_limits<float>::quiet_NaN());
    if (has(problem, VKF_USE_KEY_LENGTHS))
        for (uint32_t i = 0; i < problem.batch; ++i)
            keyLengths.push_back(static_cast<int32_t>(generator.next() % (uint64_t{problem.keys} + 1)));
    blockMask = randomBlockMask(problem, blockDensity, generator.next());
    blockTable = shuffledPages(problem);
    chosenKeys = scatteredKeys(problem);
}

host::HostTensors RandomTensors::pointers(const VkfProblem& problem) {
    host::HostTensors tensors{.q = q.data(), .k = k.data(), .v = v.data()};
    tensors.o = o.data();
    tensors.lse = has(problem, VKF_USE_LSE) ? lse.data() : nullptr;
    tensors.keyLengths = has(problem, VKF_USE_KEY_LENGTHS) ? keyLengths.data() : nullptr;
    tensors.blockMask = has(problem, VKF_USE_BLOCK_MASK) ? blockMask.data() : nullptr;
    tensors.blockTable = has(problem, VKF_USE_BLOCK_TABLE) ? blockTable.data() : nullptr;
    tensors.chosenKeys = has(problem, VKF_USE_CHOSEN_KEYS) ? chosenKeys.data() : nullptr;
    return tensors;
}

VkfBackwardProblem gradientsOf(const VkfProblem& forward) {
    auto problem = make<VkfBackwardProblem>();
    problem.forward = &forward;
    problem.dout = forward.o;
    problem.dq = forward.q;
    problem.dk = forward.k;
    problem.dv = forward.v;
    return problem;
}

RandomGradients::RandomGradients(const VkfProblem& forward, uint64_t seed, uint64_t scratchBytes)
    : problem(gradientsOf(forward)) {
    problem.use |= VKF_USE_DLSE;
    problem.maxScratchBytes = scratchBytes;
    VkfMessage message{};
    if (const VkfResult code = vkfCheckBackward(&problem, &message); code != VKF_SUCCESS)
        throw host::Error(code, message.text);
    const VkfTensorLayout o = layoutOf(problem, VKF_BACKWARD_DOUT);
    dout = normalBlock(o.type, o.elements, seed + 1);
    dlse = normalBlock(VKF_TYPE_F32, uint64_t{o.batch} * o.heads * o.rows, seed + 2);
    dq = poisoned(VKF_BACKWARD_DQ);
    dk = poisoned(VKF_BACKWARD_DK);
    dv = poisoned(VKF_BACKWARD_DV);
}

host::HostGradients RandomGradients::pointers() {
    return {dout.data(), reinterpret_cast<const float*>(dlse.data()), dq.data(), dk.data(), dv.data(), nullptr,
            nullptr};
}

// NaN in every type, so that a check finds an element that was not written.
std::vector<std::byte> RandomGradients::poisoned(VkfBackwardRole role) const {
    const VkfTensorLayout layout = layoutOf(problem, role);
    return std::vector<std::byte>(layout.elements * vkfTypeBytes(layout.type), std::byte{0xff});
}

} // namespace vkf::tools
