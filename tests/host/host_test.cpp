// SPDX-License-Identifier: MIT
//
// The host layer: devices, buffers, transfers, submissions.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <vector>

#include "support/device.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace vkf;

namespace {

// Longer than the staging buffer, and not a multiple of 4.
constexpr uint64_t manyBytes = (uint64_t{37} << 20) + 3;

std::vector<unsigned char> countingBytes(uint64_t count) {
    std::vector<unsigned char> bytes(count);
    // 251 is prime, so no two pieces of a transfer are equal.
    for (uint64_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<unsigned char>(i % 251);
    }
    return bytes;
}

std::vector<unsigned char> contents(host::Device& device, const host::Buffer& buffer) {
    std::vector<unsigned char> bytes(buffer.size());
    device.download(bytes.data(), buffer, bytes.size());
    return bytes;
}

// A Vulkan function of the device, by name.
template <typename Function> Function deviceFunction(const host::Device& device, const char* name) {
    const auto getDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
        device.getInstanceProcAddr()(device.instance(), "vkGetDeviceProcAddr"));
    return reinterpret_cast<Function>(getDeviceProcAddr(device.handle(), name));
}

template <typename Action> host::Error errorOf(const Action& action) {
    try {
        action();
    } catch (const host::Error& error) {
        return error;
    }
    FAIL("no vkf::host::Error was thrown");
    throw; // FAIL has thrown
}

} // namespace

TEST_CASE("every device is listed with its limits and whether vkflash can use it", "[host]") {
    test::testDevice(); // skips without a device
    const std::vector<host::DeviceSummary> devices = host::listDevices();
    REQUIRE(!devices.empty());
    for (uint32_t i = 0; i < devices.size(); ++i) {
        const host::DeviceSummary& device = devices[i];
        INFO(device.name);
        CHECK(device.index == i);
        CHECK(!device.name.empty());
        CHECK(!device.driver.empty());
        CHECK(!device.heaps.empty());
        CHECK(!device.extensions.empty());
        CHECK(device.sharedMemoryBytes >= 16384);
        CHECK(device.maxInvocations >= 128);
        CHECK(device.maxPushConstantBytes >= 128);
        CHECK((device.usable == VKF_SUCCESS) == device.reason.empty());
    }
}

