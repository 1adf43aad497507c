# SPDX-License-Identifier: MIT
# glslang as a library, for vkflash::functions, which compiles functions at run time. Without it the build leaves that
# library out, with a message. Link vkflash::glslang.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/VkfFindGlslang.cmake)

# An older version does not compile all kernels.
set(VKF_GLSLANG_LIBRARY_MINIMUM 15.3)
set(VKF_GLSLANG_LIBRARY_PROBLEM "")

# Static libraries of a system with glibc 2.38 call functions of the C standard of 2023, which an older C library lacks.
# src/functions/strtol_of_c23.c has them. VKF_NEEDS_STRTOL_OF_C23 says whether a program needs this file.
function(vkf_check_glslang_link)
  set(strtol "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/functions/strtol_of_c23.c")
  set(program "${CMAKE_BINARY_DIR}/probes/glslang.cpp")
  file(CONFIGURE OUTPUT "${program}" CONTENT "#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
int main() {
    glslang_input_t input{};
    input.resource = glslang_default_resource();
    glslang_initialize_process();
    glslang_shader_t* shader = glslang_shader_create(&input);
    glslang_shader_set_preamble(shader, \"\");
    glslang_program_t* program = glslang_program_create();
    glslang_spv_options_t options{};
    options.strip_debug_info = glslang_shader_parse(shader, &input) != 0;
    glslang_program_SPIRV_generate_with_options(program, GLSLANG_STAGE_COMPUTE, &options);
}
" @ONLY)
  try_compile(links "${CMAKE_BINARY_DIR}/probes/glslang" SOURCES "${program}" LINK_LIBRARIES vkflash::glslang)
  if(NOT links)
    try_compile(links_with_strtol "${CMAKE_BINARY_DIR}/probes/glslang" SOURCES "${program}" "${strtol}"
      LINK_LIBRARIES vkflash::glslang)
  endif()
  set(VKF_NEEDS_STRTOL_OF_C23 "${links_with_strtol}" CACHE INTERNAL "Whether the C library lacks strtol of C23")
  if(NOT links AND NOT links_with_strtol)
    set(VKF_GLSLANG_LIBRARY_PROBLEM "${VKF_GLSLANG_LIBRARY} cannot be linked" PARENT_SCOPE)
  endif()
endfunction()

if(NOT VKF_GLSLANG_LIBRARY)
  set(VKF_GLSLANG_LIBRARY_PROBLEM "the glslang library was not found")
elseif(NOT VKF_GLSLANG_LIBRARY_VERSION VERSION_GREATER_EQUAL VKF_GLSLANG_LIBRARY_MINIMUM)
  set(VKF_GLSLANG_LIBRARY_PROBLEM
    "the glslang library ${VKF_GLSLANG_LIBRARY_VERSION} is older than ${VKF_GLSLANG_LIBRARY_MINIMUM}")
elseif(NOT VKF_ASKED_FOR_ALL)
  vkf_check_glslang_link()
endif()

if(VKF_ASKED_FOR_ALL)
  vkf_require("glslang library" "${VKF_GLSLANG_LIBRARY}"
    VERSION "${VKF_GLSLANG_LIBRARY_VERSION}" MINIMUM ${VKF_GLSLANG_LIBRARY_MINIMUM}
    GROUP vulkan PACKAGES "Debian glslang-dev and spirv-tools-dev, vcpkg glslang[opt], or the Vulkan SDK")
elseif(VKF_GLSLANG_LIBRARY_PROBLEM)
  message(STATUS "Leaving out vkflash::functions: ${VKF_GLSLANG_LIBRARY_PROBLEM}")
else()
  message(STATUS "Using glslang library ${VKF_GLSLANG_LIBRARY_VERSION}: ${VKF_GLSLANG_LIBRARY}")
  set_property(GLOBAL PROPERTY VKF_HAS_GLSLANG_LIBRARY ON)
endif()
