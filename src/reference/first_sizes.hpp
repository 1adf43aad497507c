// SPDX-License-Identifier: MIT
//
// The last fields of version 0.2 in the structs of reference.h.
#pragma once

#include <vkflash/reference.h>

#include "problem/first_sizes.hpp"

namespace vkf {

VKF_FIRST_SIZE(VkfReferenceInputs, biasFactors);
VKF_FIRST_SIZE(VkfReferenceOptions, savedLse);
VKF_FIRST_SIZE(VkfAppendBuffers, sin);
VKF_FIRST_SIZE(VkfVerdict, worstReference);
VKF_FIRST_SIZE(VkfProbabilitiesVerdict, worstReference);

} // namespace vkf
