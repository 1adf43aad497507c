// SPDX-License-Identifier: MIT
#include "device.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

// Read by leak checkers. A device that hangs is left alone on purpose, and what a driver and a layer hold
// for it with it. Vulkan objects that a test forgets are still found: the validation layer reports them.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libVkLayer_khronos_validation\nleak:libvulkan_lvp\n";
}

namespace vkf::test {
namespace {

std::optional<host::Device> sharedDevice;
std::thread::id testThread; // of the test case that is running; none between test cases

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

void failOnMessage(const std::string& text) {
    // Catch2 takes assertions on the test's own thread and within a test case only. Its signal handler
    // turns an abort elsewhere into a failure of the running test case.
    if (std::this_thread::get_id() != testThread) {
        std::fprintf(stderr, "validation message outside the test's thread: %s\n", text.c_str());
        std::abort();
    }
    FAIL_CHECK("validation message: " << text);
}

void skipWithoutDevice() {
    if (!environment("VKFLASH_TEST_DEVICE").empty()) {
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
    std::fprintf(stderr, "SKIPPED, NOTHING WAS TESTED: %s\n", reason.c_str());
    SKIP(reason);
}

class DeviceListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo&) override { testThread = std::this_thread::get_id(); }
    void testCaseEnded(const Catch::TestCaseStats&) override { testThread = {}; }
    // Here rather than with the program's static objects, some of which belong to the driver.
    void testRunEnded(const Catch::TestRunStats&) override { sharedDevice.reset(); }
};

CATCH_REGISTER_LISTENER(DeviceListener)

} // namespace

bool validationIsOn() { return environment("VKFLASH_TEST_VALIDATION") != "0"; }

host::Device openTestDevice(host::DeviceOptions options) {
    skipWithoutDevice();
    options.select = environment("VKFLASH_TEST_DEVICE");
    options.validation = validationIsOn();
    if (!options.onValidationMessage) {
        options.onValidationMessage = failOnMessage;
    }
    return host::Device(options);
}

host::Device& testDevice() {
    if (!sharedDevice) {
        sharedDevice = openTestDevice();
    }
    return *sharedDevice;
}

} // namespace vkf::test
