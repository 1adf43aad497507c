# SPDX-License-Identifier: MIT
# CLI11 reads the program's command line. Link CLI11::CLI11.
find_package(CLI11 CONFIG QUIET GLOBAL)
vkf_require(CLI11 "${CLI11_DIR}" VERSION "${CLI11_VERSION}" MINIMUM 2.1
  GROUP cpp PACKAGES "Debian libcli11-dev, vcpkg cli11")
