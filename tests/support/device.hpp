// SPDX-License-Identifier: MIT
//
// The Vulkan device of the tests.
//
// A validation message fails the test case during which it arrives, with its text. One that arrives
// on a thread of the test's own, or outside every test case, aborts the program after printing it.
//
// Three environment variables, read in device.cpp and nowhere else:
//   VKFLASH_TEST_DEVICE      number or name, as vkf::host::DeviceOptions::select; default the best
//   VKFLASH_TEST_VALIDATION  0 = without the validation layer; default with it
//   VKFLASH_TEST_SWEEPS      1 = whole sweeps: every case on every variation; default a part of them
//
// Without any Vulkan device, test cases that ask for one are skipped, unless VKFLASH_TEST_DEVICE is
// set: then they fail.
#pragma once

#include <vkflash/host.hpp>

namespace vkf::test {

// One device for each pair of options, opened when first asked for, shared by all test cases, closed at
// the end of the run.
host::Device& testDevice(VkfQuirks quirks = 0, uint32_t maxSharedMemoryBytes = 0);

// A device of its own for a test that needs other options. select and validation are filled in from
// the environment, onValidationMessage if it is empty.
host::Device openTestDevice(host::DeviceOptions options = {});

// For a context beside the device's own.
VkfContextCreateInfo contextInfo(const host::Device& device);

// Whether sweeps run every case on every variation (./dev test all). Otherwise they run a part of them: a driver that
// compiles for a CPU takes about half a second to compile a kernel, for each set of specialization constants.
bool wholeSweeps();

// Whether the devices above are validated, for tests of validation itself.
bool validationIsOn();

} // namespace vkf::test
