# SPDX-License-Identifier: MIT
# Vulkan Memory Allocator: one header. Only the host layer uses it.
find_path(VKF_VMA_INCLUDE_DIR vk_mem_alloc.h PATH_SUFFIXES vma
  HINTS "$ENV{VULKAN_SDK}/include" "$ENV{VULKAN_SDK}/Include")
if(VKF_VMA_INCLUDE_DIR)
  file(STRINGS "${VKF_VMA_INCLUDE_DIR}/vk_mem_alloc.h" VKF_LINE LIMIT_COUNT 1 REGEX "<b>Version [0-9.]+")
  string(REGEX MATCH "[0-9]+\\.[0-9.]*[0-9]" VKF_VMA_VERSION "${VKF_LINE}")
endif()
vkf_require("Vulkan Memory Allocator" "${VKF_VMA_INCLUDE_DIR}" VERSION "${VKF_VMA_VERSION}" MINIMUM 3.0
  GROUP vulkan PACKAGES "Debian libvulkan-memory-allocator-dev, vcpkg vulkan-memory-allocator, or the Vulkan SDK")
set_property(GLOBAL PROPERTY VKF_VMA_INCLUDE_DIR "${VKF_VMA_INCLUDE_DIR}")

# Lets the target include <vk_mem_alloc.h>.
function(vkf_use_vma target)
  get_property(include_dir GLOBAL PROPERTY VKF_VMA_INCLUDE_DIR)
  target_include_directories(${target} SYSTEM PRIVATE "${include_dir}")
endfunction()
