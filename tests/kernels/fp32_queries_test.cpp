// SPDX-License-Identifier: MIT
//
// q in fp32 beside narrower k and v. Kernels on matrices round q while they stage it. Hard elements of q, all types of
// o, and rows of q that are not whole words, on every kernel.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Variation;
using Bytes = std::vector<std::byte>;

constexpr uint32_t signallingBits = 0x7f800001U; // a NaN whose upper half alone would be an infinity
constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

// One problem for each kernel that has matrices: its variation, query rows and head dimensions.
struct OnMatrices {
    const char* name;
    size_t variation;
    uint32_t rows, headDim, valueDim;
};
constexpr OnMatrices kernels[] = {
    {"coopmat", 4, 37, 64, 64},      {"coopmat through shared memory", 5, 37, 64, 64},
    {"standard", 3, 37, 64, 64},     {"decode on matrices", 6, 3, 64, 64},
    {"wide decode", 6, 3, 320, 264},
};

const Variation& variationOf(const OnMatrices& kernel) { return vkf::test::variations[kernel.variation]; }

VkfProblem problemFor(const OnMatrices& kernel, VkfType type) {
    VkfProblem problem = problemOf({1, 2, 1, kernel.rows, 100, kernel.headDim, kernel.valueDim, VKF_TYPE_F32});
    problem.k.type = problem.v.type = type;
    apply(variationOf(kernel), problem);
    return problem;
}

// Whether the device runs the kernel on matrices of the type.
bool multiplies(const OnMatrices& kernel, VkfType type) {
    const VkfProblem problem = problemFor(kernel, type);
    vkf::host::Device& device = vkf::test::deviceOf(variationOf(kernel));
    return vkfCheckSupport(device.context(), &problem, nullptr) == VKF_SUCCESS &&
           vkf::host::Plan(device, problem).info().productType == type;
}

Outcome check(const OnMatrices& kernel, const VkfProblem& problem, const Data& data) {
    Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variationOf(kernel)), problem, data);
    INFO(kernel.name << ": " << vkf::test::describe(problem));
    INFO(outcome.text());
    CHECK(outcome.passed());
    return outcome;
}

template <typename Visit> void forEachKernel(const Visit& visit) {
    for (const OnMatrices& kernel : kernels) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            // Each type on each kernel, but for one that takes far longer to compile than others.
            const bool usual = type == VKF_TYPE_F16 || variationOf(kernel).quirks == 0 || vkf::test::wholeSweeps();
            if (usual && multiplies(kernel, type)) {
                visit(kernel, type);
            }
        }
    }
}

void setElement(Bytes& q, uint64_t element, double value) { vkfStoreElement(VKF_TYPE_F32, q.data(), element, value); }

} // namespace

TEST_CASE("every kernel on matrices takes an fp32 q beside fp16", "[fp32_queries]") {
    vkf::test::skipWithoutDevice();
    for (const OnMatrices& kernel : kernels) {
        INFO(kernel.name);
        CHECK(
            (multiplies(kernel, VKF_TYPE_F16) || kernel.headDim > 256)); // a CPU's vectors may be too wide for the last
    }
}

TEST_CASE("o of each type beside an fp32 q, in words and as elements", "[fp32_queries]") {
    const std::vector<VkfType> types = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};
    size_t count = 0;
    forEachKernel([&](const OnMatrices& kernel, VkfType type) {
        for (const VkfType ofO : vkf::test::eachNth(types, types.size(), count++ % types.size())) {
            VkfProblem problem = problemFor(kernel, type);
            problem.o.type = ofO;
            problem.scale = ofO == VKF_TYPE_F16 ? -0.2F : 0.0F; // its sign goes into q
            vkf::enable(problem, VKF_USE_CAUSAL, ofO == VKF_TYPE_F32);
            check(kernel, problem, {});
        }
    });
}

TEST_CASE("rows of an fp32 q that are not whole words", "[fp32_queries]") {
    const std::vector<uint32_t> dims = {65, 67, 72};
    size_t count = 0;
    forEachKernel([&](const OnMatrices& kernel, VkfType type) {
        if (kernel.headDim > 256) {
            return; // such rows are for plain arithmetic
        }
        for (const uint32_t dim : vkf::test::eachNth(dims, dims.size(), count++ % dims.size())) {
            for (const uint64_t gap : {0U, 3U}) {
                VkfProblem problem = problemFor(kernel, type);
                problem.headDim = dim;
                problem.q.rowStride = dim + gap;
                problem.q.headStride = problem.q.rowStride * problem.queryRows;
                problem.q.batchStride = problem.q.headStride * problem.queryHeads;
                check(kernel, problem, {});
            }
        }
    });
}

