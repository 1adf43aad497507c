// SPDX-License-Identifier: MIT
//
// Errors that end the program, with the exit status.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

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

} // namespace vkf::tools
