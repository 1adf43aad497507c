// SPDX-License-Identifier: MIT
//
// Block tables of problems under test.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <vkflash/problem.hpp>

#include "support/call.hpp"

namespace vkf::test {

// Gives every page of keys of every sequence its own random page. Entries that no key needs are not pages. If
// `absentPages`, every second table has other entries that are not pages either. keysOf gives the keys of a sequence.
// Empty if the problem has no pages.
std::vector<int32_t> randomBlockTable(const VkfProblem& problem, const std::function<int64_t(uint32_t batch)>& keysOf,
                                      bool absentPages, std::mt19937_64& random);

// The pages of `from` one after the other, as for the same call without pages: sets *plain to that call.
Inputs withoutPages(const VkfProblem& problem, const Inputs& from, VkfProblem* plain);

} // namespace vkf::test
