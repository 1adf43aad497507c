// SPDX-License-Identifier: MIT
//
// The exception of the package: every failure of the library is a vkflash.Error with the library's own sentence.
#pragma once

#include <string>

#include <nanobind/nanobind.h>
#include <vkflash/host.hpp>

namespace vkf::python {

namespace nb = nanobind;

// Throws a host::Error if the call failed.
void check(VkfResult result, const VkfMessage& message);

// Throws a host::Error of an invalid argument.
[[noreturn]] void refuse(const std::string& sentence);

// Defines the exception Error, and translates host::Error and std::bad_alloc.
void defineErrors(nb::module_& module);

} // namespace vkf::python
