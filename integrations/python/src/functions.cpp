// SPDX-License-Identifier: MIT
#include "functions.hpp"

#include <array>
#include <memory>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"

namespace vkf::python {
namespace {

using NamedElement = std::pair<std::string, int32_t>;

#if defined(VKFLASH_HAS_FUNCTIONS)

std::shared_ptr<Functions> compileFunctions(const std::string& text, const std::string& name,
                                            const std::vector<NamedElement>& arrays) {
    const nb::gil_scoped_release released;
    try {
        functions::Source source{text, name, {}};
        for (const auto& [array, element] : arrays) {
            source.arrays.push_back(functions::functionArray(array, static_cast<VkfElement>(element)));
        }
        return std::make_shared<Functions>(functions::compile(source));
    } catch (const functions::Error& error) {
        throw host::Error(error.result(), error.what());
    }
}

#else

std::shared_ptr<Functions> compileFunctions(const std::string& /*text*/, const std::string& name,
                                            const std::vector<NamedElement>& /*arrays*/) {
    throw host::Error(VKF_ERROR_UNSUPPORTED, name + ": this build of the package has no compiler of functions; pass "
                                                    "the path of a .vkfn file");
}

#endif

} // namespace

Functions::Functions(const nb::bytes& file) {
    VkfMessage message{};
    check(vkfLoadFunctions(file.c_str(), file.size(), &loaded_, &message), message);
}

VkfFunctions Functions::handle() const noexcept {
#if defined(VKFLASH_HAS_FUNCTIONS)
    if (compiled_) {
        return compiled_->handle();
    }
#endif
    return loaded_;
}

nb::list Functions::arrays() const {
    std::array<VkfFunctionArray, VKF_MAX_FUNCTION_ARRAYS> declared{};
    const uint32_t count = vkfGetFunctionArrays(handle(), declared.data(), VKF_MAX_FUNCTION_ARRAYS);
    nb::list arrays;
    for (uint32_t i = 0; i < count; i++) {
        arrays.append(nb::make_tuple(nb::str(declared[i].name), static_cast<int32_t>(declared[i].element)));
    }
    return arrays;
}

void defineFunctions(nb::module_& module) {
    nb::dict elements;
    elements["f32"] = static_cast<int32_t>(VKF_ELEMENT_F32);
    elements["f16"] = static_cast<int32_t>(VKF_ELEMENT_F16);
    elements["bf16"] = static_cast<int32_t>(VKF_ELEMENT_BF16);
    elements["i32"] = static_cast<int32_t>(VKF_ELEMENT_I32);
    elements["u8"] = static_cast<int32_t>(VKF_ELEMENT_U8);
    module.attr("elements") = elements;
    nb::class_<Functions>(module, "Functions")
        .def(nb::init<const nb::bytes&>(), nb::arg("file"))
        .def("arrays", &Functions::arrays);
    module.def("compile_functions", compileFunctions, nb::arg("text"), nb::arg("name"), nb::arg("arrays"));
}

} // namespace vkf::python
