// SPDX-License-Identifier: MIT
//
// Names of files from the command line.
#ifndef VKFLASH_TOOLS_PATH_OF_HPP
#define VKFLASH_TOOLS_PATH_OF_HPP

#include <filesystem>
#include <string>

namespace vkf::tools {

// The path of a name in UTF-8. On Windows, a path that is made of a std::string alone has other characters.
inline std::filesystem::path pathOf(const std::string& name) { return std::u8string(name.begin(), name.end()); }

} // namespace vkf::tools

#endif
