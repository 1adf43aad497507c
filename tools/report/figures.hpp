// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_REPORT_FIGURES_HPP
#define VKFLASH_TOOLS_REPORT_FIGURES_HPP

#include <string>

#include "report/result_files.hpp"

namespace vkf::tools {

// The plots of a bench's results as HTML. "" for a bench without plots or with a single length.
std::string figuresOf(const BenchFile& file);

} // namespace vkf::tools

#endif
