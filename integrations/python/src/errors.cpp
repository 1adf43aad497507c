// SPDX-License-Identifier: MIT
#include "errors.hpp"

namespace vkf::python {
namespace {

// The module keeps the type alive as long as the interpreter runs.
PyObject* errorType = nullptr;

void translate(const std::exception_ptr& caught, void* /*unused*/) {
    try {
        std::rethrow_exception(caught);
    } catch (const host::Error& error) {
        nb::object instance = nb::handle(errorType)(error.what());
        instance.attr("result") = vkfResultString(error.result());
        PyErr_SetObject(errorType, instance.ptr());
    }
}

} // namespace

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
}

void refuse(const std::string& sentence) { throw host::Error(VKF_ERROR_INVALID_ARGUMENT, sentence); }

void defineErrors(nb::module_& module) {
    nb::dict members;
    members["result"] = vkfResultString(VKF_ERROR_INVALID_ARGUMENT);
    errorType = PyErr_NewExceptionWithDoc(
        "vkflash.Error",
        "A call that failed. str() is one sentence that names the argument and its limit.\n\n"
        "result: the kind of failure, such as \"invalid argument\", \"unsupported\" or \"device lost\".",
        PyExc_RuntimeError, members.ptr());
    if (errorType == nullptr) {
        throw nb::python_error();
    }
    module.attr("Error") = nb::handle(errorType);
    nb::register_exception_translator(translate);
}

} // namespace vkf::python
