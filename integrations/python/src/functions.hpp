// SPDX-License-Identifier: MIT
//
// Masks and scores of the caller's own, compiled from GLSL or loaded from a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <vkflash/functions.h>
#if defined(VKFLASH_HAS_FUNCTIONS)
#include <vkflash/functions.hpp>
#endif

namespace vkf::python {

namespace nb = nanobind;

// Plans keep the object that they use alive, so the library never sees it destroyed too early.
class Functions {
public:
    // Functions of the bytes of a file that `vkflash compile` wrote.
    explicit Functions(const nb::bytes& file);
#if defined(VKFLASH_HAS_FUNCTIONS)
    explicit Functions(vkf::functions::Functions compiled) : compiled_(std::move(compiled)) {}
#endif
    ~Functions() { vkfDestroyFunctions(loaded_); }
    Functions(const Functions&) = delete;
    Functions& operator=(const Functions&) = delete;

    VkfFunctions handle() const noexcept;
    // (name, element) of the arrays that the functions read, in the order of VkfBindings::functionArrays.
    nb::list arrays() const;

private:
    VkfFunctions loaded_ = nullptr;
#if defined(VKFLASH_HAS_FUNCTIONS)
    std::optional<vkf::functions::Functions> compiled_;
#endif
};

void defineFunctions(nb::module_& module);

} // namespace vkf::python
