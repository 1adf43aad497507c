# SPDX-License-Identifier: MIT
# fmt formats text in the program. Link fmt::fmt-header-only.
find_package(fmt CONFIG QUIET GLOBAL)
vkf_require(fmt "${fmt_DIR}" VERSION "${fmt_VERSION}" MINIMUM 9
  GROUP cpp PACKAGES "Debian libfmt-dev, vcpkg fmt")
