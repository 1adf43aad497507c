# SPDX-License-Identifier: MIT
# Finds glslang as a library, with its C interface and the SPIR-V optimizer that it needs. If all of it is there, it
# defines the target vkflash::glslang. The build and the installed package both use this file.
#
# Sets VKF_GLSLANG_LIBRARY, which is empty or ends in -NOTFOUND if something is missing, and VKF_GLSLANG_LIBRARY_VERSION.
find_path(VKF_GLSLANG_INCLUDE_DIR glslang/Include/glslang_c_interface.h
  HINTS "$ENV{VULKAN_SDK}/include" "$ENV{VULKAN_SDK}/Include")
set(VKF_GLSLANG_LIBRARY "")
set(VKF_GLSLANG_LIBRARY_VERSION "")
set(VKF_GLSLANG_FILES)
# In the order in which a linker needs them.
foreach(name glslang glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools)
  find_library(VKF_GLSLANG_${name} NAMES ${name} HINTS "$ENV{VULKAN_SDK}/lib" "$ENV{VULKAN_SDK}/Lib")
  mark_as_advanced(VKF_GLSLANG_${name})
  list(APPEND VKF_GLSLANG_FILES "${VKF_GLSLANG_${name}}")
endforeach()
if(VKF_GLSLANG_INCLUDE_DIR AND NOT "${VKF_GLSLANG_FILES}" MATCHES "NOTFOUND")
  set(VKF_GLSLANG_LIBRARY "${VKF_GLSLANG_glslang}")
  if(EXISTS "${VKF_GLSLANG_INCLUDE_DIR}/glslang/build_info.h")
    file(STRINGS "${VKF_GLSLANG_INCLUDE_DIR}/glslang/build_info.h" VKF_LINES
      REGEX "^#define GLSLANG_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
    list(TRANSFORM VKF_LINES REPLACE ".* " "")
    list(JOIN VKF_LINES "." VKF_GLSLANG_LIBRARY_VERSION)
  endif()
  if(NOT TARGET vkflash::glslang)
    find_package(Threads REQUIRED)
    add_library(vkflash::glslang INTERFACE IMPORTED GLOBAL)
    target_include_directories(vkflash::glslang SYSTEM INTERFACE "${VKF_GLSLANG_INCLUDE_DIR}")
    target_link_libraries(vkflash::glslang INTERFACE ${VKF_GLSLANG_FILES} Threads::Threads)
  endif()
endif()
