// SPDX-License-Identifier: MIT
//
// Messages go where ggml's own messages go: to the function that the program gave to ggml_log_set, or to stderr.
#pragma once

#include <ggml.h>

#include <string>

namespace vkf::ggml {

// Logs a line that begins with the backend's name.
void log(ggml_log_level level, const std::string& text);

// Calls a function that may throw. Logs what it throws, with `doing`, and returns `otherwise` then.
template <typename Result, typename Function>
Result guarded(const char* doing, Result otherwise, const Function& function) noexcept;

// Logs the exception that is being handled. Called in a catch block only.
void logException(const char* doing) noexcept;

template <typename Result, typename Function>
Result guarded(const char* doing, Result otherwise, const Function& function) noexcept {
    try {
        return function();
    } catch (...) {
        logException(doing);
        return otherwise;
    }
}

} // namespace vkf::ggml
