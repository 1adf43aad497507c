// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_ACTION_HPP
#define VKFLASH_TOOLS_ACTION_HPP

#include <functional>

namespace vkf::tools {

// The work of the selected sub-command. It runs after all flags are parsed. Errors are exceptions.
using Action = std::function<void()>;

} // namespace vkf::tools

#endif
