// SPDX-License-Identifier: MIT
//
// Which folder may include which. tree/layers_test.cpp reads the #include lines of the sources and compares.
#pragma once

#include <array>

namespace vkf::test {

// A folder of a tree and what its files may include, besides the folder's own files and the C++ library.
//
//     plain words         folders of the same tree
//     shared              shaders/shared, the headers that C++ and GLSL both read
//     <vkflash/...>       the public headers of that name; <vkflash/*> stands for all of them
//     <vulkan/*>          the Vulkan headers
//     a file with a slash  one file of another tree
struct LayerRule {
    const char* folder;
    const char* mayInclude;
};

// Layers from top to bottom: calls, planning, tiles, pipelines, device, problem, base. A folder may include the folders
// below it. host, functions and reference stand apart. host sees the table of embedded shaders, for shaders of its own.
inline constexpr std::array sourceRules = {
    LayerRule{"calls", "planning tiles pipelines device problem base shared <vkflash/vkflash.h> <vkflash/functions.h> "
                       "<vkflash/inspect.h> <vkflash/tuning.h>"},
    LayerRule{"planning", "tiles pipelines device problem base shared <vkflash/vkflash.h> <vkflash/inspect.h>"},
    LayerRule{"tiles",
              "pipelines device problem base shared <vkflash/vkflash.h> <vkflash/inspect.h> <vkflash/tuning.h> "
              "<vkflash/problem.h> <vulkan/*>"},
    LayerRule{"pipelines", "device problem base shared <vkflash/vkflash.h> <vulkan/*>"},
    LayerRule{"device", "problem base shared <vkflash/vkflash.h> <vkflash/types.h> <vulkan/*>"},
    LayerRule{
        "problem",
        "base shared <vkflash/problem.h> <vkflash/problem.hpp> <vkflash/append_problem.h> <vkflash/merge_problem.h> "
        "<vkflash/backward_problem.h> <vkflash/functions.h> <vkflash/types.h>"},
    LayerRule{"base", "<vkflash/types.h> <vulkan/*>"},
    LayerRule{"host", "<vkflash/host.hpp> <vkflash/problem.hpp> <vkflash/vkflash.hpp> <vkflash/vkflash.h> "
                      "<vkflash/inspect.h> <vkflash/tuning.h> <vulkan/*> pipelines/shader_table.hpp"},
    // The compiler of functions. The core never includes it.
    LayerRule{"functions", "base <vkflash/functions.hpp> <vkflash/functions.h>"},
    // The CPU's answer knows no Vulkan.
    LayerRule{"reference",
              "problem base <vkflash/reference.h> <vkflash/problem.h> <vkflash/problem.hpp> <vkflash/types.h>"},
};

// Layers from bottom to top: shared, functions, common, {cache, masks}, scores, softmax, matrix, {scalar, coopmat,
// decode, decode_matrix, latent, merge}, {standard, backward}, backward_coopmat.
inline constexpr std::array shaderRules = {
    LayerRule{"backward_coopmat", "backward matrix softmax scores masks cache common shared"},
    LayerRule{"backward", "scalar softmax scores masks cache common shared"},
    LayerRule{"standard", "scalar matrix softmax scores masks cache common shared"},
    LayerRule{"scalar", "softmax scores masks cache common shared"},
    LayerRule{"coopmat", "matrix softmax scores masks cache common shared"},
    LayerRule{"decode", "softmax scores masks cache common shared"},
    LayerRule{"decode_matrix", "matrix softmax scores masks cache common shared"},
    LayerRule{"latent", "matrix softmax scores masks cache common shared"},
    LayerRule{"merge", "softmax scores common shared"},
    LayerRule{"wgmma_backward", "wgmma shared"}, // C++ for the device, as wgmma
    LayerRule{"wgmma", "shared"},
    LayerRule{"matrix", "scores masks cache common shared"},
    LayerRule{"softmax", "scores masks common shared"},
    LayerRule{"scores", "masks cache common shared"},
    LayerRule{"masks", "common shared"},
    LayerRule{"cache", "common shared"},
    LayerRule{"common", "functions shared"},
    LayerRule{"functions", ""},
    LayerRule{"shared", ""},
};

// Layers from top to bottom: commands, bench, {soak, tune}, {measure, report, shapes}, cli, {gallery, model, tensors}.
// A program of the user sees the public headers. The one exception is the table of embedded shaders, for shaders of the
// program itself.
inline constexpr std::array toolRules = {
    LayerRule{"commands", "bench soak tune measure report shapes cli gallery model tensors <vkflash/*>"},
    LayerRule{"bench", "tune measure report shapes cli gallery model tensors <vkflash/*>"},
    LayerRule{"soak", "measure cli tensors <vkflash/*>"},
    LayerRule{"tune", "measure report cli model tensors <vkflash/*>"},
    LayerRule{"measure", "cli model tensors <vkflash/*> pipelines/shader_table.hpp"},
    LayerRule{"report", "cli model tensors <vkflash/*>"},
    LayerRule{"shapes", "cli model tensors <vkflash/*>"},
    LayerRule{"cli", "model tensors <vkflash/*>"},
    LayerRule{"gallery", "<vkflash/*>"},
    LayerRule{"model", "<vkflash/*>"},
    LayerRule{"tensors", "<vkflash/*>"},
};

// The lab stands on the tools. Nothing includes the lab.
inline constexpr std::array labRules = {
    LayerRule{"program", "benches drivers study cli"},
    LayerRule{"benches", "bench measure shapes cli model tensors <vkflash/*>"},
    LayerRule{"drivers", "cli <vkflash/*>"},
    LayerRule{"study", "cli tensors <vkflash/*>"},
};

} // namespace vkf::test
