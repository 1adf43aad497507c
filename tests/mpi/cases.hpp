// SPDX-License-Identifier: MIT
#pragma once

#include "whole.hpp"

namespace vkf::test {

// The calls that the tests compute on this number of ranks.
std::vector<Case> forwardCases(uint32_t ranks);
std::vector<Case> decodeCases();

} // namespace vkf::test
