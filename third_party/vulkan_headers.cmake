# SPDX-License-Identifier: MIT
# Vulkan headers, the only need of the core library. 1.4.317 is the first version with every extension that it uses.
find_path(VKF_VULKAN_INCLUDE_DIR vulkan/vulkan_core.h HINTS "$ENV{VULKAN_SDK}/include" "$ENV{VULKAN_SDK}/Include")
if(VKF_VULKAN_INCLUDE_DIR)
  file(STRINGS "${VKF_VULKAN_INCLUDE_DIR}/vulkan/vulkan_core.h" VKF_LINES
    REGEX "^#define VK_HEADER_VERSION(_COMPLETE)? ")
  string(REGEX MATCH "VK_HEADER_VERSION ([0-9]+)" VKF_LINE "${VKF_LINES}")
  set(VKF_PATCH ${CMAKE_MATCH_1})
  string(REGEX MATCH "VK_MAKE_API_VERSION\\(0, ([0-9]+), ([0-9]+)," VKF_LINE "${VKF_LINES}")
  set(VKF_VULKAN_HEADERS_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${VKF_PATCH})
  if(NOT TARGET Vulkan::Headers)
    add_library(Vulkan::Headers INTERFACE IMPORTED GLOBAL)
    target_include_directories(Vulkan::Headers SYSTEM INTERFACE "${VKF_VULKAN_INCLUDE_DIR}")
  endif()
endif()
vkf_require("Vulkan headers" "${VKF_VULKAN_INCLUDE_DIR}"
  VERSION "${VKF_VULKAN_HEADERS_VERSION}" MINIMUM 1.4.317
  GROUP vulkan PACKAGES "Debian libvulkan-dev, vcpkg vulkan-headers, or the Vulkan SDK")
