// SPDX-License-Identifier: MIT
//
// Known driver trouble as named bits, which are set in one place.
#pragma once

#include <vkflash/vkflash.h>

namespace vkf {

// The quirks of a driver, from its identity.
VkfQuirks driverQuirks(VkDriverId driver);

} // namespace vkf
