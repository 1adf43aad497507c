// SPDX-License-Identifier: MIT
//
// Arrays of other libraries, by DLPack.
#pragma once

#include <nanobind/nanobind.h>

namespace vkf::python {

void defineArrays(nanobind::module_& module);

} // namespace vkf::python
