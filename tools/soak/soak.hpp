// SPDX-License-Identifier: MIT
//
// The parts of `vkflash soak`. Each opens the device, works until its deadline or its goal, and reports one line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/options.hpp"

namespace vkf::tools {

// How long a part may take.
class Deadline {
public:
    explicit Deadline(double seconds) : seconds_(seconds) {}

    double share() const { return elapsed() / seconds_; } // of the time that has passed; over 1 past the deadline
    double left() const { return seconds_ - elapsed(); }  // seconds; below 0 past the deadline

private:
    using Clock = std::chrono::steady_clock;

    double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    double seconds_;
    Clock::time_point start_ = Clock::now();
};

struct SoakReport {
    std::string text; // one line, or a line more for each fault
    bool clean = true;
};

// Calls of random features, forward and backward, against the CPU reference. `cases` = 0: as many as time allows.
SoakReport soakCases(const DeviceFlags& flags, uint64_t firstSeed, uint64_t cases, const Deadline& deadline);

// Decode calls whose lengths change from call to call, each newly recorded. Calls with equal lengths must give equal
// bits from the first call to the last, and memory must not grow.
SoakReport soakDecode(const DeviceFlags& flags, uint64_t calls, const Deadline& deadline);

// Attention over ever longer sequences, up to `rows` rows and keys, until a longer one would pass the deadline.
SoakReport soakLong(const DeviceFlags& flags, uint32_t rows, const Deadline& deadline);

} // namespace vkf::tools
