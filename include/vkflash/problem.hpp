// SPDX-License-Identifier: MIT
//
// vkflash/problem.hpp: shorthands for the structs of problem.h, append_problem.h, merge_problem.h and
// backward_problem.h, for C++17. It adds no behaviour, allocates nothing, throws nothing and needs no Vulkan.
#ifndef VKFLASH_PROBLEM_HPP
#define VKFLASH_PROBLEM_HPP

#include "append_problem.h"
#include "backward_problem.h"
#include "merge_problem.h"
#include "problem.h"

namespace vkf {

// Returns a struct with structSize set and all other fields 0: `auto problem = vkf::make<VkfProblem>();`. `Struct` is a
// struct of the C interface that starts with structSize.
template <typename Struct> Struct make() {
    Struct value{};
    value.structSize = sizeof(Struct);
    return value;
}

// Returns a tensor of dense layout [batch, heads, rows, dim]: all strides are 0.
inline VkfTensor dense(VkfType type) {
    VkfTensor tensor{};
    tensor.type = type;
    return tensor;
}

// Returns a tensor of dense layout [batch, rows, heads, dim], as frameworks keep activations. rows, heads and dim are
// those of the tensor: queryRows, queryHeads and headDim for q.
inline VkfTensor rowsFirst(VkfType type, uint64_t rows, uint64_t heads, uint64_t dim) {
    VkfTensor tensor{};
    tensor.type = type;
    tensor.batchStride = rows * heads * dim;
    tensor.headStride = dim;
    tensor.rowStride = heads * dim;
    return tensor;
}

// Whether the field `use` of a problem of any kind has a bit.
template <typename Problem> constexpr bool has(const Problem& problem, VkfUseBits bit) {
    return (problem.use & static_cast<VkfUse>(bit)) != 0;
}

// Sets one or more bits of the field `use` of a problem, or clears them if `on` is false. Parameter fields stay as they
// are.
template <typename Problem> constexpr void enable(Problem& problem, VkfUse bits, bool on = true) {
    problem.use = on ? problem.use | bits : problem.use & ~bits;
}

// What vkfGetTensorLayout, vkfGetAppendTensorLayout, vkfGetMergeTensorLayout and vkfGetBackwardTensorLayout write. All
// zeros but structSize if they return an error.
inline VkfTensorLayout layoutOf(const VkfProblem& problem, VkfTensorRole role) {
    auto layout = make<VkfTensorLayout>();
    vkfGetTensorLayout(&problem, role, &layout, nullptr);
    return layout;
}
inline VkfTensorLayout layoutOf(const VkfAppendProblem& problem, VkfAppendRole role) {
    auto layout = make<VkfTensorLayout>();
    vkfGetAppendTensorLayout(&problem, role, &layout, nullptr);
    return layout;
}
inline VkfTensorLayout layoutOf(const VkfMergeProblem& problem, VkfMergeRole role) {
    auto layout = make<VkfTensorLayout>();
    vkfGetMergeTensorLayout(&problem, role, &layout, nullptr);
    return layout;
}
inline VkfTensorLayout layoutOf(const VkfBackwardProblem& problem, VkfBackwardRole role) {
    auto layout = make<VkfTensorLayout>();
    vkfGetBackwardTensorLayout(&problem, role, &layout, nullptr);
    return layout;
}

// What vkfGetBlockMaskLayout writes. All zeros but structSize if it returns an error.
inline VkfBlockMaskLayout blockMaskLayoutOf(const VkfProblem& problem) {
    auto layout = make<VkfBlockMaskLayout>();
    vkfGetBlockMaskLayout(&problem, &layout, nullptr);
    return layout;
}
// What vkfGetMergeLayout writes. All zeros but structSize if it returns an error.
inline VkfMergeLayout mergeLayoutOf(const VkfMergeProblem& problem) {
    auto layout = make<VkfMergeLayout>();
    vkfGetMergeLayout(&problem, &layout, nullptr);
    return layout;
}

} // namespace vkf

#endif
