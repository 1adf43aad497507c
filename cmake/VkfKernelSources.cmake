# SPDX-License-Identifier: MIT
# Embeds the kernels' own sources and the table of their variants, for the library that compiles kernels at run time.

# Sets ${result} to the row of a variant: "name|file|macros|target".
function(vkf_variant_row entry result)
  string(JSON name GET "${entry}" name)
  string(JSON file GET "${entry}" file)
  string(JSON target_env GET "${entry}" target_env)
  vkf_json_list(defines "${entry}" defines)
  list(JOIN defines " " defines)
  set(${result} "${name}|${file}|${defines}|${target_env}" PARENT_SCOPE)
endfunction()

# vkf_embed_kernel_sources(<target> <table> <root>): adds a generated C++ source to the target, which
# src/functions/kernel_sources.hpp declares. It has all variants of the JSON table and all files that they may include.
function(vkf_embed_kernel_sources target table root)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} json)
  string(JSON count LENGTH "${json}" variants)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON entry GET "${json}" variants ${i})
    vkf_variant_row("${entry}" row)
    list(APPEND rows "${row}")
  endforeach()
  file(GLOB_RECURSE files RELATIVE "${root}" CONFIGURE_DEPENDS "${root}/*.glsl" "${root}/*.comp" "${root}/*.h")

  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/kernel_sources.cpp")
  set(lists "${CMAKE_CURRENT_BINARY_DIR}/kernel_sources")
  list(JOIN rows "\n" text)
  file(CONFIGURE OUTPUT "${lists}_variants.txt" CONTENT "${text}\n" @ONLY)
  list(JOIN files "\n" text)
  file(CONFIGURE OUTPUT "${lists}_files.txt" CONTENT "${text}\n" @ONLY)
  list(TRANSFORM files PREPEND "${root}/" OUTPUT_VARIABLE paths)
  set(script "${PROJECT_SOURCE_DIR}/cmake/WriteKernelSources.cmake")
  add_custom_command(
    OUTPUT "${cpp}"
    COMMAND ${CMAKE_COMMAND} -D "VARIANTS=${lists}_variants.txt" -D "FILES=${lists}_files.txt" -D "ROOT=${root}"
      -D "OUTPUT=${cpp}" -P "${script}"
    DEPENDS ${paths} "${lists}_variants.txt" "${lists}_files.txt" "${script}"
    COMMENT "Embedding the kernels' sources"
    VERBATIM)
  set_source_files_properties("${cpp}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${cpp}")
endfunction()
