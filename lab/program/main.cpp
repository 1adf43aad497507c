// SPDX-License-Identifier: MIT
//
// The program of the authors of the kernels. It is never installed.
#include "benches/benches.hpp"
#include "cli/program/program.hpp"
#include "drivers/drivers.hpp"
#include "study/studies.hpp"

int main(int argc, char** argv) {
    const vkf::tools::ProgramTitle title = {"vkflash_lab",
                                            "Measures and compiles what only the authors of kernels need.",
                                            "vkflash_lab variants --only alibi,bias --json variants.json"};
    const std::string line = vkf::tools::commandLine(title, argc, argv);
    const auto bench = [&](auto add) {
        return [&line, add](CLI::App& program, vkf::tools::Action& action) { add(program, action, line); };
    };
    return vkf::tools::runProgram(argc, argv, title, {
#if defined(__linux__)
        vkf::tools::addDriversCommand,
#endif
            bench(vkf::tools::addHostCommand), bench(vkf::tools::addLongCommand), bench(vkf::tools::addSharedCommand),
            bench(vkf::tools::addStepCommand), bench(vkf::tools::addStudyCommand),
            bench(vkf::tools::addVariantsCommand), vkf::tools::addStudyAlgorithmsCommand,
            vkf::tools::addStudyRecomputeCommand
    });
}
