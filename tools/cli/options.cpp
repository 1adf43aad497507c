// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/program/help.hpp"
#include "cli/text.hpp"
#include "tensors/block_mask.hpp"
#include "vkflash/tuning.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

template <typename Value> struct Choice {
    const char* name;
    Value value;
};

template <typename Value>
Value parseChoice(const char* flag, const std::string& text, std::span<const Choice<Value>> choices) {
    for (const Choice<Value>& choice : choices)
        if (text == choice.name)
            return choice.value;
    failInput("{} {}: takes one of {}", flag, text, namesOf(choices));
}

constexpr std::array<Choice<VkfAlignment>, 2> alignments = {
    {{"bottom-right", VKF_ALIGNMENT_BOTTOM_RIGHT}, {"top-left", VKF_ALIGNMENT_TOP_LEFT}}};
constexpr std::array<Choice<VkfPath>, 7> paths = {{{"auto", VKF_PATH_AUTO},
                                                   {"scalar", VKF_PATH_SCALAR},
                                                   {"standard", VKF_PATH_STANDARD},
                                                   {"coopmat", VKF_PATH_COOPMAT},
                                                   {"decode", VKF_PATH_DECODE},
                                                   {"key_outer", VKF_PATH_KEY_OUTER},
                                                   {"wgmma", VKF_PATH_WGMMA}}};
constexpr std::array<Choice<VkfPrecision>, 2> precisions = {
    {{"default", VKF_PRECISION_DEFAULT}, {"fp32", VKF_PRECISION_FP32}}};
// Every quirk of VkfQuirkBits. A test compares docs/program.md with it.
constexpr std::array<Choice<VkfQuirkBits>, 9> quirks = {{{"no-subgroup-shuffle", VKF_QUIRK_NO_SUBGROUP_SHUFFLE},
                                                         {"rolled-loops", VKF_QUIRK_ROLLED_LOOPS},
                                                         {"unknown-matrix-layout", VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT},
                                                         {"lockstep-subgroups", VKF_QUIRK_LOCKSTEP_SUBGROUPS},
                                                         {"fp16x3", VKF_QUIRK_FP16X3},
                                                         {"wrong-matrix-loads", VKF_QUIRK_WRONG_MATRIX_LOADS},
                                                         {"rolled-scalar-loops", VKF_QUIRK_ROLLED_SCALAR_LOOPS},
                                                         {"late-specialization", VKF_QUIRK_LATE_SPECIALIZATION},
                                                         {"loads-past-loops", VKF_QUIRK_LOADS_PAST_LOOPS}}};
constexpr std::array<Choice<VkfType>, 3> types = {
    {{"f32", VKF_TYPE_F32}, {"f16", VKF_TYPE_F16}, {"bf16", VKF_TYPE_BF16}}};

constexpr std::array<Choice<VkfType>, 11> cacheTypes = {{{"f32", VKF_TYPE_F32},
                                                         {"f16", VKF_TYPE_F16},
                                                         {"bf16", VKF_TYPE_BF16},
                                                         {"q8_0", VKF_TYPE_Q8_0},
                                                         {"q4_0", VKF_TYPE_Q4_0},
                                                         {"q4_1", VKF_TYPE_Q4_1},
                                                         {"q5_0", VKF_TYPE_Q5_0},
                                                         {"q5_1", VKF_TYPE_Q5_1},
                                                         {"iq4_nl", VKF_TYPE_IQ4_NL},
                                                         {"e4m3", VKF_TYPE_F8_E4M3},
                                                         {"e5m2", VKF_TYPE_F8_E5M2}}};

// Accepts only finite numbers, because no other value has a meaning.
float parseFactor(const char* flag, const std::string& text) {
    float value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || !std::isfinite(value))
        failInput("{} {}: takes a finite number", flag, text);
    return value;
}

VkfWindow parseWindow(const std::string& text) {
    VkfWindow window{};
    const char* const end = text.data() + text.size();
    const auto left = std::from_chars(text.data(), end, window.left);
    bool valid = left.ec == std::errc() && left.ptr != end && *left.ptr == ',';
    if (valid) {
        const auto right = std::from_chars(left.ptr + 1, end, window.right);
        valid = right.ec == std::errc() && right.ptr == end;
    }
    if (!valid || window.left < -1 || window.right < -1)
        failInput("--window {}: takes LEFT,RIGHT, two whole numbers of keys, -1 for no limit", text);
    return window;
}

// F or F,STRIDE.
void parsePositions(const char* flag, const std::string& text, uint32_t& first, uint32_t& stride) {
    const char* const end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, first);
    stride = 1;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == ',')
        parsed = std::from_chars(parsed.ptr + 1, end, stride);
    if (parsed.ec != std::errc() || parsed.ptr != end || stride == 0)
        failInput("{} {}: takes F or F,STRIDE, whole numbers, STRIDE at least 1", flag, text);
}

} // namespace

