// SPDX-License-Identifier: MIT
#include "cli/repeated_runs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/progress.hpp"

namespace vkf::tools {

void addRepeatOption(CLI::App& command, uint32_t& repeat) {
    const HelpGroup group(command, resultsGroup);
    addValue(command, "--repeat", repeat, "run N more times, and show their median time too");
}

host::AttentionReport runAttention(host::Device& device, const VkfProblem& problem, const host::HostTensors& tensors) {
    Progress progress("attention");
    return host::attention(device, problem, tensors, [&progress](double share) { progress.update(share); });
}

RunTimes runRepeatedly(const char* label, uint32_t repeat,
                       const std::function<double(const std::function<void(double)>&)>& run) {
    Progress progress(label);
    const double runs = 1.0 + repeat;
    RunTimes times;
    times.first = run([&](double share) { progress.update(share / runs); });
    for (uint32_t done = 1; done <= repeat; ++done)
        times.warm.push_back(run([&](double share) { progress.update((done + share) / runs); }));
    return times;
}

std::string timesText(const RunTimes& times) {
    std::string text = fmt::format("time    {:.3f} ms on the device (first run)", times.first * 1e3);
    if (!times.warm.empty()) {
        std::vector<double> sorted = times.warm;
        std::sort(sorted.begin(), sorted.end());
        const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
        text += fmt::format(", {:.3f} ms warm (median of {} runs)", median * 1e3, sorted.size());
    }
    return text + "\n";
}

} // namespace vkf::tools
