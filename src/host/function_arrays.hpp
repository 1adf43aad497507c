// SPDX-License-Identifier: MIT
//
// The arrays that the functions of a call read, in device memory.
#pragma once

#include <vector>

#include <vkflash/host.hpp>

namespace vkf::host {

// Copies the arrays of a problem to buffers. A buffer is made anew if an array has another size than before.
void uploadFunctionArrays(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          std::vector<Buffer>* buffers);

void bindFunctionArrays(const std::vector<Buffer>& buffers, VkfBindings* bindings);

} // namespace vkf::host