void addMaskOptions(CLI::App& command, MathOptions& options) {
    const HelpGroup group(command, masksGroup);
    // The flag without a value selects the usual alignment.
    command
        .add_option_function<std::vector<std::string>>(
            "--causal",
            [&options](const std::vector<std::string>& values) {
                options.causal = values.empty() || values[0].empty() ? "bottom-right" : values[0];
            },
            "a row sees the keys up to its own position; bottom-right (default) or top-left")
        ->expected(0, 1)
        ->type_name("ALIGNMENT");
    command
        .add_option("--window", options.window,
                    "a row sees LEFT keys before and RIGHT keys after its own position; -1 = no limit")
        ->type_name("LEFT,RIGHT");
    command.add_option("--first-keys", options.firstKeys, "this many first keys are visible too; needs --window");
    command
        .add_option("--alignment", options.alignment,
                    fmt::format("diagonal of the window: {} (default: bottom-right)", namesOf(alignments)))
        ->type_name("ALIGNMENT");
    command
        .add_option("--row-positions", options.rowPositions,
                    "row i stands at F + i STRIDE, for causal masks, windows and ALiBi")
        ->type_name("F,STRIDE");
    command.add_option("--key-positions", options.keyPositions, "key j stands at F + j STRIDE")->type_name("F,STRIDE");
    command.add_option("--scale", options.scale, "factor of the scores (default: 1/sqrt(D))")->type_name("X");
    command.add_option("--softcap", options.softcap, "scores become C * tanh(score / C)")->type_name("C");
    command.add_flag("--alibi", options.alibi, "ALiBi with the standard slopes");
    command
        .add_option("--precision", options.precision, fmt::format("precision of the products: {}", namesOf(precisions)))
        ->type_name("NAME");
}

void addMathOptions(CLI::App& command, MathOptions& options) {
    addMaskOptions(command, options);
    const HelpGroup group(command, masksGroup);
    command.add_option("--path", options.path, fmt::format("algorithm: {}", namesOf(paths)))->type_name("NAME");
    addSplitKeysOption(command, options.splitKeys);
}

void addSplitKeysOption(CLI::App& command, uint32_t& keys) {
    command.add_option("--split-keys", keys, "keys of a key split, so that no bit of o depends on other sequences")
        ->type_name("N");
}

void applyMathOptions(const MathOptions& options, VkfProblem& problem) {
    if (!options.causal.empty()) {
        problem.use |= VKF_USE_CAUSAL;
        problem.alignment = parseChoice<VkfAlignment>("--causal", options.causal, alignments);
    }
    if (!options.alignment.empty()) {
        const auto alignment = parseChoice<VkfAlignment>("--alignment", options.alignment, alignments);
        if (has(problem, VKF_USE_CAUSAL) && alignment != problem.alignment)
            failInput("--alignment {}: differs from --causal {}", options.alignment, options.causal);
        problem.alignment = alignment;
    }
    if (!options.window.empty()) {
        problem.window = parseWindow(options.window);
        enable(problem, VKF_USE_WINDOW);
    }
    if (has(problem, VKF_USE_CAUSAL) && problem.window.right > 0)
        failInput("--window {}: RIGHT must be 0 or -1 with --causal", options.window);
    if (options.firstKeys != 0 && options.window.empty())
        failInput("--first-keys {}: needs a --window", options.firstKeys);
    problem.window.firstKeys = options.firstKeys;
    if (!options.rowPositions.empty() || !options.keyPositions.empty())
        enable(problem, VKF_USE_POSITIONS); // --row-offsets enables them too
    if (!options.rowPositions.empty())
        parsePositions("--row-positions", options.rowPositions, problem.positions.firstRow,
                       problem.positions.rowStride);
    if (!options.keyPositions.empty())
        parsePositions("--key-positions", options.keyPositions, problem.positions.firstKey,
                       problem.positions.keyStride);
    if (!options.scale.empty()) {
        problem.scale = parseFactor("--scale", options.scale);
        if (problem.scale == 0)
            failInput("--scale {}: must not be zero", options.scale);
    }
    if (!options.softcap.empty()) {
        problem.softcap = parseFactor("--softcap", options.softcap);
        if (problem.softcap < 0)
            failInput("--softcap {}: takes a number of at least 0 (0 = off)", options.softcap);
    }
    if (options.alibi)
        enable(problem, VKF_USE_ALIBI);
    problem.splitKeys = options.splitKeys;
    problem.blockMask.blockSize = options.maskBlock;
    enable(problem, VKF_USE_BLOCK_MASK, options.maskBlock != 0);
    problem.path = parsePath("--path", options.path);
    problem.precision = parseChoice<VkfPrecision>("--precision", options.precision, precisions);
}

