// SPDX-License-Identifier: MIT
//
// Inputs that break careless kernels: NaN beside what is visible, huge and equal scores, empty rows,
// outputs at the edge of their type.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/call.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::problemOf;

constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

using Bytes = std::vector<std::byte>;

// Sets one row of a dense single-head tensor.
void setRow(const VkfTensorLayout& layout, Bytes& bytes, uint64_t row, double value) {
    for (uint64_t d = 0; d < layout.dim; d++) {
        vkfStoreElement(layout.type, bytes.data(), row * layout.rowStride + d, value);
    }
}

void setAll(const VkfTensorLayout& layout, Bytes& bytes, double value) {
    for (uint64_t i = 0; i < layout.elements; i++) {
        vkfStoreElement(layout.type, bytes.data(), i, value);
    }
}

void check(VkfProblem problem, const Data& data) {
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        problem.path = variation.path;
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(variation.name << ": " << vkf::test::describe(problem));
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

float lseAt(const vkf::test::Outcome& outcome, size_t row) { return outcome.lse[row]; }

} // namespace

TEST_CASE("a NaN in a key reaches only the rows that see the key", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64});
    problem.causal = 1;
    Data data;
    data.edit = [&](Bytes&, Bytes& k, Bytes&) { setRow(vkfTensorLayout(&problem, VKF_TENSOR_K), k, 70, quietNaN); };
    check(problem, data);
}

TEST_CASE("a key with a huge score changes only the rows that see it", "[attention_hard]") {
    for (const double size : {1e6, 1e30, infinity}) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64});
        problem.causal = 1;
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            setAll(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 1.0);
            setRow(vkfTensorLayout(&problem, VKF_TENSOR_K), k, 70, size);
        };
        check(problem, data);
    }
}

TEST_CASE("a NaN or an infinity in a value reaches only the rows that see it", "[attention_hard]") {
    for (const double value : {quietNaN, infinity, -infinity}) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64});
        problem.causal = 1;
        Data data;
        data.edit = [&](Bytes&, Bytes&, Bytes& v) { setRow(vkfTensorLayout(&problem, VKF_TENSOR_V), v, 70, value); };
        check(problem, data);
    }
}

TEST_CASE("a NaN in a query reaches its own row alone", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64});
    Data data;
    data.edit = [&](Bytes& q, Bytes&, Bytes&) { setRow(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 33, quietNaN); };
    check(problem, data);
}

TEST_CASE("scores of magnitude 1e4 stay finite and right", "[attention_hard]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem problem = problemOf({1, 2, 1, 65, 130, 64, 0, type});
        problem.scale = 1.0F;
        check(problem, Data{.magnitude = 35.0}); // sqrt(64) * 35^2 is about 1e4
    }
}

TEST_CASE("equal scores give the mean of the values", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 40, 99, 64});
    Data data;
    data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
        setAll(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 0.0);
        setAll(vkfTensorLayout(&problem, VKF_TENSOR_K), k, 3.0);
    };
    check(problem, data);
}

TEST_CASE("one huge key takes all the weight", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 40, 99, 64});
    for (const double size : {100.0, 1e6}) {
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            setAll(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 1.0);
            setRow(vkfTensorLayout(&problem, VKF_TENSOR_K), k, 64, size);
        };
        check(problem, data);
    }
}

TEST_CASE("very negative scores in front of small ones leave no trace", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 40, 130, 16});
    Data data;
    data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
        setAll(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 1.0);
        for (uint64_t key = 0; key < 65; key++) {
            setRow(vkfTensorLayout(&problem, VKF_TENSOR_K), k, key, -1e30);
        }
    };
    check(problem, data);
}

TEST_CASE("keys with a score of minus infinity weigh nothing", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 40, 130, 16});
    Data data;
    data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
        setAll(vkfTensorLayout(&problem, VKF_TENSOR_Q), q, 1.0);
        for (uint64_t key = 0; key < 70; key++) {
            setRow(vkfTensorLayout(&problem, VKF_TENSOR_K), k, key, -infinity);
        }
    };
    check(problem, data);
}

