// SPDX-License-Identifier: MIT
//
// Every fault in the host layer: each Vulkan call fails with each of its errors, each allocation fails, and each
// function is missing. The call throws, has written nothing, leaves nothing behind, and works when it is tried again. A
// lost device is reported, and refuses every later call without a Vulkan call.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include <vkflash/host.hpp>

#include "faults/fault_sweep.hpp"
#include "support/call.hpp"
#include "support/device.hpp"

using namespace vkf;
using namespace vkf::test;

namespace {

host::Device openFaulty() {
    host::DeviceOptions options;
    options.getInstanceProcAddr = faultyEntry;
    return openTestDevice(options);
}

// Runs something that throws instead of returning a result.
template <typename Work> Attempt attempt(const Work& work) {
    try {
        work();
        return {};
    } catch (const host::Error& error) {
        return {error.result(), error.what()};
    } catch (const std::bad_alloc&) {
        return {VKF_ERROR_OUT_OF_HOST_MEMORY, "out of host memory"};
    }
}

// The words of a message about a failed call. VMA stands for the calls that it makes.
std::string wordsFor(const std::string& call, VkResult error) {
    for (const char* ofVma : {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"}) {
        if (call == ofVma) {
            return error == VK_ERROR_OUT_OF_DEVICE_MEMORY ? "does not fit into the memory" : "vmaCreateBuffer";
        }
    }
    return call;
}

// Host arrays that a call writes.
using Outputs = std::vector<std::vector<float>>;

void poisonAll(Outputs& outputs) {
    for (std::vector<float>& output : outputs) {
        std::memset(output.data(), 0xff, output.size() * sizeof(float));
    }
}

bool sameBits(const Outputs& a, const Outputs& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const std::vector<float>& x, const auto& y) {
        return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
    });
}

// A call on a device: all that it does between opening and closing.
struct HostCall {
    const char* name;
    Outputs outputs; // of the right sizes
    std::function<void(host::Device&, Outputs&)> run;
};

constexpr size_t elements = 4 * 8; // of each tensor

VkfProblem smallProblem() { return problemOf({.Nq = 4, .Nk = 4, .D = 8}); }

std::vector<float> numbers(float first) {
    std::vector<float> all(elements);
    for (size_t i = 0; i < elements; i++) {
        all[i] = first + 0.1F * static_cast<float>(i % 7);
    }
    return all;
}

const std::vector<float> q = numbers(0.1F);
const std::vector<float> k = numbers(-0.3F);
const std::vector<float> v = numbers(0.5F);

host::HostTensors tensorsOf(Outputs& outputs) {
    return {q.data(), k.data(), v.data(), nullptr, outputs[0].data(), outputs[1].data()};
}

HostCall attentionCall() {
    return {"attention", {std::vector<float>(elements), std::vector<float>(4)}, [](host::Device& device, Outputs& to) {
                host::attention(device, smallProblem(), tensorsOf(to));
            }};
}

// Downloads more than the staging buffer holds, so that one output takes several submissions.
HostCall largeCall() {
    constexpr uint32_t rows = 70'000;
    constexpr uint32_t dim = 64;
    return {"attention with a large output",
            {std::vector<float>(size_t{rows} * dim), std::vector<float>(rows)},
            [](host::Device& device, Outputs& to) {
                static const std::vector<float> zeros(size_t{rows} * dim);
                host::attention(device, problemOf({.Nq = rows, .Nk = 1, .D = dim}),
                                {zeros.data(), zeros.data(), zeros.data(), nullptr, to[0].data(), to[1].data()});
            }};
}

HostCall backwardCall() {
    return {
        "backward", Outputs(3, std::vector<float>(elements)), [](host::Device& device, Outputs& to) {
            const VkfProblem forward = smallProblem();
            auto problem = make<VkfBackwardProblem>();
            problem.forward = &forward;
            std::vector<float> o = numbers(0.7F);
            std::vector<float> lse(4, 1.0F);
            host::HostGradients gradients;
            gradients.dout = v.data();
            gradients.dq = to[0].data();
            gradients.dk = to[1].data();
            gradients.dv = to[2].data();
            host::backward(device, problem, {q.data(), k.data(), v.data(), nullptr, o.data(), lse.data()}, gradients);
        }};
}

