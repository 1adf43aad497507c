// SPDX-License-Identifier: MIT
//
// vkflash_plans: the plans of random problems on described devices, for comparisons of two versions of the library.
//
//     vkflash_plans [COUNT [FIRST]]      one line for each problem and device: result and a hash of the whole plan
//     vkflash_plans text INDEX           the whole plans of one problem
//
// Two versions plan alike if their lines are the same byte for byte. Problem INDEX is the same in every run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "problem/backward.hpp"
#include "proof/plans/described_devices.hpp"
#include "proof/plans/plan_text.hpp"
#include "proof/plans/random_problems.hpp"

namespace {

using namespace vkf::test;

struct Outcome {
    VkfResult result;
    std::string text; // of the plan, or of the error
};

// The checks that need no device belong to src/problem/, so that their messages are left out.
Outcome refusedWithoutDevice(VkfResult result) { return {result, "refused without a device\n"}; }

Outcome planOf(const DescribedDevice& device, const VkfProblem& problem) {
    vkf::CheckedProblem checked{};
    if (const VkfResult result = vkf::checkProblem(&problem, &checked, nullptr); result != VKF_SUCCESS) {
        return refusedWithoutDevice(result);
    }
    vkf::AttentionPlan plan;
    VkfMessage message{};
    const VkfResult result = vkf::makePlan({device.caps, device.tuning}, checked, &plan, &message);
    return {result, result == VKF_SUCCESS ? textOf(plan) : std::string(message.text) + '\n'};
}

Outcome planOf(const DescribedDevice& device, const VkfBackwardProblem& problem) {
    vkf::CheckedBackward checked{};
    if (const VkfResult result = vkf::checkBackward(&problem, &checked, nullptr); result != VKF_SUCCESS) {
        return refusedWithoutDevice(result);
    }
    vkf::BackwardPlan plan;
    VkfMessage message{};
    const VkfResult result = vkf::makeBackwardPlan({device.caps, device.tuning}, checked, &plan, &message);
    return {result, result == VKF_SUCCESS ? textOf(plan) : std::string(message.text) + '\n'};
}

// A workgroup of vkfCmdMerge and of the merge of key splits.
Outcome mergeOf(const DescribedDevice& device, Dice& dice) {
    const uint32_t lanes = 1U << dice.below(7);
    return {VKF_SUCCESS, textOf(vkf::chooseMergeTile(1 + dice.below(1024), lanes, device.caps))};
}

uint64_t hashOf(const std::string& text) {
    uint64_t hash = 0xcbf29ce484222325U; // FNV-1a
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return hash;
}

// Every fourth problem is a backward pass, every 64th a merge.
Outcome outcomeOf(const DescribedDevice& device, uint32_t index) {
    Dice dice(index);
    if (index % 64 == 63) {
        return mergeOf(device, dice);
    }
    if (index % 4 == 3) {
        const VkfProblem forward = randomForwardProblem(dice);
        return planOf(device, randomBackwardProblem(dice, forward));
    }
    return planOf(device, randomPlanProblem(dice));
}

} // namespace

int main(int argc, char** argv) {
    const auto devices = describedDevices();
    const auto argument = [&](int i, uint32_t otherwise) {
        return argc > i ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : otherwise;
    };
    const bool whole = argc > 2 && std::strcmp(argv[1], "text") == 0;
    const uint32_t first = argument(2, 0);
    const uint32_t count = whole ? 1 : argument(1, 20000);
    for (uint32_t index = first; index < first + count; index++) {
        for (const DescribedDevice& device : devices) {
            const Outcome outcome = outcomeOf(device, index);
            if (whole) {
                std::printf("==== %s\n%s", device.name, outcome.text.c_str());
            } else {
                const size_t line = outcome.text.find('\n');
                std::printf("%u, %s: %d %016llx %s\n", index, device.name, static_cast<int>(outcome.result),
                            static_cast<unsigned long long>(hashOf(outcome.text)),
                            outcome.text.substr(0, line).c_str());
            }
        }
    }
    return 0;
}
