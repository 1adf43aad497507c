// SPDX-License-Identifier: MIT
//
// vkflash verify --functions: checks the masks and scores of examples/functions against their formulas in fp64.
#pragma once

#include <cstdint>

#include "cli/options.hpp"

namespace vkf::tools {

struct FunctionChecks {
    DeviceFlags device;
    VkfPath path;
    VkfType type; // of all tensors
    uint64_t seed;
    uint32_t sampleRows; // rows of each head to check; 0 = all
    bool backward;       // check gradients too; `path` is then that of the backward pass
};

// Prints a line for each file. Throws ProgramError at the first wrong result.
void verifyFunctions(const FunctionChecks& checks);

} // namespace vkf::tools
