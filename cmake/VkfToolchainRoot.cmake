# SPDX-License-Identifier: MIT
# Uses packages that are unpacked into a folder and not installed. ./dev makes such a folder if the Vulkan tools of the
# system are too old. VKFLASH_TOOLCHAIN_ROOT has up to two subfolders:
#
#   vulkan/   glslang, SPIR-V tools, Vulkan headers, volk, VMA, loader, validation layers and drivers
#             of a newer system; its programs and drivers need the C library in the same folder
#   cpp/      C++ libraries of this system's release; this system's compiler can link them
#
# Sets these variables. Without vulkan/ all are empty, but VKF_RUN_PREFIX in a build for another system:
#   VKF_TOOL_PREFIX       words that start a program of the folder with the folder's dynamic loader
#   VKF_RUN_PREFIX        words that start a program of this build: the folder's dynamic loader, so that the program can
#                         use the folder's driver; in a build for another system, the emulator
#   VKF_RUN_LINK_FLAGS    linker flags for such a program
#   VKF_RUN_ENVIRONMENT   environment variables that name driver and layers for the Vulkan loader
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
endif()

if(CMAKE_CROSSCOMPILING)
  # The loader and the drivers of the folder are not for the target.
  set(VKF_RUN_PREFIX ${CMAKE_CROSSCOMPILING_EMULATOR})
elseif(VKF_VULKAN_ROOT)
  if(VKFLASH_SANITIZE)
    # Sanitizers find no function names in a program that another program has loaded. Therefore the program itself names
    # its loader.
    set(VKF_RUN_LINK_FLAGS "LINKER:--dynamic-linker=${VKF_DYNAMIC_LOADER}")
    list(APPEND VKF_RUN_ENVIRONMENT "LD_LIBRARY_PATH=${VKF_LIBRARY_DIR}")
  else()
    set(VKF_RUN_PREFIX ${VKF_TOOL_PREFIX})
  endif()
  list(APPEND VKF_RUN_ENVIRONMENT
    "VK_DRIVER_FILES=${VKF_VULKAN_ROOT}/share/vulkan/icd.d/lvp_icd.json"
    "VK_LAYER_PATH=${VKF_VULKAN_ROOT}/share/vulkan/explicit_layer.d")
endif()
