// SPDX-License-Identifier: MIT
#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/program/console.hpp"

namespace vkf::tools {

namespace {

constexpr std::chrono::milliseconds quietTime{2000};
constexpr std::chrono::milliseconds redrawTime{100};
constexpr size_t barWidth = 32;

// A launcher such as mpirun takes stderr through a pipe, even if its own is a terminal.
bool isSeen() { return stderrIsTerminal() || std::getenv("VKFLASH_PROGRESS") != nullptr; }

} // namespace

Progress::Progress(std::string label) : label_(std::move(label)) {
    if (isSeen())
        drawer_ = std::thread([this] { drawUntilEnd(); });
}

Progress::~Progress() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    ended_.notify_all();
    if (drawer_.joinable())
        drawer_.join();
    erase();
}

void Progress::update(double share) {
    const std::lock_guard lock(mutex_);
    share_ = share;
    hidden_ = false;
}

void Progress::hide() {
    const std::lock_guard lock(mutex_);
    hidden_ = true;
    erase();
}

void Progress::drawUntilEnd() {
    std::unique_lock lock(mutex_);
    std::chrono::milliseconds wait = quietTime;
    while (!ended_.wait_for(lock, wait, [this] { return ends_; })) {
        if (!hidden_)
            draw();
        wait = redrawTime;
    }
}

void Progress::draw() {
    visible_ = true;
    const double clamped = std::clamp(share_, 0.0, 1.0);
    const auto filled = static_cast<size_t>(clamped * static_cast<double>(barWidth));
    const std::string line = fmt::format("\r\033[K{} [{}{}] {:3.0f} %", label_, std::string(filled, '='),
                                         std::string(barWidth - filled, ' '), clamped * 100);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

void Progress::erase() {
    if (!visible_)
        return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    visible_ = false;
}

} // namespace vkf::tools
