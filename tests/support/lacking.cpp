// SPDX-License-Identifier: MIT
#include "support/lacking.hpp"

#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include <vkflash/vkflash.hpp>

namespace vkf::test {
namespace {

constexpr const char* storage16 = "storageBuffer16BitAccess, which this device lacks";
constexpr const char* lostNan = "no check of NaN, because exp2 of SwiftShader turns it into a number";

// Counts of the running test case.
uint32_t callsInFp32 = 0;
uint32_t callsUnsplit = 0;
uint32_t callsLeftOut = 0;
bool nanLeftOut = false;

void skip(const std::string& reason) {
    std::fprintf(stderr, "SKIPPED, NOT TESTED ON THIS DEVICE: %s\n", reason.c_str());
    SKIP(reason);
}

class LackingListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& /*info*/) override {
        callsInFp32 = callsUnsplit = callsLeftOut = 0;
        nanLeftOut = false;
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const char* const name = stats.testInfo->name.c_str();
        if (callsInFp32 + callsUnsplit + callsLeftOut != 0) {
            std::fprintf(stderr,
                         "NOT ALL TESTED ON THIS DEVICE: %s: %u calls in fp32, %u without key splits, %u left out; all "
                         "need %s\n",
                         name, callsInFp32, callsUnsplit, callsLeftOut, storage16);
        }
        if (nanLeftOut) {
            std::fprintf(stderr, "NOT ALL TESTED ON THIS DEVICE: %s: %s\n", name, lostNan);
        }
    }
};

CATCH_REGISTER_LISTENER(LackingListener)

bool isSupported(const host::Device& device, const VkfProblem& problem, VkfMessage* message = nullptr) {
    return vkfCheckSupport(device.context(), &problem, message) == VKF_SUCCESS;
}

// True if the device refuses the problem for want of 16-bit storage. The message says so.
bool needsStorage16(const host::Device& device, const VkfProblem& problem, VkfMessage* message) {
    return lacksStorage16(device) && !isSupported(device, problem, message) &&
           std::string(message->text).find("storageBuffer16BitAccess") != std::string::npos;
}

VkfProblem unsplit(VkfProblem problem) {
    problem.kvSplits = std::min(problem.kvSplits, 1U);
    return problem;
}

// True if one of the types is not fp32.
bool hasOthers(std::initializer_list<VkfType> types) {
    return std::ranges::any_of(types, [](VkfType type) { return type != VKF_TYPE_F32; });
}

void setFp32(VkfProblem& problem) {
    problem.q.type = problem.k.type = problem.v.type = problem.o.type = VKF_TYPE_F32;
    problem.k.scales = problem.v.scales = 0; // only fp8 types have them
    enable(problem, VKF_USE_KV_SCALES, false);
}

} // namespace

bool lacksStorage16(const host::Device& device) { return (device.summary().features & VKF_FEATURE_STORAGE_16BIT) == 0; }

void needStorage16(const host::Device& device, const char* what) {
    if (lacksStorage16(device)) {
        skip(std::string(what) + " needs " + storage16);
    }
}

bool losesNan(const host::Device& device) {
    // Exp2 in src/Pipeline/ShaderCore.cpp limits its argument with Min and Max, which drop a NaN.
    const bool loses = device.summary().driverId == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    nanLeftOut = nanLeftOut || loses;
    return loses;
}

void needNan(const host::Device& device) {
    if (losesNan(device)) {
        skip(lostNan);
    }
}

bool leavesOut(const host::Device& device, VkfPath path) {
    const bool portable = path == VKF_PATH_AUTO || path == VKF_PATH_SCALAR || path == VKF_PATH_KEY_OUTER;
    const bool leaves = !portable && lacksStorage16(device);
    callsLeftOut += leaves ? 1 : 0;
    return leaves;
}

bool leavesOut(const host::Device& device, std::initializer_list<VkfType> types) {
    const bool leaves = lacksStorage16(device) && hasOthers(types);
    callsLeftOut += leaves ? 1 : 0;
    return leaves;
}

bool wantsFp32(const host::Device& device, std::initializer_list<VkfType> types) {
    const bool wants = lacksStorage16(device) && hasOthers(types);
    callsInFp32 += wants ? 1 : 0;
    return wants;
}

VkfProblem fitted(const host::Device& device, const VkfProblem& problem) {
    if (!lacksStorage16(device) || isSupported(device, problem)) {
        return problem;
    }
    VkfProblem made = unsplit(problem);
    if (isSupported(device, made)) {
        callsUnsplit++;
        return made;
    }
    setFp32(made);
    needSupport(device, made);
    callsInFp32++;
    return made;
}

std::optional<VkfProblem> fittedToInputs(const host::Device& device, const VkfProblem& problem) {
    VkfMessage message{};
    if (!needsStorage16(device, problem, &message)) {
        return problem;
    }
    VkfProblem made = unsplit(problem);
    if (needsStorage16(device, made, &message)) {
        callsLeftOut++;
        return std::nullopt;
    }
    callsUnsplit++;
    return made;
}

VkfProblem fittedBackward(const host::Device& device, const VkfProblem& forward) {
    VkfProblem made = forward;
    if (wantsFp32(device, {forward.q.type, forward.k.type, forward.v.type, forward.o.type})) {
        setFp32(made);
    }
    return made;
}

void needSupport(const host::Device& device, const VkfProblem& problem) {
    VkfMessage message{};
    if (needsStorage16(device, problem, &message)) {
        skip(message.text);
    }
}

} // namespace vkf::test
