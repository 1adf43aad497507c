// SPDX-License-Identifier: MIT
//
// Explains a plan: why it has its path, the tiles that the papers' formulas allow on the device, the tiles that the
// library considered with the rejection to each, and the bytes that each algorithm moves.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "vkflash/host.hpp"
#include "vkflash/inspect.h"

namespace vkf::tools {

// The rejection to a tile in words: "needs 53248 bytes of shared memory, there are 49152".
std::string reasonText(const VkfTileCandidate& candidate);

std::string explanationText(const host::Device& device, const host::Plan& plan);
nlohmann::ordered_json explanationJson(const host::Device& device, const host::Plan& plan);

// Explains a backward pass, without its tiles. `forward` is the problem of the forward call.
std::string explanationText(const host::Device& device, VkfBackward backward, const VkfProblem& forward);
nlohmann::ordered_json explanationJson(const host::Device& device, VkfBackward backward, const VkfProblem& forward);

} // namespace vkf::tools
