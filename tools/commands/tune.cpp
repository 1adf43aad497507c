// SPDX-License-Identifier: MIT
//
// vkflash tune: measures other tiles than the library's own choice on this device, and the element layouts of its
// matrices. Writes the faster tiles and the layouts to a file for --tuning and VkfContextCreateInfo::tuning.
#include <memory>
#include <vector>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "commands/commands.hpp"
#include "measure/problem_measure.hpp"
#include "shapes/bench_shapes.hpp"
#include "tune/tuner.hpp"
#include "tune/tuning_text.hpp"

namespace vkf::tools {

namespace {

struct TuneCommandOptions {
    PrefillShapes shapes = {.rows = {512, 1024, 2048, 4096}, .types = {"f16", "f32"}};
    TunerOptions tuner;
    DeviceFlags device;
    std::string output; // path of the file; empty = none
    bool quick = false;
    bool backward = false;
};

// Applies --quick. A flag that the caller gave keeps its value.
void makeQuick(const CLI::App& command, TuneCommandOptions& options) {
    PrefillShapes& shapes = options.shapes;
    const PrefillShapes small = {
        .tokens = 256, .width = 128, .dims = {64}, .rows = {128}, .types = {"f16"}, .causal = "no", .batchOne = "no"};
    const auto change = [&command](const char* flag, auto& value, const auto& to) {
        if (command.count(flag) == 0)
            value = to;
    };
    change("--tokens", shapes.tokens, small.tokens);
    change("--width", shapes.width, small.width);
    change("--dims", shapes.dims, small.dims);
    change("--rows", shapes.rows, small.rows);
    change("--types", shapes.types, small.types);
    change("--causal", shapes.causal, small.causal);
    change("--batch-one", shapes.batchOne, small.batchOne);
    change("--seconds", options.tuner.seconds, 0.02);
    options.tuner.warmSeconds = 0;
}

void printTuneHeading(bool backward) {
    if (backward)
        fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}{:<7}{:>9}{:>11}{:>7}\n", "type", "D", "N", "B", "H", "causal",
                   "path", "writes", "built-in", "best other", "ratio");
    else
        fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}{:<16}{:>9}  {:<16}{:>9}{:>7}\n", "type", "D", "N", "B", "H",
                   "causal", "path", "built-in tile", "time", "best other", "time", "ratio");
}

void printTuneShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}", vkfTypeName(problem.q.type), problem.headDim, problem.queryRows,
               problem.batch, problem.queryHeads, has(problem, VKF_USE_CAUSAL) ? "yes" : "no", vkfPathName(path));
}

// `gradients` = 0: a result of the forward pass. The tiles of the backward pass are long, so they stand at the end.
void printResult(const TuneResult& result, VkfGradients gradients) {
    const char* const decision = !result.taken ? "built-in stays" : result.alike ? "taken" : "taken for this size";
    printTuneShape(result.problem, result.path);
    const std::string builtIn = timeText(result.builtInSeconds);
    const std::string best = timeText(result.bestSeconds);
    if (gradients == 0)
        fmt::print("{:<16}{:>9}  {:<16}{:>9}{:>7.3f}  {}\n", result.builtInTile, builtIn, result.bestTile, best,
                   result.ratio(), decision);
    else
        fmt::print("{:<7}{:>9}{:>11}{:>7.3f}  {}: {}\n", gradients == VKF_GRADIENT_Q ? "dq" : "dk, dv", builtIn, best,
                   result.ratio(), decision, result.bestTile);
    std::fflush(stdout);
}

std::vector<std::string> layoutLines(host::Device& device) {
    std::vector<std::string> lines;
    for (const VkfMatrixLayout& layout : device.measureMatrixLayouts())
        lines.push_back(matrixLine(layout));
    return lines;
}

