// SPDX-License-Identifier: MIT
//
// Errors that end the program, with the exit status, and calls of the library that may fail.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "vkflash/host.hpp"

namespace vkf::tools {

enum ExitStatus {
    exitDone = 0,     // all requested results are written and right
    exitFailed = 1,   // a failure of device, memory or disk, or a wrong result
    exitBadInput = 2, // flags or files that the caller can correct
};

class ProgramError : public std::runtime_error {
public:
    ProgramError(ExitStatus status, const std::string& text) : std::runtime_error(text), status_(status) {}
    ExitStatus status() const noexcept { return status_; }

private:
    ExitStatus status_;
};

template <typename... Args> [[noreturn]] void failInput(fmt::format_string<Args...> format, Args&&... args) {
    throw ProgramError(exitBadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw ProgramError(exitFailed, fmt::format(format, std::forward<Args>(args)...));
}

// Calls a function of the library whose last argument is a message. Throws host::Error with its text if it fails.
template <typename Function, typename... Args> void requireSuccess(Function function, const Args&... args) {
    VkfMessage message{};
    if (const VkfResult result = function(args..., &message); result != VKF_SUCCESS)
        throw host::Error(result, message.text);
}

} // namespace vkf::tools
