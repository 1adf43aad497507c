// SPDX-License-Identifier: MIT
//
// vkflash report: writes the results of benches as one HTML page.
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "commands/commands.hpp"
#include "report/page.hpp"
#include "tensors/atomic_file.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

struct PageOptions {
    std::string results = "bench/results";
    std::string output = "report.html";
};

ResultFiles load(const std::string& folder) {
    try {
        return loadResults(pathOf(folder));
    } catch (const ResultError& error) {
        failInput("--results {}: {}", folder, error.what());
    }
}

void writePage(const PageOptions& options) {
    try {
        checkWritable(pathOf(options.output));
    } catch (const WriteError& error) {
        failInput("-o {}: {}", options.output, error.what());
    }
    const ResultFiles files = load(options.results);
    try {
        writeWhole(pathOf(options.output), reportPage(files));
    } catch (const WriteError& error) {
        fail("-o {}: {}", options.output, error.what());
    }
    fmt::print("wrote {}: {} bench reports, {} figures, {} logs\n", options.output, files.benches.size(),
               files.figures.size(), files.texts.size());
}

} // namespace

void addReportCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<PageOptions>();
    CLI::App* command = program.add_subcommand("report", "Writes the results of benches as one HTML page.");
    command->footer("vkflash report --results results -o report.html");
    addValue(*command, "--results", options->results,
             "folder with reports of benches (written with --json), figures of bench/plot.py (.svg) and logs (.txt)");
    addValue(*command, "-o,--output", options->output, "path of the page");
    command->callback([options, &action] { action = [options] { writePage(*options); }; });
}

} // namespace vkf::tools
