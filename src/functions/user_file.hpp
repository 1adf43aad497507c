// SPDX-License-Identifier: MIT
//
// The user's file of functions: checks it, and makes of it the text that the kernels include.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <vkflash/functions.hpp>

namespace vkf::functions {

// The name by which kernels include the user's file (shaders/functions/).
inline constexpr std::string_view includedName = "functions/user.glsl";

// The name by which the compiler's messages call the user's own lines. The user's name for the file may have any
// characters.
inline constexpr std::string_view lineName = "the user's file";

struct UserFile {
    std::string name;                // as in messages
    std::string included;            // the text of includedName
    std::vector<std::string> macros; // that tell the kernels about the functions
    std::vector<std::string> names;  // that the file declares; `included` adds namePrefix to them
    VkfFunctionSet functions = 0;
};

// The names of the user stand for names with this prefix, which no name of a kernel has.
inline constexpr std::string_view namePrefix = "user_";

// Throws Error if the file breaks a rule that the compiler does not know, or if an array is wrong.
UserFile readUserFile(const Source& source);

} // namespace vkf::functions
