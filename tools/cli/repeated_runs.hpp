// SPDX-License-Identifier: MIT
//
// Runs calls with a progress bar. --repeat: the time of a call's first run, and of warm runs after it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Adds --repeat: number of runs after the first one.
void addRepeatOption(CLI::App& command, uint32_t& repeat);

// host::attention with a progress bar.
host::AttentionReport runAttention(host::Device& device, const VkfProblem& problem, const host::HostTensors& tensors);

struct RunTimes {
    double first = 0;         // seconds on the device
    std::vector<double> warm; // seconds of the further runs
};

// Runs a call and shows its progress under the label. `run` is Attention::run or Backward::run.
RunTimes runRepeatedly(const char* label, uint32_t repeat,
                       const std::function<double(const std::function<void(double)>&)>& run);

// "time    0.512 ms on the device (first run), 0.113 ms warm (median of 20 runs)\n"
std::string timesText(const RunTimes& times);

} // namespace vkf::tools
