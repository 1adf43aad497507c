// SPDX-License-Identifier: MIT
//
// The structs of the public headers that describe calls, as classes of Python with the same fields.
#pragma once

#include <nanobind/nanobind.h>

namespace vkf::python {

void defineProblems(nanobind::module_& module);

} // namespace vkf::python
