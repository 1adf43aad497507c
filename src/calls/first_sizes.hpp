// SPDX-License-Identifier: MIT
//
// The last field that each struct of vkflash.h, backward.h, functions.h and inspect.h has in version 0.5.
#pragma once

#include <vkflash/functions.h>
#include <vkflash/inspect.h>

#include "base/versioned.hpp"

namespace vkf {

VKF_FIRST_SIZE(VkfContextCreateInfo, reserved);
VKF_FIRST_SIZE(VkfPlanInfo, reserved);
VKF_FIRST_SIZE(VkfBindings, biasFactors);
VKF_FIRST_SIZE(VkfFunctionsCreateInfo, user);
VKF_FIRST_SIZE(VkfMergeBindings, lse);
VKF_FIRST_SIZE(VkfAppendBindings, sin);
VKF_FIRST_SIZE(VkfBackwardInfo, keyTile);
VKF_FIRST_SIZE(VkfBackwardBindings, scratch);
VKF_FIRST_SIZE(VkfMatrixInfo, reserved);
VKF_FIRST_SIZE(VkfPathDecision, reason);
VKF_FIRST_SIZE(VkfTileCandidate, tile);

} // namespace vkf
