// SPDX-License-Identifier: MIT
//
// vkflash verify: computes random tensors of a given shape on the device and compares the result with the CPU
// reference. With --functions: checks the masks and scores of examples/functions against their formulas in fp64.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/repeated_runs.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
#include "measure/backward_measure.hpp"
#include "tensors/random_tensors.hpp"
#if defined(VKFLASH_HAS_FUNCTIONS)
#include "gallery/gallery.hpp"
#endif

namespace vkf::tools {

namespace {

struct VerifyOptions {
    ShapeOptions shape;
    MathOptions math;
    DeviceFlags device;
    bool randomLengths = false;
    std::optional<double> blockDensity;
    uint64_t seed = 1;
    uint32_t sampleRows = 0;
    bool backward = false;
    bool functions = false;
};

// A refusal names the flag.
void makeGradients(const VerifyOptions& options, const VkfProblem& problem, std::optional<RandomGradients>& gradients) {
    try {
        gradients.emplace(problem, options.seed, mostScratchBytes(options.shape.cache.scratch));
    } catch (const host::Error& error) {
        failInput("--backward: {}", error.what());
    }
}

// Computes and checks the backward pass. `tensors` has o and lse of the forward pass. Returns lines for people.
std::string verifyBackward(const VerifyOptions& options, host::Device& device, RandomGradients& random,
                           const host::HostTensors& tensors) {
    const host::HostGradients gradients = random.pointers();
    host::BackwardReport report;
    {
        Progress progress("backward pass");
        report = host::backward(device, random.problem, tensors, gradients,
                                [&progress](double share) { progress.update(share); });
    }
    const VkfBackwardVerdict verdict =
        verifyGradients(random.problem, tensors, gradients, report.info, options.sampleRows);
    requirePassed(verdict, fmt::format("--seed {}", options.seed));
    return fmt::format("plan    {}\ntime    {:.3f} ms on the device (first run)\n{}", report.info.description,
                       report.seconds * 1e3, verdictText(verdict, gradients));
}

void verify(const VerifyOptions& options) {
    if (options.blockDensity)
        checkDensity(*options.blockDensity, options.math.maskBlock);
    VkfProblem problem = makeProblem(options.shape, options.math);
    enable(problem, VKF_USE_KEY_LENGTHS, options.randomLengths);
    enable(problem, VKF_USE_LSE, options.shape.lse || options.backward);
    VkfProblem forward = problem;
    std::optional<RandomGradients> gradients;
    if (options.backward) {
        makeGradients(options, problem, gradients);
        forward.path = VKF_PATH_AUTO;
    }
    host::Device device = openDevice(options.device);
    RandomTensors random(problem, options.seed, options.blockDensity.value_or(0.5));
    const host::HostTensors tensors = random.pointers(problem);
    const host::AttentionReport report = runAttention(device, forward, tensors);
    const VkfVerdict verdict = verifyResult(forward, tensors, report.plan, options.sampleRows);
    requirePassed(verdict, fmt::format("--seed {}", options.seed));
    std::string text =
        fmt::format("device  {}\nplan    {}\ntime    {:.3f} ms on the device (first run)\n{}", device.summary().name,
                    report.plan.description, report.seconds * 1e3, verdictText(verdict, has(problem, VKF_USE_LSE)));
    if (gradients)
        text += verifyBackward(options, device, *gradients, tensors);
    if (options.device.validation)
        checkValidation(device);
    fmt::print("{}right\n", text);
}

// The calls of --functions have shapes and masks of their own.
void requireForFunctions(const CLI::App& command) {
    constexpr std::array taken = {"--functions", "--backward", "--path",       "--type",  "--seed",
                                  "--device",    "--tuning",   "--validation", "--quirk", "--sample-rows"};
    for (const CLI::Option* option : command.get_options())
        if (option->count() != 0 && std::find(taken.begin(), taken.end(), option->get_name()) == taken.end())
            failInput("{}: has no meaning with --functions, whose calls have shapes and masks of their own",
                      option->get_name());
}

#if defined(VKFLASH_HAS_FUNCTIONS)

// The call of all examples, without rows, keys and functions.
VkfProblem exampleProblem(const VerifyOptions& options) {
    auto problem = make<VkfProblem>();
    problem.batch = 2;
    problem.queryHeads = gallery::heads;
    problem.kvHeads = gallery::heads / 2;
    problem.headDim = 32;
    problem.q = problem.k = problem.v = problem.o = dense(parseType("--type", options.shape.type));
    problem.path = parsePath("--path", options.math.path);
    enable(problem, VKF_USE_FUNCTIONS | VKF_USE_LSE);
    return problem;
}

// The arrays that the functions read, for the tensors of a call.
void handArrays(const CompiledExample& compiled, host::HostTensors& tensors) {
    std::transform(compiled.arrays().begin(), compiled.arrays().end(), tensors.functionArrays.begin(),
                   [](const std::vector<std::byte>& array) {
                       return host::HostArray{array.data(), array.size()};
                   });
}

// Returns the end of the example's line. `tensors` has o and lse of the forward pass.
std::string checkBackward(const VerifyOptions& options, const Example& example, const CompiledExample& compiled,
                          host::Device& device, const VkfProblem& problem, const host::HostTensors& tensors) {
    RandomGradients random(problem, options.seed, mostScratchBytes({}));
    const host::HostGradients gradients = random.pointers();
    const host::BackwardReport report = host::backward(device, random.problem, tensors, gradients);
    const VkfBackwardVerdict verdict =
        verifyGradients(random.problem, tensors, gradients, report.info, options.sampleRows, &compiled.formulas());
    requirePassed(verdict, example.file + ", backward pass");
    const VkfGradientError& worst = worstOf(verdict);
    return fmt::format("; backward {}, {}", vkfPathName(report.info.path), errorText(worst.error, worst.bound));
}

void checkExample(const VerifyOptions& options, const Example& example, host::Device& device, VkfProblem problem) {
    const CompiledExample compiled(example, static_cast<uint32_t>(options.seed));
    problem.queryRows = example.rows;
    problem.keys = example.keys;
    problem.functions = compiled.handle();
    VkfProblem forward = problem;
    if (options.backward)
        forward.path = VKF_PATH_AUTO;
    RandomTensors random(forward, options.seed);
    host::HostTensors tensors = random.pointers(forward);
    handArrays(compiled, tensors);
    const host::AttentionReport report = host::attention(device, forward, tensors);
    const VkfVerdict verdict = verifyResult(forward, tensors, report.plan, options.sampleRows, &compiled.formulas());
    requirePassed(verdict, example.file);
    std::string text = fmt::format("{:<36}{:<10}{}", example.file, vkfPathName(report.plan.path),
                                   errorText(verdict.oError, verdict.oBound));
    if (options.backward)
        text += checkBackward(options, example, compiled, device, problem, tensors);
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

// Prints a line for each file of examples/functions. Throws ProgramError at the first wrong result.
void verifyFunctions(const VerifyOptions& options) {
    const VkfProblem problem = exampleProblem(options);
    host::Device device = openDevice(options.device);
    fmt::print("device  {}\n", device.summary().name);
    for (const Example& example : examples())
        checkExample(options, example, device, problem);
    if (options.device.validation)
        checkValidation(device);
    fmt::print("right\n");
}

#else

void verifyFunctions(const VerifyOptions& /*options*/) {
    failInput("--functions: this program was built without a compiler of functions");
}

#endif

} // namespace

void addVerifyCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* command = program.add_subcommand(
        "verify", "Computes random tensors of a shape on the device and compares the result with the CPU reference.");
    command->footer("vkflash verify --rows 1000 --dim 128 --causal");
    addShapeOptions(*command, options->shape);
    addCacheOptions(*command, options->shape.cache);
    addChosenCountOption(*command, options->shape.cache);
    addMathOptions(*command, options->math);
    addMaskBlockOption(*command, options->math.maskBlock);
    command->add_option("--block-density", options->blockDensity,
                        "share of open blocks of the block mask (default: 0.5)");
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    command->add_flag("--random-lengths", options->randomLengths, "use a random number of keys for each sequence");
    addValue(*command, "--seed", options->seed, "seed of the random numbers");
    command->add_option("--sample-rows", options->sampleRows, "check about this many rows of each head (default: all)");
    command->add_flag("--backward", options->backward,
                      "also compute and check the backward pass with random gradients of o and lse; --path is then its "
                      "path");
    command->add_flag("--functions", options->functions,
                      "check the masks and scores of examples/functions instead, on small calls");
    command->callback([options, command, &action] {
        if (options->functions)
            requireForFunctions(*command);
        action = [options] { options->functions ? verifyFunctions(*options) : verify(*options); };
    });
}

} // namespace vkf::tools
