// SPDX-License-Identifier: MIT
//
// How kernels on matrices bring probabilities to 16 bits. The errors of many probabilities must cancel. v is 1
// everywhere, so that each element of o is the sum of the narrowed probabilities over their own sum, and o is fp32, so
// that its own rounding hides nothing.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/variations.hpp"

namespace {

using Bytes = std::vector<std::byte>;

// The largest distance of an element of o from 1.
double largestError(const VkfProblem& problem, const Bytes& o) {
    double largest = 0.0;
    const uint64_t elements = uint64_t{problem.batch} * problem.queryHeads * problem.queryRows * problem.valueDim;
    REQUIRE(o.size() == elements * sizeof(float));
    for (uint64_t i = 0; i < elements; i++) {
        largest = std::max(largest, std::abs(vkfLoadElement(VKF_TYPE_F32, o.data(), i) - 1.0));
    }
    return largest;
}

} // namespace

TEST_CASE("errors of narrow probabilities cancel", "[probability_rounding]") {
    uint32_t ran = 0;
    for (const size_t variation : {3U, 4U, 5U, 6U}) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            const uint32_t rows = variation == 6 ? 4 : 45;
            VkfProblem problem = vkf::test::problemOf({1, 2, 1, rows, 1500, 64, 64, type});
            problem.o.type = VKF_TYPE_F32;
            apply(vkf::test::variations[variation], problem);
            vkf::host::Device& device = vkf::test::deviceOf(vkf::test::variations[variation]);
            if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
                continue;
            }
            vkf::test::Data data;
            data.edit = [&](Bytes&, Bytes&, Bytes& v) {
                for (uint64_t i = 0; i < v.size() / 2; i++) {
                    vkfStoreElement(type, v.data(), i, 1.0);
                }
            };
            const vkf::test::Outcome outcome = vkf::test::runCall(device, problem, data);
            INFO(vkf::test::describe(problem));
            INFO(outcome.text());
            // A fifth of what one probability may be off: 2^-8 of itself with bf16, 2^-11 with fp16. The verdict's bound
            // is not for these inputs, because the reference runs in fp32 are exact for them.
            CHECK(largestError(problem, outcome.o) < (type == VKF_TYPE_BF16 ? 0.0008 : 0.0001));
            ran++;
        }
    }
    if (ran == 0) {
        SKIP("the device has no matrices");
    }
}
