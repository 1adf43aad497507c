// SPDX-License-Identifier: MIT
//
// Reads any bytes as a VkfProblem. The library must refuse it with a text, or accept it. If it accepts it, every tensor
// has an addressable size, and a second check gives the same answer.
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

void requireLayout(const VkfProblem& problem, VkfTensorRole role) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    const uint64_t block = vkfBlockElements(layout.type);
    require(block == 1 || block == 32);
    require(layout.elements % block == 0);
    const uint64_t bytes = vkfStoredBytes(layout.type, block);
    require(bytes == 2 || bytes == 4 || (block == 32 && bytes >= 18 && bytes <= 34));
    require(layout.elements / block <= UINT64_MAX / bytes);
    const bool empty = layout.batch == 0 || layout.heads == 0 || layout.rows == 0 || layout.dim == 0;
    require(empty == (layout.elements == 0));
    require(empty || layout.elements >= layout.dim);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The library reads as far as structSize says, so the memory reaches as far as the largest size that it takes.
    struct {
        VkfProblem known;
        uint8_t tail[4096];
    } memory{};
    std::memcpy(&memory, data, size < sizeof(memory) ? size : sizeof(memory));
    VkfProblem& problem = memory.known;
    // Without this line, almost every input would fail at the check of structSize. Inputs that are longer than the
    // struct keep their own value.
    if (size <= sizeof(problem))
        problem.structSize = sizeof(problem);

    VkfMessage message;
    std::memset(&message, 'x', sizeof(message));
    const VkfResult result = vkfCheckProblem(&problem, &message);
    require(vkfCheckProblem(&problem, nullptr) == result);
    require(std::strlen(vkfResultString(result)) > 0);
    require(std::strlen(vkfPathName(problem.path)) > 0);
    require(std::strlen(vkfTypeName(problem.q.type)) > 0);
    if (result != VKF_SUCCESS) {
        require(std::memchr(message.text, 0, sizeof(message.text)) != nullptr);
        require(std::strlen(message.text) > 0);
        return 0;
    }
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O})
        requireLayout(problem, role);
    return 0;
}
