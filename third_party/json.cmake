# SPDX-License-Identifier: MIT
# nlohmann-json reads and writes JSON in the program. Link nlohmann_json::nlohmann_json.
find_package(nlohmann_json CONFIG QUIET GLOBAL)
vkf_require(nlohmann-json "${nlohmann_json_DIR}" VERSION "${nlohmann_json_VERSION}" MINIMUM 3.11
  GROUP cpp PACKAGES "Debian nlohmann-json3-dev, vcpkg nlohmann-json")