// Tunes the problems and adds their entries. Prints and leaves out a problem that the device cannot run.
void tuneAll(host::Device& device, const TuneCommandOptions& options, const std::vector<VkfProblem>& problems,
             std::vector<std::string>& entries) {
    size_t done = 0;
    size_t leftOut = 0;
    Progress progress("tune");
    const auto afterRun = [&] { progress.update(static_cast<double>(done) / static_cast<double>(problems.size())); };
    Tuner tuner(device, options.tuner, afterRun);
    // Gradients whose kernels are tuned together. 0 = the forward pass.
    const std::vector<VkfGradients> together =
        options.backward ? std::vector<VkfGradients>{VKF_GRADIENT_Q, VKF_GRADIENT_K | VKF_GRADIENT_V}
                         : std::vector<VkfGradients>{0};
    for (const VkfProblem& problem : problems) {
        try {
            for (const VkfGradients gradients : together) {
                const TuneResult result = tuner.tune(problem, gradients);
                progress.hide();
                printResult(result, gradients);
                entries.insert(entries.end(), result.entries.begin(), result.entries.end());
            }
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            if (++leftOut == problems.size())
                failInput("nothing was measured: {}", error.what());
            progress.hide();
            printTuneShape(problem, problem.path);
            fmt::print("left out: {}\n", error.what());
        }
        ++done;
    }
}

void writeTuning(const TuneCommandOptions& options, const host::Device& device, const std::vector<std::string>& lines) {
    writeOutputFile("-o", options.output, tuningText(device.summary(), lines));
    fmt::print("wrote   {}\n", options.output);
}

void tune(const TuneCommandOptions& options) {
    const std::vector<VkfProblem> problems = prefillProblems(options.shapes);
    if (!options.output.empty())
        checkOutputFile("-o", options.output);
    host::Device device = openDevice(options.device);
    fmt::print("device  {}, {}\n{}\n", device.summary().name, device.summary().driver,
               options.backward ? "" : "tiles   rows x keys / invocations x splits\n");
    printTuneHeading(options.backward);
    std::vector<std::string> entries;
    try {
        tuneAll(device, options, problems, entries);
    } catch (const std::exception&) {
        if (!options.output.empty() && !entries.empty())
            writeTuning(options, device, entries); // what was measured before
        throw;
    }
    if (options.device.validation)
        checkValidation(device);
    if (options.backward)
        fmt::print("{} entries for kernels of the backward pass of {} classes of problems\n", entries.size(),
                   problems.size());
    else
        fmt::print("{} of {} classes of problems have a faster tile than the library's choice\n", entries.size(),
                   problems.size());
    std::vector<std::string> lines = layoutLines(device);
    fmt::print("{} element layouts of cooperative matrices were measured\n", lines.size());
    if (options.output.empty())
        return;
    lines.insert(lines.end(), entries.begin(), entries.end());
    writeTuning(options, device, lines);
}

} // namespace

void addTuneCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<TuneCommandOptions>();
    CLI::App* command = program.add_subcommand("tune", "Measures other tiles on this device and the element layouts of "
                                                       "its matrices, and writes the faster tiles and the "
                                                       "layouts to a file for --tuning.");
    command->footer("vkflash tune -o tuning.txt");
    command->add_option("-o,--output", options->output, "file for the tiles; without it the program only shows them");
    addPrefillShapeOptions(*command, options->shapes);
    addDeviceOptions(*command, options->device);
    command->add_flag("--backward", options->backward,
                      "tune the kernels of the backward pass on path coopmat, in place of the forward pass");
    command->add_flag("--quick", options->quick, "use small shapes and few runs, for a trial or for a software driver");
    addValue(*command, "--seconds", options->tuner.seconds, "wall time of each comparison");
    addValue(*command, "--margin", options->tuner.margin, "share by which a tile must be faster to be taken");
    addValue(*command, "--sample-rows", options->tuner.sampleRows, "number of rows of each head to check; 0 = all");
    command->callback([options, command, &action] {
        if (options->quick)
            makeQuick(*command, *options);
        action = [options] { tune(*options); };
    });
}

} // namespace vkf::tools
