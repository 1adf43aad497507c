// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "cli/error.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "soak/random_case.hpp"
#include "soak/soak.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

// A context keeps the pipelines that it compiled. Reopening the device frees them, and is part of the test.
constexpr uint64_t casesOfDevice = 50;

// On devices that have path wgmma. AUTO takes it for long calls only.
constexpr uint64_t seedsPerWgmma = 4;

struct Counts {
    uint64_t right = 0, backward = 0, refused = 0, wrong = 0;
    std::string faults;

    void blame(uint64_t seed, const char* what) {
        ++wrong;
        faults += fmt::format("  seed {}: {}\n", seed, what);
    }
};

// Scratch memory for the backward pass of every second case, which may then keep ds there.
constexpr uint64_t bandScratchBytes = uint64_t{256} << 20;

// Computes and checks the backward pass on a path. `tensors` has o and lse. Returns false if the library refuses it.
bool checkGradients(host::Device& device, const RandomCase& random, VkfPath path, uint64_t seed,
                    const host::HostTensors& tensors) {
    VkfProblem problem = random.problem;
    problem.path = path;
    std::optional<RandomGradients> gradients;
    host::BackwardReport report;
    try {
        gradients.emplace(problem, seed, seed % 2 == 0 ? bandScratchBytes : 0);
        grow(gradients->problem.dout.type, gradients->dout, random.growth.dout, seed + 5);
        grow(VKF_TYPE_F32, gradients->dlse, random.growth.dlse, seed + 6);
        report = host::backward(device, gradients->problem, tensors, gradients->pointers());
    } catch (const host::Error& error) {
        if (error.result() == VKF_ERROR_UNSUPPORTED)
            return false;
        throw;
    }
    requirePassed(verifyGradients(gradients->problem, tensors, gradients->pointers(), report.info),
                  report.info.description);
    return true;
}

// As checkGradients, on the path of the backward pass. A problem that matrices do not take goes to VKF_PATH_AUTO.
bool checkBackward(host::Device& device, const RandomCase& random, uint64_t seed, const host::HostTensors& tensors) {
    return checkGradients(device, random, random.backwardPath, seed, tensors) ||
           (random.backwardPath == VKF_PATH_COOPMAT && checkGradients(device, random, VKF_PATH_AUTO, seed, tensors));
}

void checkCase(host::Device& device, uint64_t seed, Counts& counts) {
    RandomCase random(seed);
    if (seed % seedsPerWgmma == 0 && (device.summary().features & VKF_FEATURE_BINARY_IMPORT) != 0)
        random.takeWgmma();
    VkfMessage message{};
    const VkfResult support = vkfCheckSupport(device.context(), &random.problem, &message);
    if (support != VKF_SUCCESS) {
        if (support == VKF_ERROR_UNSUPPORTED)
            ++counts.refused;
        else
            counts.blame(seed, message.text);
        return;
    }
    CaseInputs inputs(random, seed);
    const host::HostTensors tensors = inputs.pointers();
    const host::AttentionReport report = host::attention(device, random.problem, tensors);
    requirePassed(verifyResult(random.problem, tensors, report.plan), report.plan.description);
    if (tensors.probabilities != nullptr)
        requirePassed(verifyProbabilities(random.problem, tensors, report.plan), report.plan.description);
    ++counts.right;
    if (random.backward && checkBackward(device, random, seed, tensors))
        ++counts.backward;
}

// Checks one case. A wrong result or a failed call is counted, and the next case goes on.
void countCase(host::Device& device, uint64_t seed, Counts& counts) {
    try {
        checkCase(device, seed, counts);
    } catch (const host::Error& error) {
        if (error.result() == VKF_ERROR_DEVICE_LOST)
            fail("seed {}: {}", seed, error.what());
        counts.blame(seed, error.what());
    } catch (const ProgramError& error) {
        counts.blame(seed, error.what());
    }
}

} // namespace

SoakReport soakCases(const DeviceFlags& flags, uint64_t firstSeed, uint64_t cases, const Deadline& deadline) {
    Progress progress("random calls");
    Counts counts;
    const auto done = [&](uint64_t number) {
        return cases != 0 ? number >= cases : number > 0 && deadline.share() >= 1;
    };
    uint64_t number = 0;
    while (!done(number)) {
        host::Device device = openDevice(flags);
        for (uint64_t i = 0; i < casesOfDevice && !done(number); ++i, ++number) {
            countCase(device, firstSeed + number, counts);
            progress.update(cases != 0 ? static_cast<double>(number) / static_cast<double>(cases)
                                       : std::min(deadline.share(), 1.0));
        }
        if (flags.validation)
            checkValidation(device);
    }
    SoakReport report;
    report.clean = counts.wrong == 0;
    report.text = fmt::format(
        "cases    {} random calls, seeds {} to {}: {} right, {} of them with their backward pass, {} wrong; "
        "{} refused in words\n{}",
        number, firstSeed, firstSeed + number - 1, counts.right, counts.backward, counts.wrong, counts.refused,
        counts.faults);
    return report;
}

} // namespace vkf::tools
