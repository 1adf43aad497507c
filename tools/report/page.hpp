// SPDX-License-Identifier: MIT
//
// Makes one HTML page from results. The page contains its style and pictures, loads nothing, and has no scripts.
#ifndef VKFLASH_TOOLS_REPORT_PAGE_HPP
#define VKFLASH_TOOLS_REPORT_PAGE_HPP

#include <string>

#include "report/result_files.hpp"

namespace vkf::tools {

std::string reportPage(const ResultFiles& files);

} // namespace vkf::tools

#endif
