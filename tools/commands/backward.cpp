// SPDX-License-Identifier: MIT
//
// vkflash backward: computes the gradients of attention on tensors from files. Runs the forward pass first, unless o
// and lse are given.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/error.hpp"
#include "cli/function_inputs.hpp"
#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "cli/program/help.hpp"
#include "cli/repeated_runs.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

// The gradients that the command can write, in the order of BackwardOptions::outputs.
struct GradientFlag {
    const char* flag;
    const char* name; // in a .safetensors file
    VkfGradientBits bit;
    const char* of;
};

constexpr std::array<GradientFlag, 5> gradientFlags = {{{"--dq", "dq", VKF_GRADIENT_Q, "q"},
                                                        {"--dk", "dk", VKF_GRADIENT_K, "k"},
                                                        {"--dv", "dv", VKF_GRADIENT_V, "v"},
                                                        {"--dbias", "dbias", VKF_GRADIENT_BIAS, "--bias"},
                                                        {"--dsinks", "dsinks", VKF_GRADIENT_SINKS, "--sinks"}}};

// Paths of the inputs besides those of the forward call. Empty = not given.
struct BackwardInputFiles {
    std::string dout; // not given = tensor `do` of --tensors
    std::string o;    // o and lse: both or none
    std::string lse;
    std::string dlse;
};

struct BackwardOptions {
    InputFiles inputs;
    BackwardInputFiles backwardInputs;
    std::array<std::string, gradientFlags.size()> outputs; // empty = not wanted
    MathOptions math;
    DropoutOptions dropout;
    FunctionFiles functions;
    DeviceFlags device;
    std::string outputType;          // empty = the type of each tensor
    std::optional<uint32_t> scratch; // MiB
    uint32_t repeat = 0;
    bool verify = false;
};

// The problems of both passes. They stay in one place, because one points to the other.
struct BackwardProblem {
    VkfProblem forward{};
    VkfBackwardProblem gradient{};

    BackwardProblem() = default;
    BackwardProblem(const BackwardProblem&) = delete;
    BackwardProblem& operator=(const BackwardProblem&) = delete;
};

// ---- Inputs besides those of the forward call -----------------------------------------------------------

struct BackwardInputs {
    Tensor dout;
    std::optional<Tensor> o;
    std::optional<Tensor> lse;
    std::optional<Tensor> dlse;
};

// Loads a .npy file, or the named tensor of a .safetensors file.
Tensor loadEither(const FlagFile& file, const std::string& tensor) {
    try {
        if (formatOf(pathOf(file.path)) == FileFormat::safetensors)
            return std::move(loadSafetensors(pathOf(file.path), {&tensor, 1})[0]);
        return loadNpy(pathOf(file.path));
    } catch (const FormatError& error) {
        failInput("{} {}: {}", file.flag, file.path, error.what());
    }
}

void requireShape(const FlagFile& file, const Tensor& tensor, const char* what, const Shape& shape) {
    if (tensor.shape != shape)
        failInput("{} {}: has shape {}; {} is {}", file.flag, file.path, shapeText(tensor.shape), what,
                  shapeText(shape));
}

// Loads o or its gradient.
Tensor loadLikeO(const FlagFile& file, const char* name, const Inputs& inputs) {
    Tensor tensor = loadEither(file, name);
    if (vkfTypeOf(tensor.type) == VKF_TYPE_FORCE_INT32)
        failInput("{} {}: holds {}, not floating-point numbers", file.flag, file.path, elementName(tensor.type));
    requireShape(file, tensor, "the shape of o", outputShape(inputs));
    return tensor;
}

// Loads lse or its gradient.
Tensor loadLikeLse(const FlagFile& file, const char* name, const Inputs& inputs) {
    Tensor tensor = loadEither(file, name);
    if (tensor.type != ElementType::f32)
        failInput("{} {}: holds {}; it must be float32", file.flag, file.path, elementName(tensor.type));
    requireShape(file, tensor, "the shape of lse", lseShape(inputs));
    return tensor;
}

