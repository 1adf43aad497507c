// SPDX-License-Identifier: MIT
//
// Each pair of features on every path (kernels/pairs.hpp), and a check that the list of calls has all pairs.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "kernels/pairs.hpp"
#include "pipelines/shader_table.hpp"
#include "pipelines/variant.hpp"
#include "vkflash/vkflash.h"

namespace {

using vkf::test::Design;
using vkf::test::designs;
using vkf::test::Levels;
using vkf::test::PairedCall;
using vkf::test::Variation;
using vkf::test::variations;

std::string textOf(const Levels& levels) {
    std::string text;
    for (size_t feature = 0; feature < levels.size(); feature++) {
        text += levels[feature] != 0 ? vkf::test::levelName(feature, levels[feature]) + "; " : "";
    }
    return text;
}

void run(const Design& design, size_t variationNumber, const Levels& levels, bool poisoned = true) {
    const Variation& variation = variations[variationNumber];
    vkf::host::Device& device = vkf::test::deviceOf(variation);
    PairedCall call = vkf::test::callOf(design, levels);
    apply(variation, call.problem);
    call.data.poisonInvisibleKeys = poisoned;
    if (vkfCheckSupport(device.context(), &call.problem, nullptr) != VKF_SUCCESS) {
        for (VkfTensor* tensor :
             {&call.problem.q, &call.problem.k, &call.problem.v}) { // a device without bf16 matrices
            tensor->type = tensor->type == VKF_TYPE_BF16 ? VKF_TYPE_F16 : tensor->type;
        }
    }
    INFO(variation.name << ": " << textOf(levels) << vkf::test::describe(call.problem));
    const vkf::test::Outcome outcome = vkf::test::runCall(device, call.problem, call.data);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// Runs calls without rows and without keys in the same way.
void runEmpty(const Variation& variation) {
    for (const vkf::test::Shape& shape : {vkf::test::Shape{2, 2, 1, 0, 40, 64}, {2, 2, 1, 9, 0, 64}}) {
        VkfProblem problem = vkf::test::problemOf(shape);
        problem.q.type = problem.k.type = problem.v.type = problem.o.type = VKF_TYPE_F16;
        apply(variation, problem);
        INFO(variation.name << ": " << vkf::test::describe(problem));
        CHECK(vkf::test::runCall(vkf::test::deviceOf(variation), problem).passed());
    }
}

void runDesign(const Design& design) {
    const std::vector<Levels> calls = vkf::test::wholeSweeps() ? callsOf(design) : fewCallsOf(design);
    for (size_t i = 0; i < calls.size(); i++) {
        for (size_t turn = 0; turn < design.variations.size(); turn++) {
            if (vkf::test::wholeSweeps() || turn == variationOf(design, i)) {
                run(design, design.variations[turn], calls[i]);
                if (design.bf16x3) { // NaN makes plain arithmetic compute all again
                    run(design, design.variations[turn], calls[i], false);
                }
            }
        }
    }
    for (const size_t variation : design.variations) {
        runEmpty(variations[variation]);
    }
}

// Names of all shaders that the designs' calls of the default suite run on described devices.
std::set<std::string> shadersOfDesigns() {
    std::set<std::string> names;
    for (const Design& design : designs()) {
        const std::vector<Levels> calls = fewCallsOf(design);
        for (size_t i = 0; i < calls.size(); i++) {
            for (size_t turn = 0; turn < design.variations.size(); turn++) {
                if (turn != variationOf(design, i)) {
                    continue;
                }
                const Variation& variation = variations[design.variations[turn]];
                VkfProblem problem = vkf::test::callOf(design, calls[i]).problem;
                apply(variation, problem);
                vkf::CheckedProblem checked{};
                vkf::AttentionPlan plan;
                REQUIRE(checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
                REQUIRE(makePlan({vkf::test::capsFor(variation)}, checked, &plan, nullptr) == VKF_SUCCESS);
                for (const vkf::Phase& phase : plan.phases) {
                    if (!vkf::traitsOf(phase.variant.kernel).launched) {
                        names.insert(shaderName(phase.variant));
                    }
                }
            }
        }
    }
    return names;
}

} // namespace

TEST_CASE("each pair of features on path scalar", "[pairs_scalar]") { runDesign(designs()[0]); }
TEST_CASE("each pair of features on path standard", "[pairs_standard]") { runDesign(designs()[1]); }
TEST_CASE("each pair of features on path coopmat", "[pairs_coopmat]") { runDesign(designs()[2]); }
TEST_CASE("each pair of features on path decode", "[pairs_decode]") { runDesign(designs()[3]); }
TEST_CASE("each pair of features on path decode in plain arithmetic", "[pairs_decode_plain]") {
    runDesign(designs()[4]);
}
TEST_CASE("each pair of features on path key_outer", "[pairs_key_outer]") { runDesign(designs()[5]); }
TEST_CASE("each pair of features of fp32 as bf16x3 on path coopmat", "[pairs_bf16x3]") { runDesign(designs()[6]); }
TEST_CASE("each pair of features on path wgmma", "[pairs_wgmma]") {
    vkf::test::needWgmma();
    runDesign(designs()[7]);
}

namespace {

// Refusals of the library: one feature, or two together, on the paths of designs whose name starts with this text.
struct Refusal {
    const char* design;
    const char* feature;
    const char* other;
};

constexpr Refusal refusals[] = {
    {"", "head dimensions", "k and v"}, // rows of block types consist of whole blocks
    {"scalar", "pages", "block mask"},
    {"coopmat", "pages", "block mask"},
    {"scalar", "sequences", "block mask"},
    {"coopmat", "sequences", "block mask"},
    {"scalar", "sequences", "probabilities"},
    {"coopmat", "sequences", "probabilities"},
    {"decode", "sequences", "probabilities"},
    {"decode", "block mask", nullptr},
    {"standard", "k and v", nullptr},
    {"standard", "pages", nullptr},
    {"standard", "sequences", nullptr},
    {"standard", "first keys", nullptr},
    {"standard", "documents", nullptr},
    {"standard", "mask", nullptr},
    {"standard", "block mask", nullptr},
    {"standard", "key splits", nullptr},
    {"bf16x3", "sequences", nullptr},
    {"bf16x3", "pages", "block mask"},
    {"key_outer", "k and v", nullptr},
    {"key_outer", "pages", nullptr},
    {"key_outer", "sequences", nullptr},
    {"key_outer", "key splits", nullptr},
    {"wgmma", "k and v", nullptr},
    {"wgmma", "documents", nullptr},
    {"wgmma", "mask", nullptr},
    {"wgmma", "block mask", nullptr},
    {"wgmma", "bias", nullptr},
    {"wgmma", "factors of the bias", nullptr},
    {"wgmma", "dropout", nullptr},
    {"wgmma", "heads and sequences of biases and masks", nullptr},
    {"wgmma", "probabilities", nullptr},
    {"wgmma", "positions", nullptr},
    {"standard", "chosen keys", nullptr},
    {"key_outer", "chosen keys", nullptr},
    {"wgmma", "chosen keys", nullptr},
    {"bf16x3", "chosen keys", nullptr},
    {"coopmat", "chosen keys", "ALiBi"},
    {"", "chosen keys", "block mask"},
    {"", "chosen keys", "probabilities"},
    {"bf16x3", "key splits", nullptr}, // of a fixed number of keys
    {"wgmma", "key splits", nullptr},
    {"", "positions", "first keys"},
    {"", "positions", "documents"},
};

bool isListed(const Design& design, size_t a, size_t i, size_t b, size_t j) {
    const std::string first = vkf::test::featureName(a);
    const std::string second = vkf::test::featureName(b);
    return std::any_of(std::begin(refusals), std::end(refusals), [&](const Refusal& refusal) {
        const bool pair = refusal.other != nullptr && first == refusal.feature && second == refusal.other;
        const bool alone =
            refusal.other == nullptr && ((i != 0 && first == refusal.feature) || (j != 0 && second == refusal.feature));
        return std::string(design.name).starts_with(refusal.design) && (pair || alone);
    });
}

template <typename Visit> void forEachPair(const Design& design, const Visit& visit) {
    for (size_t a = 0; a < vkf::test::featureCount(); a++) {
        for (size_t b = a + 1; b < vkf::test::featureCount(); b++) {
            for (size_t i = 0; i < levelsOn(design, a); i++) {
                for (size_t j = 0; j < levelsOn(design, b); j++) {
                    INFO(design.name << ", " << vkf::test::levelName(a, i) << ", " << vkf::test::levelName(b, j));
                    visit(a, i, b, j);
                }
            }
        }
    }
}

// Shaders of calls that are not attention, and shaders of heads that only path decode supports. Their tests are
// merge_test.cpp, append_test.cpp, latent_test.cpp, backward_kernels_test.cpp, backward_bands_test.cpp,
// backward_lists_test.cpp and backward_map_test.cpp. Pairs have too few rows to convert block types before attention:
// dequantized_keys_test.cpp.
const std::set<std::string> shadersTestedElsewhere = {"merge_partials",
                                                      "merge_partials_storage16",
                                                      "append_rows",
                                                      "append_rows_storage16",
                                                      "advance_lengths",
                                                      "attention_latent_subgroups_storage16",
                                                      "backward_rows",
                                                      "backward_rows_storage16",
                                                      "backward_scalar",
                                                      "backward_scalar_storage16",
                                                      "backward_sinks",
                                                      "backward_coopmat_subgroups_storage16",
                                                      "backward_coopmat_via_shared_subgroups_storage16",
                                                      "backward_sums_subgroups_storage16",
                                                      "backward_scalar_listed_storage16",
                                                      "backward_coopmat_listed_subgroups_storage16",
                                                      "backward_sums_listed_subgroups_storage16",
                                                      "dequantize_keys_storage16",
                                                      "list_tiles"};

} // namespace

TEST_CASE("the calls have every pair of features that the library supports together", "[planning]") {
    for (const Design& design : designs()) {
        const std::vector<Levels> calls = callsOf(design);
        forEachPair(design, [&](size_t a, size_t i, size_t b, size_t j) {
            CHECK((!goTogether(design, a, i, b, j) ||
                   std::any_of(calls.begin(), calls.end(),
                               [&](const Levels& levels) { return levels[a] == i && levels[b] == j; })));
        });
        for (const Levels& levels : calls) {
            INFO(design.name << ", " << textOf(levels));
            CHECK(isPlanned(design, levels));
        }
        CHECK(calls.size() < 72); // more calls would take too long
    }
}

TEST_CASE("the few calls have every level of a feature, and every two features together", "[planning]") {
    for (const Design& design : designs()) {
        const std::vector<Levels> calls = fewCallsOf(design);
        const auto isShown = [&](const auto& has) { return std::any_of(calls.begin(), calls.end(), has); };
        for (size_t a = 0; a < vkf::test::featureCount(); a++) {
            INFO(design.name << ", " << vkf::test::featureName(a));
            for (size_t i = 0; i < levelsOn(design, a); i++) {
                const bool taken = goTogether(design, a, i, a == 0 ? 1 : 0, 0);
                CHECK((!taken || isShown([&](const Levels& levels) { return levels[a] == i; })));
            }
        }
        forEachPair(design, [&](size_t a, size_t i, size_t b, size_t j) {
            CHECK((i == 0 || j == 0 || !goTogether(design, a, i, b, j) ||
                   isShown([&](const Levels& levels) { return levels[a] != 0 && levels[b] != 0; })));
        });
        CHECK(calls.size() < 24);
    }
}

TEST_CASE("a pair of features is left out only where the library is known to refuse it", "[planning]") {
    for (const Design& design : designs()) {
        forEachPair(design, [&](size_t a, size_t i, size_t b, size_t j) {
            CHECK((goTogether(design, a, i, b, j) || isListed(design, a, i, b, j)));
        });
    }
}

TEST_CASE("every shader of the library is run by some call of the pairs or has tests of its own", "[planning]") {
    const std::set<std::string> run = shadersOfDesigns();
    for (size_t i = 0; i < vkf::shaderBinariesCount; i++) {
        const std::string name = vkf::shaderBinaries[i].name;
        INFO(name);
        CHECK(run.contains(name) != shadersTestedElsewhere.contains(name));
    }
}
