// SPDX-License-Identifier: MIT
//
// vkflash_mpi backward: computes the gradients of attention on tensors from files, as `vkflash backward` does. Runs the
// forward pass first.
#include <cstdio>
#include <memory>
#include <optional>

#include "call_files.hpp"
#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "commands.hpp"

namespace vkf::mpi::program {
namespace {

struct BackwardOptions {
    tools::InputFiles inputs;
    tools::MathOptions math;
    tools::DeviceFlags device;
    SplitOptions split;
    std::string dout;
    std::string dq, dk, dv; // empty = not wanted
    std::string outputType; // empty = the type of each tensor
};

// Both problems. They stay in one place, because one points to the other.
struct Problems {
    VkfProblem forward{};
    VkfBackwardProblem gradient{};
};

void describe(const BackwardOptions& options, const CallFiles& files, const MappedFile& dout, Problems& problems) {
    problems.forward = files.problem();
    enable(problems.forward, VKF_USE_LSE);
    if (dout.tensor().shape != tools::outputShape(files.shapes())) {
        tools::failInput("--do {}: has shape {}, o has shape {}", options.dout, tools::shapeText(dout.tensor().shape),
                         tools::shapeText(tools::outputShape(files.shapes())));
    }
    const auto typed = [&](VkfType type) {
        return dense(options.outputType.empty() ? type : tools::parseType("--output-type", options.outputType));
    };
    VkfBackwardProblem& gradient = problems.gradient;
    gradient = make<VkfBackwardProblem>();
    gradient.forward = &problems.forward;
    gradient.dout = dense(tools::vkfTypeOf(dout.tensor().type));
    gradient.dq = typed(problems.forward.q.type);
    gradient.dk = typed(problems.forward.k.type);
    gradient.dv = typed(problems.forward.v.type);
}

// A gradient, its file and the rows of this rank.
struct Gradient {
    const char* flag;
    const std::string* path;
    VkfTensorRole role; // of the tensor that it is the gradient of
    VkfType type;
    tools::Shape shape;
    const std::vector<Chunk>* chunks;
    Bytes part{};
    std::unique_ptr<SharedFile> file{};
};

std::vector<Gradient> gradientsOf(const BackwardOptions& options, const CallFiles& files, const Problems& problems,
                                  const Part& part) {
    const tools::Inputs& shapes = files.shapes();
    std::vector<Gradient> gradients;
    gradients.push_back({"--dq", &options.dq, VKF_TENSOR_Q, problems.gradient.dq.type,
                         tools::otherOrder(shapes, shapes.q.shape), &part.rows});
    gradients.push_back({"--dk", &options.dk, VKF_TENSOR_K, problems.gradient.dk.type,
                         tools::otherOrder(shapes, shapes.k.shape), &part.keys});
    gradients.push_back({"--dv", &options.dv, VKF_TENSOR_V, problems.gradient.dv.type,
                         tools::otherOrder(shapes, shapes.v.shape), &part.keys});
    return gradients;
}

void run(const BackwardOptions& options) {
    if (options.dout.empty()) {
        tools::failInput("--do: is missing; give the file with the gradient of o");
    }
    if (options.dq.empty() && options.dk.empty() && options.dv.empty()) {
        tools::failInput("--dq: is missing; give a file for one of the gradients: --dq, --dk, --dv");
    }
    Ranks ranks = openRanks(options.device, options.split);
    std::optional<CallFiles> files;
    std::optional<MappedFile> dout;
    Problems problems;
    Split split;
    together(ranks, [&] {
        files.emplace(options.inputs, options.math);
        dout.emplace("--do " + options.dout, options.dout);
        describe(options, *files, *dout, problems);
        split = splitOf(options.split, problems.forward);
    });
    Backward backward(ranks, problems.gradient, split, files->lengths());
    const Part& part = backward.part();
    std::vector<Gradient> gradients = gradientsOf(options, *files, problems, part);
    for (Gradient& each : gradients) {
        if (!each.path->empty()) {
            each.file =
                std::make_unique<SharedFile>(ranks, each.flag, *each.path, tools::elementTypeOf(each.type), each.shape);
        }
        each.part.resize(files->layoutOf(each.role, each.type).partBytes(*each.chunks));
    }
    PartInputs inputs;
    const FileLayout oLayout = files->layoutOf(VKF_TENSOR_O, problems.forward.o.type);
    Bytes o(oLayout.partBytes(part.rows));
    Bytes lse(files->lseLayout().partBytes(part.rows));
    Bytes partDout;
    together(ranks, [&] {
        inputs = files->read(part);
        partDout = dout->read(files->layoutOf(VKF_TENSOR_O, problems.gradient.dout.type), part.rows);
    });
    {
        Attention attention(ranks, problems.forward, split, files->lengths());
        attention.upload(inputs);
        runWithProgress("attention", attention);
        attention.download({o.data(), reinterpret_cast<float*>(lse.data())});
    }
    backward.upload(inputs, {o.data(), reinterpret_cast<const float*>(lse.data()), partDout.data()});
    const RunReport report = runWithProgress("backward pass", backward);
    backward.download({gradients[0].part.data(), gradients[1].part.data(), gradients[2].part.data()});
    for (Gradient& each : gradients) {
        if (each.file) {
            each.file->write(files->layoutOf(each.role, each.type), *each.chunks, each.part);
        }
    }
    for (Gradient& each : gradients) {
        if (each.file) {
            each.file->commit();
        }
    }
    fmt::print(
        "device  {}\nplan    {}\nmethod  {}: {}\ntime    {:.3f} ms, {:.3f} ms of it without work, {} bytes sent\n",
        ranks.deviceSummary().name, backward.description(), methodName(backward.method().method),
        backward.method().reason, report.seconds * 1e3, report.waited * 1e3, report.sentBytes);
}

} // namespace

void addBackwardCommand(CLI::App& program, tools::Action& action) {
    auto options = std::make_shared<BackwardOptions>();
    CLI::App* command =
        program.add_subcommand("backward", "Computes the gradients of attention on tensors from .npy files.");
    command->footer("mpirun -n 4 vkflash_mpi backward --q q.npy --k k.npy --v v.npy --do do.npy --dq dq.npy");
    tools::addInputOptions(*command, options->inputs);
    const auto add = [command](const char* flag, std::string& path, const char* help) {
        command->add_option(flag, path, help)->type_name("FILE");
    };
    add("--do", options->dout, ".npy file with the gradient of o");
    {
        const tools::HelpGroup group(*command, tools::resultsGroup);
        add("--dq", options->dq, ".npy file for the gradient of q");
        add("--dk", options->dk, ".npy file for the gradient of k");
        add("--dv", options->dv, ".npy file for the gradient of v");
        command
            ->add_option("--output-type", options->outputType,
                         "type of the gradients: f32, f16 (default: that of each tensor)")
            ->type_name("NAME");
    }
    tools::addMathOptions(*command, options->math);
    addSplitOptions(*command, options->split);
    tools::addDeviceOptions(*command, options->device);
    tools::addTuningOption(*command, options->device.tuning);
    command->callback([options, &action] { action = overRanks([options] { run(*options); }); });
}

} // namespace vkf::mpi::program
