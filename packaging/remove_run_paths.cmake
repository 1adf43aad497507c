# SPDX-License-Identifier: MIT
# cpack runs it on the installed files of a package, before it packs them.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE programs "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/bin/*")
  foreach(program ${programs})
    file(RPATH_REMOVE FILE "${program}")
  endforeach()
endif()
