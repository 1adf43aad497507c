# SPDX-License-Identifier: MIT
# vkf_embed_ptx(<target>): embeds the PTX texts of the global property VKF_PTX_ENTRIES. Each entry is a line
# "name|ptx file|missing reason"; one of the last two is empty. Targets that make the files stand in the global property
# VKF_PTX_TARGETS.
function(vkf_embed_ptx target)
  get_property(entries GLOBAL PROPERTY VKF_PTX_ENTRIES)
  get_property(targets GLOBAL PROPERTY VKF_PTX_TARGETS)
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/ptx_table.txt")
  list(JOIN entries "\n" text)
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${text}\n" @ONLY)
  list(TRANSFORM entries REPLACE "^[^|]*\\|([^|]*)\\|.*" "\\1" OUTPUT_VARIABLE files)
  list(REMOVE_ITEM files "")
  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/ptx_table.cpp")
  add_custom_command(
    OUTPUT "${cpp}"
    COMMAND ${CMAKE_COMMAND} -D "LIST=${list_file}" -D "OUTPUT=${cpp}"
      -P "${PROJECT_SOURCE_DIR}/cmake/WritePtxTable.cmake"
    DEPENDS "${list_file}" ${files} ${targets} "${PROJECT_SOURCE_DIR}/cmake/WritePtxTable.cmake"
    COMMENT "Embedding PTX"
    VERBATIM)
  set_source_files_properties("${cpp}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${cpp}")
endfunction()
