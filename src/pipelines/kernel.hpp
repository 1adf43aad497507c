// SPDX-License-Identifier: MIT
//
// The kernels. Each has a row in a table: all that the host must know to build, specialize and plan with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <vkflash/vkflash.h>

namespace vkf {

enum class Kernel : uint32_t {
    attentionScalar,
    attentionScalarFallback,
    attentionCoopmat,
    attentionNarrow,
    attentionBf16x3,
    attentionWgmma,
    attentionDecode,
    attentionDecodeMatrix,
    attentionLatent,
    mergeSplits,
    mergePartials,
    appendRows,
    advanceLengths,
    finishRows,
    standardScores,
    standardScoresCoopmat,
    standardSoftmax,
    standardOutput,
    standardOutputCoopmat,
    writeTable,
    mapTiles,
    orderTiles,
    listSequences,
    listTiles,
    attentionProbabilities,
    backwardRows,
    backwardScalar,
    backwardCoopmat,
    backwardSinks,
    backwardSums,
    backwardScalarListed,
    backwardCoopmatListed,
    backwardSumsListed,
    backwardWgmmaRows,
    backwardWgmmaKeys,
    dequantizeKeys
};

// How the binaries of a kernel in shaders/variants.json are built: all without an extension, some with it, or all with
// it.
enum class Built : uint32_t { without, both, with };

// Whether to take the binary that is built with the extension.
constexpr bool isTaken(Built built, bool wanted) { return built == Built::with || (built == Built::both && wanted); }

// Which specialization constants a kernel has.
enum class ConstantFamily : uint32_t {
    none,
    problem, // of shaders/shared/constant_ids.h, without a tile of the path
    tile,    // of shaders/shared/constant_ids.h
    merge,   // of shaders/shared/merge_params.h
    append   // of shaders/shared/append_params.h
};

struct KernelTraits {
    Kernel kernel{};
    const char* name = nullptr; // the names of its binaries or PTX texts begin with it
    ConstantFamily constants = ConstantFamily::none;
    Built storage16 = Built::without; // 16-bit loads and stores
    Built subgroups = Built::without; // subgroup operations
    Built viaShared = Built::without; // elements of matrices pass through shared memory
    bool matrices = false;            // has matrices, of fp16 or bf16; in SPIR-V fp16, unless the host makes them bf16
    bool launched = false;            // is PTX that a launch starts; the others are SPIR-V
    bool functions = false;           // has scores or masks, or m and l: takes functions of the caller's own
    bool unrolledLoops = false;       // drivers that compile for a CPU need them rolled (loopsOf)
    uint64_t stepOperations = VKF_DEFAULT_STEP_OPERATIONS; // most in a step, unless the caller sets a limit
};

// Some kernels are only built with 16-bit storage, to keep the library small. Their paths need it for all types.
inline constexpr std::array kernelTable = {
    KernelTraits{.kernel = Kernel::attentionScalar,
                 .name = "attention_scalar",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::both,
                 .subgroups = Built::both,
                 .functions = true},
    KernelTraits{.kernel = Kernel::attentionScalarFallback, // after attentionBf16x3, if that asks for it
                 .name = "attention_scalar_fallback",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .functions = true},
    KernelTraits{.kernel = Kernel::attentionCoopmat,
                 .name = "attention_coopmat",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .viaShared = Built::both,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::attentionNarrow, // heads of up to 64 columns
                 .name = "attention_narrow",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::attentionBf16x3, // fp32 q, k and v
                 .name = "attention_bf16x3",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::attentionWgmma,
                 .name = "attention_wgmma",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .launched = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::attentionDecode,
                 .name = "attention_decode",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::both,
                 .functions = true,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::attentionDecodeMatrix,
                 .name = "attention_decode_matrix",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::attentionLatent,
                 .name = "attention_latent",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::mergeSplits,
                 .name = "merge_splits",
                 .constants = ConstantFamily::merge,
                 .storage16 = Built::with,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::mergePartials,
                 .name = "merge_partials",
                 .constants = ConstantFamily::merge,
                 .storage16 = Built::both,
                 .unrolledLoops = true},
    KernelTraits{.kernel = Kernel::appendRows,
                 .name = "append_rows",
                 .constants = ConstantFamily::append,
                 .storage16 = Built::both},
    KernelTraits{.kernel = Kernel::advanceLengths, .name = "advance_lengths", .constants = ConstantFamily::append},
    KernelTraits{.kernel = Kernel::finishRows,
                 .name = "finish_rows",
                 .constants = ConstantFamily::problem,
                 .storage16 = Built::both,
                 .functions = true},
    KernelTraits{.kernel = Kernel::standardScores,
                 .name = "standard_scores",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .functions = true},
    KernelTraits{.kernel = Kernel::standardScoresCoopmat,
                 .name = "standard_scores_coopmat",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::standardSoftmax,
                 .name = "standard_softmax",
                 .constants = ConstantFamily::problem,
                 .functions = true},
    KernelTraits{.kernel = Kernel::standardOutput,
                 .name = "standard_output",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .functions = true},
    KernelTraits{.kernel = Kernel::standardOutputCoopmat,
                 .name = "standard_output_coopmat",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::writeTable, .name = "write_table"},
    KernelTraits{
        .kernel = Kernel::mapTiles, .name = "map_tiles", .constants = ConstantFamily::problem, .functions = true},
    KernelTraits{.kernel = Kernel::orderTiles, .name = "order_tiles", .constants = ConstantFamily::problem},
    KernelTraits{.kernel = Kernel::listSequences, .name = "list_sequences"},
    KernelTraits{.kernel = Kernel::listTiles, .name = "list_tiles", .constants = ConstantFamily::problem},
    KernelTraits{.kernel = Kernel::attentionProbabilities,
                 .name = "attention_probabilities",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::both,
                 .functions = true},
    KernelTraits{.kernel = Kernel::backwardRows,
                 .name = "backward_rows",
                 .constants = ConstantFamily::problem,
                 .storage16 = Built::both,
                 .functions = true},
    KernelTraits{.kernel = Kernel::backwardScalar,
                 .name = "backward_scalar",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::both,
                 .functions = true},
    KernelTraits{.kernel = Kernel::backwardCoopmat,
                 .name = "backward_coopmat",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .viaShared = Built::both,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::backwardSinks,
                 .name = "backward_sinks",
                 .constants = ConstantFamily::problem,
                 .functions = true},
    KernelTraits{.kernel = Kernel::backwardSums,
                 .name = "backward_sums",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .functions = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::backwardScalarListed, // these three visit tiles by lists, for masks and documents
                 .name = "backward_scalar_listed",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with},
    KernelTraits{.kernel = Kernel::backwardCoopmatListed,
                 .name = "backward_coopmat_listed",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::backwardSumsListed,
                 .name = "backward_sums_listed",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .unrolledLoops = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::backwardWgmmaRows, // own rows
                 .name = "backward_wgmma_rows",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .launched = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::backwardWgmmaKeys, // own keys
                 .name = "backward_wgmma_keys",
                 .constants = ConstantFamily::tile,
                 .storage16 = Built::with,
                 .subgroups = Built::with,
                 .matrices = true,
                 .launched = true,
                 .stepOperations = VKF_DEFAULT_MATRIX_STEP_OPERATIONS},
    KernelTraits{.kernel = Kernel::dequantizeKeys,
                 .name = "dequantize_keys",
                 .constants = ConstantFamily::problem,
                 .storage16 = Built::with},
};

constexpr bool isInOrder(const decltype(kernelTable)& table) {
    for (size_t i = 0; i < table.size(); i++) {
        if (table[i].kernel != static_cast<Kernel>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(isInOrder(kernelTable), "rows of kernelTable stand in the order of Kernel");
static_assert(kernelTable.back().kernel == Kernel::dequantizeKeys, "the last Kernel has the last row");

constexpr const KernelTraits& traitsOf(Kernel kernel) { return kernelTable[static_cast<size_t>(kernel)]; }

// What is done with the hints to unroll a kernel's loops (rolled_loops.hpp).
enum class Loops : uint8_t { asWritten, rolledArithmetic, rolled };

// The loops that the driver gets. Kernels that every driver for a CPU must keep rolled load nothing wrong in the
// iteration that VKF_QUIRK_LOADS_PAST_LOOPS adds. Other kernels may.
constexpr Loops loopsOf(const KernelTraits& traits, VkfQuirks quirks) {
    const VkfQuirks rolled = traits.unrolledLoops ? VKF_QUIRK_ROLLED_LOOPS : VKF_QUIRK_ROLLED_SCALAR_LOOPS;
    if ((quirks & rolled) == 0) {
        return Loops::asWritten;
    }
    const bool loadsPastLoops = !traits.unrolledLoops && (quirks & VKF_QUIRK_LOADS_PAST_LOOPS) != 0;
    return loadsPastLoops ? Loops::rolledArithmetic : Loops::rolled;
}

} // namespace vkf
