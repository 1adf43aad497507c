# SPDX-License-Identifier: MIT
# The packages for Debian. Each has the copyright and the changes in Debian's form.
find_program(VKF_DPKG_SHLIBDEPS dpkg-shlibdeps)
set(VKF_MAKES_DEBIAN_PACKAGES OFF)
if(NOT VKF_DPKG_SHLIBDEPS)
  message(STATUS "Leaving out packages for Debian: dpkg-shlibdeps was not found")
  return()
endif()
set(VKF_MAKES_DEBIAN_PACKAGES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE vkflash)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# vkf_debian_package(<component> <name> <section> <description> <third party>...)
function(vkf_debian_package component name section description)
  if(NOT component IN_LIST CPACK_COMPONENTS_ALL)
    return()
  endif()
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  if(NOT component STREQUAL "runtime")
    set(CPACK_COMPONENT_${upper}_DEPENDS runtime PARENT_SCOPE)
  endif()
  vkf_install_notices(${component} ${name} ${ARGN})
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/copyright" "${CMAKE_CURRENT_BINARY_DIR}/changelog.gz"
      "${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(computes "computes exact fused attention, softmax(q k^T) v, in Vulkan compute shaders, on any GPU with a driver
for Vulkan 1.2.")
vkf_debian_package(runtime ${VKF_RUNTIME_PACKAGE} libs "exact fused attention for Vulkan (shared library)
The library vkflash ${computes}")
vkf_debian_package(development ${VKF_DEVELOPMENT_PACKAGE} libdevel "exact fused attention for Vulkan (development files)
The library vkflash ${computes}
.
This package has the headers, the static libraries for programs without Vulkan code and for comparisons with the CPU,
the documents and the examples." volk vma)
vkf_debian_package(tools ${VKF_TOOLS_PACKAGE} utils "exact fused attention for Vulkan (program)
The program vkflash ${computes}
It reads tensors from files, measures, explains and checks." volk vma fmt cli11 json glslang spirv_tools)
vkf_debian_package(python ${VKF_PYTHON_PACKAGE} python "exact fused attention for Vulkan (Python)
The module vkflash ${computes}
It takes arrays of NumPy and of libraries with DLPack." volk vma nanobind robin_map glslang spirv_tools)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/triggers")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "mesa-vulkan-drivers | vulkan-icd")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libvulkan-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "glslang-dev, spirv-tools-dev")
# They load the Vulkan loader at run time, so no tool finds that they need it.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libvulkan1")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "mesa-vulkan-drivers | vulkan-icd")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libvulkan1, ${VKF_PYTHON_DEPENDS}, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "mesa-vulkan-drivers | vulkan-icd")

# The documents of each package.
file(READ "${PROJECT_SOURCE_DIR}/LICENSE" license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)\n+(.*)" found "${license}")
set(holder "${CMAKE_MATCH_1}")
string(STRIP "${CMAKE_MATCH_2}" text)
string(REPLACE "\n\n" "\n.\n" text "${text}")
string(REPLACE "\n" "\n " text "${text}")
file(CONFIGURE OUTPUT copyright @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: vkflash
Upstream-Contact: @VKFLASH_PACKAGE_CONTACT@

Files: *
Copyright: @holder@
License: Expat
 @text@
Comment: A package that contains code of others has their copyrights in the folder third_party beside this file.
")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT changelog.Debian @ONLY CONTENT
"vkflash (@PROJECT_VERSION@-@CPACK_DEBIAN_PACKAGE_RELEASE@) unstable; urgency=medium

  * Version @PROJECT_VERSION@. changelog.gz lists what is new.

 -- @VKFLASH_PACKAGE_CONTACT@  @date@
")
file(COPY_FILE "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${CMAKE_CURRENT_BINARY_DIR}/changelog" ONLY_IF_DIFFERENT)
foreach(name changelog changelog.Debian)
  execute_process(COMMAND "${VKF_GZIP}" -9nkf "${name}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
