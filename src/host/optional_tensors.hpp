// SPDX-License-Identifier: MIT
//
// The optional inputs and outputs of a call as host attention sees them: where each array has its binding and its host
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vkflash/host.hpp>
#include <vkflash/problem.hpp>

namespace vkf::host {

struct OptionalTensor {
    VkfArray array;
    const char* name; // in messages
    VkfBinding VkfBindings::*binding;
    const void* (*input)(const HostTensors&); // null for outputs
    void* (*output)(const HostTensors&);      // null for inputs

    // Bytes of the array; 0 if the problem does not use it.
    uint64_t bytes(const VkfProblem& problem) const { return vkfGetArrayBytes(&problem, array); }
};

std::span<const OptionalTensor> optionalTensors();

// Copies the arrays that the functions of a problem read to buffers. A buffer is made anew if an array has another size
// than before.
void uploadFunctionArrays(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          std::vector<Buffer>* buffers);

void bindFunctionArrays(const std::vector<Buffer>& buffers, VkfBindings* bindings);

} // namespace vkf::host
