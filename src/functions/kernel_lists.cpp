// SPDX-License-Identifier: MIT
//
// Which kernels take functions, and which paths need them.
#include <vkflash/functions.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/kernel_sources.hpp"

namespace vkf::functions {
namespace {

enum PathBits : uint32_t {
    scalar = 1 << 0,
    coopmat = 1 << 1,
    decode = 1 << 2,
    standard = 1 << 3,
    keyOuter = 1 << 4,
    backward = 1 << 5,
    forward = scalar | coopmat | decode | standard | keyOuter
};

struct Path {
    PathBits bit;
    const char* name;
};

constexpr std::array paths = {Path{scalar, "scalar"},     Path{coopmat, "coopmat"},    Path{decode, "decode"},
                              Path{standard, "standard"}, Path{keyOuter, "key_outer"}, Path{backward, "backward"}};

struct KernelPaths {
    std::string_view kernel; // without the endings of its variants
    uint32_t paths;
};

// The kernels whose traits have `functions` (src/pipelines/kernel.hpp). attention_narrow is not one of them: calls with
// functions use attention_coopmat in its place.
constexpr std::array kernelPaths = {
    KernelPaths{"attention_scalar", scalar | keyOuter},
    KernelPaths{"attention_scalar_fallback", coopmat},
    KernelPaths{"attention_coopmat", coopmat},
    KernelPaths{"attention_bf16x3", coopmat},
    KernelPaths{"attention_decode", decode},
    KernelPaths{"attention_decode_matrix", decode},
    KernelPaths{"attention_latent", decode},
    KernelPaths{"standard_scores", standard},
    KernelPaths{"standard_scores_coopmat", standard},
    KernelPaths{"standard_softmax", standard},
    KernelPaths{"standard_output", standard},
    KernelPaths{"standard_output_coopmat", standard},
    KernelPaths{"map_tiles", scalar | coopmat | backward},
    KernelPaths{"attention_probabilities", forward},
    KernelPaths{"finish_rows", keyOuter}, // for the unit of scores
    KernelPaths{"backward_rows", backward},
    KernelPaths{"backward_scalar", backward},
    KernelPaths{"backward_coopmat", backward},
    KernelPaths{"backward_sums", backward},
    KernelPaths{"backward_sinks", backward},
};

// Takes the endings of a variant away (src/pipelines/variant.hpp).
std::string_view kernelOf(std::string_view variant) {
    for (const std::string_view ending : {"_storage16", "_subgroups", "_via_shared"}) {
        if (variant.ends_with(ending)) {
            variant.remove_suffix(ending.size());
        }
    }
    return variant;
}

uint32_t pathsOf(std::string_view kernel) {
    const auto found = std::find_if(kernelPaths.begin(), kernelPaths.end(),
                                    [kernel](const KernelPaths& row) { return row.kernel == kernel; });
    return found == kernelPaths.end() ? 0 : found->paths;
}

} // namespace

std::vector<std::string> pathNames() {
    std::vector<std::string> names;
    names.reserve(std::size(paths));
    for (const Path& path : paths) {
        names.emplace_back(path.name);
    }
    return names;
}

std::vector<std::string> kernelsOf(const std::string& path) {
    const auto found = std::find_if(paths.begin(), paths.end(), [&path](const Path& row) { return row.name == path; });
    if (found == paths.end()) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, "there is no path \"" + path + "\" for functions");
    }
    std::vector<std::string> kernels;
    for (const KernelVariant& variant : kernelVariants) {
        if ((pathsOf(kernelOf(variant.name)) & found->bit) != 0) {
            kernels.emplace_back(variant.name);
        }
    }
    return kernels;
}

} // namespace vkf::functions
