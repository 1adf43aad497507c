# SPDX-License-Identifier: MIT
# glslang, the shader compiler. Needed only at build time. Version 11 compiles the portable kernels. The build leaves
# out variants that need a newer version, with a message (see vkf_add_shaders).
find_program(VKF_GLSLANG NAMES glslang glslangValidator
  HINTS "$ENV{VULKAN_SDK}/bin" "$ENV{VULKAN_SDK}/Bin")
if(VKF_GLSLANG)
  # Only a glslang of the toolchain root needs the root's loader.
  set(VKF_GLSLANG_COMMAND "${VKF_GLSLANG}")
  if(VKF_VULKAN_ROOT AND VKF_GLSLANG MATCHES "^${VKF_VULKAN_ROOT}/")
    set(VKF_GLSLANG_COMMAND ${VKF_TOOL_PREFIX} "${VKF_GLSLANG}")
  endif()
  set_property(GLOBAL PROPERTY VKF_GLSLANG_COMMAND "${VKF_GLSLANG_COMMAND}")
  execute_process(COMMAND ${VKF_GLSLANG_COMMAND} --version OUTPUT_VARIABLE VKF_LINES ERROR_QUIET)
  string(REGEX MATCH "Glslang Version: [0-9]*:?([0-9.]+)" VKF_LINE "${VKF_LINES}")
  set(VKF_GLSLANG_VERSION ${CMAKE_MATCH_1})
endif()
# The check for everything accepts only a glslang that compiles all variants.
set(VKF_GLSLANG_MINIMUM 11)
if(VKF_ASKED_FOR_ALL)
  set(VKF_GLSLANG_MINIMUM 15.3)
endif()
vkf_require(glslang "${VKF_GLSLANG}"
  VERSION "${VKF_GLSLANG_VERSION}" MINIMUM ${VKF_GLSLANG_MINIMUM}
  GROUP vulkan PACKAGES "Debian glslang-tools, vcpkg glslang[tools], or the Vulkan SDK")