// Runs a call whose outputs are poisoned, and checks that it wrote all outputs or none.
Attempt tryCall(const HostCall& call, host::Device& device, const Outputs& expected) {
    Outputs outputs = call.outputs;
    poisonAll(outputs);
    const Outputs poisoned = outputs;
    const uint64_t inUse = device.bytesInUse();
    Attempt tried = attempt([&] { call.run(device, outputs); });
    CHECK(sameBits(outputs, tried.result == VKF_SUCCESS ? expected : poisoned));
    CHECK(device.bytesInUse() == inUse);
    return tried;
}

Outputs resultOf(const HostCall& call, host::Device& device) {
    Outputs outputs = call.outputs;
    call.run(device, outputs);
    return outputs;
}

// Checks that a lost device refuses everything, without a Vulkan call.
void checkRefuses(host::Device& device, const host::Buffer& buffer) {
    const Faults faults;
    uint32_t word = 7;
    const std::function<void()> uses[] = {
        [&] { device.createBuffer(4); },
        [&] { device.upload(buffer, &word, 4); },
        [&] { device.download(&word, buffer, 4); },
        [&] { device.fill(buffer, 1); },
        [&] { device.submit([](VkCommandBuffer) {}); },
        [&] { host::Plan(device, smallProblem()); },
        [&] { resultOf(attentionCall(), device); },
        [&] { resultOf(backwardCall(), device); },
    };
    for (const auto& use : uses) {
        const Attempt tried = attempt(use);
        CHECK(tried.result == VKF_ERROR_DEVICE_LOST);
        checkMessage(tried.message, "the device was lost in an earlier call");
    }
    CHECK(word == 7);
    CHECK(faults.calls().empty());
}

// The allocator tries memory blocks of other kinds and sizes, and the library repeats a wait that fails.
bool mayRecover(const std::string& call) {
    return call == "vkAllocateMemory" || call == "vkMapMemory" || call == "vkWaitForFences";
}

// A device that is opened when it is needed, with a buffer of its own.
class Opened {
public:
    host::Device& device() {
        if (!device_) {
            device_.emplace(openFaulty());
            buffer_ = device_->createBuffer(4, host::Memory::staging);
        }
        return *device_;
    }
    void checkLost() { checkRefuses(*device_, buffer_); }
    void close() {
        buffer_ = host::Buffer();
        device_.reset();
    }

private:
    std::optional<host::Device> device_;
    host::Buffer buffer_;
};

// Makes one call of Vulkan fail during a call of the host layer, and checks everything that follows.
void checkFault(const HostCall& call, const Outputs& expected, Opened& opened, const Fault& fault) {
    INFO(call.name << ": " << textOf(fault));
    Attempt tried;
    {
        host::Device& device = opened.device();
        const Faults faults(fault);
        tried = tryCall(call, device, expected);
        // How many blocks the allocator needs depends on those that it has.
        CHECK((faults.happened() || fault.function == "vkAllocateMemory"));
    }
    if (tried.result == VKF_SUCCESS) {
        CHECK((mayRecover(fault.function) || fault.function == "vkSetDebugUtilsObjectNameEXT"));
    } else {
        CHECK(tried.result == libraryResult(fault.result));
        checkMessage(tried.message, wordsFor(fault.function, fault.result));
    }
    if (fault.result == VK_ERROR_DEVICE_LOST) {
        CHECK(tried.result == VKF_ERROR_DEVICE_LOST);
        opened.checkLost();
        opened.close();
    } else {
        CHECK(tryCall(call, opened.device(), expected).result == VKF_SUCCESS);
    }
}

std::vector<std::string> callsOf(const HostCall& call, host::Device& device) {
    const Faults faults;
    resultOf(call, device);
    return faults.calls();
}

} // namespace

TEST_CASE("each Vulkan call of a call on an open device fails once, with each of its errors", "[faults]") {
    for (const HostCall& call : {attentionCall(), backwardCall()}) {
        Opened opened;
        const Outputs expected = resultOf(call, opened.device());
        const std::vector<std::string> calls = callsOf(call, opened.device());
        REQUIRE(std::count(calls.begin(), calls.end(), "vkQueueSubmit") > 5);
        forEachError(calls, [&](const Fault& fault) {
            // Each loss costs a new device, and its compilations.
            if (fault.result != VK_ERROR_DEVICE_LOST || fault.call == 0 || call.outputs.size() == 2) {
                checkFault(call, expected, opened, fault);
            }
        });
        opened.close();
        checkNothingLeft();
    }
}

