// SPDX-License-Identifier: MIT
//
// Results as one HTML page that needs nothing from outside: style and pictures are in it, scripts there are none.
#ifndef VKFLASH_TOOLS_REPORT_PAGE_HPP
#define VKFLASH_TOOLS_REPORT_PAGE_HPP

#include <string>

#include "report/result_files.hpp"

namespace vkf::tools {

std::string reportPage(const ResultFiles& files);

} // namespace vkf::tools

#endif
