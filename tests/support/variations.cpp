// SPDX-License-Identifier: MIT
#include "support/variations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "device/matrix_support.hpp"
#include "support/call.hpp"
#include "support/lacking.hpp"

namespace vkf::test {

bool hasBf16x3() {
    static const bool has = [] {
        VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64, 0, VKF_TYPE_F32});
        problem.path = VKF_PATH_COOPMAT;
        return vkfCheckSupport(testDevice().context(), &problem, nullptr) == VKF_SUCCESS;
    }();
    return has;
}

host::Device& deviceOf(const Variation& variation) {
    const bool real = (variation.quirks & VKF_QUIRK_FP16X3) != 0 && hasBf16x3();
    return testDevice(real ? 0 : variation.quirks, variation.maxSharedMemoryBytes);
}

void apply(const Variation& variation, VkfProblem& problem) {
    problem.path = variation.path;
    problem.precision = variation.precision;
}

namespace {

// By per-key masks.
bool isMaskedByKey(const VkfProblem& problem) {
    const bool firstKeys = vkf::has(problem, VKF_USE_WINDOW) && problem.window.firstKeys != 0;
    return has(problem, VKF_USE_MASK) || has(problem, VKF_USE_DOCUMENT_IDS) || firstKeys;
}

// The variations by number. Three neighbours are of three paths.
constexpr std::array<size_t, std::size(variations)> turns = {0, 4, 6, 3, 1, 5, 7, 9, 2, 8, bf16x3Variation};

size_t nextTurn = 0;

// A test case runs on the same variations alone and among others.
class TurnListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override { nextTurn = info.name.size(); }
};

CATCH_REGISTER_LISTENER(TurnListener)

} // namespace

bool takes(const Variation& variation, const VkfProblem& problem) {
    if (leavesOut(deviceOf(variation), variation.path)) {
        return false;
    }
    if (variation.path != VKF_PATH_COOPMAT) {
        const bool knowsBlocks = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_DECODE;
        const bool knowsMasks = variation.path != VKF_PATH_STANDARD;
        const bool knowsPacked = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER;
        return (knowsPacked || !has(problem, VKF_USE_CU_SEQLENS)) &&
               (knowsBlocks || !has(problem, VKF_USE_BLOCK_MASK)) && (knowsMasks || !isMaskedByKey(problem));
    }
    VkfProblem onMatrices = problem;
    onMatrices.path = variation.path;
    const bool supported = vkfCheckSupport(deviceOf(variation).context(), &onMatrices, nullptr) == VKF_SUCCESS;
    const bool bf16x3 = (variation.quirks & VKF_QUIRK_FP16X3) != 0;
    if (bf16x3 != usesBf16x3(problem)) {
        return false;
    }
    if (bf16x3) {
        return supported;
    }
    const VkfType type = problem.k.type; // an fp32 q is rounded to it
    const bool fits = problem.q.type == type || problem.q.type == VKF_TYPE_F32;
    if (type == VKF_TYPE_F32 || !fits || problem.v.type != type) {
        return false;
    }
    return type == VKF_TYPE_F16 || supported;
}

std::vector<const Variation*> variationsInTurn(const VkfProblem& problem, size_t most) {
    most = wholeSweeps() ? turns.size() : most;
    std::vector<const Variation*> chosen;
    for (size_t tried = 0; tried < turns.size() && chosen.size() < most; tried++) {
        const Variation& variation = variations[turns[nextTurn++ % turns.size()]];
        if (takes(variation, problem)) {
            chosen.push_back(&variation);
        }
    }
    return chosen;
}

std::vector<uint32_t> inTurn(std::initializer_list<uint32_t> numbers) {
    std::vector<uint32_t> chosen(numbers);
    if (!wholeSweeps()) {
        std::rotate(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(nextTurn % chosen.size()),
                    chosen.end());
        chosen.resize(1);
        nextTurn += chosen.size();
    }
    return chosen;
}

} // namespace vkf::test
