// SPDX-License-Identifier: MIT
//
// The Vulkan device of the tests.
//
// A validation message fails the test case during which it arrives, with its text. One that arrives on a thread of the
// test's own, or outside every test case, aborts the program after printing it.
//
// Environment variables, read in device.cpp and nowhere else:
//
// - VKFLASH_TEST_DEVICE: number or name, as vkf::host::DeviceOptions::select. Default: the best device.
// - VKFLASH_TEST_VALIDATION: 0 = without the validation layer. Default: with it.
// - VKFLASH_TEST_SWEEPS: 1 = whole sweeps, every case on every variation. Default: a part of them.
// - VKFLASH_TEST_ROLLED: 1 = kernels of plain arithmetic are not unrolled, for drivers that compile for a CPU.
// - VKFLASH_TEST_DRIVER: swiftshader = on the driver SwiftShader. Default: the drivers of the Vulkan loader.
// - VKFLASH_TEST_SWIFTSHADER: the file that describes this driver to the Vulkan loader.
//
// Without any Vulkan device, test cases that need one are skipped. If VKFLASH_TEST_DEVICE is set, they fail instead.
// Test cases on SwiftShader are skipped if VKFLASH_TEST_SWIFTSHADER is not set.
#pragma once

#include <string>

#include <vkflash/host.hpp>

namespace vkf::test {

// One device for each pair of options. It is opened at the first use, shared by all test cases, and closed at the end
// of the run.
host::Device& testDevice(VkfQuirks quirks = 0, uint32_t maxSharedMemoryBytes = 0);

// A separate device for a test that needs other options. The environment sets select and validation, and
// onValidationMessage if it is empty.
host::Device openTestDevice(host::DeviceOptions options = {});

// Skips the test case if it shall run on SwiftShader and there is none. The functions above do so too.
void skipWithoutSwiftShader();

// Skips the running test case if there is no device. The functions above do so too, but within an assertion Catch2
// takes a skip for a failure.
void skipWithoutDevice();

// For a second context on the device.
VkfContextCreateInfo contextInfo(const host::Device& device);

// A query about the physical device of a test device.
VkfDeviceQuery queryOf(const host::Device& device);

// The lines with which tuning data for a test device begins.
std::string tuningHead(const host::Device& device);

// True if sweeps run every case on every variation (./dev test all). Other runs take a part of them: a driver that
// compiles for a CPU takes about half a second for a kernel with one set of specialization constants.
bool wholeSweeps();

// Quirks that the devices above have besides those that a test gives them: VKF_QUIRK_ROLLED_SCALAR_LOOPS or none.
VkfQuirks addedQuirks();

// True if the devices above use the validation layer. For tests of validation itself.
bool validationIsOn();

} // namespace vkf::test