TEST_CASE("a device is selected by its number and by part of its name in any letter case", "[host]") {
    const std::string name = test::testDevice().summary().name;
    for (const host::DeviceSummary& listed : host::listDevices()) {
        if (listed.usable != VKF_SUCCESS) {
            continue;
        }
        host::DeviceOptions options;
        options.select = std::to_string(listed.index);
        CHECK(host::Device(options).summary().name == listed.name);
    }
    host::DeviceOptions options;
    options.select = name.substr(1, 5);
    for (char& letter : options.select) {
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    CHECK(host::Device(options).summary().name == name);
}

TEST_CASE("an unknown device is refused with the names of those there are", "[host]") {
    const std::string name = test::testDevice().summary().name;
    for (const char* unknown : {"no such device", "4090", "99999999999999999999"}) {
        host::DeviceOptions options;
        options.select = unknown;
        const host::Error error = errorOf([&] { host::Device device(options); });
        CHECK(error.result() == VKF_ERROR_INVALID_ARGUMENT);
        CHECK_THAT(error.what(), ContainsSubstring(unknown) && ContainsSubstring(name));
    }
}

TEST_CASE("bytes longer than the staging buffer come back as they went", "[host]") {
    host::Device& device = test::testDevice();
    const auto memory = GENERATE(host::Memory::device, host::Memory::staging);
    const std::vector<unsigned char> bytes = countingBytes(manyBytes);
    const host::Buffer buffer = device.createBuffer(manyBytes, memory);
    CHECK((buffer.mapped() != nullptr) == (memory == host::Memory::staging));
    device.upload(buffer, bytes.data(), bytes.size());
    CHECK((contents(device, buffer) == bytes));
}

TEST_CASE("an upload at an offset changes its own bytes alone", "[host]") {
    host::Device& device = test::testDevice();
    const auto memory = GENERATE(host::Memory::device, host::Memory::staging);
    std::vector<unsigned char> expected = countingBytes(1001);
    const host::Buffer buffer = device.createBuffer(1001, memory);
    device.upload(buffer, expected.data(), 1001);
    const std::vector<unsigned char> patch(13, 0xee);
    device.upload(buffer, patch.data(), patch.size(), 77);
    std::copy(patch.begin(), patch.end(), expected.begin() + 77);
    CHECK((contents(device, buffer) == expected));

    std::vector<unsigned char> middle(13);
    device.download(middle.data(), buffer, middle.size(), 77);
    CHECK(middle == patch);
}

TEST_CASE("a transfer beyond the end of a buffer is refused", "[host]") {
    host::Device& device = test::testDevice();
    const host::Buffer buffer = device.createBuffer(100);
    std::vector<unsigned char> bytes(200);
    struct Range {
        uint64_t bytes, offset;
    };
    for (const Range& range :
         {Range{101, 0}, Range{1, 100}, Range{100, 1}, Range{0, 101}, Range{UINT64_MAX, 1}, Range{1, UINT64_MAX}}) {
        INFO(range.bytes << " bytes at " << range.offset);
        CHECK(errorOf([&] { device.upload(buffer, bytes.data(), range.bytes, range.offset); }).result() ==
              VKF_ERROR_INVALID_ARGUMENT);
        CHECK(errorOf([&] { device.download(bytes.data(), buffer, range.bytes, range.offset); }).result() ==
              VKF_ERROR_INVALID_ARGUMENT);
    }
    CHECK(errorOf([&] { device.upload(host::Buffer(), bytes.data(), 1); }).result() == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("fill writes its pattern to every byte of a buffer of any size", "[host]") {
    host::Device& device = test::testDevice();
    const auto memory = GENERATE(host::Memory::device, host::Memory::staging);
    for (const uint64_t size : {uint64_t{1}, uint64_t{4}, uint64_t{7}, uint64_t{1002}}) {
        const host::Buffer buffer = device.createBuffer(size, memory);
        device.fill(buffer, 0x04030201);
        const std::vector<unsigned char> bytes = contents(device, buffer);
        for (size_t i = 0; i < bytes.size(); ++i) {
            REQUIRE(bytes[i] == i % 4 + 1);
        }
    }
}

TEST_CASE("buffer addresses are distinct multiples of 256", "[host]") {
    host::Device& device = test::testDevice();
    std::vector<host::Buffer> buffers;
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{300}, uint64_t{70} << 20}) {
        buffers.push_back(device.createBuffer(size));
        CHECK(buffers.back().size() == size);
        CHECK(buffers.back().address() != 0);
        CHECK(buffers.back().address() % 256 == 0);
        CHECK(buffers.back().handle() != VK_NULL_HANDLE);
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
            CHECK(buffers[i].address() != buffers[j].address());
        }
    }
}

TEST_CASE("a binding carries the bytes that are left behind its offset", "[host]") {
    const host::Buffer buffer = test::testDevice().createBuffer(1000);
    const VkfBinding whole = buffer.binding();
    CHECK(whole.address == buffer.address());
    CHECK(whole.offset == 0);
    CHECK(whole.size == 1000);
    const VkfBinding part = buffer.binding(400);
    CHECK(part.address == buffer.address());
    CHECK(part.offset == 400);
    CHECK(part.size == 600);
}

TEST_CASE("bytes in use and their peak follow the buffers", "[host]") {
    host::Device device = test::openTestDevice();
    CHECK(device.bytesInUse() == 0);
    {
        const host::Buffer first = device.createBuffer(1000);
        {
            const host::Buffer second = device.createBuffer(501, host::Memory::staging);
            device.upload(first, std::vector<char>(1000).data(), 1000); // the staging buffer is not counted
            CHECK(device.bytesInUse() == 1501);
        }
        CHECK(device.bytesInUse() == 1000);
        CHECK(device.peakBytes() == 1501);
        device.resetPeakBytes();
        CHECK(device.peakBytes() == 1000);
    }
    CHECK(device.bytesInUse() == 0);
    CHECK(device.peakBytes() == 1000);
}

TEST_CASE("several devices are open at once and do not disturb each other", "[host]") {
    host::Device first = test::openTestDevice();
    const host::Buffer inFirst = first.createBuffer(64);
    {
        host::Device second = test::openTestDevice();
        CHECK(second.handle() != first.handle());
        const host::Buffer inSecond = second.createBuffer(64);
        second.fill(inSecond, 2);
        first.fill(inFirst, 1);
        CHECK(contents(second, inSecond)[0] == 2);
    }
    CHECK(contents(first, inFirst)[0] == 1);
}

