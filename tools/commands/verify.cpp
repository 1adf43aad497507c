// SPDX-License-Identifier: MIT
//
// vkflash verify: computes random tensors of a given shape on the device and compares the result with the CPU
// reference. verify_functions.cpp has --functions.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
#include "commands/verify_functions.hpp"
#include "tensors/random_tensors.hpp"

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
    host::AttentionReport report;
    {
        Progress progress("attention");
        report = host::attention(device, forward, tensors, [&progress](double share) { progress.update(share); });
    }
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

FunctionChecks checksOf(const VerifyOptions& options) {
    return {options.device,
            parsePath("--path", options.math.path),
            parseType("--type", options.shape.type),
            options.seed,
            options.sampleRows,
            options.backward};
}

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
        action = [options] { options->functions ? verifyFunctions(checksOf(*options)) : verify(*options); };
    });
}

} // namespace vkf::tools
