// SPDX-License-Identifier: MIT
//
// Flags that several sub-commands share, and the way from their text to a VkfProblem. Every refusal
// is a ProgramError that names the flag, what it was given and what it takes.
#ifndef VKFLASH_TOOLS_OPTIONS_HPP
#define VKFLASH_TOOLS_OPTIONS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cache_options.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// What is computed, apart from shape and types.
struct MathOptions {
    std::string causal;    // empty = not causal
    std::string alignment; // of causal mask and window; empty = bottom-right
    std::string window;
    uint32_t firstKeys = 0; // beside the window
    std::string scale;
    std::string softcap;
    bool alibi = false;     // the usual slopes
    uint32_t maskBlock = 0; // of a block mask; 0 = none
    std::string path = "auto";
    std::string precision = "default";
};

void addMaskOptions(CLI::App& command, MathOptions& options); // all but the path
void addMathOptions(CLI::App& command, MathOptions& options);
void applyMathOptions(const MathOptions& options, VkfProblem& problem);

struct DropoutOptions {
    std::string probability; // empty = none
    uint64_t seed = 0;
};

void addDropoutOptions(CLI::App& command, DropoutOptions& options);
void applyDropoutOptions(const DropoutOptions& options, VkfProblem& problem);

// A shape without tensors.
struct ShapeOptions {
    uint32_t batch = 1;
    uint32_t heads = 8;
    uint32_t kvHeads = 0; // 0 = heads
    uint32_t rows = 1024;
    uint32_t keys = 0; // 0 = rows, unless given
    uint32_t dim = 64;
    uint32_t valueDim = 0; // 0 = dim
    std::string type = "f16";
    CacheOptions cache{};
    bool keysGiven = false;
    bool lse = false;
};

void addHeadOptions(CLI::App& command, ShapeOptions& options); // all but rows, head dimension and type
void addShapeOptions(CLI::App& command, ShapeOptions& options);
VkfProblem makeProblem(const ShapeOptions& shape, const MathOptions& math);

struct DeviceFlags {
    std::string device;
    std::string tuning; // file; empty = none
    bool validation = false;
    std::vector<std::string> quirks;
};

void addDeviceOptions(CLI::App& command, DeviceFlags& flags); // all but the tuning
void addTuningOption(CLI::App& command, std::string& file);
// The content of a file given to --tuning; "" if none was.
std::string loadTuning(const std::string& file);
// Validation messages go to stderr as they come; checkValidation fails if there were any.
host::Device openDevice(const DeviceFlags& flags);
void checkValidation(const host::Device& device);

// "f32", "f16" or "bf16", given to a flag.
VkfType parseType(const char* flag, const std::string& text);
// The same or a block type.
VkfType parseCacheType(const char* flag, const std::string& text);
// "auto" or the name of a path, given to a flag.
VkfPath parsePath(const char* flag, const std::string& text);

const char* precisionName(VkfPrecision precision);

} // namespace vkf::tools

#endif
