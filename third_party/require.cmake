# SPDX-License-Identifier: MIT

# vkf_require(NAME found_value VERSION v MINIMUM v GROUP vulkan|cpp PACKAGES text)
# Reports whether a third party is there, too old or missing. found_value is empty or ends in -NOTFOUND if it is
# missing. GROUP is the subfolder of a toolchain root for it.
set(VKF_MISSING "")
set(VKF_MISSING_GROUPS "")
function(vkf_require name found_value)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "VERSION;MINIMUM;GROUP;PACKAGES" "")
  if(NOT found_value)
    set(problem "not found")
  elseif(arg_MINIMUM AND NOT arg_VERSION)
    string(CONCAT problem "${found_value} does not tell its version "
      "(a program of VKFLASH_TOOLCHAIN_ROOT needs the loader of that folder)")
  elseif(arg_MINIMUM AND arg_VERSION VERSION_LESS arg_MINIMUM)
    set(problem "version ${arg_VERSION} is too old")
  else()
    string(STRIP "${name} ${arg_VERSION}" text)
    message(STATUS "Using ${text}: ${found_value}")
    return()
  endif()
  if(arg_MINIMUM)
    string(APPEND problem ", ${arg_MINIMUM} or later is needed")
  endif()
  message(STATUS "${name}: ${problem}")
  set(VKF_MISSING ${VKF_MISSING} "  ${name}: ${problem} (${arg_PACKAGES})\n" PARENT_SCOPE)
  set(VKF_MISSING_GROUPS ${VKF_MISSING_GROUPS} ${arg_GROUP} PARENT_SCOPE)
endfunction()

# Stops the configuration if something is missing. Call it after all checks.
function(vkf_report_requirements)
  set(groups ${VKF_MISSING_GROUPS})
  list(REMOVE_DUPLICATES groups)
  if(VKF_ASKED_FOR_ALL)
    file(WRITE "${CMAKE_BINARY_DIR}/missing_groups.txt" "${groups}")
  endif()
  if(VKF_MISSING)
    list(JOIN VKF_MISSING "" text)
    message(FATAL_ERROR "Third parties are missing:\n${text}"
      "Set CMAKE_PREFIX_PATH or VULKAN_SDK to where they are, turn off what needs them "
      "(VKFLASH_BUILD_TESTS, VKFLASH_BUILD_TOOLS, VKFLASH_BUILD_HOST), or let ./dev fetch them on Debian.")
  endif()
endfunction()
