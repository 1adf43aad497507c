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

// Counts of the running test case.
uint32_t callsInFp32 = 0;
uint32_t callsLeftOut = 0;

void skip(const std::string& reason) {
    std::fprintf(stderr, "SKIPPED, NOT TESTED ON THIS DEVICE: %s\n", reason.c_str());
    SKIP(reason);
}

class LackingListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& /*info*/) override { callsInFp32 = callsLeftOut = 0; }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        if (callsInFp32 + callsLeftOut != 0) {
            std::fprintf(stderr, "NOT ALL TESTED ON THIS DEVICE: %s: %u calls in fp32, %u left out; both need %s\n",
                         stats.testInfo->name.c_str(), callsInFp32, callsLeftOut, storage16);
        }
    }
};

CATCH_REGISTER_LISTENER(LackingListener)

bool isSupported(const host::Device& device, const VkfProblem& problem, VkfMessage* message = nullptr) {
    return vkfCheckSupport(device.context(), &problem, message) == VKF_SUCCESS;
}

} // namespace

bool lacksStorage16(const host::Device& device) { return (device.summary().features & VKF_FEATURE_STORAGE_16BIT) == 0; }

void needStorage16(const host::Device& device, const char* what) {
    if (lacksStorage16(device)) {
        skip(std::string(what) + " needs " + storage16);
    }
}

void needNanInExp2(const host::Device& device) {
    // Exp2 in src/Pipeline/ShaderCore.cpp limits its argument with Min and Max, which drop a NaN.
    if (device.summary().name.find("SwiftShader") != std::string::npos) {
        skip("exp2 of SwiftShader turns NaN into a number");
    }
}

bool leavesOut(const host::Device& device, VkfPath path) {
    const bool portable = path == VKF_PATH_AUTO || path == VKF_PATH_SCALAR || path == VKF_PATH_KEY_OUTER;
    const bool leaves = !portable && lacksStorage16(device);
    callsLeftOut += leaves ? 1 : 0;
    return leaves;
}

VkfProblem fitted(const host::Device& device, const VkfProblem& problem) {
    if (!lacksStorage16(device) || isSupported(device, problem)) {
        return problem;
    }
    VkfProblem made = problem;
    made.kvSplits = std::min(problem.kvSplits, 1U);
    if (!isSupported(device, made)) {
        made.q.type = made.k.type = made.v.type = made.o.type = VKF_TYPE_F32;
    }
    needSupport(device, made);
    callsInFp32++;
    return made;
}

void needSupport(const host::Device& device, const VkfProblem& problem) {
    VkfMessage message{};
    if (lacksStorage16(device) && !isSupported(device, problem, &message) &&
        std::string(message.text).find("storageBuffer16BitAccess") != std::string::npos) {
        skip(message.text);
    }
}

} // namespace vkf::test
