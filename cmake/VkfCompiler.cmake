# SPDX-License-Identifier: MIT
# Settings of all targets of the project: build type, standards, warnings and sanitizers.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  get_property(VKF_MULTI_CONFIG GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT CMAKE_BUILD_TYPE AND NOT VKF_MULTI_CONFIG)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  if(NOT MSVC)
    set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
    set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()

include(GNUInstallDirs)

set(VKF_WARNING_FLAGS
  $<$<CXX_COMPILER_ID:MSVC>:/W4>
  $<$<NOT:$<CXX_COMPILER_ID:MSVC>>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Wno-missing-field-initializers>)
set(VKF_WARNING_ERROR_FLAGS $<IF:$<CXX_COMPILER_ID:MSVC>,/WX,-Werror>)

if(VKFLASH_SANITIZE)
  set(VKF_SANITIZE_FLAGS -fsanitize=${VKFLASH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Fuzzers run with this system's loader: the sanitizers of clang do not know the C library of a toolchain root.
  if(NOT VKFLASH_FUZZ)
    set(VKF_SANITIZE_LINK_FLAGS ${VKF_RUN_LINK_FLAGS})
  endif()
  # Links the sanitizers statically, because a toolchain root's loader does not find the compiler's libraries.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND VKFLASH_SANITIZE MATCHES "address")
    list(APPEND VKF_SANITIZE_LINK_FLAGS -static-libasan -static-libubsan)
  endif()
endif()

# Sets these properties. Each library and program of the project calls this once.
function(vkf_target_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20 c_std_11)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    C_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  if(VKFLASH_WARNINGS OR VKFLASH_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE ${VKF_WARNING_FLAGS})
  endif()
  if(VKFLASH_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE ${VKF_WARNING_ERROR_FLAGS})
  endif()
  if(VKFLASH_SANITIZE)
    target_compile_options(${target} PRIVATE ${VKF_SANITIZE_FLAGS})
    target_link_options(${target} PUBLIC ${VKF_SANITIZE_FLAGS} ${VKF_SANITIZE_LINK_FLAGS})
  endif()
endfunction()

# vkf_compile_together(<target> <sources a unit>)
# Compiles several sources as one unit, because headers cost more time than a source's own code. Therefore names in
# unnamed namespaces must differ within a target. ./dev lint compiles each source alone.
function(vkf_compile_together target sources)
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources})
  endif()
endfunction()

# vkf_compile_folders_together(<target> <sources>...)
# The same with a unit for each folder: names in unnamed namespaces must differ within a folder.
function(vkf_compile_folders_together target)
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    foreach(source ${ARGN})
      get_filename_component(folder "${source}" DIRECTORY)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "sources/${folder}")
    endforeach()
  endif()
endfunction()

# vkf_add_library(<target> NAME <name> [SHARED_OPTION] SOURCES ... HEADERS ...)
# Adds a library of this project. It is vkflash::<name> inside the build and after installation, with public headers
# relative to include/. With SHARED_OPTION it is shared if VKFLASH_BUILD_SHARED is on. Otherwise it is always static.
function(vkf_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED_OPTION" "NAME" "SOURCES;HEADERS")
  set(type STATIC)
  if(arg_SHARED_OPTION AND VKFLASH_BUILD_SHARED)
    set(type SHARED)
  endif()
  list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/")

  add_library(${target} ${type} ${arg_SOURCES})
  add_library(vkflash::${arg_NAME} ALIAS ${target})
  vkf_target_defaults(${target})
  vkf_compile_folders_together(${target} ${arg_SOURCES})
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/shaders")
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${arg_NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    DEFINE_SYMBOL VKF_BUILDING)
  if(type STREQUAL "SHARED")
    target_compile_definitions(${target} PUBLIC VKF_SHARED)
  endif()
endfunction()
