# SPDX-License-Identifier: MIT
# Installs headers, libraries, the CMake package (components reference, host, functions and mpi) and vkflash.pc. What only a
# compiler needs is in the install component "development", the shared library in "runtime".
include(CMakePackageConfigHelpers)

set(VKF_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/vkflash")
set(VKF_COMPONENTS vkflash)
if(VKFLASH_BUILD_REFERENCE)
  list(APPEND VKF_COMPONENTS reference)
endif()
if(VKFLASH_BUILD_HOST)
  list(APPEND VKF_COMPONENTS host)
endif()
if(TARGET vkflash_functions)
  list(APPEND VKF_COMPONENTS functions)
  install(FILES cmake/VkfFindGlslang.cmake DESTINATION ${VKF_CMAKE_DIR} COMPONENT development)
endif()

# A fetched MPI is for ./dev and its tests, so a library that links it is not installed.
if(TARGET vkflash_mpi AND NOT VKFLASH_MPI_ROOT)
  list(APPEND VKF_COMPONENTS mpi)
  install(TARGETS vkf_mpi EXPORT mpi)
endif()

# Each component has its own export file. A program that uses only the core then depends on nothing else.
if(TARGET vkflash_strtol)
  install(TARGETS vkflash_strtol EXPORT functions ARCHIVE COMPONENT development)
endif()
foreach(component ${VKF_COMPONENTS})
  set(target vkflash)
  if(NOT component STREQUAL "vkflash")
    set(target vkflash_${component})
  endif()
  install(TARGETS ${target} EXPORT ${component}
    RUNTIME COMPONENT runtime
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(EXPORT ${component} NAMESPACE vkflash:: FILE vkflash-${component}.cmake
    DESTINATION ${VKF_CMAKE_DIR} COMPONENT development)
endforeach()

configure_package_config_file(cmake/vkflashConfig.cmake.in vkflashConfig.cmake
  INSTALL_DESTINATION ${VKF_CMAKE_DIR})
# Until 1.0 the C++ headers may change with the second number of the version.
write_basic_package_version_file(vkflashConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/vkflashConfig.cmake"
  "${PROJECT_BINARY_DIR}/vkflashConfigVersion.cmake"
  DESTINATION ${VKF_CMAKE_DIR} COMPONENT development)

# A C program that links the static library also needs the C++ runtime.
set(VKF_PC_CFLAGS "")
set(VKF_PC_LIBS "")
if(VKFLASH_BUILD_SHARED)
  set(VKF_PC_CFLAGS "-DVKF_SHARED")
elseif(APPLE)
  set(VKF_PC_LIBS "-lc++")
elseif(NOT MSVC)
  set(VKF_PC_LIBS "-lstdc++ -lm")
endif()
file(RELATIVE_PATH VKF_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/vkflash.pc.in vkflash.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/vkflash.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Documents as the headers name them, with the examples that the documents name. Packages have them beside the headers.
set(VKF_DEVELOPMENT_PACKAGE libvkflash-dev)
set(VKF_DOCUMENTS "${CMAKE_INSTALL_DOCDIR}")
if(VKFLASH_PACKAGES)
  set(VKF_DOCUMENTS "${CMAKE_INSTALL_DATADIR}/doc/${VKF_DEVELOPMENT_PACKAGE}")
endif()
install(DIRECTORY docs DESTINATION "${VKF_DOCUMENTS}" COMPONENT development
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(FILES README.md DESTINATION "${VKF_DOCUMENTS}" COMPONENT development)
install(DIRECTORY examples DESTINATION "${VKF_DOCUMENTS}" COMPONENT development)
