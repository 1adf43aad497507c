// SPDX-License-Identifier: MIT
//
// The optional inputs and outputs of a call as host attention sees them: one row for each. The host library knows only
// the public headers, so that it needs this table besides that of the core library (src/problem/optional_inputs.hpp).
#pragma once

#include <array>
#include <cstdint>

#include <vkflash/host.hpp>
#include <vkflash/problem.hpp>

namespace vkf::host {

struct OptionalTensor {
    const char* name; // in messages
    VkfBinding VkfBindings::*binding;
    uint64_t (*bytes)(const VkfProblem&);     // 0 if the problem does not use it
    const void* (*input)(const HostTensors&); // null for outputs
    void* (*output)(const HostTensors&);      // null for inputs
};

inline constexpr size_t optionalTensorCount = 16;
extern const std::array<OptionalTensor, optionalTensorCount> optionalTensors;

} // namespace vkf::host
