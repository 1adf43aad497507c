// SPDX-License-Identifier: MIT
//
// vkflash report: writes the results of benches as one HTML page.
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "commands/commands.hpp"
#include "report/page.hpp"
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
    checkOutputFile("-o", options.output);
    const ResultFiles files = load(options.results);
    writeOutputFile("-o", options.output, reportPage(files));
    fmt::print("wrote {}: {} bench reports, {} figures, {} logs\n", options.output, files.benches.size(),
               files.figures.size(), files.texts.size());
}

} // namespace

void addReportCommand(CLI::App& program, Action& action) {
    const auto [command, options] =
        addCommand<PageOptions>(program, action, "report", "Writes the results of benches as one HTML page.",
                                "vkflash report --results results -o report.html", writePage);
    addValue(*command, "--results", options->results,
             "folder with reports of benches (written with --json), figures of bench/plot.py (.svg) and logs (.txt)");
    addValue(*command, "-o,--output", options->output, "path of the page");
}

} // namespace vkf::tools
