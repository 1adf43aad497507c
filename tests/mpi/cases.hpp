// SPDX-License-Identifier: MIT
#pragma once

#include "whole.hpp"

namespace vkf::test {

// Each feature by each method and distribution in these types, forward and backward. For 2 ranks or more.
std::vector<Case> productCases(uint32_t ranks, const std::vector<VkfType>& types);
std::vector<Case> decodeProduct(uint32_t ranks, const std::vector<VkfType>& types);
// Cases of both transports, and of features beside the product.
std::vector<Case> selectedCases(uint32_t ranks);
std::vector<Case> selectedDecode();

} // namespace vkf::test
