// SPDX-License-Identifier: MIT
//
// Every allocation of the CPU reference fails once. The call says so, and works when it is tried again.
#include <catch2/catch_test_macros.hpp>

#include <vkflash/reference.h>

#include "faults/fault_sweep.hpp"
#include "reference/backward_cases.hpp"
#include "support/call.hpp"
#include "support/reference.hpp"

using namespace vkf::test;

namespace {

// Checks run(message), a call of the reference, with each allocation of this thread failing. Other threads of the
// reference run at the same time.
template <typename Run> void checkAllocations(const Run& run) {
    VkfMessage message{};
    const size_t allocations = forEachAllocation([&](size_t index) {
        VkfResult result = VKF_SUCCESS;
        bool failed = false;
        {
            const FailingAllocation failing(index);
            result = run(&message);
            failed = failing.happened();
        }
        // Without memory for a thread, the other threads do its work.
        if (result != VKF_SUCCESS) {
            CHECK(failed);
            CHECK(result == VKF_ERROR_OUT_OF_HOST_MEMORY);
            CHECK(std::string(message.text) == "out of host memory");
        }
        CHECK(run(nullptr) == VKF_SUCCESS);
        return failed;
    });
    CHECK(allocations > 5);
}

VkfReferenceOptions optionsOf(VkfReferenceAlgorithm algorithm) {
    VkfReferenceOptions options = referenceOptions(algorithm, 16, 16);
    options.threads = 2;
    return options;
}

} // namespace

TEST_CASE("each allocation of the reference fails once", "[faults]") {
    const VkfProblem problem = problemOf({.H = 2, .Nq = 48, .Nk = 48, .D = 64}); // enough work for two threads
    const Inputs inputs = makeInputs(problem, {});
    const VkfReferenceInputs memory = inputs.reference();
    const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_O);
    std::vector<double> o(layout.elements);
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const VkfReferenceOptions options = optionsOf(algorithm);
        checkAllocations([&](VkfMessage* message) {
            return vkfReferenceAttention(&problem, &memory, &options, o.data(), nullptr, message);
        });
    }
    const std::vector<float> result(layout.elements);
    const VkfReferenceOptions options = optionsOf(VKF_REFERENCE_DIRECT);
    checkAllocations([&](VkfMessage* message) {
        auto verdict = vkf::make<VkfVerdict>();
        return vkfReferenceVerify(&problem, &memory, &options, result.data(), nullptr, &verdict, message);
    });
}

TEST_CASE("each allocation of the reference's backward pass fails once", "[faults]") {
    const VkfProblem forward = problemOf({.H = 2, .Hkv = 2, .Nq = 8, .Nk = 8, .D = 8});
    const VkfBackwardProblem problem = backwardOf(forward);
    const Inputs inputs = makeInputs(forward, {});
    const BackwardInputs more = makeBackwardInputs(problem);
    const VkfReferenceInputs memory = inputs.reference();
    const VkfReferenceBackwardInputs backwardMemory = more.reference();
    std::vector<double> dk(vkf::layoutOf(forward, VKF_TENSOR_K).elements);
    auto gradients = vkf::make<VkfReferenceGradients>();
    gradients.dk = dk.data();
    for (const VkfReferenceAlgorithm algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED}) {
        const VkfReferenceOptions options = optionsOf(algorithm);
        checkAllocations([&](VkfMessage* message) {
            return vkfReferenceBackward(&problem, &memory, &backwardMemory, &options, &gradients, message);
        });
    }
}
