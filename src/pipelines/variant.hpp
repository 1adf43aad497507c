// SPDX-License-Identifier: MIT
//
// The identity of a compiled pipeline: its kernel, the extensions that it is built with, and its specialization
// constants.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "pipelines/kernel.hpp"
#include "shared/append_params.h"
#include "shared/constant_ids.h"
#include "shared/merge_params.h"

namespace vkf {

// Specialization constants by id. traitsOf(kernel).constants says which header has the ids of a kernel.
using Constants = std::array<uint32_t, std::max({VKF_ID_COUNT, VKF_MERGE_ID_COUNT, VKF_APPEND_ID_COUNT})>;

// The functions of the caller's own that a kernel is compiled with. Functions with one key are the same. A kernel
// without functions differs from all that have some, even with key 0.
struct KernelFunctions {
    VkfFunctions functions = nullptr; // null = none
    uint64_t key = 0;

    std::pair<bool, uint64_t> identity() const { return {functions != nullptr, key}; }
    auto operator<=>(const KernelFunctions& other) const { return identity() <=> other.identity(); }
    bool operator==(const KernelFunctions& other) const { return identity() == other.identity(); }
};

struct Variant {
    Kernel kernel{};
    bool storage16 = false; // 16-bit loads and stores
    bool subgroups = false; // lanes exchange values by shuffles
    bool viaShared = false; // elements of matrices pass through shared memory
    bool bf16 = false;      // bf16 in place of fp16 (bfloat16_matrices.hpp)
    Loops loops = Loops::asWritten;
    uint32_t subgroupSize = 0; // required size, if subgroups
    Constants constants{};
    KernelFunctions functions;

    auto operator<=>(const Variant&) const = default;
};

// The name that shaders/variants.json gives the variant: the kernel, and how it is built.
std::string shaderName(const Variant& variant);

} // namespace vkf
