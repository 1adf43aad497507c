// SPDX-License-Identifier: MIT
//
// What the device runs: attention, backward passes, merges and appends. A plan serves any number of calls. Its function
// run() takes {name of a binding: (storage, byte offset)} and waits for the device.
#pragma once

#include <nanobind/nanobind.h>

namespace vkf::python {

void definePlans(nanobind::module_& module);

} // namespace vkf::python
