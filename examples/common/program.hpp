// SPDX-License-Identifier: MIT
//
// How every example ends: an error of the library is an exception, and an exception is a line and exit status 1.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include <vkflash/vkflash.hpp>

inline void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw std::runtime_error(std::string(vkfResultString(result)) + ": " + message.text);
    }
}

// Returns the exit status of `run`.
inline int runProgram(const char* name, const std::function<int()>& run) {
    try {
        return run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 1;
    }
}
