// SPDX-License-Identifier: MIT
#include "host/optional_tensors.hpp"

#include <array>
#include <cstring>

#include "host/transfer.hpp"

namespace vkf::host {
namespace {

using T = HostTensors;

template <auto field> const void* from(const T& tensors) { return tensors.*field; }
template <auto field> void* to(const T& tensors) { return tensors.*field; }

#define VKF_INPUT_ROW(NAME, member) {VKF_ARRAY_##NAME, #member, &VkfBindings::member, from<&T::member>, nullptr},
#define VKF_OUTPUT_ROW(NAME, member) {VKF_ARRAY_##NAME, #member, &VkfBindings::member, nullptr, to<&T::member>},
constexpr OptionalTensor rows[] = {VKF_FOR_EACH_OPTIONAL_INPUT(VKF_INPUT_ROW)
                                       VKF_FOR_EACH_OPTIONAL_OUTPUT(VKF_OUTPUT_ROW)};
#undef VKF_INPUT_ROW
#undef VKF_OUTPUT_ROW

} // namespace

std::span<const OptionalTensor> optionalTensors() { return rows; }

void uploadFunctionArrays(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          std::vector<Buffer>* buffers) {
    std::array<VkfFunctionArray, VKF_MAX_FUNCTION_ARRAYS> arrays{};
    const uint32_t count = vkfGetFunctionArrays(problem.functions, arrays.data(), VKF_MAX_FUNCTION_ARRAYS);
    buffers->resize(count);
    constexpr uint64_t wordBytes = 4; // kernels read whole words
    for (uint32_t i = 0; i < count; i++) {
        const HostArray& array = tensors.functionArrays[i];
        requirePointer(array.data, 1, arrays[i].name);
        std::vector<unsigned char> words((array.bytes + wordBytes - 1) / wordBytes * wordBytes);
        std::memcpy(words.data(), array.data, array.bytes);
        Buffer& buffer = (*buffers)[i];
        if (buffer.size() != words.size()) {
            buffer = device.createBuffer(words.size());
        }
        uploadAll(device, buffer, words.data(), arrays[i].name);
    }
}

void bindFunctionArrays(const std::vector<Buffer>& buffers, VkfBindings* bindings) {
    for (size_t i = 0; i < buffers.size(); i++) {
        bindings->functionArrays[i] = buffers[i].binding();
    }
}

} // namespace vkf::host