// The files that the caller gave.
std::vector<FlagFile> filesGiven(const BackwardInputFiles& files) {
    std::vector<FlagFile> given;
    for (const FlagFile& file :
         {FlagFile{"--do", files.dout}, {"--o", files.o}, {"--lse", files.lse}, {"--dlse", files.dlse}})
        if (!file.path.empty())
            given.push_back(file);
    return given;
}

// Throws ProgramError with flag, file and limit.
BackwardInputs loadBackwardInputs(const BackwardInputFiles& files, const InputFiles& inputFiles, const Inputs& inputs) {
    if (files.o.empty() != files.lse.empty())
        failInput("{}: is missing; the outputs of a forward pass are --o and --lse", files.o.empty() ? "--o" : "--lse");
    const bool inTensors = files.dout.empty();
    if (inTensors && inputFiles.tensors.empty())
        failInput("--do: is missing; give the file with the gradient of o");
    BackwardInputs loaded;
    loaded.dout =
        loadLikeO(inTensors ? FlagFile{"--tensors", inputFiles.tensors} : FlagFile{"--do", files.dout}, "do", inputs);
    if (!files.o.empty()) {
        loaded.o = loadLikeO({"--o", files.o}, "o", inputs);
        loaded.lse = loadLikeLse({"--lse", files.lse}, "lse", inputs);
    }
    if (!files.dlse.empty())
        loaded.dlse = loadLikeLse({"--dlse", files.dlse}, "dlse", inputs);
    return loaded;
}

// ---- The problem -----------------------------------------------------------------------------------

VkfTensor withType(VkfTensor tensor, VkfType type) {
    tensor.type = type;
    return tensor;
}

void describe(const BackwardOptions& options, const Inputs& inputs, const BackwardInputs& more,
              const FunctionInputs& functions, BackwardProblem& problem) {
    VkfProblem& forward = problem.forward;
    forward = fileProblem(inputs, options.math, options.dropout);
    functions.apply(forward);
    forward.o.type = more.o ? vkfTypeOf(more.o->type) : forward.o.type;
    enable(forward, VKF_USE_LSE);
    VkfBackwardProblem& gradient = problem.gradient;
    gradient = make<VkfBackwardProblem>();
    gradient.forward = &forward;
    enable(gradient, VKF_USE_DLSE, more.dlse.has_value());
    gradient.maxScratchBytes = mostScratchBytes(options.scratch);
    gradient.dout = withType(forward.o, vkfTypeOf(more.dout.type));
    const auto outputType = [&](VkfType type) {
        return options.outputType.empty() ? type : parseType("--output-type", options.outputType);
    };
    for (size_t i = 0; i < gradientFlags.size(); ++i)
        if (!options.outputs[i].empty())
            gradient.gradients |= static_cast<VkfGradients>(gradientFlags[i].bit);
    if ((gradient.gradients & VKF_GRADIENT_Q) != 0)
        gradient.dq = withType(forward.q, outputType(forward.q.type));
    if ((gradient.gradients & VKF_GRADIENT_K) != 0)
        gradient.dk = withType(forward.k, outputType(forward.k.type));
    if ((gradient.gradients & VKF_GRADIENT_V) != 0)
        gradient.dv = withType(forward.v, outputType(forward.v.type));
    if ((gradient.gradients & VKF_GRADIENT_BIAS) != 0)
        gradient.dbiasType = outputType(forward.bias.type);
}

void requireSupported(const BackwardOptions& options, const Inputs& inputs, BackwardProblem& problem) {
    // If any path accepts the problem, --path is at fault. Otherwise the files are.
    const VkfPath path = problem.forward.path;
    problem.forward.path = VKF_PATH_AUTO;
    VkfMessage message{};
    if (vkfCheckBackward(&problem.gradient, &message) != VKF_SUCCESS)
        failInput("{}{}: {}", inputs.source, flagText(options.functions), message.text);
    problem.forward.path = path;
    if (vkfCheckBackward(&problem.gradient, &message) != VKF_SUCCESS)
        failInput("--path {}: {}", options.math.path, message.text);
}

// ---- Files -----------------------------------------------------------------------------------------

