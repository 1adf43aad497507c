// SPDX-License-Identifier: MIT
//
// Tests on devices that lack what every GPU has: 16-bit storage, and a NaN that survives exp2 (SwiftShader). There a
// test computes what the device can do, or is skipped. Both are printed with the reason.
#pragma once

#include <initializer_list>
#include <optional>

#include <vkflash/host.hpp>

namespace vkf::test {

// True if the device has no 16-bit storage. A feature that DeviceOptions::withoutFeatures takes out counts as there.
bool lacksStorage16(const host::Device& device);

// Skips the test case if the device has no 16-bit storage. `what` needs it.
void needStorage16(const host::Device& device, const char* what);

// True on a driver whose exp2 turns NaN into a number. The caller then leaves out its checks of NaN, and only these.
bool losesNan(const host::Device& device);

// Skips the test case on such a driver.
void needNan(const host::Device& device);

// True if the device has no 16-bit storage and the path needs it. Counts the call as left out.
bool leavesOut(const host::Device& device, VkfPath path);

// True if the device has no 16-bit storage and one of the types is not fp32. Counts the call as left out.
bool leavesOut(const host::Device& device, std::initializer_list<VkfType> types);

// True if the device has no 16-bit storage and one of the types is not fp32. Counts the call as one in fp32. The caller
// then makes all types fp32.
bool wantsFp32(const host::Device& device, std::initializer_list<VkfType> types);

// The problem as the device can do it. A device without 16-bit storage gets fp32 tensors and no key splits, where it
// could not do the problem. Skips the test case if the device cannot do that either.
VkfProblem fitted(const host::Device& device, const VkfProblem& problem);

// Like `fitted`, for a problem whose inputs exist already, so that their types stay. None if the device cannot do it;
// the call then counts as left out.
std::optional<VkfProblem> fittedToInputs(const host::Device& device, const VkfProblem& problem);

// The forward problem of a backward pass as the device can do it. A device without 16-bit storage gets fp32 tensors.
VkfProblem fittedBackward(const host::Device& device, const VkfProblem& forward);

// Skips the test case if the device has no 16-bit storage and cannot do the problem.
void needSupport(const host::Device& device, const VkfProblem& problem);

} // namespace vkf::test
