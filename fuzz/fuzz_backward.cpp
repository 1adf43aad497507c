// SPDX-License-Identifier: MIT
//
// Reads any bytes as a VkfBackwardProblem and the VkfProblem behind it. The library must refuse them with a text, or
// accept them. If it accepts them, every tensor has an addressable size, and a second check gives the same answer.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "vkflash/problem.hpp"

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

// The library reads as far as structSize says, so the memory reaches as far as the largest size that it takes.
template <typename Struct> struct Memory {
    Struct known;
    uint8_t tail[4096];
};

// Without a default for structSize, almost every input would fail at its check.
template <typename Struct> void fill(Memory<Struct>& memory, const uint8_t* data, size_t size) {
    std::memcpy(&memory, data, std::min(size, sizeof(memory)));
    if (memory.known.structSize == 0)
        memory.known.structSize = sizeof(memory.known);
}

void requireLayout(const VkfBackwardProblem& problem, VkfBackwardRole role) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    const size_t bytes = vkfTypeBytes(layout.type);
    require(bytes == 2 || bytes == 4);
    require(layout.elements <= UINT64_MAX / bytes);
    const bool empty = layout.batch == 0 || layout.heads == 0 || layout.rows == 0 || layout.dim == 0;
    require(empty == (layout.elements == 0));
    require(empty || layout.elements >= layout.dim);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Memory<VkfBackwardProblem> backward;
    static Memory<VkfProblem> forward;
    backward = {};
    forward = {};
    const size_t first = std::min(size, sizeof(backward.known));
    fill(backward, data, first);
    fill(forward, data + first, size - first);
    VkfBackwardProblem& problem = backward.known;
    problem.forward = &forward.known;

    VkfMessage message;
    std::memset(&message, 'x', sizeof(message));
    const VkfResult result = vkfCheckBackward(&problem, &message);
    require(vkfCheckBackward(&problem, nullptr) == result);
    if (result != VKF_SUCCESS) {
        require(std::memchr(message.text, 0, sizeof(message.text)) != nullptr);
        require(std::strlen(message.text) > 0);
        require(vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS) == 0);
        return 0;
    }
    for (const VkfBackwardRole role : {VKF_BACKWARD_DOUT, VKF_BACKWARD_DQ, VKF_BACKWARD_DK, VKF_BACKWARD_DV})
        requireLayout(problem, role);
    // dbias has as many elements as the bias, whose size is rounded up to words.
    const uint64_t wanted = vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS);
    require(wanted == 0 || (problem.gradients & VKF_GRADIENT_BIAS) != 0);
    const uint64_t elements = wanted == 0 ? 0 : wanted / vkfTypeBytes(problem.dbiasType);
    const uint64_t biasBytes = vkfGetArrayBytes(&forward.known, VKF_ARRAY_BIAS);
    require(wanted == 0 || (elements * vkfTypeBytes(forward.known.bias.type) + 3) / 4 * 4 == biasBytes);
    return 0;
}
