// SPDX-License-Identifier: MIT
//
// vkflash._core: the library as the modules of the package use it. They check the arguments, and shape the arrays.
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <vkflash/types.h>

#include "arrays.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "functions.hpp"
#include "plans.hpp"
#include "problems.hpp"
#include "storage.hpp"

namespace {

std::string version() {
    const uint32_t number = vkfVersion();
    return std::to_string(number >> 22) + "." + std::to_string(number >> 12 & 0x3ff) + "." +
           std::to_string(number & 0xfff);
}

} // namespace

NB_MODULE(_core, module) {
    module.attr("version") = version();
    vkf::python::defineErrors(module);
    vkf::python::defineDevices(module);
    vkf::python::defineStorage(module);
    vkf::python::defineProblems(module);
    vkf::python::defineFunctions(module);
    vkf::python::definePlans(module);
    vkf::python::defineArrays(module);
}
