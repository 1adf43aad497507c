// SPDX-License-Identifier: MIT
//
// vkflash run: computes attention on tensors from files.
#include <array>
#include <cstdio>
#include <memory>

#include "cli/error.hpp"
#include "cli/function_inputs.hpp"
#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "cli/program/help.hpp"
#include "cli/repeated_runs.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
#include "tensors/cache.hpp"

namespace vkf::tools {

namespace {

// Files of the results. Empty = not wanted.
struct RunOutputFiles {
    std::string o;
    std::string lse;
    std::string probabilities;
};

struct RunOptions {
    InputFiles inputs;
    RunOutputFiles outputs;
    MathOptions math;
    CacheOptions cache;
    DropoutOptions dropout;
    FunctionFiles functions;
    DeviceFlags device;
    std::string outputType; // empty = the type of q
    uint32_t repeat = 0;
    bool verify = false;
};

bool isInOtherTypes(const VkfProblem& problem, const VkfProblem& ofFiles) {
    return problem.k.type != ofFiles.k.type || problem.v.type != ofFiles.v.type;
}

// `ofFiles` is the problem with k and v as they are in the files.
VkfProblem makeProblem(const RunOptions& options, const Inputs& inputs, const FunctionInputs& functions,
                       const VkfProblem& ofFiles) {
    VkfProblem problem = ofFiles;
    applyCacheOptions(options.cache, problem);
    functions.apply(problem);
    const bool inCache = has(problem, VKF_USE_BLOCK_TABLE) || isInOtherTypes(problem, ofFiles);
    if (inCache) {
        problem.k = dense(problem.k.type);
        problem.v = dense(problem.v.type);
    }
    if (has(problem, VKF_USE_CU_SEQLENS) && inCache)
        failInput("--cu-seqlens-q {}: k and v of packed sequences are taken as they are in files, without pages and "
                  "other types",
                  options.inputs.of("--cu-seqlens-q"));
    if (!options.outputType.empty())
        problem.o.type = parseType("--output-type", options.outputType);
    enable(problem, VKF_USE_LSE, !options.outputs.lse.empty());
    enable(problem, VKF_USE_PROBABILITIES, !options.outputs.probabilities.empty());
    if (!has(problem, VKF_USE_PROBABILITIES) && problem.probabilityRowCount != 0)
        failInput("--probability-rows {}: needs --probabilities, where those rows go",
                  options.inputs.of("--probability-rows"));
    // If any path accepts the problem, --path is at fault. Otherwise the files are.
    VkfProblem anyPath = problem;
    anyPath.path = VKF_PATH_AUTO;
    VkfMessage message{};
    if (vkfCheckProblem(&anyPath, &message) != VKF_SUCCESS)
        failInput("{}{}: {}", inputs.source, flagText(options.functions), message.text);
    if (vkfCheckProblem(&problem, &message) != VKF_SUCCESS)
        failInput("--path {}: {}", options.math.path, message.text);
    return problem;
}

// k and v as the call takes them: in the types and pages of the flags.
class Cache {
public:
    Cache(const VkfProblem& problem, const VkfProblem& ofFiles, const Inputs& inputs)
        : pages_(shuffledPages(problem)), k_(stored(problem, ofFiles, VKF_TENSOR_K, inputs.k)),
          v_(stored(problem, ofFiles, VKF_TENSOR_V, inputs.v)) {}

    void hand(const Inputs& inputs, host::HostTensors& tensors) const {
        tensors.k = k_.empty() ? inputs.k.bytes.data() : k_.data();
        tensors.v = v_.empty() ? inputs.v.bytes.data() : v_.data();
        tensors.blockTable = pages_.data();
    }

private:
    // Empty if the call takes the tensor as it is in the file.
    std::vector<std::byte> stored(const VkfProblem& problem, const VkfProblem& ofFiles, VkfTensorRole role,
                                  const Tensor& tensor) const {
        if (!isInOtherTypes(problem, ofFiles) && pages_.empty())
            return {};
        return toCache(problem, role, vkf::layoutOf(ofFiles, role), tensor.bytes.data(), pages_);
    }

