// SPDX-License-Identifier: MIT
//
// The CPU reference for tests: options by name, results as vectors, refusals as failures.
#pragma once

#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "support/call.hpp"

namespace vkf::test {

inline constexpr VkfReferenceAlgorithm algorithms[] = {
    VKF_REFERENCE_DIRECT,   VKF_REFERENCE_TILED,  VKF_REFERENCE_TILED_FP32,       VKF_REFERENCE_BLOCK_SPARSE,
    VKF_REFERENCE_STANDARD, VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED_KEYS_OUTER,
};

struct Result {
    std::vector<double> o;
    std::vector<double> lse;
};

inline VkfReferenceOptions referenceOptions(VkfReferenceAlgorithm algorithm, uint32_t tileRows = 0,
                                            uint32_t tileKeys = 0) {
    VkfReferenceOptions options{};
    options.structSize = sizeof options;
    options.algorithm = algorithm;
    options.tileRows = tileRows;
    options.tileKeys = tileKeys;
    return options;
}

// Elements that the reference does not write keep the value `untouched`.
inline constexpr double untouched = -12345.0;

inline Result reference(const VkfProblem& problem, const Inputs& inputs, const VkfReferenceOptions& options) {
    const VkfTensorLayout o = vkf::layoutOf(problem, VKF_TENSOR_O);
    const size_t rows = size_t{o.batch} * o.heads * o.rows;
    Result result{std::vector<double>(rows * o.dim, untouched), std::vector<double>(rows, untouched)};
    const VkfReferenceInputs memory = inputs.reference();
    VkfMessage message{};
    INFO(describe(problem));
    const VkfResult status =
        vkfReferenceAttention(&problem, &memory, &options, result.o.data(), result.lse.data(), &message);
    INFO(message.text);
    REQUIRE(status == VKF_SUCCESS);
    return result;
}

} // namespace vkf::test
