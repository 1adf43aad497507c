# SPDX-License-Identifier: MIT
# volk loads Vulkan at run time. Each target that uses it compiles its one source file.
find_path(VKF_VOLK_INCLUDE_DIR volk.c PATH_SUFFIXES volk Volk
  HINTS "$ENV{VULKAN_SDK}/include" "$ENV{VULKAN_SDK}/Include")
if(VKF_VOLK_INCLUDE_DIR)
  file(STRINGS "${VKF_VOLK_INCLUDE_DIR}/volk.h" VKF_LINE REGEX "define VOLK_HEADER_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" VKF_VOLK_VERSION "${VKF_LINE}")
endif()
vkf_require(volk "${VKF_VOLK_INCLUDE_DIR}" VERSION "${VKF_VOLK_VERSION}" MINIMUM 317
  GROUP vulkan PACKAGES "Debian libvulkan-volk-dev, vcpkg volk, or the Vulkan SDK")

if(VKF_VOLK_INCLUDE_DIR AND NOT VKF_ASKED_FOR_ALL)
  add_library(vkflash_volk OBJECT "${VKF_VOLK_INCLUDE_DIR}/volk.c")
  set_target_properties(vkflash_volk PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_link_libraries(vkflash_volk PRIVATE Vulkan::Headers)
  set_property(TARGET vkflash_volk PROPERTY VKF_INCLUDE_DIR "${VKF_VOLK_INCLUDE_DIR}")
endif()

# Compiles volk into the target and lets it include <volk.h>. Users of the target see nothing of it.
function(vkf_use_volk target)
  get_target_property(include_dir vkflash_volk VKF_INCLUDE_DIR)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:vkflash_volk>)
  target_include_directories(${target} SYSTEM PRIVATE "${include_dir}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Vulkan::Headers> ${CMAKE_DL_LIBS})
endfunction()
