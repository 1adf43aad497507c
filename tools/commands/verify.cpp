// SPDX-License-Identifier: MIT
//
// vkflash verify: computes random tensors of a given shape on the device and compares the result with the CPU
// reference.
#include <memory>
#include <optional>

#include "cli/block_mask_options.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
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
};

void verify(const VerifyOptions& options) {
    if (options.blockDensity)
        checkDensity(*options.blockDensity, options.math.maskBlock);
    VkfProblem problem = makeProblem(options.shape, options.math);
    enable(problem, VKF_ARRAY_KEY_LENGTHS, options.randomLengths);
    host::Device device = openDevice(options.device);
    RandomTensors random(problem, options.seed, options.blockDensity.value_or(0.5));
    const host::HostTensors tensors = random.pointers(problem);
    host::AttentionReport report;
    {
        Progress progress("attention");
        report = host::attention(device, problem, tensors, [&progress](double share) { progress.update(share); });
    }
    if (options.device.validation)
        checkValidation(device);
    const VkfVerdict verdict = verifyResult(problem, tensors, report.plan, options.sampleRows);
    requirePassed(verdict, fmt::format("--seed {}", options.seed));
    fmt::print("device  {}\nplan    {}\ntime    {:.3f} ms on the device (first run)\n{}right\n", device.summary().name,
               report.plan.description, report.seconds * 1e3, verdictText(verdict, has(problem, VKF_ARRAY_LSE)));
}

} // namespace

void addVerifyCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* command = program.add_subcommand(
        "verify", "Computes random tensors of a shape on the device and compares the result with the CPU reference.");
    addShapeOptions(*command, options->shape);
    addCacheOptions(*command, options->shape.cache);
    addMathOptions(*command, options->math);
    addMaskBlockOption(*command, options->math.maskBlock);
    command->add_option("--block-density", options->blockDensity,
                        "share of open blocks of the block mask (default: 0.5)");
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    command->add_flag("--random-lengths", options->randomLengths, "use a random number of keys for each sequence");
    command->add_option("--seed", options->seed, "seed of the random numbers")->capture_default_str();
    command->add_option("--sample-rows", options->sampleRows, "check about this many rows of each head (default: all)");
    command->callback([options, &action] { action = [options] { verify(*options); }; });
}

} // namespace vkf::tools