TEST_CASE("a buffer keeps its device alive", "[host]") {
    host::Buffer buffer;
    {
        host::Device device = test::openTestDevice();
        buffer = device.createBuffer(16, host::Memory::staging);
    }
    std::memset(buffer.mapped(), 7, 16);
    CHECK(static_cast<unsigned char*>(buffer.mapped())[15] == 7);
}

TEST_CASE("moving a device or a buffer leaves its objects where they are", "[host]") {
    host::Device device = test::openTestDevice();
    host::Buffer buffer = device.createBuffer(16);
    device.fill(buffer, 0x05050505);
    const VkDevice handle = device.handle();
    const VkDeviceAddress address = buffer.address();

    host::Device movedDevice = std::move(device);
    host::Buffer movedBuffer = std::move(buffer);
    CHECK(movedDevice.handle() == handle);
    CHECK(movedBuffer.address() == address);
    // A moved-from buffer is an empty one: NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    CHECK(buffer.handle() == VK_NULL_HANDLE);
    CHECK(contents(movedDevice, movedBuffer)[15] == 5);

    movedBuffer = movedDevice.createBuffer(32);
    CHECK(movedDevice.bytesInUse() == 32);
}

TEST_CASE("submit returns the time that the device took", "[host]") {
    host::Device& device = test::testDevice();
    if (device.summary().timestampPeriod == 0.0F) {
        SKIP("the device has no timestamps");
    }
    const host::Buffer buffer = device.createBuffer(uint64_t{64} << 20);
    const auto fillBuffer = deviceFunction<PFN_vkCmdFillBuffer>(device, "vkCmdFillBuffer");
    const double seconds = device.submit(
        [&](VkCommandBuffer commandBuffer) { fillBuffer(commandBuffer, buffer.handle(), 0, VK_WHOLE_SIZE, 3); });
    CHECK(seconds > 0);
    CHECK(seconds < 60);
}

TEST_CASE("submit times two parts apart and makes what the first writes visible to the second", "[host]") {
    host::Device& device = test::testDevice();
    const host::Buffer large = device.createBuffer(uint64_t{64} << 20);
    const host::Buffer first = device.createBuffer(4);
    const host::Buffer second = device.createBuffer(4);
    device.fill(first, 1);
    device.fill(second, 1);
    const auto fillBuffer = deviceFunction<PFN_vkCmdFillBuffer>(device, "vkCmdFillBuffer");
    const auto copyBuffer = deviceFunction<PFN_vkCmdCopyBuffer>(device, "vkCmdCopyBuffer");
    std::array<double, 2> least{1e9, 1e9}; // another process may hold up one part of one submission
    for (uint32_t value = 7; value < 12; value++) {
        const auto seconds = device.submit(
            [&](VkCommandBuffer commandBuffer) { fillBuffer(commandBuffer, first.handle(), 0, VK_WHOLE_SIZE, value); },
            [&](VkCommandBuffer commandBuffer) {
                const VkBufferCopy region{0, 0, 4};
                copyBuffer(commandBuffer, first.handle(), second.handle(), 1, &region);
                fillBuffer(commandBuffer, large.handle(), 0, VK_WHOLE_SIZE, 3);
            });
        CHECK(contents(device, second)[0] == value);
        for (size_t part = 0; part < least.size(); part++) {
            least[part] = std::min(least[part], seconds[part]);
        }
    }
    if (device.summary().timestampPeriod != 0.0F) {
        CHECK(least[0] > 0);
        CHECK(least[1] > 2 * least[0]); // 4 bytes compared with 64 MiB
    }
}

TEST_CASE("an exception while recording passes through and the next submission works", "[host]") {
    host::Device& device = test::testDevice();
    CHECK_THROWS_AS(device.submit([](VkCommandBuffer) { throw std::logic_error("recording"); }), std::logic_error);
    const host::Buffer buffer = device.createBuffer(4);
    device.fill(buffer, 9);
    CHECK(contents(device, buffer)[0] == 9);
}

