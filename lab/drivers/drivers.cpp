// SPDX-License-Identifier: MIT
//
// vkflash_lab drivers: compiles the kernels of a grid of problems for chips that this machine does not have, and lists
// what the driver's compiler says about them. Nothing runs.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "drivers/compiled_kernels.hpp"
#include "drivers/driver_problems.hpp"
#include "drivers/drivers.hpp"
#include "vkflash/inspect.h"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

// An application that makes a plan waits so long at most.
constexpr double maxSeconds = 5;

struct DriversOptions {
    std::vector<std::string> chips;
    DriverProblemLists problems = usualDriverProblems();
    bool eachTile = false;
    bool json = false;
};

// A kernel, and the first problem of the grid that needs it.
struct KernelReport {
    std::string problem;
    std::string tile; // of the problem's plan
    CompiledKernel kernel;
    // The problem asked for the path, and the plan says that its tile spills. A gradient does not say so, but without
    // the request it would take another path.
    bool announced = false;

    bool passed() const { return (announced || !kernel.spills()) && kernel.seconds < maxSeconds; }
};

struct ChipReport {
    Chip chip;
    std::string name;
    std::string driver;
    size_t plans = 0;
    size_t unsupported = 0; // problems that the path or the chip cannot do
    std::vector<KernelReport> kernels;

    size_t failures() const {
        return static_cast<size_t>(
            std::count_if(kernels.begin(), kernels.end(), [](const KernelReport& one) { return !one.passed(); }));
    }
};

std::string planText(const Plan& plan) {
    auto info = make<VkfPlanInfo>();
    vkfGetPlanInfo(plan.get(), &info, nullptr);
    return fmt::format("{} {}x{} {}", vkfPathName(info.path), info.tileRows, info.tileKeys, info.tile);
}

// Whether the library knows that the plan's tile spills on this device. It takes such a tile only if the caller asks
// for a path that has no other.
bool announcesSpills(const Plan& plan) {
    auto candidate = make<VkfTileCandidate>();
    for (uint32_t i = 0; i < vkfGetPlanTileCount(plan.get()); ++i)
        if (vkfGetPlanTile(plan.get(), i, &candidate, nullptr) == VKF_SUCCESS && candidate.taken != 0)
            return candidate.reason == VKF_TILE_SPILLS;
    return false;
}

// Adds the kernels that were created for the problem.
void addKernels(const DriverProblem& problem, const std::string& tile, bool announced, CompiledKernels& compiled,
                ChipReport& report) {
    report.plans++;
    for (CompiledKernel& kernel : compiled.take())
        report.kernels.push_back({problem.text, tile, std::move(kernel), announced});
}

// Compiles the kernels of the backward pass. Returns its tiles.
std::string compileBackward(const DriverProblem& problem, CompiledKernels& compiled, ChipReport& report) {
    auto gradient = make<VkfBackwardProblem>();
    VkfProblem forward = problem.problem;
    enable(forward, VKF_USE_LSE);
    gradient.forward = &forward;
    gradient.dout = gradient.dq = forward.q;
    gradient.dk = forward.k;
    gradient.dv = forward.v;
    VkfMessage message{};
    if (vkfCheckBackwardSupport(compiled.context(), &gradient, &message) != VKF_SUCCESS) {
        report.unsupported++;
        return {};
    }
    vkf::Backward made;
    auto info = make<VkfBackwardInfo>();
    if (vkfCreateBackward(compiled.context(), &gradient, made.put(), &message) != VKF_SUCCESS ||
        vkfGetBackwardInfo(made.get(), &info, &message) != VKF_SUCCESS)
        fail("{}: {}: {}", report.name, problem.text, message.text);
    std::string tile = fmt::format("{} {} / {}", vkfPathName(info.path), info.rowTile, info.keyTile);
    addKernels(problem, tile, problem.problem.path != VKF_PATH_AUTO, compiled, report);
    return tile;
}