    std::vector<int32_t> pages_; // the block table
    std::vector<std::byte> k_;
    std::vector<std::byte> v_;
};

// Error of o against the reference on k and v of the files. The bound does not count what other types cost.
std::string storedTypesText(const VkfProblem& problem, const VkfProblem& ofFiles, const Inputs& inputs,
                            host::HostTensors tensors, const VkfPlanInfo& plan) {
    VkfProblem exact = ofFiles;
    exact.o = problem.o;
    enable(exact, VKF_USE_PROBABILITY_ROWS, false);
    exact.probabilityRowCount = 0;
    enable(exact, VKF_USE_LSE, has(problem, VKF_USE_LSE));
    tensors.k = inputs.k.bytes.data();
    tensors.v = inputs.v.bytes.data();
    tensors.probabilities = nullptr;
    const VkfVerdict verdict = verifyResult(exact, tensors, plan);
    return fmt::format("stored  error {:.2g} of o against k and v as in the files ({}, {} instead of {}, {})\n",
                       verdict.oError, vkfTypeName(problem.k.type), vkfTypeName(problem.v.type),
                       vkfTypeName(ofFiles.k.type), vkfTypeName(ofFiles.v.type));
}

// Compares the results with the reference. Returns lines for people.
std::string verify(const RunOptions& options, const VkfProblem& problem, const host::HostTensors& tensors,
                   const VkfPlanInfo& plan) {
    const auto what = [](const char* flag, const std::string& file) {
        return file.empty() ? std::string("--verify") : fmt::format("{} {}: not written, --verify", flag, file);
    };
    const VkfVerdict verdict = verifyResult(problem, tensors, plan);
    requirePassed(verdict, what("-o", options.outputs.o));
    std::string text = verdictText(verdict, has(problem, VKF_USE_LSE));
    if (has(problem, VKF_USE_PROBABILITIES)) {
        const VkfProbabilitiesVerdict ofProbabilities = verifyProbabilities(problem, tensors, plan);
        requirePassed(ofProbabilities, what("--probabilities", options.outputs.probabilities));
        text += fmt::format("probabilities {}\n", errorText(ofProbabilities.error, ofProbabilities.bound));
    }
    return text;
}

void requirePurpose(const RunOptions& options) {
    const RunOutputFiles& files = options.outputs;
    if (files.o.empty() && files.lse.empty() && files.probabilities.empty() && !options.verify && options.repeat == 0)
        failInput("-o: is missing; give the file for the result, or --verify to check it without a file");
    requireFormulas(options.functions, options.verify);
}

void run(const RunOptions& options) {
    requirePurpose(options);
    const Inputs inputs = loadInputs(options.inputs);
    const FunctionInputs functions(options.functions);
    VkfProblem ofFiles = fileProblem(inputs, options.math, options.dropout);
    VkfProblem problem = makeProblem(options, inputs, functions, ofFiles);
    const std::vector<uint32_t> blockMask = packBlockMask(inputs, problem);
    ofFiles.blockMask = problem.blockMask;
    std::array<Output, 3> outputs = {{{"-o", "o", options.outputs.o, {elementTypeOf(problem.o.type), {}, {}}},
                                      {"--lse", "lse", options.outputs.lse, {}},
                                      {"--probabilities", "probabilities", options.outputs.probabilities, {}}}};
    auto& [o, lse, probabilities] = outputs;
    std::vector<FlagFile> read = filesGiven(options.inputs);
    for (const FlagFile& file : filesGiven(options.functions))
        read.push_back(file);
    checkOutputs(outputs, read);
    allocate(o, outputShape(inputs)); // the call writes o in any case
    if (has(problem, VKF_USE_LSE))
        allocate(lse, lseShape(inputs));
    if (has(problem, VKF_USE_PROBABILITIES))
        allocate(probabilities, probabilitiesShape(inputs));
    const Cache cache(problem, ofFiles, inputs);
    host::HostTensors tensors;
    tensors.q = inputs.q.bytes.data();
    cache.hand(inputs, tensors);
    tensors.blockMask = blockMask.data();
    handOptional(inputs, tensors);
    functions.hand(tensors);
    tensors.o = o.tensor.bytes.data();
    tensors.lse = static_cast<float*>(memoryOf(lse));
    tensors.probabilities = static_cast<float*>(memoryOf(probabilities));

    host::Device device = openDevice(options.device);
    host::Attention attention(device, problem);
    attention.upload(tensors);
    const RunTimes times =
        runRepeatedly("attention", options.repeat, [&](const auto& progress) { return attention.run(progress); });
    attention.download(tensors);
    if (options.device.validation)
        checkValidation(device);

    const VkfPlanInfo& plan = attention.plan().info();
    std::string text =
        fmt::format("device  {}\nplan    {}\n{}", device.summary().name, plan.description, timesText(times));
    if (options.verify) {
        text += verify(options, problem, tensors, plan);
        if (isInOtherTypes(problem, ofFiles))
            text += storedTypesText(problem, ofFiles, inputs, tensors, plan);
    }
    writeOutputs(outputs);
    text += writtenText(outputs);
    fmt::print("{}", text);
}

void addResultOptions(CLI::App& command, RunOptions& options) {
    const HelpGroup group(command, resultsGroup);
    const auto add = [&command](const char* flags, std::string& path, const char* help) {
        command.add_option(flags, path, help)->type_name("FILE");
    };
    add("-o,--output", options.outputs.o, "file for the result: .npy, or .safetensors with a tensor named o");
    add("--lse", options.outputs.lse, "file for lse, the logarithms of the softmax sums; may be that of -o");
    add("--probabilities,--weights", options.outputs.probabilities,
        "file for the probabilities; may be the .safetensors file of -o");
    command.add_option("--output-type", options.outputType, "type of the result: f32, f16, bf16 (default: that of q)")
        ->type_name("NAME");
    command.add_flag("--verify", options.verify,
                     "compare the results with the CPU reference before writing; needs no -o. Fails if an error is "
                     "above its bound");
    addRepeatOption(command, options.repeat);
}

} // namespace

void addRunCommand(CLI::App& program, Action& action) {
    const auto [command, options] =
        addCommand<RunOptions>(program, action, "run", "Computes attention on tensors from files.",
                               "vkflash run --q q.npy --k k.npy --v v.npy -o o.npy --causal --verify", run);
    addInputOptions(*command, options->inputs);
    addResultOptions(*command, *options);
    addMathOptions(*command, options->math);
    addDropoutOptions(*command, options->dropout);
    addFunctionOptions(*command, options->functions);
    addMaskBlockOption(*command, options->math.maskBlock);
    addCacheOptions(*command, options->cache);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
}

} // namespace vkf::tools
