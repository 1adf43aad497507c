// SPDX-License-Identifier: MIT
#include "drivers/driver_problems.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"

namespace vkf::tools {

namespace {

constexpr uint32_t latentDim = 576;
constexpr uint32_t latentValueDim = 512;

struct Size {
    const char* name;
    uint32_t batch;
    uint32_t queryHeads;
    uint32_t kvHeads;
    uint32_t rows;
    uint32_t keys;
};

// A prompt, a step of speculative decoding, and one new token; then a short prompt, a prompt of grouped queries, a tiny
// one, a short draft, and one new token of many heads that share their keys.
constexpr std::array sizes = {
    Size{"prefill", 1, 16, 16, 4096, 4096}, Size{"few", 1, 32, 8, 16, 8192},       Size{"decode", 1, 32, 8, 1, 16384},
    Size{"short", 1, 16, 16, 512, 512},     Size{"grouped", 1, 32, 8, 2048, 2048}, Size{"tiny", 1, 8, 8, 64, 64},
    Size{"draft", 1, 32, 8, 4, 8192},       Size{"shared", 1, 64, 1, 1, 16384},
};

// The row of a table with this name, which `flag` takes.
template <typename Rows> const auto& named(const char* flag, const Rows& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return name == row.name; });
    if (found == rows.end())
        failInput("{}: {} is none of {}", flag, name, namesOf(rows));
    return *found;
}

void applyCausal(VkfProblem& problem) { problem.use |= VKF_USE_CAUSAL; }

// All score terms, with dropout, under a window.
void applyTerms(VkfProblem& problem) {
    problem.use |= VKF_USE_CAUSAL;
    problem.window = {problem.keys / 2, 0, 0};
    problem.use |= VKF_USE_WINDOW;
    problem.softcap = 30;
    problem.dropout.probability = 0.125F;
    problem.use |= VKF_USE_ALIBI;
    enable(problem, VKF_USE_ALIBI_SLOPES);
    enable(problem, VKF_USE_SINKS);
    enable(problem, VKF_USE_BIAS);
    problem.bias.type = VKF_TYPE_F32;
    problem.bias.rowStride = problem.keys;
}

void applyWindow(VkfProblem& problem) {
    problem.window = {problem.keys / 2, problem.keys / 4, 0};
    problem.use |= VKF_USE_WINDOW;
}

void applyMask(VkfProblem& problem) {
    enable(problem, VKF_USE_MASK);
    problem.mask.type = VKF_TYPE_BOOL8;
    problem.mask.rowStride = problem.keys;
}

void applyBias(VkfProblem& problem) {
    enable(problem, VKF_USE_BIAS);
    problem.bias.type = VKF_TYPE_F16;
    problem.bias.rowStride = problem.keys;
}

void applyPages(VkfProblem& problem) {
    constexpr uint32_t pageSize = 64;
    enable(problem, VKF_USE_BLOCK_TABLE);
    problem.paging = {};
    problem.paging.pageSize = pageSize;
    problem.paging.maxPages = problem.keys / pageSize;
    problem.paging.pages = problem.batch * problem.paging.maxPages;
}

struct Extra {
    const char* name;
    void (*apply)(VkfProblem& problem);
    bool backward = false; // the kernels of the backward pass
};

constexpr std::array extras = {
    Extra{"none", [](VkfProblem&) {}},
    Extra{"causal", applyCausal},
    Extra{"window", applyWindow},
    Extra{"terms", applyTerms},
    Extra{"mask", applyMask},
    Extra{"bias", applyBias},
    Extra{"pages", applyPages},
    Extra{"backward", applyCausal, true},
    Extra{"backward-terms", applyTerms, true},
};

VkfProblem problemOf(const std::string& path, const std::string& type, uint32_t dim, const Size& size,
                     const Extra& extra) {
    auto problem = make<VkfProblem>();
    problem.batch = size.batch;
    problem.queryHeads = size.queryHeads;
    problem.kvHeads = dim == latentDim ? 1 : size.kvHeads;
    problem.queryRows = size.rows;
    problem.keys = size.keys;
    problem.headDim = dim;
    problem.path = parsePath("--paths", path);
    problem.k = problem.v = dense(parseCacheType("--types", type));
    const bool blocks =
        problem.k.type != VKF_TYPE_F32 && problem.k.type != VKF_TYPE_F16 && problem.k.type != VKF_TYPE_BF16;
    problem.q = problem.o = dense(blocks ? VKF_TYPE_F16 : problem.k.type);
    if (dim == latentDim) {
        problem.valueDim = latentValueDim;
        problem.k.rowStride = problem.v.rowStride = latentDim;
        problem.k.headStride = problem.v.headStride = uint64_t{latentDim} * size.keys;
        problem.k.batchStride = problem.v.batchStride = problem.k.headStride;
    }
    extra.apply(problem);
    return problem;
}

} // namespace

std::string driverSizeNames() { return namesOf(sizes); }

std::string driverExtraNames() { return namesOf(extras); }

DriverProblemLists usualDriverProblems() {
    return {{"auto", "scalar", "standard", "coopmat", "decode", "key_outer"},
            {"f32", "f16", "q8_0"},
            {64, 80, 128, 256, latentDim},
            {"prefill", "few", "decode"},
            {"none", "causal", "backward"}};
}

DriverProblemLists problemsOfEachTile() {
    DriverProblemLists lists{{"auto"},
                             {"f32", "f16", "q8_0"},
                             {latentDim, 512, 320},
                             {"prefill", "few", "decode", "short", "grouped", "tiny", "draft", "shared"},
                             {"causal", "terms", "backward-terms"}};
    constexpr uint32_t most = 256; // on all paths but decode
    constexpr uint32_t step = 16;
    constexpr uint32_t odd = 6; // rows of such head dimensions are not whole words
    for (uint32_t dim = most; dim >= step; dim -= step) {
        lists.dims.push_back(dim);
        lists.dims.push_back(dim - odd);
    }
    return lists;
}

std::vector<DriverProblem> driverProblems(const DriverProblemLists& lists) {
    std::vector<DriverProblem> problems;
    for (const std::string& path : lists.paths)
        for (const std::string& type : lists.types)
            for (const uint32_t dim : lists.dims)
                for (const std::string& size : lists.sizes)
                    for (const std::string& extra : lists.extras) {
                        const Extra& added = named("--extras", extras, extra);
                        const VkfProblem problem = problemOf(path, type, dim, named("--sizes", sizes, size), added);
                        if (vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS)
                            problems.push_back({fmt::format("{} {} D={} {} {}", path, type, dim, size, extra), problem,
                                                added.backward, fmt::format("{} {} {}", type, extra, dim % 8 == 0)});
                    }
    return problems;
}

} // namespace vkf::tools