// Compiles what the problem needs beyond the problems before it. Returns the tile of its plan.
std::string compile(const DriverProblem& problem, CompiledKernels& compiled, ChipReport& report) {
    if (problem.backward)
        return compileBackward(problem, compiled, report);
    VkfMessage message{};
    if (vkfCheckSupport(compiled.context(), &problem.problem, &message) != VKF_SUCCESS) {
        report.unsupported++;
        return {};
    }
    Plan plan;
    if (vkfCreatePlan(compiled.context(), &problem.problem, plan.put(), &message) != VKF_SUCCESS)
        fail("{}: {}: {}", report.name, problem.text, message.text);
    std::string tile = planText(plan);
    addKernels(problem, tile, problem.problem.path != VKF_PATH_AUTO && announcesSpills(plan), compiled, report);
    return tile;
}

// The path and the numbers of a tile that decide its registers: neither key splits nor chunks of shared memory.
std::string tileWithoutChunks(std::string tile) {
    for (const std::string_view key : {" splits=", " chunkDim4=", " chunkKeys=", " chunkVisited="})
        for (size_t at = tile.find(key); at != std::string::npos; at = tile.find(key, at))
            tile.erase(at, tile.find_first_of(" ;", at + key.size()) - at);
    return tile;
}

// The first problem of each kind that takes a tile. It has the largest head dimension of the tile, and registers grow
// with that. Nothing is compiled.
std::vector<DriverProblem> oneOfEachTile(const std::vector<DriverProblem>& problems, const DescribedChip& device) {
    CompiledKernels named(device, Compilation::skip);
    std::vector<DriverProblem> chosen;
    std::set<std::pair<std::string, std::string>> seen;
    for (const DriverProblem& problem : problems) {
        ChipReport report;
        const std::string tile = compile(problem, named, report);
        if (report.unsupported == 0 && seen.emplace(problem.kind, tileWithoutChunks(tile)).second)
            chosen.push_back(problem);
    }
    return chosen;
}

Json json(const KernelReport& report) {
    const CompiledKernel& kernel = report.kernel;
    return {{"kernel", kernel.name},
            {"problem", report.problem},
            {"tile", report.tile},
            {"subgroupSize", kernel.subgroupSize},
            {"registers", kernel.registers},
            {"spilledRegisters", kernel.spilled},
            {"spilledScalarRegisters", kernel.scalars},
            {"scratchBytes", kernel.scratchBytes},
            {"sharedMemoryBytes", kernel.sharedBytes},
            {"subgroupsPerSimd", kernel.subgroups},
            {"codeBytes", kernel.codeBytes},
            {"compileSeconds", kernel.seconds},
            {"announced", report.announced},
            {"passed", report.passed()}};
}

Json json(const ChipReport& report) {
    Json kernels = Json::array();
    for (const KernelReport& kernel : report.kernels)
        kernels.push_back(json(kernel));
    return {{"chip", report.chip.family},    {"generation", report.chip.generation},
            {"device", report.name},         {"driver", report.driver},
            {"plans", report.plans},         {"unsupported", report.unsupported},
            {"failures", report.failures()}, {"kernels", std::move(kernels)}};
}

void print(const ChipReport& report) {
    fmt::print("{} ({}): {}, {}\n", report.chip.family, report.chip.generation, report.name, report.driver);
    fmt::print("{:<44} {:<32} {:>5} {:>6} {:>6} {:>7} {:>6} {:>5} {:>6}  {}\n", "kernel", "first problem that needs it",
               "lanes", "regs", "spills", "scratch", "shared", "waves", "time s", "tile");
    for (const KernelReport& one : report.kernels) {
        const CompiledKernel& kernel = one.kernel;
        fmt::print("{:<44} {:<32} {:>5} {:>6} {:>6} {:>7} {:>6} {:>5} {:>6.2f}  {}{}\n", kernel.name, one.problem,
                   kernel.subgroupSize, kernel.registers, kernel.spilled, kernel.scratchBytes, kernel.sharedBytes,
                   kernel.subgroups, kernel.seconds, one.tile,
                   !one.passed()                      ? "  FAILED"
                   : one.announced && kernel.spills() ? "  spills, on request"
                                                      : "");
    }
    fmt::print("\n");
}

