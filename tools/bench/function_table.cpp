// SPDX-License-Identifier: MIT
#include "bench/function_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "cli/error.hpp"
#include "cli/text.hpp"
#include "vkflash/problem.hpp"

namespace vkf::tools {

namespace {

constexpr int32_t documentCount = 16;
constexpr int32_t largestKernel = 13; // of neighbourhoods in the image
constexpr double softcap = 50;

using At = const VkfPosition*;

const FunctionNumbers& numbersIn(void* user) { return *static_cast<const FunctionNumbers*>(user); }

VkfReferenceFunctions mask(int32_t (*keep)(At at, void* user)) {
    VkfReferenceFunctions formulas{};
    formulas.keep = keep;
    return formulas;
}

VkfReferenceFunctions curve(double (*score)(double s, At at, void* user),
                            double (*derivative)(double s, At at, void* user)) {
    VkfReferenceFunctions formulas{};
    formulas.score = score;
    formulas.scoreDerivative = derivative;
    return formulas;
}

std::string text(int32_t number) { return std::to_string(number); }

ExampleConstants none(const FunctionNumbers& /*numbers*/) { return {}; }

void setCausal(const FunctionNumbers& /*numbers*/, ExtraCall& call) { call.problem.use |= VKF_USE_CAUSAL; }

void setWindow(const FunctionNumbers& numbers, ExtraCall& call) {
    call.problem.window = {numbers.window, 0, 0};
    call.problem.use |= VKF_USE_WINDOW;
}

void setSoftcap(const FunctionNumbers& /*numbers*/, ExtraCall& call) {
    call.problem.softcap = static_cast<float>(softcap);
}

void setAlibi(const FunctionNumbers& /*numbers*/, ExtraCall& call) { call.problem.use |= VKF_USE_ALIBI; }

void setDocuments(const FunctionNumbers& numbers, ExtraCall& call) {
    call.problem.use |= VKF_USE_CAUSAL;
    enable(call.problem, VKF_USE_DOCUMENT_IDS);
    for (uint32_t sequence = 0; sequence < call.problem.batch; ++sequence)
        call.extras.documents.insert(call.extras.documents.end(), numbers.documents.begin(), numbers.documents.end());
}

void setPrefix(const FunctionNumbers& numbers, ExtraCall& call) {
    call.problem.use |= VKF_USE_CAUSAL;
    call.problem.window = {-1, 0, static_cast<uint32_t>(numbers.prefix)};
    call.problem.use |= VKF_USE_WINDOW;
}

// Whether a key lies in the window around a row, along one side of the image.
bool isNear(int32_t row, int32_t key, int32_t size, int32_t kernel) {
    const int32_t centre = std::clamp(row, kernel / 2, size - 1 - kernel / 2);
    return std::abs(centre - key) <= kernel / 2;
}

const std::array<BenchFunction, 8>& table() {
    static const std::array<BenchFunction, 8> rows = {{
        {"causal", "masks/causal.glsl", none, mask([](At at, void*) -> int32_t { return at->key <= at->row; }),
         setCausal},
        {"window", "masks/sliding_window.glsl",
         [](const FunctionNumbers& numbers) -> ExampleConstants {
             return {{"WINDOW", text(numbers.window)}};
         },
         mask([](At at, void* user) -> int32_t {
             return at->key <= at->row && at->row - at->key <= numbersIn(user).window;
         }),
         setWindow},
        {"softcap", "scores/softcap.glsl",
         [](const FunctionNumbers&) -> ExampleConstants {
             return {{"CAP", std::to_string(softcap)}};
         },
         curve([](double s, At, void*) { return softcap * std::tanh(s / softcap); },
               [](double s, At, void*) { return 1.0 - std::pow(std::tanh(s / softcap), 2.0); }),
         setSoftcap},
        {"alibi", "scores/alibi_signed.glsl",
         [](const FunctionNumbers& numbers) -> ExampleConstants {
             return {{"HEADS", text(numbers.heads)}};
         },
         curve(
             [](double s, At at, void* user) {
                 return s + std::exp2(-8.0 * (at->head + 1) / numbersIn(user).heads) * (at->key - at->row);
             },
             [](double, At, void*) { return 1.0; }),
         setAlibi, true},
        {"documents", "masks/document.glsl", none, mask([](At at, void* user) -> int32_t {
             const std::vector<int32_t>& documents = numbersIn(user).documents;
             return at->key <= at->row &&
                    documents[static_cast<size_t>(at->row)] == documents[static_cast<size_t>(at->key)];
         }),
         setDocuments, false, true, true},
        {"prefix", "masks/prefix_lm.glsl",
         [](const FunctionNumbers& numbers) -> ExampleConstants {
             return {{"PREFIX", text(numbers.prefix)}};
         },
         mask([](At at, void* user) -> int32_t { return at->key < numbersIn(user).prefix || at->key <= at->row; }),
         setPrefix},
        {"natten", "masks/natten.glsl",
         [](const FunctionNumbers& numbers) -> ExampleConstants {
             return {
                 {"WIDTH", text(numbers.width)}, {"HEIGHT", text(numbers.height)}, {"KERNEL", text(numbers.kernel)}};
         },
         mask([](At at, void* user) -> int32_t {
             const FunctionNumbers& n = numbersIn(user);
             return isNear(at->row % n.width, at->key % n.width, n.width, n.kernel) &&
                    isNear(at->row / n.width, at->key / n.width, n.height, n.kernel);
         }),
         nullptr, false, false, true},
        {"dilated", "masks/dilated_window.glsl",
         [](const FunctionNumbers& numbers) -> ExampleConstants {
             return {{"WINDOW", text(numbers.window)}, {"DILATION", text(numbers.dilation)}};
         },
         mask([](At at, void* user) -> int32_t {
             const int32_t distance = std::abs(at->row - at->key);
             return distance <= numbersIn(user).window && distance % numbersIn(user).dilation == 0;
         }),
         nullptr, false, false, true},
    }};
    return rows;
}

// Calls visit(row, key, kept) for each pair of a head.
template <typename Visit>
void forEachPair(const BenchFunction& function, FunctionNumbers& numbers, const VkfProblem& plain, const Visit& visit) {
    VkfPosition at{0, 0, 0, 0, 0, static_cast<int32_t>(plain.queryRows), static_cast<int32_t>(plain.keys)};
    for (uint32_t row = 0; row < plain.queryRows; ++row) {
        at.row = static_cast<int32_t>(row) + at.keys - at.rows;
        for (uint32_t key = 0; key < plain.keys; ++key) {
            at.key = static_cast<int32_t>(key);
            visit(row, key, function.formulas.keep(&at, &numbers) != 0);
        }
    }
}

} // namespace

FunctionNumbers numbersOf(const VkfProblem& problem) {
    FunctionNumbers numbers;
    const auto keys = static_cast<int32_t>(problem.keys);
    numbers.heads = static_cast<int32_t>(problem.queryHeads);
    numbers.prefix = keys / 8;
    while (int64_t{numbers.width} * numbers.width * 4 <= keys)
        numbers.width *= 2;
    numbers.height = (keys + numbers.width - 1) / numbers.width;
    numbers.kernel = std::min(largestKernel, (std::min(numbers.width, numbers.height) - 1) / 2 * 2 + 1);
    for (int64_t key = 0; key < keys; ++key)
        numbers.documents.push_back(static_cast<int32_t>(key * documentCount / keys));
    return numbers;
}

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

functions::Source sourceOf(const BenchFunction& function, const FunctionNumbers& numbers) {
    functions::Source source{exampleText(function.file, function.constants(numbers)), function.file, {}};
    if (function.readsDocuments)
        source.arrays.push_back(functions::functionArray("document", VKF_ELEMENT_I32));
    return source;
}

ExtraCall functionCall(const BenchFunction& function, const FunctionNumbers& numbers, const VkfProblem& plain,
                       VkfFunctions handle) {
    ExtraCall call{plain};
    call.problem.functions = handle;
    enable(call.problem, VKF_USE_FUNCTIONS);
    enable(call.problem, VKF_USE_CAUSAL, function.isCausal);
    if (function.readsDocuments) {
        const auto* const first = reinterpret_cast<const std::byte*>(numbers.documents.data());
        call.extras.functionArrays.emplace_back(first, first + numbers.documents.size() * sizeof(int32_t));
    }
    return call;
}

ExtraCall builtInCall(const BenchFunction& function, const FunctionNumbers& numbers, const VkfProblem& plain) {
    ExtraCall call{plain};
    enable(call.problem, VKF_USE_CAUSAL, function.isCausal);
    function.useBuiltIn(numbers, call);
    return call;
}

ExtraCall maskCall(const BenchFunction& function, FunctionNumbers& numbers, const VkfProblem& plain) {
    ExtraCall call{plain};
    call.problem.mask = {VKF_TYPE_BOOL8, 0, 0, 0, plain.keys};
    enable(call.problem, VKF_USE_MASK);
    call.extras.mask.resize(vkfGetArrayBytes(&call.problem, VKF_ARRAY_MASK));
    forEachPair(function, numbers, plain, [&](uint32_t row, uint32_t key, bool kept) {
        call.extras.mask[uint64_t{row} * plain.keys + key] = std::byte{static_cast<unsigned char>(kept ? 1 : 0)};
    });
    return call;
}

double keptPairs(const BenchFunction& function, FunctionNumbers& numbers, const VkfProblem& plain) {
    double pairs = 0;
    if (function.formulas.keep != nullptr)
        forEachPair(function, numbers, plain, [&](uint32_t, uint32_t, bool kept) { pairs += kept ? 1 : 0; });
    return pairs;
}

} // namespace vkf::tools