std::array<Output, gradientFlags.size()> makeOutputs(const BackwardOptions& options, const Inputs& inputs,
                                                     const VkfBackwardProblem& problem) {
    const std::array<VkfType, gradientFlags.size()> types = {problem.dq.type, problem.dk.type, problem.dv.type,
                                                             problem.dbiasType, VKF_TYPE_F32};
    std::array<Output, gradientFlags.size()> outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
        outputs[i] = {
            gradientFlags[i].flag, gradientFlags[i].name, options.outputs[i], {elementTypeOf(types[i]), {}, {}}};
    std::vector<FlagFile> read = filesGiven(options.inputs);
    for (const FlagFile& file : filesGiven(options.backwardInputs))
        read.push_back(file);
    for (const FlagFile& file : filesGiven(options.functions))
        read.push_back(file);
    checkOutputs(outputs, read);
    const std::array<const Tensor*, gradientFlags.size()> like = {
        &inputs.q, &inputs.k, &inputs.v, inputs.bias ? &*inputs.bias : nullptr, inputs.numbersOf(VKF_ARRAY_SINKS)};
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].path.empty())
            continue;
        const bool isLikeTensor = i < 3; // dq, dk and dv
        allocate(outputs[i], isLikeTensor ? otherOrder(inputs, like[i]->shape) : like[i]->shape);
    }
    return outputs;
}

void requireOutputs(const BackwardOptions& options) {
    if (std::all_of(options.outputs.begin(), options.outputs.end(),
                    [](const std::string& path) { return path.empty(); }))
        failInput("--dq, --dk, --dv: are missing; give the file for one gradient or more");
    const std::array<const char*, gradientFlags.size()> needed = {nullptr, nullptr, nullptr, "--bias", "--sinks"};
    for (size_t i = 0; i < needed.size(); ++i)
        if (!options.outputs[i].empty() && needed[i] != nullptr && options.inputs.of(needed[i]).empty())
            failInput("{} {}: is the gradient of {}, which is not given", gradientFlags[i].flag, options.outputs[i],
                      gradientFlags[i].of);
}

// ---- Both passes -------------------------------------------------------------------------------------

// Memory of o and lse, from files or from the forward pass.
struct ForwardOutputs {
    std::vector<std::byte> o;
    std::vector<float> lse;
};

// Runs the forward pass on the path that the library chooses. Returns lines for people.
std::string runForward(const BackwardOptions& options, host::Device& device, const VkfProblem& problem,
                       ForwardOutputs& outputs, host::HostTensors& tensors) {
    VkfProblem forward = problem;
    forward.path = VKF_PATH_AUTO;
    const VkfTensorLayout layout = vkf::layoutOf(forward, VKF_TENSOR_O);
    outputs.o.resize(layout.elements * vkfTypeBytes(layout.type));
    outputs.lse.resize(uint64_t{layout.batch} * layout.heads * layout.rows);
    tensors.o = outputs.o.data();
    tensors.lse = outputs.lse.data();
    const host::AttentionReport report = runAttention(device, forward, tensors);
    std::string text = fmt::format("forward {}\ntime    {:.3f} ms on the device (first run)\n", report.plan.description,
                                   report.seconds * 1e3);
    if (options.verify) {
        const VkfVerdict verdict = verifyResult(forward, tensors, report.plan);
        requirePassed(verdict, "nothing is written, --verify of the forward pass");
        text += verdictText(verdict, true);
    }
    return text;
}