std::vector<Chip> chosenChips(const std::vector<std::string>& names) {
    std::vector<Chip> chosen;
    for (const std::string& name : names) {
        const auto found =
            std::find_if(chips().begin(), chips().end(), [&](const Chip& chip) { return name == chip.family; });
        if (found == chips().end())
            failInput("--chips: {} is not a known chip", name);
        chosen.push_back(*found);
    }
    return chosen.empty() ? chips() : chosen;
}

std::string verdict(const std::vector<ChipReport>& reports) {
    size_t plans = 0;
    size_t kernels = 0;
    size_t failures = 0;
    for (const ChipReport& report : reports) {
        plans += report.plans;
        kernels += report.kernels.size();
        failures += report.failures();
    }
    return fmt::format("{}: {} plans for {} chips, {} kernels, of which {} spill unannounced or take {} s or more",
                       failures == 0 ? "passed" : "failed", plans, reports.size(), kernels, failures, maxSeconds);
}

void drivers(const DriversOptions& options) {
    const std::vector<DriverProblem> all = driverProblems(options.problems);
    const std::vector<Chip> wanted = chosenChips(options.chips);
    if (all.empty())
        failInput("no path can do any of these problems");
    std::vector<ChipReport> reports;
    Progress progress("compiling");
    for (const Chip& chip : wanted) {
        const DescribedChip device(chip);
        const std::vector<DriverProblem> problems = options.eachTile ? oneOfEachTile(all, device) : all;
        CompiledKernels compiled(device);
        ChipReport report{chip, device.name(), device.driver(), 0, 0, {}};
        for (size_t i = 0; i < problems.size(); ++i) {
            const double done = static_cast<double>(i) / static_cast<double>(problems.size());
            progress.update((static_cast<double>(reports.size()) + done) / static_cast<double>(wanted.size()));
            compile(problems[i], compiled, report);
        }
        progress.hide();
        if (!options.json)
            print(report);
        reports.push_back(std::move(report));
    }
    const std::string last = verdict(reports);
    if (options.json) {
        Json list = Json::array();
        for (const ChipReport& report : reports)
            list.push_back(json(report));
        fmt::print("{}\n", Json{{"verdict", last}, {"chips", std::move(list)}}.dump(2));
    } else {
        fmt::print("{}\n", last);
    }
    const bool passed =
        std::all_of(reports.begin(), reports.end(), [](const ChipReport& report) { return report.failures() == 0; });
    if (!passed)
        fail("a kernel spills or takes too long to compile");
}

// Replaces the lists that the caller did not give.
void useFinerGrid(const CLI::App& command, DriverProblemLists& lists) {
    const DriverProblemLists finer = problemsOfEachTile();
    const auto replace = [&](const char* flag, auto& list, const auto& other) {
        if (command.count(flag) == 0)
            list = other;
    };
    replace("--paths", lists.paths, finer.paths);
    replace("--types", lists.types, finer.types);
    replace("--dims", lists.dims, finer.dims);
    replace("--sizes", lists.sizes, finer.sizes);
    replace("--extras", lists.extras, finer.extras);
}

} // namespace

void addDriversCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<DriversOptions>(
        program, action, "drivers",
        "Compiles the kernels of a grid of problems for AMD chips, without hardware, and lists registers, spills and "
        "scratch memory. Fails if a kernel spills.",
        "vkflash_lab drivers --chips navi31 --types f16", drivers);
    DriverProblemLists& lists = options->problems;
    command->add_option("--chips", options->chips, "list of chips, as RADV_FORCE_FAMILY spells them")->delimiter(',');
    addList(*command, "--paths", lists.paths, "list of paths");
    addList(*command, "--types", lists.types, "list of types of k and v");
    addList(*command, "--dims", lists.dims, "list of head dimensions");
    addList(*command, "--sizes", lists.sizes, "list of " + driverSizeNames());
    addList(*command, "--extras", lists.extras, "list of " + driverExtraNames());
    command->add_flag("--each-tile", options->eachTile,
                      "of the problems of one type and one extra, compile the first one of each tile only; without a "
                      "list, a finer grid of path auto is the default");
    command->add_flag("--json", options->json, "print JSON");
    command->parse_complete_callback([given = command, set = options] {
        if (set->eachTile)
            useFinerGrid(*given, set->problems);
    });
}

} // namespace vkf::tools
