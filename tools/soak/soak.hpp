// SPDX-License-Identifier: MIT
//
// The parts of `vkflash soak`. Each opens the device, works until its deadline or its goal, and reports one line.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.hpp"
#include "measure/timing.hpp"

namespace vkf::tools {

// How long a part may take.
class Deadline {
public:
    explicit Deadline(double seconds) : seconds_(seconds) {}

    double share() const { return time_.seconds() / seconds_; } // that has passed; over 1 past the deadline
    double left() const { return seconds_ - time_.seconds(); }  // seconds; below 0 past the deadline

private:
    double seconds_;
    Stopwatch time_;
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