TEST_CASE("each Vulkan call of the first call on a device fails once, with each of its errors", "[faults]") {
    const HostCall call = attentionCall();
    Opened first;
    Outputs expected;
    std::vector<std::string> calls;
    {
        host::Device& device = first.device();
        const Faults faults;
        expected = resultOf(call, device);
        calls = faults.calls();
    }
    // The test above has the functions that later calls use too.
    const std::vector<std::string> later = callsOf(call, first.device());
    first.close();
    REQUIRE(std::count(calls.begin(), calls.end(), "vkCreateComputePipelines") == 1);
    REQUIRE(std::count(calls.begin(), calls.end(), "vkMapMemory") == 1);
    forEachError(calls, [&](const Fault& fault) {
        if (std::find(later.begin(), later.end(), fault.function) == later.end()) {
            Opened opened;
            checkFault(call, expected, opened, fault);
        }
    });
    checkNothingLeft();
}

TEST_CASE("a download of several pieces that fails in any piece writes nothing", "[faults]") {
    const HostCall call = largeCall();
    Opened opened;
    const Outputs expected = resultOf(call, opened.device());
    const std::vector<std::string> calls = callsOf(call, opened.device());
    constexpr size_t pieces = 3; // two of o, one of lse
    size_t found = 0;
    for (size_t i = calls.size(); found < pieces; i--) {
        if (calls[i - 1] == "vkQueueSubmit") {
            found++;
            checkFault(call, expected, opened, faultAt(calls, i - 1, VK_ERROR_OUT_OF_HOST_MEMORY));
        }
    }
}

TEST_CASE("an attention object works again after any of its calls failed", "[faults]") {
    host::Device device = openFaulty();
    host::Attention attention(device, smallProblem());
    const HostCall call = {"attention object", attentionCall().outputs, [&](host::Device&, Outputs& to) {
                               attention.upload(tensorsOf(to));
                               attention.run();
                               attention.download(tensorsOf(to));
                           }};
    const Outputs expected = resultOf(call, device);
    const std::vector<std::string> calls = callsOf(call, device);
    for (size_t i = 0; i < calls.size(); i++) {
        INFO(calls[i]);
        Outputs outputs = call.outputs;
        {
            const Faults faults(faultAt(calls, i, VK_ERROR_OUT_OF_DEVICE_MEMORY));
            CHECK((attempt([&] { call.run(device, outputs); }).result != VKF_SUCCESS || mayRecover(calls[i])));
        }
        CHECK(sameBits(resultOf(call, device), expected));
    }
}

TEST_CASE("each Vulkan call of opening a device fails once, with each of its errors", "[faults]") {
    std::vector<std::string> calls;
    {
        const Faults faults;
        openFaulty();
        calls = faults.calls();
    }
    forEachError(calls, [](const Fault& fault) {
        INFO(textOf(fault));
        const Faults faults(fault);
        const Attempt tried = attempt(openFaulty);
        CHECK(faults.happened());
        if (fault.result == VK_ERROR_INCOMPATIBLE_DRIVER) {
            CHECK(tried.result == VKF_ERROR_UNSUPPORTED);
            checkMessage(tried.message, "there is no Vulkan device");
        } else {
            CHECK(tried.result == libraryResult(fault.result));
            checkMessage(tried.message, fault.function);
        }
        checkNothingLeft();
    });
    CHECK(attempt(openFaulty).result == VKF_SUCCESS);
    checkNothingLeft();
}

