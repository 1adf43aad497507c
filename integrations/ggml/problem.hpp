// SPDX-License-Identifier: MIT
//
// From a node of ggml to a problem of vkflash. docs/mapping.md has the same in words.
#pragma once

#include <ggml.h>

#include <string>

#include <vkflash/problem.hpp>

namespace vkf::ggml {

// The sources of a node GGML_OP_FLASH_ATTN_EXT, by their place in ggml_tensor::src.
enum Source : int { sourceQ = 0, sourceK = 1, sourceV = 2, sourceMask = 3, sourceSinks = 4 };

// What a node asks for. All bytes that no field uses are 0, so that two of them can be compared byte by byte.
struct NodeProblem {
    VkfProblem problem;
    float maxBias; // over 0: the bias has factors, which slopes() computes. Else 0.
    uint32_t padding;
};

// Whether a node only describes a tensor, so that there is nothing to compute.
bool onlyDescribes(const ggml_tensor& node);

// Fills *asked from a node GGML_OP_FLASH_ATTN_EXT. Returns an empty text, or else why no problem of vkflash stands for
// the node. Looks at shapes, types and strides, not at data.
std::string describe(const ggml_tensor& node, NodeProblem* asked);

} // namespace vkf::ggml
