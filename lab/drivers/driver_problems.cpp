// SPDX-License-Identifier: MIT
#include "drivers/driver_problems.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/options.hpp"

namespace vkf::tools {

namespace {

constexpr uint32_t latentDim = 576;
constexpr const char* backwardExtra = "backward";
constexpr const char* backwardTermsExtra = "backward-terms";
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

const Size& sizeOf(const std::string& name) {
    const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const Size& size) { return name == size.name; });
    if (found == sizes.end())
        failInput("--sizes: {} is none of prefill, few, decode, short, grouped, tiny, draft, shared", name);
    return *found;
}

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

void applyExtra(const std::string& extra, VkfProblem& problem) {
    if (extra == "none")
        return;
    if (extra == "causal" || extra == backwardExtra) {
        problem.use |= VKF_USE_CAUSAL;
    } else if (extra == "terms" || extra == backwardTermsExtra) {
        applyTerms(problem);
    } else if (extra == "window") {
        problem.window = {problem.keys / 2, problem.keys / 4, 0};
        problem.use |= VKF_USE_WINDOW;
    } else if (extra == "mask") {
        enable(problem, VKF_USE_MASK);
        problem.mask.type = VKF_TYPE_BOOL8;
        problem.mask.rowStride = problem.keys;
    } else if (extra == "bias") {
        enable(problem, VKF_USE_BIAS);
        problem.bias.type = VKF_TYPE_F16;
        problem.bias.rowStride = problem.keys;
    } else if (extra == "pages") {
        constexpr uint32_t pageSize = 64;
        enable(problem, VKF_USE_BLOCK_TABLE);
        problem.paging = {};
        problem.paging.pageSize = pageSize;
        problem.paging.maxPages = problem.keys / pageSize;
        problem.paging.pages = problem.batch * problem.paging.maxPages;
    } else {
        failInput("--extras: {} is none of none, causal, window, terms, mask, bias, pages, backward, backward-terms",
                  extra);
    }
}

VkfProblem problemOf(const std::string& path, const std::string& type, uint32_t dim, const Size& size,
                     const std::string& extra) {
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
    applyExtra(extra, problem);
    return problem;
}

} // namespace

DriverProblemLists usualDriverProblems() {
    return {{"auto", "scalar", "standard", "coopmat", "decode", "key_outer"},
            {"f32", "f16", "q8_0"},
            {64, 80, 128, 256, latentDim},
            {"prefill", "few", "decode"},
            {"none", "causal", backwardExtra}};
}

DriverProblemLists problemsOfEachTile() {
    DriverProblemLists lists{{"auto"},
                             {"f32", "f16", "q8_0"},
                             {latentDim, 512, 320},
                             {"prefill", "few", "decode", "short", "grouped", "tiny", "draft", "shared"},
                             {"causal", "terms", backwardTermsExtra}};
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
                        const VkfProblem problem = problemOf(path, type, dim, sizeOf(size), extra);
                        if (vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS)
                            problems.push_back({fmt::format("{} {} D={} {} {}", path, type, dim, size, extra), problem,
                                                extra == backwardExtra || extra == backwardTermsExtra,
                                                fmt::format("{} {} {}", type, extra, dim % 8 == 0)});
                    }
    return problems;
}

} // namespace vkf::tools
