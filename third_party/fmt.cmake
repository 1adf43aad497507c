# SPDX-License-Identifier: MIT
# fmt formats text in the program. Link fmt::fmt-header-only. A package of fmt is for one size of pointers, but its
# headers are for all.
find_path(VKF_FMT_INCLUDE_DIR fmt/format.h)
if(VKF_FMT_INCLUDE_DIR)
  foreach(header core base) # version 11 has moved the number
    if(EXISTS "${VKF_FMT_INCLUDE_DIR}/fmt/${header}.h")
      file(STRINGS "${VKF_FMT_INCLUDE_DIR}/fmt/${header}.h" VKF_LINE REGEX "^#define FMT_VERSION [0-9]+")
      if(VKF_LINE MATCHES "([0-9]+)[0-9][0-9][0-9][0-9]$") # 90100 is 9.1.0
        set(VKF_FMT_VERSION ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  if(NOT TARGET fmt::fmt-header-only)
    add_library(fmt::fmt-header-only INTERFACE IMPORTED GLOBAL)
    target_include_directories(fmt::fmt-header-only SYSTEM INTERFACE "${VKF_FMT_INCLUDE_DIR}")
    target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
  endif()
endif()
vkf_require(fmt "${VKF_FMT_INCLUDE_DIR}" VERSION "${VKF_FMT_VERSION}" MINIMUM 9
  GROUP cpp PACKAGES "Debian libfmt-dev, vcpkg fmt")
