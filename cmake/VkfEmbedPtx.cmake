# SPDX-License-Identifier: MIT
# vkf_embed_ptx(<target>): embeds the PTX texts of the global property VKF_PTX_ENTRIES, lines of vkf_write_table. Targets
# that make the files stand in the global property VKF_PTX_TARGETS.
function(vkf_embed_ptx target)
  get_property(entries GLOBAL PROPERTY VKF_PTX_ENTRIES)
  get_property(targets GLOBAL PROPERTY VKF_PTX_TARGETS)
  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/ptx_table.cpp")
  vkf_write_table("${cpp}" "${PROJECT_SOURCE_DIR}/cmake/WritePtxTable.cmake" "Embedding PTX"
    ENTRIES ${entries} DEPENDS ${targets})
  set_source_files_properties("${cpp}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${cpp}")
endfunction()
