// SPDX-License-Identifier: MIT
//
// Compiles if vkflash.h may stand before volk.h. VK_NO_PROTOTYPES, which CMakeLists.txt defines, must hold for both.
#include <vkflash/vkflash.hpp>

#include <volk.h>

static_assert(sizeof(vkGetInstanceProcAddr) == sizeof(PFN_vkGetInstanceProcAddr), "volk declares a variable");
