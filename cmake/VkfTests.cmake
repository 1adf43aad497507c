# SPDX-License-Identifier: MIT
# Tests are registered in groups by Catch2 tag. A group starts a driver only once, and the summary of a run stays
# readable. The label of a group says when it runs:
#   quick   in ./dev test quick, ./dev test and ./dev test all
#   full    in ./dev test; in ./dev test all with whole sweeps
#   sweep   only in ./dev test all
# Tests that run only in ./dev test all belong to ctest's configuration All. A plain ctest leaves them out.
set(VKF_REPORT_DIR "${PROJECT_BINARY_DIR}/test_reports")

# vkf_set_test_environment(<test> [<NAME=value>...])
# Sets the driver and the layers of a toolchain root, what the sanitizers leave out, and the given variables.
function(vkf_set_test_environment test)
  set(environment ${VKF_RUN_ENVIRONMENT})
  if(environment)
    # Without this driver the tests fail. They do not skip.
    list(APPEND environment "VKFLASH_TEST_DEVICE=llvmpipe")
  endif()
  if(VKFLASH_SANITIZE)
    # Mesa's shader cache stays on. Without it, Mesa 26.1 keeps 48 bytes that no suppression by name finds, and
    # LeakSanitizer itself sometimes fails on them. `vkflash_lab host` would otherwise switch the cache off.
    list(APPEND environment "MESA_SHADER_CACHE_DISABLE=false")
    list(APPEND environment
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment};${ARGN}")
endfunction()

# vkf_set_quick_environment(<test> [<NAME=value>...])
# vkf_set_test_environment for tests on llvmpipe whose time goes into its compiler. It does not optimise there, and
# compiles no kernel twice (tests/device/driver_passes.cpp). Without both, a test takes nearly twice as long. Whole
# sweeps of vkf_add_test_group run the optimised code.
function(vkf_set_quick_environment test)
  set(environment "GALLIVM_PERF=nopt")
  if(TARGET vkflash_driver_passes)
    list(APPEND environment "LD_PRELOAD=$<TARGET_FILE:vkflash_driver_passes>")
  endif()
  vkf_set_test_environment(${test} ${environment} ${ARGN})
endfunction()

# vkf_add_test_group(<name> <Catch2 tags or test case> <quick|full|sweep> [WITHOUT_MATRICES] [UNROLLED])
# The tests run in the repository's root folder, because they read tests/ and samples/ there.
# WITHOUT_MATRICES: no test of the group needs cooperative matrices. llvmpipe has them only with vectors of eight numbers.
# With vectors of four, most groups take less time, up to a quarter.
# UNROLLED: the group runs kernels of plain arithmetic on the software driver as applications get them. In other groups
# they are not unrolled, and compile faster. Whole sweeps run them as applications get them.
function(vkf_add_test_group name tags label)
  if(label STREQUAL "sweep")
    vkf_add_test_run(all_${name} "${tags}" CONFIGURATIONS All)
    vkf_set_test_environment(all_${name} "VKFLASH_TEST_SWEEPS=1")
    set_tests_properties(all_${name} PROPERTIES LABELS sweep COST 100)
    return()
  endif()
  vkf_add_test_run(${name} "${tags}")
  set(environment)
  if("WITHOUT_MATRICES" IN_LIST ARGN)
    list(APPEND environment "LP_NATIVE_VECTOR_WIDTH=128")
  endif()
  if(VKF_RUN_ENVIRONMENT AND NOT "UNROLLED" IN_LIST ARGN)
    list(APPEND environment "VKFLASH_TEST_ROLLED=1")
  endif()
  vkf_set_quick_environment(${name} ${environment})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
  if(label STREQUAL "full")
    set_tests_properties(${name} PROPERTIES COST 100) # long groups start first
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
  # 4 is Catch2's exit status if every test case was skipped.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 4)
endfunction()

# vkf_add_swiftshader_group(<name> <Catch2 tags or test case> <full|sweep>)
# Adds the test swiftshader_<name>: a group on SwiftShader, the Vulkan driver of Chromium, instead of the usual driver.
# It is skipped if the variable VKFLASH_TEST_SWIFTSHADER does not name the driver. There are no whole sweeps, because the
# driver takes seconds to compile a kernel: the longest groups take ten minutes as they are.
function(vkf_add_swiftshader_group name tags label)
  set(test swiftshader_${name})
  if(label STREQUAL "sweep")
    vkf_add_test_run(${test} "${tags}" CONFIGURATIONS All)
  else()
    vkf_add_test_run(${test} "${tags}")
  endif()
  vkf_set_test_environment(${test} "VKFLASH_TEST_DRIVER=swiftshader")
  # The time limit of every group ends one whose kernel the driver does not finish compiling.
  set_tests_properties(${test} PROPERTIES LABELS ${label} COST 100)
  if(NOT label STREQUAL "sweep")
    set_property(GLOBAL APPEND PROPERTY VKF_TEST_GROUPS ${test})
  endif()
endfunction()

# Defines two C++ strings for a source of a test program: the path of this build's vkflash program, and the words that
# start it, separated by "|".
function(vkf_define_test_program source)
  list(JOIN VKF_RUN_PREFIX "|" prefix)
  if(WIN32) # the system, or the emulator in which the tests run
    set(prefix "")
  endif()
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
    "VKFLASH_TEST_PROGRAM_PREFIX=\"${prefix}\""
    "VKFLASH_TEST_PROGRAM=\"$<TARGET_FILE:vkflash_cli>\"")
endfunction()

# Adds the test "skipped_cases", which runs last. It lists the skipped cases of groups that passed, and ctest's summary
# shows it as skipped. So a skip never looks like a pass.
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

# Adds the test "spirv_val". It checks that every shader variant of this build is valid SPIR-V, and so are the variants
# with bf16 matrices that the library makes from them.
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
