# SPDX-License-Identifier: MIT
# Tests are registered in groups, by Catch2 tag: a driver starts once a group, and a run's summary
# stays readable. A label says when a group runs:
#   quick   in ./dev test quick, ./dev test and ./dev test all
#   full    in ./dev test, and with whole sweeps in ./dev test all
#   sweep   in ./dev test all alone
# Tests of ./dev test all alone belong to ctest's configuration All, which a plain ctest leaves out.
set(VKF_REPORT_DIR "${PROJECT_BINARY_DIR}/test_reports")

# vkf_set_test_environment(<test> [<NAME=value>...])
# The driver and layers of a toolchain root, what sanitizers shall leave out, and the given variables.
function(vkf_set_test_environment test)
  set(environment ${VKF_RUN_ENVIRONMENT})
  if(environment)
    list(APPEND environment "VKFLASH_TEST_DEVICE=llvmpipe") # that driver's; without it tests fail, not skip
  endif()
  if(VKFLASH_SANITIZE)
    # Without its cache Mesa 26.1 keeps 48 bytes that no suppression by name finds, and at times LeakSanitizer itself
    # fails on it; `vkflash bench host` would switch the cache off.
    list(APPEND environment "MESA_SHADER_CACHE_DISABLE=false")
    list(APPEND environment
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment};${ARGN}")
endfunction()

# vkf_add_test_group(<name> <Catch2 tags or test case> <quick|full|sweep>)
# The tests run in the repository's root folder, so that they find tests/ and samples/ there.
function(vkf_add_test_group name tags label)
  if(label STREQUAL "sweep")
    vkf_add_test_run(all_${name} "${tags}" CONFIGURATIONS All)
    vkf_set_test_environment(all_${name} "VKFLASH_TEST_SWEEPS=1")
    set_tests_properties(all_${name} PROPERTIES LABELS sweep COST 100)
    return()
  endif()
  # Test drivers that compile for a CPU spend nearly all their time on compiling. Without optimization they take a
  # quarter less. Whole sweeps run the optimized code.
  vkf_add_test_run(${name} "${tags}")
  vkf_set_test_environment(${name} "GALLIVM_PERF=nopt")
  set_tests_properties(${name} PROPERTIES LABELS ${label})
  if(label STREQUAL "full")
    set_tests_properties(${name} PROPERTIES COST 100) # the long ones start first
    vkf_add_test_group(${name} "${tags}" sweep)
  endif()
  set_property(GLOBAL APPEND PROPERTY VKF_TEST_GROUPS ${name})
endfunction()

# vkf_add_test_run(<name> <Catch2 tags or test case> [CONFIGURATIONS <configuration>])
function(vkf_add_test_run name tags)
  file(MAKE_DIRECTORY "${VKF_REPORT_DIR}")
  add_test(NAME ${name}
    COMMAND ${VKF_RUN_PREFIX} $<TARGET_FILE:vkflash_tests> ${tags}
      --reporter console --reporter "JUnit::out=${VKF_REPORT_DIR}/${name}.xml"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    ${ARGN})
  # 4 is Catch2's exit status when every test case was skipped.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 4)
endfunction()

# Tells a source of a test program how the vkflash program of this build is started, as C++ strings; the words of
# the prefix are separated by "|".
function(vkf_define_test_program source)
  list(JOIN VKF_RUN_PREFIX "|" prefix)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
    "VKFLASH_TEST_PROGRAM_PREFIX=\"${prefix}\""
    "VKFLASH_TEST_PROGRAM=\"$<TARGET_FILE:vkflash_cli>\"")
endfunction()

# Adds the test "skipped_cases", last: where a group passed but skipped some of its cases, it lists
# them and shows up in ctest's summary as skipped, so that a skip never looks like a pass.
function(vkf_report_skipped_cases)
  get_property(groups GLOBAL PROPERTY VKF_TEST_GROUPS)
  add_test(NAME skipped_cases
    COMMAND ${CMAKE_COMMAND} -D "REPORTS=${VKF_REPORT_DIR}"
      -P "${PROJECT_SOURCE_DIR}/cmake/ListSkippedCases.cmake")
  set_tests_properties(skipped_cases PROPERTIES
    LABELS "quick;full;sweep"
    DEPENDS "${groups}"
    SKIP_REGULAR_EXPRESSION "skipped test cases:")
endfunction()

# Adds the test "spirv_val": every shader variant of this build is valid SPIR-V, and so is what the library makes of those
# with matrices for bf16.
function(vkf_add_spirv_test)
  get_property(spirv_val GLOBAL PROPERTY VKF_SPIRV_VAL_COMMAND)
  get_property(files GLOBAL PROPERTY VKF_SPIRV_FILES)
  add_test(NAME spirv_val
    COMMAND ${CMAKE_COMMAND} -D "SPIRV_VAL=${spirv_val}" -D "FILES=${files}"
      -D "WRITER=${CMAKE_COMMAND};-E;env;${VKF_RUN_ENVIRONMENT};${VKF_RUN_PREFIX};$<TARGET_FILE:vkflash_bfloat16_shaders>"
      -D "FOLDER=${PROJECT_BINARY_DIR}/bfloat16_shaders"
      -P "${PROJECT_SOURCE_DIR}/cmake/ValidateSpirv.cmake")
  set_tests_properties(spirv_val PROPERTIES LABELS quick SKIP_REGULAR_EXPRESSION "spirv-val was not found")
endfunction()

# Adds the test "reference_pages": Doxygen makes the reference of the public headers without a warning.
function(vkf_add_reference_test)
  add_test(NAME reference_pages
    COMMAND ${CMAKE_COMMAND} -D "SOURCE=${PROJECT_SOURCE_DIR}" -D "FOLDER=${PROJECT_BINARY_DIR}/reference_pages"
      -P "${PROJECT_SOURCE_DIR}/cmake/CheckReference.cmake")
  set_tests_properties(reference_pages PROPERTIES LABELS quick SKIP_REGULAR_EXPRESSION "doxygen was not found")
endfunction()
