// SPDX-License-Identifier: MIT
#include "support/device.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <vkflash/vkflash.hpp>

namespace vkf::test {
namespace {

std::map<std::pair<VkfQuirks, uint32_t>, host::Device> sharedDevices;
std::thread::id testThread; // thread of the running test case; none between test cases

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

void setEnvironment(const char* name, const std::string& value) {
#ifdef _WIN32
    _putenv_s(name, value.c_str());
#else
    setenv(name, value.c_str(), 1);
#endif
}

void failOnMessage(const std::string& text) {
    // Catch2 accepts assertions only on the test's own thread and within a test case. Its signal handler turns an abort
    // elsewhere into a failure of the running test case.
    if (std::this_thread::get_id() != testThread) {
        std::fprintf(stderr, "validation message outside the test's thread: %s\n", text.c_str());
        std::abort();
    }
    FAIL_CHECK("validation message: " << text);
}

bool wantsSwiftShader() { return environment("VKFLASH_TEST_DRIVER") == "swiftshader"; }

// Device names of other drivers do not have this word.
std::string wantedDevice() { return wantsSwiftShader() ? "SwiftShader" : environment("VKFLASH_TEST_DEVICE"); }

void skip(const std::string& reason) {
    std::fprintf(stderr, "SKIPPED, NOTHING WAS TESTED: %s\n", reason.c_str());
    SKIP(reason);
}

class DeviceListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    // Before the Vulkan loader reads the variable, in this process or in a program that it starts.
    void testRunStarting(const Catch::TestRunInfo&) override {
        if (const std::string driver = environment("VKFLASH_TEST_SWIFTSHADER"); wantsSwiftShader() && !driver.empty()) {
            setEnvironment("VK_DRIVER_FILES", driver);
        }
    }
    void testCaseStarting(const Catch::TestCaseInfo&) override { testThread = std::this_thread::get_id(); }
    void testCaseEnded(const Catch::TestCaseStats&) override { testThread = {}; }
    // Destroyed here and not with the program's static objects, because some of these belong to the driver.
    void testRunEnded(const Catch::TestRunStats&) override { sharedDevices.clear(); }
};

CATCH_REGISTER_LISTENER(DeviceListener)

} // namespace

void skipWithoutSwiftShader() {
    if (wantsSwiftShader() && environment("VKFLASH_TEST_SWIFTSHADER").empty()) {
        skip("there is no SwiftShader (./dev test takes it from Debian's chromium)");
    }
}

std::string tuningHead(const host::Device& device) {
    const host::DeviceSummary& summary = device.summary();
    return "vkflash tuning 1\ndevice vendor=" + std::to_string(summary.vendorId) +
           " device=" + std::to_string(summary.deviceId) + " driver=" + std::to_string(summary.driverId) + "\n";
}

bool wholeSweeps() { return environment("VKFLASH_TEST_SWEEPS") == "1"; }

VkfQuirks addedQuirks() {
    return environment("VKFLASH_TEST_ROLLED") == "1" ? VkfQuirks{VKF_QUIRK_ROLLED_SCALAR_LOOPS} : VkfQuirks{0};
}

bool validationIsOn() { return environment("VKFLASH_TEST_VALIDATION") != "0"; }

void skipWithoutDevice() {
    skipWithoutSwiftShader();
    if (wantsSwiftShader() || !environment("VKFLASH_TEST_DEVICE").empty()) {
        return;
    }
    std::string reason = "there is no Vulkan device";
    try {
        if (!host::listDevices().empty()) {
            return;
        }
    } catch (const host::Error& error) {
        reason = error.what();
    }
    skip(reason);
}

host::Device openTestDevice(host::DeviceOptions options) {
    skipWithoutDevice();
    options.select = wantedDevice();
    options.validation = validationIsOn();
    options.quirks |= addedQuirks();
    if (!options.onValidationMessage) {
        options.onValidationMessage = failOnMessage;
    }
    return host::Device(options);
}

VkfDeviceQuery queryOf(const host::Device& device) {
    auto query = make<VkfDeviceQuery>();
    query.getInstanceProcAddr = device.getInstanceProcAddr();
    query.instance = device.instance();
    query.physicalDevice = device.physicalDevice();
    return query;
}

VkfContextCreateInfo contextInfo(const host::Device& device) {
    auto info = make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = device.getInstanceProcAddr();
    info.instance = device.instance();
    info.physicalDevice = device.physicalDevice();
    info.device = device.handle();
    info.features = device.summary().features;
    return info;
}

host::Device& testDevice(VkfQuirks quirks, uint32_t maxSharedMemoryBytes) {
    const std::pair key(quirks, maxSharedMemoryBytes);
    auto found = sharedDevices.find(key);
    if (found == sharedDevices.end()) {
        host::DeviceOptions options;
        options.quirks = quirks;
        options.maxSharedMemoryBytes = maxSharedMemoryBytes;
        found = sharedDevices.emplace(key, openTestDevice(options)).first;
    }
    return found->second;
}

} // namespace vkf::test
