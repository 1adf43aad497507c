// SPDX-License-Identifier: MIT
//
// vkflash soak: minutes of hard work for a device and its driver, with one verdict. It is a user's first report about a
// device that we do not have.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/program/program.hpp"
#include "commands/commands.hpp"
#include "soak/soak.hpp"

namespace vkf::tools {

namespace {

struct SoakOptions {
    double minutes = 10;
    std::vector<std::string> parts = {"decode", "long", "cases"};
    uint64_t seed = 1;
    uint64_t cases = 0; // 0 = as many as time allows
    uint64_t calls = 1000000;
    uint32_t rows = 1048576;
    DeviceFlags device;
};

// A part, and the share of the time that it may take at most. Parts behind it get the time that it leaves.
struct SoakPart {
    const char* name;
    double share;
    std::function<SoakReport(const SoakOptions&, const Deadline&)> run;
};

const std::array soakParts = {
    SoakPart{"decode", 0.25,
             [](const SoakOptions& o, const Deadline& deadline) { return soakDecode(o.device, o.calls, deadline); }},
    SoakPart{"long", 1.0 / 3,
             [](const SoakOptions& o, const Deadline& deadline) { return soakLong(o.device, o.rows, deadline); }},
    SoakPart{
        "cases", 1,
        [](const SoakOptions& o, const Deadline& deadline) { return soakCases(o.device, o.seed, o.cases, deadline); }},
};

bool wants(const SoakOptions& options, const std::string& part) {
    return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
}

void checkOptions(const SoakOptions& options) {
    if (!(options.minutes > 0 && options.minutes <= 10080))
        failInput("--minutes {}: takes a number over 0, and at most 10080, which is a week", options.minutes);
    if (options.calls == 0 || options.rows == 0)
        failInput("--calls {}, --rows {}: take numbers of at least 1", options.calls, options.rows);
    for (const std::string& part : options.parts)
        if (part != "decode" && part != "long" && part != "cases")
            failInput("--parts {}: takes decode, long and cases", part);
}

// A failed call ends its part, not the others.
SoakReport runPart(const SoakPart& part, const SoakOptions& options, const Deadline& deadline) {
    try {
        return part.run(options, deadline);
    } catch (const std::exception& error) {
        return {fmt::format("{:<9}FAILED: {}\n", part.name, error.what()), false};
    }
}

void soak(const SoakOptions& options) {
    checkOptions(options);
    {
        const host::Device device = openDevice(options.device);
        fmt::print("device   {}, {}\n", device.summary().name, device.summary().driver);
    }
    const Deadline all(options.minutes * 60);
    bool clean = true;
    for (const SoakPart& part : soakParts) {
        if (!wants(options, part.name))
            continue;
        std::fflush(stdout);
        const SoakReport report = runPart(part, options, Deadline(std::max(all.left() * part.share, 0.001)));
        fmt::print("{}", report.text);
        clean = clean && report.clean;
    }
    const double minutes = all.share() * options.minutes;
    if (!clean)
        fail("{} soak: NOT CLEAN after {:.1f} minutes; please report these lines and those of `vkflash info`",
             versionText(), minutes);
    fmt::print("{} soak: clean after {:.1f} minutes\n", versionText(), minutes);
}

} // namespace

void addSoakCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<SoakOptions>(
        program, action, "soak",
        "Stress-tests a device for some minutes: changing decode calls, a long sequence, random calls. One verdict.",
        "vkflash soak --minutes 10", soak);
    addValue(*command, "--minutes", options->minutes, "about how long it takes");
    addList(*command, "--parts", options->parts, "list of parts to run: decode, long, cases");
    addValue(*command, "--seed", options->seed, "seed of the first random call; the next ones count up");
    command->add_option("--cases", options->cases, "number of random calls (default: as many as time allows)");
    addValue(*command, "--calls", options->calls, "maximum number of decode calls");
    addValue(*command, "--rows", options->rows, "maximum number of rows and keys of the long sequence");
    addDeviceOptions(*command, options->device);
}

} // namespace vkf::tools
