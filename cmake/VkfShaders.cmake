# SPDX-License-Identifier: MIT
# Compiles the shader variants of a JSON table to SPIR-V and embeds them as C++ arrays.
#
# An entry of "variants":
#   name         name of the variant; the library looks it up by this name
#   file         GLSL entry point, relative to the root folder of the includes
#   defines      macros, "NAME" or "NAME=VALUE"
#   target_env   value for glslang's --target-env
#   extensions   GLSL extensions that not every glslang knows. If this glslang does not know one, the build leaves the
#                variant out, and its table entry has the reason.

# Sets ${result} to "" if the compiler knows the GLSL extension, else to the reason why a variant is left out.
function(vkf_probe_glsl_extension extension result)
  set(cached VKF_GLSL_HAS_${extension})
  if(NOT DEFINED ${cached})
    set(source "${CMAKE_BINARY_DIR}/probes/${extension}.comp")
    file(WRITE "${source}" "#version 450\n#extension ${extension} : require\n"
      "layout(local_size_x = 1) in;\nvoid main() {}\n")
    get_property(glslang GLOBAL PROPERTY VKF_GLSLANG_COMMAND)
    execute_process(
      COMMAND ${glslang} -S comp --target-env vulkan1.3 -V "${source}" -o "${source}.spv"
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(has ON)
    else()
      set(has OFF)
    endif()
    set(${cached} ${has} CACHE INTERNAL "Whether glslang knows ${extension}")
  endif()
  if(${cached})
    set(${result} "" PARENT_SCOPE)
  else()
    set(${result} "built with a glslang that does not know ${extension}" PARENT_SCOPE)
  endif()
endfunction()

function(vkf_json_list variable json key)
  set(values)
  string(JSON count ERROR_VARIABLE ignored LENGTH "${json}" ${key})
  if(count)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON value GET "${json}" ${key} ${i})
      list(APPEND values "${value}")
    endforeach()
  endif()
  set(${variable} "${values}" PARENT_SCOPE)
endfunction()

# vkf_compile_shader(<entry of the table> <folder of the sources>)
# Adds the rule for one variant. Sets VKF_ENTRY to its line "name|spv file|reason" for WriteShaderTable.cmake.
function(vkf_compile_shader entry source_dir)
  string(JSON name GET "${entry}" name)
  string(JSON file GET "${entry}" file)
  string(JSON target_env GET "${entry}" target_env)
  vkf_json_list(extensions "${entry}" extensions)
  foreach(extension ${extensions})
    vkf_probe_glsl_extension(${extension} reason)
    if(reason)
      message(STATUS "Leaving out shader variant ${name}: ${reason}")
      set(VKF_ENTRY "${name}||${reason}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  vkf_json_list(defines "${entry}" defines)
  list(TRANSFORM defines PREPEND -D)
  set(spv "${CMAKE_CURRENT_BINARY_DIR}/${name}.spv")
  get_property(glslang GLOBAL PROPERTY VKF_GLSLANG_COMMAND)
  add_custom_command(
    OUTPUT "${spv}"
    COMMAND ${glslang} --quiet -V -g0 --target-env ${target_env} ${defines} "-I${source_dir}"
      --depfile "${spv}.d" -o "${spv}" "${source_dir}/${file}"
    DEPENDS "${source_dir}/${file}"
    DEPFILE "${spv}.d"
    COMMENT "Compiling shader ${name}"
    VERBATIM)
  set(VKF_ENTRY "${name}|${spv}|" PARENT_SCOPE)
  set_property(GLOBAL APPEND PROPERTY VKF_SPIRV_FILES "${target_env}|${spv}")
endfunction()

# vkf_write_table(<cpp> <script> <comment> ENTRIES ... [OPTIONS ...] [DEPENDS ...]): adds the rule that writes a C++ source
# with the files of the entries. Each entry is a line "name|file|missing reason"; one of the last two is empty. The
# script gets the lines as the file LIST, and writes OUTPUT.
function(vkf_write_table cpp script comment)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "ENTRIES;OPTIONS;DEPENDS")
  string(REGEX REPLACE "\\.cpp$" ".txt" list_file "${cpp}")
  list(JOIN arg_ENTRIES "\n" text)
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${text}\n" @ONLY)
  list(TRANSFORM arg_ENTRIES REPLACE "^[^|]*\\|([^|]*)\\|.*" "\\1" OUTPUT_VARIABLE files)
  list(REMOVE_ITEM files "")
  add_custom_command(
    OUTPUT "${cpp}"
    COMMAND ${CMAKE_COMMAND} -D "LIST=${list_file}" ${arg_OPTIONS} -D "OUTPUT=${cpp}" -P "${script}"
    DEPENDS "${list_file}" ${files} "${script}" ${arg_DEPENDS}
    COMMENT "${comment}"
    VERBATIM)
endfunction()

# vkf_add_shaders(<table> <root> <target> <array>): defines a target that writes a C++ source with an array of
# vkf::ShaderBinary. Paths of entry points and includes are relative to the folder `root`.
function(vkf_add_shaders table root target array)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} json)
  string(JSON count LENGTH "${json}" variants)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON entry GET "${json}" variants ${i})
    vkf_compile_shader("${entry}" "${root}")
    list(APPEND entries "${VKF_ENTRY}")
  endforeach()

  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  vkf_write_table("${cpp}" "${PROJECT_SOURCE_DIR}/cmake/WriteShaderTable.cmake" "Embedding shaders"
    ENTRIES ${entries} OPTIONS -D "ARRAY=${array}" DEPENDS "${PROJECT_SOURCE_DIR}/src/pipelines/common_words.hpp")
  add_custom_target(${target} DEPENDS "${cpp}")
  set_property(TARGET ${target} PROPERTY VKF_SHADER_TABLE "${cpp}")
endfunction()

# vkf_embed_shaders(<target> <shaders>): compiles the source of the vkf_add_shaders target <shaders> into <target>.
function(vkf_embed_shaders target shaders)
  get_target_property(cpp ${shaders} VKF_SHADER_TABLE)
  set_source_files_properties("${cpp}" TARGET_DIRECTORY ${target} PROPERTIES
    GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${cpp}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  add_dependencies(${target} ${shaders})
endfunction()