void backward(const BackwardOptions& options) {
    requireOutputs(options);
    requireFormulas(options.functions, options.verify);
    const Inputs inputs = loadInputs(options.inputs);
    BackwardInputs more = loadBackwardInputs(options.backwardInputs, options.inputs, inputs);
    const FunctionInputs functions(options.functions);
    BackwardProblem problem;
    describe(options, inputs, more, functions, problem);
    requireSupported(options, inputs, problem);
    const std::vector<uint32_t> blockMask = packBlockMask(inputs, problem.forward);
    std::array<Output, gradientFlags.size()> outputs = makeOutputs(options, inputs, problem.gradient);

    host::HostTensors tensors{.q = inputs.q.bytes.data(), .k = inputs.k.bytes.data(), .v = inputs.v.bytes.data()};
    tensors.blockMask = blockMask.data();
    handOptional(inputs, tensors);
    functions.hand(tensors);
    host::Device device = openDevice(options.device);
    std::string text = fmt::format("device  {}\n", device.summary().name);
    ForwardOutputs forwardOutputs;
    if (more.o) {
        tensors.o = more.o->bytes.data();
        tensors.lse = reinterpret_cast<float*>(more.lse->bytes.data());
    } else {
        text += runForward(options, device, problem.forward, forwardOutputs, tensors);
    }

    host::HostGradients gradients;
    gradients.dout = more.dout.bytes.data();
    gradients.dlse = more.dlse ? reinterpret_cast<const float*>(more.dlse->bytes.data()) : nullptr;
    gradients.dq = memoryOf(outputs[0]);
    gradients.dk = memoryOf(outputs[1]);
    gradients.dv = memoryOf(outputs[2]);
    gradients.dbias = memoryOf(outputs[3]);
    gradients.dsinks = static_cast<float*>(memoryOf(outputs[4]));
    host::Backward pass(device, problem.gradient);
    pass.upload(tensors, gradients);
    const RunTimes times =
        runRepeatedly("backward pass", options.repeat, [&](const auto& progress) { return pass.run(progress); });
    pass.download(gradients);
    if (options.device.validation)
        checkValidation(device);
    text += fmt::format("plan    {}\n{}", pass.info().description, timesText(times));
    if (options.verify) {
        const VkfBackwardVerdict verdict = verifyGradients(problem.gradient, tensors, gradients, pass.info());
        requirePassed(verdict, "nothing is written, --verify");
        text += verdictText(verdict, gradients);
    }
    writeOutputs(outputs);
    fmt::print("{}{}", text, writtenText(outputs));
}

void addBackwardInputOptions(CLI::App& command, BackwardInputFiles& files) {
    const HelpGroup group(command, filesGroup);
    const auto add = [&command](const char* flag, std::string& path, const char* help) {
        command.add_option(flag, path, help)->type_name("FILE");
    };
    add("--do", files.dout, "gradient of o: .npy, or .safetensors with a tensor do (default: tensor do of --tensors)");
    add("--o", files.o, "o of the forward pass, as --do; needs --lse (default: the forward pass runs first)");
    add("--lse", files.lse, "lse of the forward pass: .npy, or .safetensors with a tensor lse; needs --o");
    add("--dlse", files.dlse, "gradient of lse, as --lse (default: lse has no gradient)");
}

void addResultOptions(CLI::App& command, BackwardOptions& options) {
    const HelpGroup group(command, resultsGroup);
    for (size_t i = 0; i < gradientFlags.size(); ++i)
        command
            .add_option(gradientFlags[i].flag, options.outputs[i],
                        fmt::format("file for the gradient of {}: .npy, or .safetensors with a tensor named {}",
                                    gradientFlags[i].of, gradientFlags[i].name))
            ->type_name("FILE");
    command
        .add_option("--output-type", options.outputType,
                    "type of the gradients but dsinks: f32, f16, bf16 (default: the types of their tensors)")
        ->type_name("NAME");
    command.add_flag("--verify", options.verify,
                     "compare the gradients, and o and lse unless they are given, with the CPU reference before "
                     "writing; fail if an error is above its bound");
    addRepeatOption(command, options.repeat);
}

} // namespace

void addBackwardCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<BackwardOptions>(
        program, action, "backward", "Computes the gradients of attention on tensors from files.",
        "vkflash backward --q q.npy --k k.npy --v v.npy --do do.npy --dq dq.npy --dk dk.npy --dv dv.npy", backward);
    addInputOptions(*command, options->inputs);
    command->remove_option(command->get_option("--probability-rows")); // probabilities are not an output here
    command->remove_option(command->get_option("--chosen-keys"));      // lists have no gradient
    addBackwardInputOptions(*command, options->backwardInputs);
    addResultOptions(*command, *options);
    addMathOptions(*command, options->math);
    addDropoutOptions(*command, options->dropout);
    addFunctionOptions(*command, options->functions);
    addMaskBlockOption(*command, options->math.maskBlock);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    addScratchOption(*command, options->scratch);
}

} // namespace vkf::tools
