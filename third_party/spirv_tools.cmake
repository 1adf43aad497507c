# SPDX-License-Identifier: MIT
# spirv-val, for the test that validates every shader. Without it, the test is reported as skipped.
find_program(VKF_SPIRV_VAL spirv-val HINTS "$ENV{VULKAN_SDK}/bin" "$ENV{VULKAN_SDK}/Bin")
if(VKF_SPIRV_VAL)
  set(VKF_SPIRV_VAL_COMMAND "${VKF_SPIRV_VAL}")
  if(VKF_VULKAN_ROOT AND VKF_SPIRV_VAL MATCHES "^${VKF_VULKAN_ROOT}/")
    set(VKF_SPIRV_VAL_COMMAND ${VKF_TOOL_PREFIX} "${VKF_SPIRV_VAL}")
  endif()
  set_property(GLOBAL PROPERTY VKF_SPIRV_VAL_COMMAND "${VKF_SPIRV_VAL_COMMAND}")
endif()
if(VKF_ASKED_FOR_ALL)
  vkf_require(spirv-val "${VKF_SPIRV_VAL}" GROUP vulkan PACKAGES "Debian spirv-tools, or the Vulkan SDK")
endif()
