# SPDX-License-Identifier: MIT
# Compiles the entry points of path wgmma to PTX (shaders/shared/wgmma_params.h has their names).

# vkf_add_ptx(<file> <root> TYPES ... DIMS ... TERMS_DIMS ... MAPS_DIMS ...): adds the rules for each type and dimension:
# plain, with terms (softcap and ALiBi), with tensor maps. Names begin with that of the file. Paths of includes are
# relative to the folder `root`. The results are in the global properties VKF_PTX_ENTRIES, lines
# "name|ptx file|missing reason", and VKF_PTX_TARGETS.
function(vkf_add_ptx file root)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "TYPES;DIMS;TERMS_DIMS;MAPS_DIMS")
  get_filename_component(prefix "${file}" NAME_WE)
  get_property(command GLOBAL PROPERTY VKF_PTX_COMMAND)
  get_property(problem GLOBAL PROPERTY VKF_PTX_PROBLEM)
  set(outputs)
  foreach(type ${arg_TYPES})
    foreach(dim ${arg_DIMS})
      set(variants plain)
      if(dim IN_LIST arg_TERMS_DIMS)
        list(APPEND variants terms)
      endif()
      if(dim IN_LIST arg_MAPS_DIMS)
        list(APPEND variants maps)
      endif()
      foreach(variant ${variants})
        set(name ${prefix}_${type}_${dim})
        if(NOT variant STREQUAL plain)
          string(APPEND name _${variant})
        endif()
        if(problem)
          set_property(GLOBAL APPEND PROPERTY VKF_PTX_ENTRIES "${name}||${problem}")
          continue()
        endif()
        set(defines -DVKF_ENTRY=${name} -DVKF_TYPE=${type} -DVKF_DIM=${dim})
        if(variant STREQUAL terms)
          list(APPEND defines -DVKF_SOFTCAP_OR_ALIBI)
        endif()
        if(variant STREQUAL maps)
          list(APPEND defines -DVKF_TENSOR_MAPS)
        endif()
        set(ptx "${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx")
        add_custom_command(
          OUTPUT "${ptx}"
          COMMAND ${command} ${defines} "-I${root}" -MD -MF "${ptx}.d" -MT "${ptx}"
            "${root}/${file}" -o "${ptx}.full"
          COMMAND ${CMAKE_COMMAND} -D "INPUT=${ptx}.full" -D "OUTPUT=${ptx}"
            -P "${PROJECT_SOURCE_DIR}/cmake/StripPtx.cmake"
          DEPENDS "${root}/${file}" "${PROJECT_SOURCE_DIR}/cmake/StripPtx.cmake"
          BYPRODUCTS "${ptx}.full"
          DEPFILE "${ptx}.d"
          COMMENT "Compiling ${name} to PTX"
          VERBATIM)
        list(APPEND outputs "${ptx}")
        set_property(GLOBAL APPEND PROPERTY VKF_PTX_ENTRIES "${name}|${ptx}|")
      endforeach()
    endforeach()
  endforeach()
  add_custom_target(vkflash_ptx_${prefix} DEPENDS ${outputs})
  set_property(GLOBAL APPEND PROPERTY VKF_PTX_TARGETS vkflash_ptx_${prefix})
endfunction()
