# SPDX-License-Identifier: MIT
# The archive: vkflash-<version>-<system>-<processor>.tar.gz. It may be unpacked anywhere.
set(CPACK_GENERATOR TGZ)
if(VKF_MAKES_DEBIAN_PACKAGES)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_PACKAGE_FILE_NAME "vkflash-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
# Programs of the archive find the library beside them. Debian's packages have no such path.
if(VKFLASH_BUILD_TOOLS)
  file(RELATIVE_PATH path "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(vkflash_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${path}")
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/remove_run_paths.cmake")
