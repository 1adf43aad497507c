# SPDX-License-Identifier: MIT
# cmake -D REPORTS=folder -P ListSkippedCases.cmake
# Lists the skipped test cases from the JUnit reports of this run. Deletes the reports, so that a later run of fewer
# groups does not repeat them.
file(GLOB reports "${REPORTS}/*.xml")
set(skipped "")
foreach(report ${reports})
  file(READ "${report}" xml)
  string(REGEX MATCHALL "<testcase [^>]*>[ \t\r\n]*<skipped[^>]*>" cases "${xml}")
  foreach(case ${cases})
    string(REGEX MATCH " name=\"([^\"]*)\"" ignored "${case}")
    string(APPEND skipped "  ${CMAKE_MATCH_1}\n")
  endforeach()
endforeach()
if(reports)
  file(REMOVE ${reports})
endif()
if(skipped)
  message("skipped test cases:\n${skipped}")
endif()