TEST_CASE("a buffer that fits no memory is refused with the bytes asked for and left", "[host]") {
    host::Device& device = test::testDevice();
    const uint64_t before = device.bytesInUse();
    const auto memory = GENERATE(host::Memory::device, host::Memory::staging);
    for (const uint64_t bytes : {uint64_t{1} << 60, UINT64_MAX}) {
        const host::Error error = errorOf([&] { device.createBuffer(bytes, memory); });
        CHECK(error.result() == VKF_ERROR_OUT_OF_DEVICE_MEMORY);
        CHECK_THAT(error.what(),
                   ContainsSubstring("EiB") && ContainsSubstring(" left") && ContainsSubstring(device.summary().name));
    }
    CHECK(device.bytesInUse() == before);
    const host::Buffer buffer = device.createBuffer(4);
    device.fill(buffer, 9);
    CHECK(contents(device, buffer)[0] == 9);
}

TEST_CASE("a submission that takes too long counts as a lost device", "[host]") {
    host::DeviceOptions options;
    options.submitTimeoutSeconds = 0;
    // Never destroyed, because the device hangs. The static pointer shows leak checkers that this is on purpose.
    static auto* device = new host::Device(test::openTestDevice(options));
    static auto* buffer = new host::Buffer(device->createBuffer(uint64_t{256} << 20));
    const host::Error error = errorOf([&] { device->fill(*buffer, 1); });
    CHECK(error.result() == VKF_ERROR_DEVICE_LOST);
    CHECK_THAT(error.what(), ContainsSubstring("0 seconds"));
    CHECK(errorOf([&] { device->fill(*buffer, 2); }).result() == VKF_ERROR_DEVICE_LOST);
}

TEST_CASE("features that are taken out are not enabled", "[host]") {
    host::DeviceOptions options;
    options.withoutFeatures = VKF_FEATURE_STORAGE_16BIT | VKF_FEATURE_FULL_SUBGROUPS;
    const host::Device device = test::openTestDevice(options);
    VkfProblem problem{};
    problem.structSize = sizeof problem;
    problem.batch = problem.queryHeads = problem.kvHeads = 1;
    problem.queryRows = problem.keys = problem.headDim = 16;
    CHECK(host::Plan(device, problem).info().subgroupReductions == 0);
    problem.q.type = problem.k.type = problem.v.type = problem.o.type = VKF_TYPE_F16;
    problem.headDim = 18; // not a multiple of four elements
    CHECK(vkfCheckSupport(device.context(), &problem, nullptr) == VKF_ERROR_UNSUPPORTED);
}

TEST_CASE("a device is not opened without the features that vkflash needs", "[host]") {
    test::testDevice(); // skips without a device; no CHECK would let the skip pass
    host::DeviceOptions options;
    options.withoutFeatures = VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    CHECK(errorOf([&] { test::openTestDevice(options); }).result() == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("validation messages are counted and handed on", "[host]") {
    if (!test::validationIsOn()) {
        SKIP("VKFLASH_TEST_VALIDATION is 0");
    }
    std::vector<std::string> messages;
    host::DeviceOptions options;
    options.onValidationMessage = [&](const std::string& text) { messages.push_back(text); };
    host::Device device = test::openTestDevice(options);
    const host::Buffer buffer = device.createBuffer(64);
    const auto fillBuffer = deviceFunction<PFN_vkCmdFillBuffer>(device, "vkCmdFillBuffer");
    const auto copyBuffer = deviceFunction<PFN_vkCmdCopyBuffer>(device, "vkCmdCopyBuffer");

    SECTION("of the core checks") {
        device.submit([&](VkCommandBuffer commandBuffer) { fillBuffer(commandBuffer, buffer.handle(), 1, 4, 0); });
        REQUIRE(!messages.empty());
        CHECK_THAT(messages[0], ContainsSubstring("VUID-vkCmdFillBuffer-dstOffset-00025"));
    }
    SECTION("of the synchronization checks") {
        device.submit([&](VkCommandBuffer commandBuffer) {
            fillBuffer(commandBuffer, buffer.handle(), 0, 32, 0);
            const VkBufferCopy region{0, 32, 32};
            copyBuffer(commandBuffer, buffer.handle(), buffer.handle(), 1, &region);
        });
        REQUIRE(!messages.empty());
        CHECK_THAT(messages[0], ContainsSubstring("SYNC-HAZARD"));
    }
    CHECK(device.validationMessageCount() == messages.size());
}
