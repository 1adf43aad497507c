// SPDX-License-Identifier: MIT
//
// Flags that several sub-commands share, and their conversion to a VkfProblem. Every refusal is a ProgramError. It
// names the flag, the given value and the accepted values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "vkflash/host.hpp"

namespace vkf::tools {

// The flags of a cache: types of k and v, paging, and the memory that may save work.
struct CacheOptions {
    std::string kvType;              // empty = the type of the other tensors
    std::string kType;               // empty = kvType
    std::string vType;               // empty = kvType
    uint32_t pageSize = 0;           // 0 = no pages
    uint32_t chosenCount = 0;        // keys that the list of each row has; 0 = no lists
    std::optional<uint32_t> scratch; // MiB; see addScratchOption
};

void addCacheOptions(CLI::App& command, CacheOptions& options);
// Adds only --kv-type, --page-size and --scratch.
void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options);
// Adds --chosen-count, for commands that make up lists of chosen keys or need none.
void addChosenCountOption(CLI::App& command, CacheOptions& options);
// Sets types, paging, lists of chosen keys and maxScratchBytes of a problem with dense k and v. It gets as many pages
// as its keys need.
void applyCacheOptions(const CacheOptions& options, VkfProblem& problem);

// Everything about the computation except shape and types.
struct MathOptions {
    std::string causal;    // empty = not causal
    std::string alignment; // alignment of causal mask and window; empty = bottom-right
    std::string window;
    uint32_t firstKeys = 0;   // first keys that are visible in addition to the window
    std::string rowPositions; // empty = as the alignment says
    std::string keyPositions;
    std::string scale;
    std::string softcap;
    bool alibi = false;     // ALiBi with the standard slopes
    uint32_t maskBlock = 0; // block size of a block mask; 0 = no block mask
    uint32_t splitKeys = 0; // keys of a key split; 0 = not fixed
    std::string path = "auto";
    std::string precision = "default";
};

void addMaskOptions(CLI::App& command,
                    MathOptions& options); // all math flags but --path, --split-keys and --mask-block
void addMathOptions(CLI::App& command, MathOptions& options);
void applyMathOptions(const MathOptions& options, VkfProblem& problem);

void addSplitKeysOption(CLI::App& command, uint32_t& keys);

// Adds --mask-block: the size of a block in rows and in keys. 0 = the flag was not given.
void addMaskBlockOption(CLI::App& command, uint32_t& block);

// Throws ProgramError if the share of open blocks is not within [0, 1], or if there are no blocks.
void checkDensity(double density, uint32_t maskBlock);

struct DropoutOptions {
    std::string probability; // empty = no dropout
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
    uint32_t keys = 0; // used only if keysGiven, because 0 keys are allowed
    uint32_t dim = 64;
    uint32_t valueDim = 0; // 0 = dim
    std::string type = "f16";
    CacheOptions cache{};
    bool keysGiven = false;
    bool lse = false;
};

void addHeadOptions(CLI::App& command, ShapeOptions& options); // all shape flags but rows, head dimension and type
void addShapeOptions(CLI::App& command, ShapeOptions& options);
// Throws ProgramError if a value makes no sense. The library may refuse the problem.
VkfProblem describeProblem(const ShapeOptions& shape, const MathOptions& math);
// Throws ProgramError if the library refuses the problem, too.
VkfProblem makeProblem(const ShapeOptions& shape, const MathOptions& math);

struct DeviceFlags {
    std::string device;
    std::string tuning; // path of the file; empty = none
    bool validation = false;
    std::vector<std::string> quirks;
    VkfFeatures withoutFeatures = 0; // features to leave out; only some commands have a flag for it
};

void addDeviceOptions(CLI::App& command, DeviceFlags& flags); // all but --tuning
void addTuningOption(CLI::App& command, std::string& file);

// --scratch: MiB of scratch memory that a call may use to save work. Nothing = as the library sees fit.
void addScratchOption(CLI::App& command, std::optional<uint32_t>& mebibytes);

// VkfProblem::maxScratchBytes and VkfBackwardProblem::maxScratchBytes.
uint64_t mostScratchBytes(const std::optional<uint32_t>& mebibytes);
// The content of the file given to --tuning. "" if the flag was not given.
std::string loadTuning(const std::string& file);
// Validation messages go to stderr as they come. checkValidation fails if there were any.
host::DeviceOptions deviceOptions(const DeviceFlags& flags);
host::Device openDevice(const DeviceFlags& flags);
void checkValidation(const host::Device& device);

// Adds a flag that takes a value, with its default in the help.
template <typename Value> void addValue(CLI::App& command, const char* flag, Value& value, const std::string& help) {
    command.add_option(flag, value, help)->capture_default_str();
}

// Adds a flag that takes a list, with its default in the help.
template <typename Value>
void addList(CLI::App& command, const char* flag, std::vector<Value>& values, const std::string& help) {
    command.add_option(flag, values, help)->delimiter(',')->capture_default_str();
}

// Parses "f32", "f16" or "bf16", the value of a flag.
VkfType parseType(const char* flag, const std::string& text);
// Parses a type as above or a block type.
VkfType parseCacheType(const char* flag, const std::string& text);
// Parses "auto" or the name of a path, the value of a flag.
VkfPath parsePath(const char* flag, const std::string& text);

const char* precisionName(VkfPrecision precision);

} // namespace vkf::tools
