// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_ACTION_HPP
#define VKFLASH_TOOLS_ACTION_HPP

#include <functional>

namespace vkf::tools {

// What the chosen sub-command does. It runs once all flags are parsed; errors are exceptions.
using Action = std::function<void()>;

} // namespace vkf::tools

#endif
