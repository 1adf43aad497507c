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
struct Room {
    const char* folder;
    const char* mayInclude;
};

// Floors from top to bottom: calls, planning, tiles, pipelines, device, problem, base. A folder may include the folders
// below it. host, functions and reference stand apart. host sees the table of embedded shaders, for shaders of its own.
inline constexpr std::array sourceRooms = {
    Room{"calls", "planning tiles pipelines device problem base shared <vkflash/vkflash.h> <vkflash/functions.h> "
                  "<vkflash/inspect.h> <vkflash/tuning.h>"},
    Room{"planning", "tiles pipelines device problem base shared <vkflash/vkflash.h> <vkflash/inspect.h>"},
    Room{"tiles", "pipelines device problem base shared <vkflash/vkflash.h> <vkflash/inspect.h> <vkflash/tuning.h> "
                  "<vkflash/problem.h> <vulkan/*>"},
    Room{"pipelines", "device problem base shared <vkflash/vkflash.h> <vulkan/*>"},
    Room{"device", "problem base shared <vkflash/vkflash.h> <vkflash/types.h> <vulkan/*>"},
    Room{"problem",
         "base shared <vkflash/problem.h> <vkflash/problem.hpp> <vkflash/append_problem.h> <vkflash/merge_problem.h> "
         "<vkflash/backward_problem.h> <vkflash/functions.h> <vkflash/types.h>"},
    Room{"base", "<vkflash/types.h> <vulkan/*>"},
    Room{"host", "<vkflash/host.hpp> <vkflash/problem.hpp> <vkflash/vkflash.hpp> <vkflash/vkflash.h> "
                 "<vkflash/inspect.h> <vkflash/tuning.h> <vulkan/*> pipelines/shader_table.hpp"},
    // The compiler of functions. The core never includes it.
    Room{"functions", "base <vkflash/functions.hpp> <vkflash/functions.h>"},
    // The CPU's answer knows no Vulkan.
    Room{"reference", "problem base <vkflash/reference.h> <vkflash/problem.h> <vkflash/problem.hpp> <vkflash/types.h>"},
};

// Floors from bottom to top: shared, functions, common, {cache, masks}, scores, softmax, matrix, {scalar, coopmat,
// decode, decode_matrix, latent, merge}, {standard, backward}, backward_coopmat.
inline constexpr std::array shaderRooms = {
    Room{"backward_coopmat", "backward matrix softmax scores masks cache common shared"},
    Room{"backward", "scalar softmax scores masks cache common shared"},
    Room{"standard", "scalar matrix softmax scores masks cache common shared"},
    Room{"scalar", "softmax scores masks cache common shared"},
    Room{"coopmat", "matrix softmax scores masks cache common shared"},
    Room{"decode", "softmax scores masks cache common shared"},
    Room{"decode_matrix", "matrix softmax scores masks cache common shared"},
    Room{"latent", "matrix softmax scores masks cache common shared"},
    Room{"merge", "softmax scores common shared"},
    Room{"wgmma_backward", "wgmma shared"}, // C++ for the device, as wgmma
    Room{"wgmma", "shared"},
    Room{"matrix", "scores masks cache common shared"},
    Room{"softmax", "scores masks common shared"},
    Room{"scores", "masks cache common shared"},
    Room{"masks", "common shared"},
    Room{"cache", "common shared"},
    Room{"common", "functions shared"},
    Room{"functions", ""},
    Room{"shared", ""},
};

// Floors from top to bottom: commands, bench, {soak, tune}, {measure, report, shapes}, cli, {gallery, model, tensors}.
// A program of the user sees the public headers. The one exception is the table of embedded shaders, for shaders of the
// program itself.
inline constexpr std::array toolRooms = {
    Room{"commands", "bench soak tune measure report shapes cli gallery model tensors <vkflash/*>"},
    Room{"bench", "tune measure report shapes cli gallery model tensors <vkflash/*>"},
    Room{"soak", "measure cli tensors <vkflash/*>"},
    Room{"tune", "measure report cli model tensors <vkflash/*>"},
    Room{"measure", "cli model tensors <vkflash/*> pipelines/shader_table.hpp"},
    Room{"report", "cli model tensors <vkflash/*>"},
    Room{"shapes", "cli model tensors <vkflash/*>"},
    Room{"cli", "model tensors <vkflash/*>"},
    Room{"gallery", "<vkflash/*>"},
    Room{"model", "<vkflash/*>"},
    Room{"tensors", "<vkflash/*>"},
};

// The lab stands on the tools. Nothing includes the lab.
inline constexpr std::array labRooms = {
    Room{"program", "benches drivers study cli"},
    Room{"benches", "bench measure shapes cli model tensors <vkflash/*>"},
    Room{"drivers", "cli <vkflash/*>"},
    Room{"study", "cli tensors <vkflash/*>"},
};

} // namespace vkf::test