TEST_CASE("an fp32 q is rounded to nearest on its way to matrices", "[fp32_queries]") {
    // Each row of q has one element, and k and v are equal and exact. The score is the rounded element, up to fp32.
    forEachKernel([](const OnMatrices& kernel, VkfType type) {
        VkfProblem problem = problemFor(kernel, type);
        problem.scale = 1.0F;
        const double ulp = type == VKF_TYPE_F16 ? 0x1p-10 : 0x1p-7;
        const std::array<double, 6> parts = {0.49, 0.51, -0.49, -0.51, 0.99, 0.01};
        const auto elementOf = [&](uint64_t row) {
            return 1.25 + ulp * (static_cast<double>(row % 9) + parts[row % parts.size()]);
        };
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            for (uint64_t i = 0; i < uint64_t{problem.queryHeads} * problem.queryRows; i++) {
                for (uint64_t d = 0; d < problem.headDim; d++) {
                    const double x = elementOf(i);
                    setElement(q, i * problem.headDim + d, d == i % 7 ? (i % 2 == 0 ? x : -x) : 0.0);
                }
            }
            for (uint64_t i = 0; i < uint64_t{problem.keys} * problem.headDim; i++) {
                vkfStoreElement(type, k.data(), i, 1.0);
            }
        };
        const Outcome outcome = check(kernel, problem, data);
        for (uint64_t i = 0; i < outcome.lse.size(); i++) {
            const double rounded = std::nearbyint(elementOf(i) / ulp) * ulp * (i % 2 == 0 ? 1.0 : -1.0);
            INFO(kernel.name << ' ' << vkfTypeName(type) << " row " << i);
            CHECK(std::abs(static_cast<double>(outcome.lse[i]) - (rounded + std::log(100.0))) < 2e-6);
        }
    });
}

TEST_CASE("a NaN in an fp32 q reaches its own row alone, whatever its bits", "[fp32_queries]") {
    forEachKernel([](const OnMatrices& kernel, VkfType type) {
        for (const bool signalling : {false, true}) {
            Data data;
            data.edit = [&](Bytes& q, Bytes&, Bytes&) {
                const uint64_t element = uint64_t{kernel.rows - 1} * kernel.headDim + 17;
                setElement(q, element, quietNaN);
                if (signalling) {
                    std::memcpy(q.data() + element * sizeof(float), &signallingBits, sizeof(float));
                }
            };
            check(kernel, problemFor(kernel, type), data);
        }
    });
}

TEST_CASE("an fp32 q past the largest fp16 is infinite in fp16 matrices and finite elsewhere", "[fp32_queries]") {
    forEachKernel([](const OnMatrices& kernel, VkfType type) {
        // 1e30 stays finite in bf16, and its scores are past the limit of docs/semantics.md.
        for (const double value : {65519.0, 65520.0, -1e5, type == VKF_TYPE_F16 ? 1e30 : 1e7}) {
            VkfProblem problem = problemFor(kernel, type);
            problem.scale = 1e-5F;
            Data data;
            data.edit = [&](Bytes& q, Bytes&, Bytes&) { setElement(q, 5, value); };
            const Outcome outcome = check(kernel, problem, data);
            INFO(kernel.name << ' ' << vkfTypeName(type) << ' ' << value);
            // A row with infinite scores of both signs is NaN.
            CHECK(std::isnan(outcome.lse[0]) == (type == VKF_TYPE_F16 && std::abs(value) >= 65520.0));
            CHECK(std::isfinite(outcome.lse[1]));
        }
    });
}

TEST_CASE("scores past the limit of matrix kernels leave other rows alone", "[fp32_queries]") {
    forEachKernel([](const OnMatrices& kernel, VkfType type) {
        const auto outputOf = [&](double value) {
            const VkfProblem problem = problemFor(kernel, type);
            vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
            setElement(inputs.q, 5, value);
            return vkf::test::runUnjudged(vkf::test::deviceOf(variationOf(kernel)), problem, inputs);
        };
        const Outcome huge = outputOf(1e30);
        const Outcome usual = outputOf(1.0);
        INFO(kernel.name << ' ' << vkfTypeName(type));
        // Rows of one subgroup change m together, which changes how tiny probabilities are rounded.
        bool close = true;
        for (uint64_t i = 1; i < huge.lse.size(); i++) {
            close = close && std::abs(static_cast<double>(huge.lse[i]) - usual.lse[i]) < 1e-5;
        }
        for (uint64_t i = kernel.valueDim; i < huge.o.size() / sizeof(float); i++) {
            close = close && std::abs(vkfLoadElement(VKF_TYPE_F32, huge.o.data(), i) -
                                      vkfLoadElement(VKF_TYPE_F32, usual.o.data(), i)) < 1e-5;
        }
        CHECK(close);
    });
}

TEST_CASE("path scalar does not round an fp32 q beside an fp16 k", "[fp32_queries]") {
    VkfProblem plain = problemOf({1, 1, 1, 37, 100, 64, 64, VKF_TYPE_F32});
    plain.k.type = plain.v.type = VKF_TYPE_F16;
    plain.precision = VKF_PRECISION_FP32;
    plain.scale = 1e-5F;
    Data data;
    data.edit = [](Bytes& q, Bytes&, Bytes&) { setElement(q, 5, 1e5); };
    const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), plain, data);
    INFO(outcome.text());
    CHECK(outcome.passed());
    CHECK(outcome.plan.productType == VKF_TYPE_F32);
    CHECK(std::isfinite(outcome.lse[0]));
}
