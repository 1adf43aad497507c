# SPDX-License-Identifier: MIT
# Uses packages that were unpacked into a folder instead of installed (./dev does so on systems whose
# own Vulkan tools are too old). VKFLASH_TOOLCHAIN_ROOT has up to two subfolders:
#
#   vulkan/   glslang, SPIR-V tools, Vulkan headers, volk, VMA, loader, validation layers and drivers
#             of a newer system; its programs and drivers need its own C library
#   cpp/      C++ libraries of this system's release, which this system's compiler can link
#
# Sets VKF_RUN_PREFIX, the words that start a program on the folder's own dynamic loader, and
# VKF_RUN_ENVIRONMENT, the variables that show its driver and layers to a Vulkan loader. Both are
# empty without vulkan/.
set(VKFLASH_TOOLCHAIN_ROOT "" CACHE PATH "Folder of unpacked packages, see cmake/VkfToolchainRoot.cmake")
set(VKF_RUN_PREFIX)
set(VKF_RUN_ENVIRONMENT)

if(EXISTS "${VKFLASH_TOOLCHAIN_ROOT}/cpp")
  list(PREPEND CMAKE_PREFIX_PATH "${VKFLASH_TOOLCHAIN_ROOT}/cpp/usr")
endif()
if(EXISTS "${VKFLASH_TOOLCHAIN_ROOT}/vulkan")
  set(VKF_VULKAN_ROOT "${VKFLASH_TOOLCHAIN_ROOT}/vulkan/usr")
  list(PREPEND CMAKE_PREFIX_PATH "${VKF_VULKAN_ROOT}")
  file(GLOB VKF_DYNAMIC_LOADER "${VKF_VULKAN_ROOT}/lib/*/ld-linux*.so.*")
  if(NOT VKF_DYNAMIC_LOADER)
    message(FATAL_ERROR "no dynamic loader under ${VKF_VULKAN_ROOT}/lib")
  endif()
  list(GET VKF_DYNAMIC_LOADER 0 VKF_DYNAMIC_LOADER)
  cmake_path(GET VKF_DYNAMIC_LOADER PARENT_PATH VKF_LIBRARY_DIR)
  set(VKF_RUN_PREFIX "${VKF_DYNAMIC_LOADER}" --library-path "${VKF_LIBRARY_DIR}")
  set(VKF_RUN_ENVIRONMENT
    "VK_DRIVER_FILES=${VKF_VULKAN_ROOT}/share/vulkan/icd.d/lvp_icd.json"
    "VK_LAYER_PATH=${VKF_VULKAN_ROOT}/share/vulkan/explicit_layer.d")
endif()