TEST_CASE("rows that see no key are exactly zero with an lse of minus infinity", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 5, 2, 8});
    problem.causal = 1;
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        problem.path = variation.path;
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem);
        INFO(variation.name << ": " << outcome.text());
        CHECK(outcome.passed());
        for (size_t row = 0; row < 3; row++) {
            CHECK(lseAt(outcome, row) == -std::numeric_limits<float>::infinity());
            for (size_t d = 0; d < 8; d++) {
                CHECK(vkfLoadElement(VKF_TYPE_F32, outcome.o.data(), row * 8 + d) == 0.0);
            }
        }
        CHECK(std::isfinite(lseAt(outcome, 3)));
    }
}

TEST_CASE("an fp16 output saturates where the exact result overflows, and only there", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 4, 8, 8});
    problem.o.type = VKF_TYPE_F16;
    for (const double value : {65504.0, 65519.0, 65536.0, 1e30, -1e30}) {
        Data data;
        data.edit = [&](Bytes&, Bytes&, Bytes& v) { setAll(vkfTensorLayout(&problem, VKF_TENSOR_V), v, value); };
        check(problem, data);
    }
}

TEST_CASE("a bf16 output rounds to nearest even", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 4, 1, 64});
    problem.o.type = VKF_TYPE_BF16;
    Data data;
    // Values half-way between two bf16 numbers, with even and odd lower neighbours.
    data.edit = [&](Bytes&, Bytes&, Bytes& v) {
        for (uint64_t d = 0; d < 64; d++) {
            vkfStoreElement(VKF_TYPE_F32, v.data(), d, (128.0 + static_cast<double>(d) + 0.5) / 128.0);
        }
    };
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        problem.path = variation.path;
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        for (uint64_t d = 0; d < 64; d++) {
            std::byte expected[2];
            vkfStoreElement(VKF_TYPE_BF16, expected, 0, (128.0 + static_cast<double>(d) + 0.5) / 128.0);
            CHECK(std::memcmp(expected, outcome.o.data() + 2 * d, 2) == 0);
        }
    }
}

TEST_CASE("a bf16 output saturates where it would overflow, and keeps infinities and NaN", "[attention_hard]") {
    // Bits of fp32 values, and of the bf16 that each becomes.
    struct Edge {
        uint32_t stored;
        uint16_t expected;
    };
    const std::array edges = {Edge{0x7f7f7fff, 0x7f7f}, Edge{0x7f7f8000, 0x7f7f}, Edge{0x7f7fffff, 0x7f7f},
                              Edge{0xff7fffff, 0xff7f}, Edge{0x7f7e8000, 0x7f7e}, Edge{0x7f800000, 0x7f80},
                              Edge{0xff800000, 0xff80}};
    VkfProblem problem = problemOf({1, 1, 1, 4, 1, edges.size() + 1});
    problem.o.type = VKF_TYPE_BF16;
    Data data;
    data.edit = [&](Bytes&, Bytes&, Bytes& v) {
        for (size_t d = 0; d < edges.size(); d++) {
            std::memcpy(v.data() + sizeof(float) * d, &edges[d].stored, sizeof(float));
        }
        vkfStoreElement(VKF_TYPE_F32, v.data(), edges.size(), quietNaN);
    };
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        problem.path = variation.path;
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(variation.name);
        for (size_t d = 0; d < edges.size(); d++) {
            uint16_t stored = 0;
            std::memcpy(&stored, outcome.o.data() + sizeof stored * d, sizeof stored);
            INFO("value " << std::hex << edges[d].stored);
            CHECK(stored == edges[d].expected);
        }
        CHECK(std::isnan(vkfLoadElement(VKF_TYPE_BF16, outcome.o.data(), edges.size())));
    }
}

TEST_CASE("the same call gives the same bits every time", "[attention_hard]") {
    VkfProblem problem = problemOf({2, 4, 2, 113, 203, 72, 0, VKF_TYPE_F16});
    problem.causal = 1;
    problem.softcap = 10;
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        problem.path = variation.path;
        const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
        const vkf::test::Outcome first = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
        for (int i = 0; i < 3; i++) {
            const vkf::test::Outcome again = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
            CHECK(again.o == first.o);
            CHECK(again.lse == first.lse);
        }
    }
}
