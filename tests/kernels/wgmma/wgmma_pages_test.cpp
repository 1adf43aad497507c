// SPDX-License-Identifier: MIT
//
// Path wgmma with k and v in pages, against the reference and against the same keys without pages. Devices without the
// path skip these tests. The random tests and the pairs of features draw pages too.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/wgmma/checked_call.hpp"
#include "support/call.hpp"
#include "support/lists/block_tables.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;

constexpr std::array types = {VKF_TYPE_F16, VKF_TYPE_BF16};
constexpr std::array dims = {64U, 128U, 256U};
// Powers of two and others, smaller and larger than the tiles.
constexpr std::array pageSizes = {1U, 7U, 16U, 20U, 64U, 100U, 256U, 1000U};

VkfProblem pagedProblem(const vkf::test::Shape& shape, uint32_t pageSize) {
    VkfProblem problem = problemOf(shape);
    vkf::test::setPages(problem, pageSize, 3);
    return problem;
}

// Some entries that keys need are not pages.
void removePages(Inputs& inputs) {
    for (size_t i = 2; i < inputs.blockTable.size(); i += 5) {
        inputs.blockTable[i] = i % 2 == 0 ? -1 : std::numeric_limits<int32_t>::max();
    }
}

// Fills a page of k and v, of every KV head.
void fillPage(const VkfProblem& problem, Inputs& inputs, uint64_t page, double number) {
    for (const VkfTensorRole role : {VKF_TENSOR_K, VKF_TENSOR_V}) {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        std::vector<std::byte>& bytes = role == VKF_TENSOR_K ? inputs.k : inputs.v;
        for (uint64_t i = page * layout.batchStride; i < (page + 1) * layout.batchStride; i++) {
            vkfStoreElement(layout.type, bytes.data(), i, number);
        }
    }
}

struct Feature {
    const char* name;
    void (*set)(VkfProblem& p, Data& data);
};

const Feature features[] = {
    {"pages alone", [](VkfProblem&, Data&) {}},
    {"causal", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_CAUSAL); }},
    {"a window", [](VkfProblem& p, Data&) { vkf::test::setWindow(p, 100, 30); }},
    {"a window and first keys",
     [](VkfProblem& p, Data&) {
         vkf::test::setWindow(p, 100, 0);
         p.window.firstKeys = 11;
     }},
    {"key lengths",
     [](VkfProblem& p, Data& data) {
         vkf::enable(p, VKF_USE_KEY_LENGTHS | VKF_USE_CAUSAL);
         data.keyLengths = {0, 333};
     }},
    {"packed sequences",
     [](VkfProblem& p, Data& data) {
         vkf::test::setPacked(p, data, {200, 0, 193, 1, 40}, {});
         vkf::test::setPages(p, p.paging.pageSize, 3); // of more sequences
         vkf::enable(p, VKF_USE_KEY_LENGTHS | VKF_USE_CAUSAL);
         data.keyLengths = {400, 7, 333, 1, 65};
     }},
    {"softcap", [](VkfProblem& p, Data&) { p.softcap = 3.0F; }},
    {"ALiBi and sinks", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_ALIBI | VKF_USE_SINKS); }},
    {"key splits", [](VkfProblem& p, Data&) { p.kvSplits = 3; }},
    {"key splits under a mask",
     [](VkfProblem& p, Data&) {
         vkf::enable(p, VKF_USE_CAUSAL);
         p.kvSplits = 5;
     }},
    {"many steps", [](VkfProblem& p, Data&) { p.maxStepOperations = 1; }},
};

} // namespace

TEST_CASE("path wgmma agrees with the reference for pages with each feature, also where keys are absent",
          "[attention_wgmma]") {
    vkf::test::needWgmma();
    size_t turn = 0;
    for (const VkfType type : types) {
        for (const uint32_t dim : dims) {
            for (const Feature& feature : features) {
                for (const bool absent : {false, true}) {
                    INFO(feature.name << (absent ? ", some keys are absent" : ""));
                    Data data{.absentPages = false};
                    VkfProblem problem =
                        pagedProblem({2, 6, 2, 150, 400, dim, 0, type}, pageSizes[turn++ % pageSizes.size()]);
                    feature.set(problem, data);
                    vkf::test::endAtDiagonal(problem);
                    Inputs inputs = vkf::test::makeInputs(problem, data);
                    if (absent) {
                        removePages(inputs);
                    }
                    vkf::test::checkOnWgmma(problem, inputs);
                }
            }
        }
    }
}

