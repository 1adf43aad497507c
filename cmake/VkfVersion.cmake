# SPDX-License-Identifier: MIT
# Reads the version from include/vkflash/types.h, its only place.
function(vkf_read_version variable header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${header} line REGEX "^#define VKF_VERSION_${part} [0-9]+")
    if(NOT line MATCHES "([0-9]+)$")
      message(FATAL_ERROR "${header} does not define VKF_VERSION_${part}")
    endif()
    list(APPEND parts ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN parts . version)
  set(${variable} ${version} PARENT_SCOPE)
endfunction()
