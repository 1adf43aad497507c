// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "functions/user_file.hpp"

namespace vkf::functions {

// One sentence of the compiler's log, as the user's file has names and lines: "natten.glsl:7: 'x' : undeclared
// identifier". `where` names the shader, for an error that is not in a line of the user.
std::string messageOf(const UserFile& file, std::string_view where, std::string_view log);

} // namespace vkf::functions
