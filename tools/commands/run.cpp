// SPDX-License-Identifier: MIT
//
// vkflash run: computes attention on tensors from files.
#include <array>
#include <cstdio>
#include <memory>

#include "cli/block_mask_options.hpp"
#include "cli/error.hpp"
#include "cli/file_problem.hpp"
#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
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
    DeviceFlags device;
    std::string outputType; // empty = the type of q
    bool verify = false;
};

VkfProblem makeProblem(const RunOptions& options, const Inputs& inputs) {
    VkfProblem problem = fileProblem(inputs, options.math, options.dropout);
    const VkfProblem ofFiles = problem;
    applyCacheOptions(options.cache, problem);
    if (has(problem, VKF_ARRAY_CU_SEQLENS) &&
        (has(problem, VKF_ARRAY_BLOCK_TABLE) || problem.k.type != ofFiles.k.type || problem.v.type != ofFiles.v.type))
        failInput("--cu-seqlens-q {}: k and v of packed sequences are taken as they are in files, without pages and "
                  "other types",
                  options.inputs.cuSeqlensQ);
    if (!options.outputType.empty())
        problem.o.type = parseType("--output-type", options.outputType);
    enable(problem, VKF_ARRAY_LSE, !options.outputs.lse.empty());
    enable(problem, VKF_ARRAY_PROBABILITIES, !options.outputs.probabilities.empty());
    if (!has(problem, VKF_ARRAY_PROBABILITIES) && problem.probabilityRowCount != 0)
        failInput("--weight-rows {}: needs --weights, where those rows go", options.inputs.probabilityRows);
    // If any path accepts the problem, --path is at fault. Otherwise the files are.
    VkfProblem anyPath = problem;
    anyPath.path = VKF_PATH_AUTO;
    VkfMessage message{};
    if (vkfCheckProblem(&anyPath, &message) != VKF_SUCCESS)
        failInput("{}: {}", inputs.source, message.text);
    if (vkfCheckProblem(&problem, &message) != VKF_SUCCESS)
        failInput("--path {}: {}", options.math.path, message.text);
    return problem;
}

void run(const RunOptions& options) {
    if (options.outputs.o.empty())
        failInput("-o: is missing; give the file for the result");
    const Inputs inputs = loadInputs(options.inputs);
    VkfProblem problem = makeProblem(options, inputs);
    const std::vector<uint32_t> blockMask =
        inputs.blockMask ? packBlockMask(*inputs.blockMask, "--block-mask " + options.inputs.blockMask, problem)
                         : std::vector<uint32_t>();
    const std::vector<int32_t> blockTable = shuffledPages(problem);
    // Returns k or v of the file as it is, or stores it in `cache` with the types and pages of the flags.
    const auto inCache = [&](VkfTensorRole role, const Tensor& tensor, std::vector<std::byte>& cache) {
        const VkfType type = vkfTypeOf(tensor.type);
        if (vkf::layoutOf(problem, role).type == type && !has(problem, VKF_ARRAY_BLOCK_TABLE))
            return tensor.bytes.data();
        cache = toCache(problem, role, type, tensor.bytes.data(), blockTable);
        return static_cast<const std::byte*>(cache.data());
    };
    std::array<Output, 3> outputs = {{{"-o", "o", options.outputs.o, {elementTypeOf(problem.o.type), {}, {}}},
                                      {"--lse", "lse", options.outputs.lse, {}},
                                      {"--weights", "probabilities", options.outputs.probabilities, {}}}};
    auto& [o, lse, probabilities] = outputs;
    checkOutputs(outputs, filesGiven(options.inputs));
    allocate(o, outputShape(inputs));
    if (has(problem, VKF_ARRAY_LSE))
        allocate(lse, lseShape(inputs));
    if (has(problem, VKF_ARRAY_PROBABILITIES))
        allocate(probabilities, probabilitiesShape(inputs));
    host::HostTensors tensors;
    tensors.q = inputs.q.bytes.data();
    std::vector<std::byte> kCache;
    std::vector<std::byte> vCache;
    tensors.k = inCache(VKF_TENSOR_K, inputs.k, kCache);
    tensors.v = inCache(VKF_TENSOR_V, inputs.v, vCache);
    tensors.blockTable = blockTable.data();
    tensors.blockMask = blockMask.data();
    handOptional(inputs, tensors);
    tensors.o = memoryOf(o);
    tensors.lse = static_cast<float*>(memoryOf(lse));
    tensors.probabilities = static_cast<float*>(memoryOf(probabilities));

    host::Device device = openDevice(options.device);
    host::AttentionReport report;
    {
        Progress progress("attention");
        report = host::attention(device, problem, tensors, [&progress](double share) { progress.update(share); });
    }
    if (options.device.validation)
        checkValidation(device);

    std::string text = fmt::format("device  {}\nplan    {}\ntime    {:.3f} ms on the device (first run)\n",
                                   device.summary().name, report.plan.description, report.seconds * 1e3);
    if (options.verify) {
        const VkfVerdict verdict = verifyResult(problem, tensors, report.plan);
        requirePassed(verdict, fmt::format("-o {}: not written, --verify", options.outputs.o));
        text += verdictText(verdict, has(problem, VKF_ARRAY_LSE));
        if (has(problem, VKF_ARRAY_PROBABILITIES)) {
            const VkfProbabilitiesVerdict ofProbabilities = verifyProbabilities(problem, tensors, report.plan);
            requirePassed(ofProbabilities,
                          fmt::format("--weights {}: not written, --verify", options.outputs.probabilities));
            text += fmt::format("probabilities {}\n", errorText(ofProbabilities.error, ofProbabilities.bound));
        }
    }
    writeOutputs(outputs);
    text += writtenText(outputs);
    fmt::print("{}", text);
}

} // namespace

void addRunCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = program.add_subcommand("run", "Computes attention on tensors from files.");
    addInputOptions(*command, options->inputs);
    command->add_option("-o,--output", options->outputs.o,
                        "file for the result: .npy, or .safetensors with a tensor named o");
    command->add_option("--lse", options->outputs.lse,
                        "file for lse, the logarithms of the softmax sums; may be the .safetensors file of -o");
    command->add_option("--weights,--probabilities", options->outputs.probabilities,
                        "file for the probabilities; may be the .safetensors file of -o");
    command->add_option("--output-type", options->outputType,
                        "type of the result: f32, f16 or bf16 (default: the type of q)");
    addMathOptions(*command, options->math);
    addDropoutOptions(*command, options->dropout);
    addMaskBlockOption(*command, options->math.maskBlock);
    addCacheOptions(*command, options->cache);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    command->add_flag(
        "--verify", options->verify,
        "compare o, lse and probabilities with the CPU reference before writing; fail if an error is above its bound");
    command->callback([options, &action] { action = [options] { run(*options); }; });
}

} // namespace vkf::tools
