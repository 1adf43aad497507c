# SPDX-License-Identifier: MIT
# Catch2 runs the tests. Link Catch2::Catch2WithMain. 3.3 is the first version with SKIP.
find_package(Catch2 CONFIG QUIET GLOBAL)
vkf_require(Catch2 "${Catch2_DIR}" VERSION "${Catch2_VERSION}" MINIMUM 3.3
  GROUP cpp PACKAGES "Debian catch2, vcpkg catch2")