TEST_CASE("each Vulkan call of measuring element layouts fails once, with each of its errors", "[faults]") {
    const auto measure = [] {
        host::DeviceOptions options;
        options.getInstanceProcAddr = faultyEntry;
        options.layoutSource = host::LayoutSource::measured;
        openTestDevice(options);
    };
    std::vector<std::string> calls;
    {
        const Faults faults;
        measure();
        calls = faults.calls();
    }
    // The test above has the calls before.
    const auto first = std::find(calls.begin(), calls.end(), "vkCreateQueryPool");
    for (auto call = first; call != calls.end(); ++call) {
        // One error that means that the driver cannot do it, and one that ends the opening.
        for (const VkResult error : {VK_ERROR_UNKNOWN, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
            if (std::find(first, call, *call) != call) {
                continue;
            }
            const Fault fault = faultAt(calls, static_cast<size_t>(call - calls.begin()), error);
            INFO(textOf(fault));
            const Faults faults(fault);
            const Attempt tried = attempt(measure);
            CHECK(faults.happened());
            CHECK((tried.result == VKF_SUCCESS || tried.result == libraryResult(error)));
            checkNothingLeft();
        }
    }
}

TEST_CASE("each Vulkan call of listing devices fails once, with each of its errors", "[faults]") {
    std::vector<std::string> calls;
    {
        const Faults faults;
        CHECK(host::listDevices(faultyEntry).size() == host::listDevices().size());
        calls = faults.calls();
    }
    forEachError(calls, [](const Fault& fault) {
        INFO(textOf(fault));
        const Faults faults(fault);
        std::vector<host::DeviceSummary> devices;
        const Attempt tried = attempt([&] { devices = host::listDevices(faultyEntry); });
        CHECK(faults.happened());
        CHECK(devices.empty());
        if (fault.result != VK_ERROR_INCOMPATIBLE_DRIVER) { // a machine without a driver has no devices
            CHECK(tried.result == libraryResult(fault.result));
            checkMessage(tried.message, fault.function);
        }
    });
    checkNothingLeft();
}

TEST_CASE("each function that the host layer needs is missing once", "[faults]") {
    std::vector<std::string> functions;
    {
        const Faults faults;
        openFaulty();
        functions = faults.functions();
    }
    // The allocator asks for its functions last, and takes them for granted.
    functions.erase(std::find(functions.begin(), functions.end(), "vkAllocateMemory"), functions.end());
    REQUIRE(std::count(functions.begin(), functions.end(), "vkCreateComputePipelines") == 1);
    for (const std::string& function : functions) {
        if (function == "vkDestroyInstance" || function == "vkDestroyDevice") {
            continue; // Nothing can destroy these objects without them.
        }
        INFO(function);
        const Faults faults({.missing = function});
        const Attempt tried = attempt(openFaulty);
        CHECK(faults.happened());
        if (function == "vkSetDebugUtilsObjectNameEXT" || function.find("Cu") != std::string::npos ||
            function == "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") { // functions of extensions
            CHECK(tried.result == VKF_SUCCESS);
        } else {
            CHECK(tried.result != VKF_SUCCESS);
            checkMessage(tried.message, function);
        }
        checkNothingLeft();
    }
}

TEST_CASE("each allocation of the host layer fails once", "[faults]") {
    const size_t ofOpening = forEachAllocation([](size_t index) {
        Attempt tried;
        bool failed = false;
        {
            const FailingAllocation failing(index);
            tried = attempt(openFaulty);
            failed = failing.happened();
        }
        CHECK(tried.result == (failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_SUCCESS));
        return failed;
    });
    CHECK(ofOpening > 50);
    checkNothingLeft();
    for (const HostCall& call : {attentionCall(), backwardCall()}) {
        Opened opened;
        const Outputs expected = resultOf(call, opened.device());
        const size_t ofCall = forEachAllocation([&](size_t index) {
            INFO(call.name << ", allocation " << index);
            Outputs outputs = call.outputs;
            poisonAll(outputs);
            const Outputs poisoned = outputs;
            Attempt tried;
            bool failed = false;
            {
                const FailingAllocation failing(index);
                tried = attempt([&] { call.run(opened.device(), outputs); });
                failed = failing.happened();
            }
            CHECK(tried.result == (failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_SUCCESS));
            CHECK(sameBits(outputs, failed ? poisoned : expected));
            CHECK(tryCall(call, opened.device(), expected).result == VKF_SUCCESS);
            return failed;
        });
        CHECK(ofCall > 10);
        opened.close();
        checkNothingLeft();
    }
}

TEST_CASE("a device that cannot be waited for counts as lost", "[faults]") {
    const VkResult result = GENERATE(VK_TIMEOUT, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_UNKNOWN);
    // Never destroyed, because the device may still run. The static list shows leak checkers that this is on purpose.
    static auto& devices = *new std::vector<std::unique_ptr<Opened>>;
    Opened& opened = *devices.emplace_back(std::make_unique<Opened>());
    const HostCall call = attentionCall();
    const Outputs expected = resultOf(call, opened.device());
    {
        const Faults faults({.function = "vkWaitForFences", .call = 1, .result = result, .forever = true});
        const Attempt tried = tryCall(call, opened.device(), expected);
        CHECK(tried.result == VKF_ERROR_DEVICE_LOST);
        checkMessage(tried.message, result == VK_TIMEOUT ? "has not finished" : "vkWaitForFences");
        CHECK(faults.count("vkDestroyBuffer") == 0);
    }
    opened.checkLost();
    Faults::takeLeftovers();
}
