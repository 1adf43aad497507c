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
    return vkf::tools::runProgram(argc, argv, title, {
#if defined(__linux__)
        vkf::tools::addDriversCommand,
#endif
            vkf::tools::addHostCommand, vkf::tools::addLongCommand, vkf::tools::addSharedCommand,
            vkf::tools::addStudyCommand, vkf::tools::addVariantsCommand, vkf::tools::addStudyAlgorithmsCommand,
            vkf::tools::addStudyRecomputeCommand
    });
}
