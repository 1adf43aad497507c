// SPDX-License-Identifier: MIT
#include "log.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace vkf::layer {
namespace {

constexpr const char* variable = "VKFLASH_GGML_LAYER";

struct NamedMode {
    std::string_view name;
    Mode mode;
};
constexpr std::array namedModes = {
    NamedMode{"off", Mode::off},
    NamedMode{"", Mode::quiet},
    NamedMode{"log", Mode::log},
    NamedMode{"strict", Mode::strict},
};

Mode readMode() {
    const char* value = std::getenv(variable);
    for (const NamedMode& named : namedModes) {
        if (named.name == (value == nullptr ? "" : value)) {
            return named.mode;
        }
    }
    report(std::string(variable) + " is \"" + value + "\"; it must be off, log or strict");
    return Mode::quiet;
}

} // namespace

Mode mode() {
    static const Mode read = readMode();
    return read;
}

void report(const std::string& text) { std::fprintf(stderr, "vkflash ggml layer: %s\n", text.c_str()); }

void tell(const std::string& text) {
    if (mode() == Mode::log || mode() == Mode::strict) {
        report(text);
    }
}

void reportIdle(const std::string& reason) {
    report(reason + ": all calls pass through");
    if (mode() == Mode::strict) {
        std::_Exit(EXIT_FAILURE);
    }
}

Tally::~Tally() {
    if (kernels_ == 0) {
        tell("no kernel of ggml-vulkan's attention was recognised");
    } else {
        tell(std::to_string(replaced_) + " attention calls replaced, " + std::to_string(passed_) + " passed through");
    }
}

void Tally::passedThrough(const std::string& reason) {
    passed_.fetch_add(1, std::memory_order_relaxed);
    if (mode() == Mode::strict) {
        report("strict: an attention call cannot be replaced: " + reason);
        std::_Exit(EXIT_FAILURE);
    }
    if (mode() == Mode::log) {
        const std::lock_guard lock(mutex_);
        if (reasons_.insert(reason).second) {
            report("passes a call through: " + reason);
        }
    }
}

Tally& tally() {
    static Tally only;
    return only;
}

} // namespace vkf::layer
