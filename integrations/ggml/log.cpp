// SPDX-License-Identifier: MIT
#include "log.hpp"

#include <exception>

namespace vkf::ggml {

void log(ggml_log_level level, const std::string& text) {
    ggml_log_callback callback = nullptr;
    void* userData = nullptr;
    ggml_log_get(&callback, &userData);
    if (callback != nullptr) {
        callback(level, ("vkflash: " + text + "\n").c_str(), userData);
    }
}

void logException(const char* doing) noexcept {
    try {
        try {
            throw;
        } catch (const std::exception& error) {
            log(GGML_LOG_LEVEL_ERROR, std::string(doing) + ": " + error.what());
        }
    } catch (...) { // no memory for the text, or a callback that throws
        return;
    }
}

} // namespace vkf::ggml
