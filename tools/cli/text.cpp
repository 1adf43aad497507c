// SPDX-License-Identifier: MIT
#include "cli/text.hpp"

#include <array>
#include <span>

#include <fmt/format.h>

namespace vkf::tools {

namespace {

// Uses the largest unit that gives a number of at least 1, or the first unit if none does.
std::string scaled(double value, double step, std::span<const char* const> units) {
    size_t unit = 0;
    while (value >= step && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value >= 100 || unit == 0 ? 0 : value >= 10 ? 1 : 2, units[unit]);
}

} // namespace

std::string bytesText(double bytes) {
    constexpr std::array<const char*, 5> units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    return scaled(bytes, 1024, units);
}

std::string operationsText(double operations) {
    constexpr std::array<const char*, 6> units = {"", "K", "M", "G", "T", "P"};
    return scaled(operations, 1000, units);
}

std::string timeText(double seconds) {
    constexpr std::array<const char*, 4> units = {"ns", "us", "ms", "s"};
    return scaled(seconds * 1e9, 1000, units);
}

} // namespace vkf::tools
