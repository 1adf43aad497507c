// SPDX-License-Identifier: MIT
#include "bench/function_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "cli/error.hpp"
#include "cli/text.hpp"
#include "vkflash/problem.hpp"

namespace vkf::tools {

namespace {

constexpr int32_t documentCount = 16;
constexpr int32_t largestKernel = 13; // of neighbourhoods in the image
constexpr int32_t window = 1023;      // keys before a row
constexpr int32_t dilation = 4;
constexpr float softcap = 50;

std::string text(int32_t number) { return std::to_string(number); }

ExampleConstants none(const VkfProblem& /*plain*/) { return {}; }

int32_t prefixOf(const VkfProblem& plain) { return static_cast<int32_t>(plain.keys) / 8; }

// The keys are the pixels of an image.
ExampleConstants imageOf(const VkfProblem& plain) {
    const auto keys = static_cast<int32_t>(plain.keys);
    int32_t width = 1;
    while (int64_t{width} * width * 4 <= keys)
        width *= 2;
    const int32_t height = (keys + width - 1) / width;
    const int32_t kernel = std::min(largestKernel, (std::min(width, height) - 1) / 2 * 2 + 1);
    return {{"WIDTH", text(width)}, {"HEIGHT", text(height)}, {"KERNEL", text(kernel)}};
}

// The document of each key.
std::vector<int32_t> documentsOf(const VkfProblem& plain) {
    std::vector<int32_t> documents;
    for (uint64_t key = 0; key < plain.keys; ++key)
        documents.push_back(static_cast<int32_t>(key * documentCount / plain.keys));
    return documents;
}

void setCausal(ExtraCall& call) { call.problem.use |= VKF_USE_CAUSAL; }

void setWindow(ExtraCall& call) {
    call.problem.window = {window, 0, 0};
    call.problem.use |= VKF_USE_WINDOW;
}

void setSoftcap(ExtraCall& call) { call.problem.softcap = softcap; }

void setAlibi(ExtraCall& call) { call.problem.use |= VKF_USE_ALIBI; }

void setDocuments(ExtraCall& call) {
    call.problem.use |= VKF_USE_CAUSAL;
    enable(call.problem, VKF_USE_DOCUMENT_IDS);
    const std::vector<int32_t> documents = documentsOf(call.problem);
    for (uint32_t sequence = 0; sequence < call.problem.batch; ++sequence)
        call.extras.documents.insert(call.extras.documents.end(), documents.begin(), documents.end());
}

void setPrefix(ExtraCall& call) {
    call.problem.window = {-1, 0, static_cast<uint32_t>(prefixOf(call.problem))};
    call.problem.use |= VKF_USE_WINDOW;
}

using Constants = ExampleConstants;

const std::array<BenchFunction, 8>& table() {
    static const std::array<BenchFunction, 8> rows = {{
        {"causal", "masks/causal.glsl", none, setCausal},
        {"window", "masks/sliding_window.glsl",
         [](const VkfProblem&) {
             return Constants{{"WINDOW", text(window)}};
         },
         setWindow},
        {"softcap", "scores/softcap.glsl",
         [](const VkfProblem&) {
             return Constants{{"CAP", std::to_string(softcap)}};
         },
         setSoftcap},
        {"alibi", "scores/alibi_signed.glsl",
         [](const VkfProblem& plain) {
             return Constants{{"HEADS", std::to_string(plain.queryHeads)}};
         },
         setAlibi, true},
        {"documents", "masks/document.glsl", none, setDocuments, false, true, true},
        {"prefix", "masks/prefix_lm.glsl",
         [](const VkfProblem& plain) {
             return Constants{{"PREFIX", text(prefixOf(plain))}};
         },
         setPrefix},
        {"natten", "masks/natten.glsl", imageOf, nullptr, false, false, true},
        {"dilated", "masks/dilated_window.glsl",
         [](const VkfProblem&) {
             return Constants{{"WINDOW", text(window)}, {"DILATION", text(dilation)}};
         },
         nullptr, false, false, true},
    }};
    return rows;
}

// Calls visit(row, key, kept) for each pair of a head.
template <typename Visit>
void forEachPair(const VkfReferenceFunctions& formulas, const VkfProblem& plain, const Visit& visit) {
    VkfPosition at{0, 0, 0, 0, 0, static_cast<int32_t>(plain.queryRows), static_cast<int32_t>(plain.keys)};
    for (uint32_t row = 0; row < plain.queryRows; ++row) {
        at.row = static_cast<int32_t>(row) + at.keys - at.rows;
        for (uint32_t key = 0; key < plain.keys; ++key) {
            at.key = static_cast<int32_t>(key);
            visit(row, key, formulas.keep(&at, formulas.user) != 0);
        }
    }
}

} // namespace

std::vector<BenchFunction> selectFunctions(const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (std::none_of(table().begin(), table().end(), [&](const BenchFunction& one) { return name == one.name; }))
            failInput("--only {}: takes some of {}", name, namesOf(table()));
    std::vector<BenchFunction> selected;
    for (const BenchFunction& function : table())
        if (names.empty() || std::find(names.begin(), names.end(), function.name) != names.end())
            selected.push_back(function);
    return selected;
}

ExampleContext contextOf(const BenchFunction& function, const VkfProblem& plain) {
    const std::vector<int32_t> documents = documentsOf(plain);
    return {{{documents.begin(), documents.end()}}, valuesOf(function.constants(plain))};
}

functions::Source sourceOf(const BenchFunction& function, const VkfProblem& plain) {
    functions::Source source{exampleText(function.file, function.constants(plain)), function.file, {}};
    if (function.readsDocuments)
        source.arrays.push_back(functions::functionArray("document", VKF_ELEMENT_I32));
    return source;
}

ExtraCall functionCall(const BenchFunction& function, const VkfProblem& plain, VkfFunctions handle) {
    ExtraCall call{plain};
    call.problem.functions = handle;
    enable(call.problem, VKF_USE_FUNCTIONS);
    enable(call.problem, VKF_USE_CAUSAL, function.isCausal);
    if (function.readsDocuments) {
        const std::vector<int32_t> documents = documentsOf(plain);
        const auto bytes = std::as_bytes(std::span(documents));
        call.extras.functionArrays.emplace_back(bytes.begin(), bytes.end());
    }
    return call;
}

ExtraCall builtInCall(const BenchFunction& function, const VkfProblem& plain) {
    ExtraCall call{plain};
    enable(call.problem, VKF_USE_CAUSAL, function.isCausal);
    function.useBuiltIn(call);
    return call;
}

ExtraCall maskCall(const VkfReferenceFunctions& formulas, const VkfProblem& plain) {
    ExtraCall call{plain};
    call.problem.mask = {VKF_TYPE_BOOL8, 0, 0, 0, plain.keys};
    enable(call.problem, VKF_USE_MASK);
    call.extras.mask.resize(vkfGetArrayBytes(&call.problem, VKF_ARRAY_MASK));
    forEachPair(formulas, plain, [&](uint32_t row, uint32_t key, bool kept) {
        call.extras.mask[uint64_t{row} * plain.keys + key] = std::byte{static_cast<unsigned char>(kept ? 1 : 0)};
    });
    return call;
}

double keptPairs(const VkfReferenceFunctions& formulas, const VkfProblem& plain) {
    double pairs = 0;
    if (formulas.keep != nullptr)
        forEachPair(formulas, plain, [&](uint32_t, uint32_t, bool kept) { pairs += kept ? 1 : 0; });
    return pairs;
}

} // namespace vkf::tools