TEST_CASE("on path wgmma pages give the bits of the same keys without pages", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        for (const uint32_t pageSize : pageSizes) {
            for (const bool causal : {false, true}) {
                VkfProblem problem = pagedProblem({2, 4, 2, 200, 700, dim, 0, VKF_TYPE_F16}, pageSize);
                vkf::enable(problem, VKF_USE_CAUSAL, causal);
                const Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
                VkfProblem plain{};
                const Inputs plainInputs = vkf::test::withoutPages(problem, inputs, &plain);
                const vkf::test::Outcome paged = vkf::test::checkOnWgmma(problem, inputs);
                const vkf::test::Outcome contiguous = vkf::test::checkOnWgmma(plain, plainInputs);
                CHECK(paged.o == contiguous.o);
                CHECK(paged.lse == contiguous.lse);
            }
        }
    }
}

TEST_CASE("on path wgmma keys of entries that are not pages are absent, whatever the last page holds",
          "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        for (const uint32_t pageSize : {3U, 16U, 256U}) {
            for (const float softcap : {0.0F, 5.0F}) {
                VkfProblem problem = pagedProblem({2, 4, 2, 130, 900, dim, 0, VKF_TYPE_F16}, pageSize);
                problem.softcap = softcap;
                Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
                const auto last = static_cast<int32_t>(problem.paging.pages - 1);
                std::replace(inputs.blockTable.begin(), inputs.blockTable.end(), last, last + 1);
                inputs.blockTable[0] = -1;
                fillPage(problem, inputs, problem.paging.pages - 1, std::numeric_limits<double>::quiet_NaN());
                vkf::test::checkOnWgmma(problem, inputs);
            }
        }
    }
}

TEST_CASE("on path wgmma infinity and NaN in pages of v reach the rows that see them", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        for (const bool absent : {false, true}) {
            VkfProblem problem = pagedProblem({1, 2, 1, 200, 300, dim, 0, VKF_TYPE_BF16}, 20);
            vkf::enable(problem, VKF_USE_CAUSAL);
            Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
            const VkfTensorLayout v = vkf::layoutOf(problem, VKF_TENSOR_V);
            for (const uint64_t key : {47U, 190U, 299U}) {
                const auto [page, row] = inputs.placeOf(problem, 0, key);
                vkfStoreElement(v.type, inputs.v.data(), page * v.batchStride + row * v.rowStride + key % 8,
                                key == 190 ? std::numeric_limits<double>::quiet_NaN()
                                           : std::numeric_limits<double>::infinity());
            }
            if (absent) {
                inputs.blockTable[47 / 20] = -5; // the infinity of key 47 is gone
            }
            vkf::test::checkOnWgmma(problem, inputs);
        }
    }
}

TEST_CASE("on path wgmma rows without any page have o = 0 and lse = -infinity", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        for (const uint32_t splits : {1U, 3U}) {
            VkfProblem problem = pagedProblem({2, 2, 1, 100, 500, dim, 0, VKF_TYPE_F16}, 16);
            problem.kvSplits = splits;
            Inputs inputs = vkf::test::makeInputs(problem, {});
            std::fill(inputs.blockTable.begin(), inputs.blockTable.end(), std::numeric_limits<int32_t>::min());
            const vkf::test::Outcome outcome = vkf::test::checkOnWgmma(problem, inputs);
            CHECK(std::all_of(outcome.o.begin(), outcome.o.end(), [](std::byte x) { return x == std::byte{0}; }));
            CHECK(
                std::all_of(outcome.lse.begin(), outcome.lse.end(), [](float x) { return std::isinf(x) && x < 0.0F; }));
        }
    }
}

TEST_CASE("on path wgmma one absent key among many entries is found", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        for (const size_t entry : {size_t{0}, size_t{511}, size_t{4100}, size_t{8999}}) {
            VkfProblem problem = pagedProblem({1, 1, 1, 64, 9000, dim, 0, VKF_TYPE_F16}, 1);
            Inputs inputs = vkf::test::makeInputs(problem, {.magnitude = 3.0, .absentPages = false});
            inputs.blockTable.at(entry) = -1;
            vkf::test::checkOnWgmma(problem, inputs);
        }
    }
}

TEST_CASE("on path wgmma sequences may share pages", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : dims) {
        VkfProblem problem = pagedProblem({3, 8, 2, 70, 320, dim, 0, VKF_TYPE_BF16}, 16);
        Inputs inputs = vkf::test::makeInputs(problem, {.poisonInvisibleKeys = false, .absentPages = false});
        for (uint32_t sequence = 1; sequence < 3; sequence++) {
            const auto first = inputs.blockTable.begin();
            std::copy_n(first, 15, first + static_cast<std::ptrdiff_t>(sequence) * problem.paging.maxPages);
        }
        vkf::test::checkOnWgmma(problem, inputs);
    }
}
