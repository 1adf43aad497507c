// SPDX-License-Identifier: MIT
#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/program/console.hpp"

namespace vkf::tools {

namespace {

constexpr std::chrono::seconds quietTime{2};
constexpr std::chrono::milliseconds redrawTime{100};
constexpr size_t barWidth = 32;

} // namespace

Progress::Progress(std::string label) : label_(std::move(label)), terminal_(stderrIsTerminal()) {}

Progress::~Progress() { hide(); }

void Progress::hide() {
    if (!visible_)
        return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    visible_ = false;
}

void Progress::update(double share) {
    const Clock::time_point now = Clock::now();
    if (!terminal_ || now - start_ < quietTime || now - drawn_ < redrawTime)
        return;
    drawn_ = now;
    visible_ = true;
    const double clamped = std::clamp(share, 0.0, 1.0);
    const auto filled = static_cast<size_t>(clamped * static_cast<double>(barWidth));
    const std::string line = fmt::format("\r\033[K{} [{}{}] {:3.0f} %", label_, std::string(filled, '='),
                                         std::string(barWidth - filled, ' '), clamped * 100);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

} // namespace vkf::tools
