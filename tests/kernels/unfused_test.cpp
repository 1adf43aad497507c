// SPDX-License-Identifier: MIT
//
// Specific to the unfused path: probabilities as an output, and P in 16 bits between its passes.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/probabilities.hpp"
#include "support/variations.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::Data;
using vkf::test::problemOf;

struct Case {
    const char* name;
    VkfProblem problem;
    Data data{};
};

template <typename Change> VkfProblem with(VkfProblem problem, const Change& change) {
    change(problem);
    return problem;
}

std::vector<Case> casesOf(VkfType type) {
    return {
        {"many heads", problemOf({2, 4, 2, 37, 53, 40, 24, type})},
        {"one key", problemOf({1, 1, 1, 3, 1, 8, 0, type})},
        {"causal", with(problemOf({1, 2, 1, 90, 130, 64, 0, type}), [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; })},
        {"window, top-left, softcap", with(problemOf({1, 1, 1, 150, 150, 64, 0, type}),
                                           [](VkfProblem& p) {
                                               p.alignment = VKF_ALIGNMENT_TOP_LEFT;
                                               p.use |= VKF_USE_WINDOW;
                                               p.window.left = 20;
                                               p.window.right = 3;
                                               p.softcap = 5.0F;
                                           })},
        {"empty rows and an empty sequence",
         with(problemOf({3, 1, 1, 20, 30, 32, 0, type}),
              [](VkfProblem& p) {
                  p.use |= VKF_USE_CAUSAL;
                  vkf::enable(p, VKF_USE_KEY_LENGTHS);
              }),
         Data{.keyLengths = {30, 7, 0}}},
        {"a row longer than the registers of a workgroup", problemOf({1, 1, 1, 3, 37001, 8, 0, type})},
        {"large scores", with(problemOf({1, 1, 1, 65, 130, 64, 0, type}), [](VkfProblem& p) { p.scale = 1.0F; }),
         Data{.magnitude = 35.0}},
    };
}

void checkProbabilities(VkfProblem problem, const Data& data) {
    problem.path = VKF_PATH_STANDARD;
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    INFO(vkf::test::describe(problem));
    const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, data);
    const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    INFO(outcome.text());
    CHECK(outcome.passed());
    const vkf::test::ProbabilitiesVerdict verdict =
        vkf::test::judgeProbabilities(problem, inputs, outcome.probabilities);
    INFO(verdict.text());
    CHECK(verdict.passed());
    // The library's verdict works alike, but its fp32 runs sum in another order.
    auto library = vkf::make<VkfProbabilitiesVerdict>();
    const VkfReferenceInputs given = inputs.reference();
    REQUIRE(vkfReferenceVerifyProbabilities(&problem, &given, nullptr, outcome.probabilities.data(), &library,
                                            nullptr) == VKF_SUCCESS);
    INFO("by the library " << library.error << " (bound " << library.bound << ")");
    CHECK(library.passed != 0);
}

} // namespace

TEST_CASE("the unfused path writes the probabilities", "[unfused]") {
    size_t first = 0;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const Case& c : vkf::test::eachNth(casesOf(type), 3, first++)) {
            DYNAMIC_SECTION(c.name << ", " << vkfTypeName(type)) { checkProbabilities(c.problem, c.data); }
        }
    }
}

TEST_CASE("a NaN in a key makes the probabilities of the rows that see it NaN, and no others", "[unfused]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
        problem.use |= VKF_USE_CAUSAL;
        Data data;
        data.edit = [type](auto&, auto& k, auto&) {
            vkfStoreElement(type, k.data(), 70 * 64 + 40, std::numeric_limits<double>::quiet_NaN());
        };
        checkProbabilities(problem, data);
    }
}

TEST_CASE("the unfused path multiplies on cooperative matrices wherever path coopmat could", "[unfused]") {
    vkf::host::Device& device = vkf::test::testDevice();
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16, VKF_TYPE_F32}) {
        VkfProblem problem = problemOf({1, 2, 2, 64, 64, 64, 0, type});
        problem.path = VKF_PATH_COOPMAT;
        const bool matrices = vkfCheckSupport(device.context(), &problem, nullptr) == VKF_SUCCESS;
        problem.path = VKF_PATH_STANDARD;
        CHECK(vkf::host::Plan(device, problem).info().productType == (matrices ? type : VKF_TYPE_F32));
        problem.q.type = VKF_TYPE_F32; // is rounded to the type of k and v
        CHECK(vkf::host::Plan(device, problem).info().productType == (matrices ? type : VKF_TYPE_F32));
        problem.precision = VKF_PRECISION_FP32;
        CHECK(vkf::host::Plan(device, problem).info().productType == VKF_TYPE_F32);
    }
}

// Every key but the last has 2^-20 of the last one's probability. Together these keys make a fiftieth of the row's o.
// In fp16 such numbers have only four bits, unless P carries a factor.
TEST_CASE("small probabilities keep their bits in P", "[unfused]") {
    VkfProblem problem = problemOf({1, 1, 1, 20, 20000, 8, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_STANDARD;
    problem.scale = 1.0F;
    problem.o.type = VKF_TYPE_F32;
    Data data;
    data.edit = [&](auto& q, auto& k, auto& v) {
        for (uint64_t i = 0; i < 20 * 8; i++) {
            vkfStoreElement(VKF_TYPE_F16, q.data(), i, i % 8 == 0 ? 1.0 : 0.0);
        }
        for (uint64_t j = 0; j < 20000; j++) {
            vkfStoreElement(VKF_TYPE_F16, k.data(), j * 8, j == 19999 ? 0.0 : -20.4 * std::log(2.0));
            for (uint64_t d = 0; d < 8; d++) {
                vkfStoreElement(VKF_TYPE_F16, v.data(), j * 8 + d,
                                j == 19999 ? 0.0 : 1.0 + 0.01 * static_cast<double>(j % 7));
            }
        }
    };
    const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, data);
    INFO(outcome.text());
    CHECK(outcome.passed());
}