void addDropoutOptions(CLI::App& command, DropoutOptions& options) {
    const HelpGroup group(command, masksGroup);
    command
        .add_option("--dropout", options.probability,
                    "drop each probability with chance P; multiply the others by 1 / (1 - P)")
        ->type_name("P");
    addValue(command, "--seed", options.seed, "seed of the generator of --dropout");
}

void applyDropoutOptions(const DropoutOptions& options, VkfProblem& problem) {
    if (!options.probability.empty())
        problem.dropout.probability = parseFactor("--dropout", options.probability);
    if (problem.dropout.probability < 0 || problem.dropout.probability >= 1)
        failInput("--dropout {}: takes a number of at least 0, less than 1", options.probability);
    problem.dropout.seed = options.seed;
}

void addHeadOptions(CLI::App& command, ShapeOptions& options) {
    const HelpGroup group(command, shapeGroup);
    addValue(command, "--batch", options.batch, "number of sequences");
    addValue(command, "--heads", options.heads, "number of query heads");
    command.add_option("--kv-heads", options.kvHeads, "number of KV heads (default: as many as query heads)");
    command.add_option("--keys", options.keys, "number of keys (default: as many as rows)")
        ->each([&options](const std::string&) { options.keysGiven = true; });
    command.add_option("--value-dim", options.valueDim, "head dimension of v and o (default: D)");
    command.add_flag("--lse", options.lse, "also compute lse, the logarithms of the softmax sums");
}

void addShapeOptions(CLI::App& command, ShapeOptions& options) {
    addHeadOptions(command, options);
    const HelpGroup group(command, shapeGroup);
    addValue(command, "--rows", options.rows, "number of query rows");
    addValue(command, "--dim", options.dim, "head dimension D");
    command.add_option("--type", options.type, fmt::format("type of q, k, v and o: {}", namesOf(types)))
        ->type_name("NAME")
        ->capture_default_str();
}

VkfProblem describeProblem(const ShapeOptions& shape, const MathOptions& math) {
    auto problem = make<VkfProblem>();
    problem.batch = shape.batch;
    problem.queryHeads = shape.heads;
    problem.kvHeads = shape.kvHeads != 0 ? shape.kvHeads : shape.heads;
    problem.queryRows = shape.rows;
    problem.keys = shape.keysGiven ? shape.keys : shape.rows;
    problem.headDim = shape.dim;
    problem.valueDim = shape.valueDim;
    problem.q = problem.k = problem.v = problem.o = dense(parseType("--type", shape.type));
    applyCacheOptions(shape.cache, problem);
    enable(problem, VKF_USE_LSE, shape.lse);
    applyMathOptions(math, problem);
    if (has(problem, VKF_USE_BLOCK_MASK) && vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS)
        separateBlockMasks(problem);
    return problem;
}

VkfProblem makeProblem(const ShapeOptions& shape, const MathOptions& math) {
    const VkfProblem problem = describeProblem(shape, math);
    VkfMessage message{};
    if (vkfCheckProblem(&problem, &message) != VKF_SUCCESS)
        failInput("{}", message.text);
    return problem;
}

void addDeviceOptions(CLI::App& command, DeviceFlags& flags) {
    const HelpGroup group(command, deviceGroup);
    command
        .add_option("--device", flags.device,
                    "number of the device in `vkflash info`, or a part of its name (default: the best device)")
        ->type_name("DEVICE");
    command.add_flag("--validation", flags.validation,
                     "load the Vulkan validation layer; any of its messages makes the program fail");
    command
        .add_option("--quirk", flags.quirks,
                    fmt::format("work around these driver faults, whether or not the driver is known to have them: {}",
                                namesOf(quirks)))
        ->delimiter(',');
}

void addTuningOption(CLI::App& command, std::string& file) {
    const HelpGroup group(command, deviceGroup);
    command.add_option("--tuning", file, "file of `vkflash tune` with the tiles to use")->type_name("FILE");
}

void addScratchOption(CLI::App& command, std::optional<uint32_t>& mebibytes) {
    const HelpGroup group(command, cacheGroup);
    command
        .add_option("--scratch", mebibytes,
                    "MiB of scratch memory that the call may use to save work; 0 = none (default: at most 512, and "
                    "1280 in the backward pass, where that is faster)")
        ->type_name("MIB");
}

