# SPDX-License-Identifier: MIT
# Checks what the tests and the program need at run time: a loader, a driver and the validation layer. Looks in the
# folders of the Vulkan loader.
if(UNIX AND NOT APPLE)
  set(VKF_DATA_DIRS /usr/share /usr/local/share /etc "$ENV{VULKAN_SDK}/share" "${VKF_VULKAN_ROOT}/share")
  find_library(VKF_VULKAN_LOADER NAMES libvulkan.so.1 HINTS "$ENV{VULKAN_SDK}/lib")
  list(TRANSFORM VKF_DATA_DIRS APPEND "/vulkan/icd.d/*.json" OUTPUT_VARIABLE VKF_DRIVER_PATTERNS)
  file(GLOB VKF_VULKAN_DRIVERS ${VKF_DRIVER_PATTERNS})
  if(VKF_VULKAN_DRIVERS)
    list(GET VKF_VULKAN_DRIVERS 0 VKF_VULKAN_DRIVERS)
    cmake_path(GET VKF_VULKAN_DRIVERS PARENT_PATH VKF_VULKAN_DRIVERS)
  endif()
  find_file(VKF_VALIDATION_LAYER vulkan/explicit_layer.d/VkLayer_khronos_validation.json PATHS ${VKF_DATA_DIRS})
  vkf_require("Vulkan loader" "${VKF_VULKAN_LOADER}" GROUP vulkan PACKAGES "Debian libvulkan1")
  vkf_require("Vulkan driver" "${VKF_VULKAN_DRIVERS}$ENV{VK_DRIVER_FILES}$ENV{VK_ICD_FILENAMES}"
    GROUP vulkan PACKAGES "Debian mesa-vulkan-drivers")
  vkf_require("validation layer" "${VKF_VALIDATION_LAYER}" GROUP vulkan PACKAGES "Debian vulkan-validationlayers")
endif()
