# SPDX-License-Identifier: MIT
# Uses packages that were unpacked into a folder instead of installed (./dev does so on systems whose
# own Vulkan tools are too old). VKFLASH_TOOLCHAIN_ROOT has up to two subfolders:
#
#   vulkan/   glslang, SPIR-V tools, Vulkan headers, volk, VMA, loader, validation layers and drivers
#             of a newer system; its programs and drivers need its own C library
#   cpp/      C++ libraries of this system's release, which this system's compiler can link
#
# Sets, all empty without vulkan/:
#   VKF_TOOL_PREFIX       words that start one of the folder's programs, on its own dynamic loader
#   VKF_RUN_PREFIX        words that start a program of this build where it can use the folder's driver
#   VKF_RUN_LINK_FLAGS    linker flags that such a program needs
#   VKF_RUN_ENVIRONMENT   variables that show driver and layers to the Vulkan loader
set(VKFLASH_TOOLCHAIN_ROOT "" CACHE PATH "Folder of unpacked packages, see cmake/VkfToolchainRoot.cmake")
set(VKF_TOOL_PREFIX)
set(VKF_RUN_PREFIX)
set(VKF_RUN_LINK_FLAGS)
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
  set(VKF_TOOL_PREFIX "${VKF_DYNAMIC_LOADER}" --library-path "${VKF_LIBRARY_DIR}")
  if(VKFLASH_SANITIZE)
    # Sanitizers find no function names in a program that another one has loaded, so it names its loader
    # itself.
    set(VKF_RUN_LINK_FLAGS "LINKER:--dynamic-linker=${VKF_DYNAMIC_LOADER}")
    list(APPEND VKF_RUN_ENVIRONMENT "LD_LIBRARY_PATH=${VKF_LIBRARY_DIR}")
  else()
    set(VKF_RUN_PREFIX ${VKF_TOOL_PREFIX})
  endif()
  list(APPEND VKF_RUN_ENVIRONMENT
    "VK_DRIVER_FILES=${VKF_VULKAN_ROOT}/share/vulkan/icd.d/lvp_icd.json"
    "VK_LAYER_PATH=${VKF_VULKAN_ROOT}/share/vulkan/explicit_layer.d")
endif()