uint64_t mostScratchBytes(const std::optional<uint32_t>& mebibytes) {
    if (!mebibytes)
        return 0;
    return *mebibytes == 0 ? 1 : uint64_t{*mebibytes} << 20;
}

std::string loadTuning(const std::string& file) {
    if (file.empty())
        return {};
    std::string text = readText(fmt::format("--tuning {}", file), file);
    VkfMessage message{};
    if (vkfCheckTuning(text.data(), text.size(), &message) != VKF_SUCCESS)
        failInput("--tuning {}: {}", file, message.text);
    return text;
}

host::DeviceOptions deviceOptions(const DeviceFlags& flags) {
    host::DeviceOptions options;
    options.tuning = loadTuning(flags.tuning);
    options.select = flags.device;
    options.validation = flags.validation;
    options.withoutFeatures = flags.withoutFeatures;
    for (const std::string& quirk : flags.quirks)
        options.quirks |= static_cast<VkfQuirks>(parseChoice<VkfQuirkBits>("--quirk", quirk, quirks));
    options.onValidationMessage = [](const std::string& text) { fmt::print(stderr, "validation: {}\n", text); };
    return options;
}

host::Device openDevice(const DeviceFlags& flags) {
    try {
        return host::Device(deviceOptions(flags));
    } catch (const host::Error& error) {
        if (flags.device.empty())
            throw;
        fail("--device {}: {}", flags.device, error.what());
    }
}

void checkValidation(const host::Device& device) {
    if (device.validationMessageCount() != 0)
        fail("--validation: the validation layer reported {} messages", device.validationMessageCount());
}

VkfType parseType(const char* flag, const std::string& text) { return parseChoice<VkfType>(flag, text, types); }

VkfType parseCacheType(const char* flag, const std::string& text) {
    return parseChoice<VkfType>(flag, text, cacheTypes);
}

VkfPath parsePath(const char* flag, const std::string& text) { return parseChoice<VkfPath>(flag, text, paths); }

const char* precisionName(VkfPrecision precision) { return precision == VKF_PRECISION_FP32 ? "fp32" : "default"; }

void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options) {
    const HelpGroup group(command, cacheGroup);
    command
        .add_option("--kv-type", options.kvType,
                    fmt::format("type of k and v: {} (default: the type of q)", namesOf(cacheTypes)))
        ->type_name("NAME");
    command.add_option("--page-size", options.pageSize,
                       "store k and v in shuffled pages of this many keys (default: no pages)");
    addScratchOption(command, options.scratch);
}

void addCacheOptions(CLI::App& command, CacheOptions& options) {
    addOneTypeCacheOptions(command, options);
    const HelpGroup group(command, cacheGroup);
    command.add_option("--k-type", options.kType, "type of k only")->type_name("NAME");
    command.add_option("--v-type", options.vType, "type of v only")->type_name("NAME");
}

void addChosenCountOption(CLI::App& command, CacheOptions& options) {
    const HelpGroup group(command, cacheGroup);
    command.add_option("--chosen-count", options.chosenCount,
                       "each row sees only so many keys, by a list (default: all keys)");
}

void applyCacheOptions(const CacheOptions& options, VkfProblem& problem) {
    if (!options.kvType.empty())
        problem.k.type = problem.v.type = parseCacheType("--kv-type", options.kvType);
    if (!options.kType.empty())
        problem.k.type = parseCacheType("--k-type", options.kType);
    if (!options.vType.empty())
        problem.v.type = parseCacheType("--v-type", options.vType);
    problem.maxScratchBytes = mostScratchBytes(options.scratch);
    if (options.chosenCount != 0) { // a list for each row, which all heads share
        const uint64_t ofSequence = uint64_t{problem.queryRows} * options.chosenCount;
        problem.chosenKeys = {options.chosenCount, 0, ofSequence, 0, options.chosenCount, {}};
        enable(problem, VKF_USE_CHOSEN_KEYS);
    }
    if (options.pageSize == 0)
        return;
    const uint32_t pages = problem.keys / options.pageSize + (problem.keys % options.pageSize != 0 ? 1 : 0);
    problem.paging = {options.pageSize, pages, problem.batch * pages, 0};
    enable(problem, VKF_USE_BLOCK_TABLE);
}

void addMaskBlockOption(CLI::App& command, uint32_t& block) {
    const HelpGroup group(command, masksGroup);
    command.add_option("--mask-block", block, "block size of a block mask, in rows and in keys; a multiple of 16");
}

void checkDensity(double density, uint32_t maskBlock) {
    if (!(density >= 0 && density <= 1))
        failInput("--block-density {}: takes the share of open blocks, from 0 to 1", density);
    if (maskBlock == 0)
        failInput("--block-density {}: needs --mask-block", density);
}

} // namespace vkf::tools
