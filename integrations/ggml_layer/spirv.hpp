// SPDX-License-Identifier: MIT
//
// What a SPIR-V module shows of its interface. ggml-vulkan's kernels are known by it, because their names are stripped
// and their bytes differ from build to build.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vkf::layer {

struct ModuleInterface {
    // Bit b: descriptor set 0 has a binding b under 32. All other bindings set bit 32.
    uint64_t bindings = 0;
    // Bit i: a specialization constant has id i under 32. All others set bit 32.
    uint64_t constants = 0;
    // One letter for each member of the push constants: u for a 32-bit integer, f for fp32, ? for all else. Members are
    // packed: "?" stands for a member at another offset too.
    std::string pushConstants;
};

// Reads a module. Returns an empty interface for bytes that are no SPIR-V.
ModuleInterface readInterface(std::span<const uint32_t> words);

} // namespace vkf::layer
