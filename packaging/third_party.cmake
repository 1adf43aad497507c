# SPDX-License-Identifier: MIT
# The copyrights of others whose code is in a package. They come from the packages of Debian that the build uses, because
# this repository contains nothing of others.
set(VKF_NOTICE_volk libvulkan-volk-dev)
set(VKF_NOTICE_vma libvulkan-memory-allocator-dev)
set(VKF_NOTICE_fmt libfmt-dev)
set(VKF_NOTICE_cli11 libcli11-dev)
set(VKF_NOTICE_json nlohmann-json3-dev)
set(VKF_NOTICE_glslang glslang-dev)
set(VKF_NOTICE_spirv_tools spirv-tools-dev)
set(VKF_NOTICE_nanobind nanobind-dev)
set(VKF_NOTICE_robin_map robin-map-dev)

# vkf_install_notices(<component> <package> <third party>...)
function(vkf_install_notices component package)
  set(excluded)
  if(component STREQUAL "python")
    set(excluded EXCLUDE_FROM_ALL)
  endif()
  foreach(name ${ARGN})
    find_file(VKF_NOTICE_OF_${name} copyright NO_DEFAULT_PATH PATHS
      "${VKFLASH_TOOLCHAIN_ROOT}/vulkan/usr/share/doc/${VKF_NOTICE_${name}}"
      "${VKFLASH_TOOLCHAIN_ROOT}/cpp/usr/share/doc/${VKF_NOTICE_${name}}"
      "${VKF_NANOBIND}/../doc/${VKF_NOTICE_${name}}"
      "/usr/share/doc/${VKF_NOTICE_${name}}")
    mark_as_advanced(VKF_NOTICE_OF_${name})
    if(VKF_NOTICE_OF_${name})
      install(FILES "${VKF_NOTICE_OF_${name}}" RENAME ${name}.txt
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}/third_party" COMPONENT ${component} ${excluded})
    else()
      message(WARNING "${package}: the copyright of ${VKF_NOTICE_${name}} was not found")
    endif()
  endforeach()
endfunction()
