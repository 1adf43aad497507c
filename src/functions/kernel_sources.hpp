// SPDX-License-Identifier: MIT
//
// The kernels' own sources and the rows of shaders/variants.json. The build generates both tables.
#pragma once

#include <span>
#include <string_view>

namespace vkf::functions {

struct SourceFile {
    std::string_view name; // path below shaders/, as #include lines have it
    std::string_view text;
};

struct KernelVariant {
    std::string_view name;   // "attention_scalar_subgroups"
    std::string_view file;   // SourceFile::name of the entry point
    std::string_view macros; // "NAME" or "NAME=VALUE", separated by spaces
    std::string_view target; // "vulkan1.2"
};

extern const std::span<const SourceFile> sourceFiles; // in the order of their names
extern const std::span<const KernelVariant> kernelVariants;

} // namespace vkf::functions
