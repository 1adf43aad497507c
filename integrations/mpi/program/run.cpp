// SPDX-License-Identifier: MIT
//
// vkflash_mpi run: computes attention on tensors from files, as `vkflash run` does.
#include <cstdio>
#include <memory>
#include <optional>

#include "call_files.hpp"
#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "commands.hpp"

namespace vkf::mpi::program {
namespace {

struct RunOptions {
    tools::InputFiles inputs;
    tools::MathOptions math;
    tools::DeviceFlags device;
    SplitOptions split;
    std::string output;
    std::string lse;
    std::string outputType; // empty = the type of q
};

void run(const RunOptions& options) {
    if (options.output.empty()) {
        tools::failInput("-o: is missing; give the file for the result");
    }
    Ranks ranks = openRanks(options.device, options.split);
    std::optional<CallFiles> files;
    VkfProblem problem{};
    Split split;
    together(ranks, [&] {
        files.emplace(options.inputs, options.math);
        problem = files->problem();
        if (!options.outputType.empty()) {
            problem.o.type = tools::parseType("--output-type", options.outputType);
        }
        enable(problem, VKF_USE_LSE, !options.lse.empty());
        split = splitOf(options.split, problem);
    });
    Attention attention(ranks, problem, split, files->lengths());
    SharedFile o(ranks, "-o", options.output, tools::elementTypeOf(problem.o.type),
                 tools::outputShape(files->shapes()));
    std::optional<SharedFile> lse;
    if (!options.lse.empty()) {
        lse.emplace(ranks, "--lse", options.lse, tools::ElementType::f32, tools::lseShape(files->shapes()));
    }
    const Part& part = attention.part();
    PartInputs inputs;
    together(ranks, [&] { inputs = files->read(part); });
    attention.upload(inputs);
    const RunReport report = runWithProgress("attention", attention);

    const FileLayout oLayout = files->layoutOf(VKF_TENSOR_O, problem.o.type);
    Bytes partO(oLayout.partBytes(part.rows));
    Bytes partLse(files->lseLayout().partBytes(part.rows));
    attention.download({partO.data(), lse ? reinterpret_cast<float*>(partLse.data()) : nullptr});
    o.write(oLayout, part.rows, partO);
    if (lse) {
        lse->write(files->lseLayout(), part.rows, partLse);
        lse->commit();
    }
    o.commit();
    fmt::print(
        "device  {}\nplan    {}\nmethod  {}: {}\ntime    {:.3f} ms, {:.3f} ms of it without work, {} bytes sent\n"
        "wrote   {}\n",
        ranks.deviceSummary().name, attention.description(), methodName(attention.method().method),
        attention.method().reason, report.seconds * 1e3, report.waited * 1e3, report.sentBytes, options.output);
}

} // namespace

void addRunCommand(CLI::App& program, tools::Action& action) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = program.add_subcommand("run", "Computes attention on tensors from .npy files.");
    command->footer("mpirun -n 4 vkflash_mpi run --q q.npy --k k.npy --v v.npy -o o.npy --causal");
    tools::addInputOptions(*command, options->inputs);
    {
        const tools::HelpGroup group(*command, tools::resultsGroup);
        command->add_option("-o,--output", options->output, ".npy file for the result")->type_name("FILE");
        command->add_option("--lse", options->lse, ".npy file for lse")->type_name("FILE");
        command->add_option("--output-type", options->outputType, "type of the result: f32, f16 (default: that of q)")
            ->type_name("NAME");
    }
    tools::addMathOptions(*command, options->math);
    addSplitOptions(*command, options->split);
    tools::addDeviceOptions(*command, options->device);
    tools::addTuningOption(*command, options->device.tuning);
    command->callback([options, &action] { action = overRanks([options] { run(*options); }); });
}

} // namespace vkf::mpi::program
