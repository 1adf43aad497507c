// SPDX-License-Identifier: MIT
//
// Why a plan is as it is: what the papers' formulas allow on the device, which tiles the library considered and what
// stood against each, and the bytes that each algorithm moves.
#ifndef VKFLASH_TOOLS_PLAN_EXPLAIN_HPP
#define VKFLASH_TOOLS_PLAN_EXPLAIN_HPP

#include <string>

#include <nlohmann/json.hpp>

#include "vkflash/host.hpp"
#include "vkflash/inspect.h"

namespace vkf::tools {

// What stood against a tile, in words: "needs 52.1 KiB of shared memory, there are 48.0 KiB".
std::string reasonText(const VkfTileCandidate& candidate);

std::string explanationText(const host::Device& device, const host::Plan& plan);
nlohmann::ordered_json explanationJson(const host::Device& device, const host::Plan& plan);

} // namespace vkf::tools

#endif
