// SPDX-License-Identifier: MIT
//
// Every fault in the C interface: each Vulkan call fails with each of its errors, each allocation fails, and each
// function is missing. The call says so, has written nothing, and works when it is tried again.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>

#include <array>
#include <cstring>

#include <vkflash/vkflash.hpp>

#include "faults/fault_sweep.hpp"
#include "support/call.hpp"
#include "support/device.hpp"

using namespace vkf::test;
using Catch::Matchers::IsEmpty;

namespace {

constexpr uintptr_t poisonNumber = 0xbad;

// A handle that no call may write when it fails.
template <typename Handle> Handle poisoned() {
    return reinterpret_cast<Handle>(poisonNumber); // NOLINT(performance-no-int-to-ptr)
}

// All that an application makes of a device. Each step is one call of the interface.
struct Application {
    Application() = default;
    ~Application() {
        vkfDestroyAppend(append);
        vkfDestroyMerge(merge);
        vkfDestroyBackward(backward);
        std::for_each(plans.begin(), plans.end(), vkfDestroyPlan);
        vkfDestroyContext(context);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    VkfContext context = nullptr;
    std::array<VkfPlan, 8> plans{};
    VkfBackward backward = nullptr;
    VkfMerge merge = nullptr;
    VkfAppend append = nullptr;
};

using Step = std::function<VkfResult(Application&, VkfMessage*)>;

// Calls create(&handle), checks that a failure leaves the handle alone, and keeps the handle of a success.
template <typename Handle, typename Create> VkfResult make(Handle* to, const Create& create) {
    auto handle = poisoned<Handle>();
    const VkfResult result = create(&handle);
    if (result == VKF_SUCCESS) {
        *to = handle;
    } else if (handle != poisoned<Handle>()) {
        FAIL_CHECK("a call that failed has written its handle");
    }
    return result;
}

// Tuning data for the test device.
std::string tuningText() {
    return tuningHead(testDevice()) +
           "scalar type=f32 masked=no headDim=1..100 valueDim=1..100 rows=0..9 keys=0..9 heads=0..9 "
           "groups=8 lanes=8 threadRows=4 threadKeys=4 chunkDim4=4 chunkKeys=8\n";
}

VkfResult getRequirements(Application&, VkfMessage* message) {
    VkfDeviceQuery query = queryOf(testDevice());
    query.getInstanceProcAddr = faultyEntry;
    VkfDeviceRequirements requirements;
    std::memset(&requirements, 0xbd, sizeof requirements);
    requirements.structSize = sizeof requirements;
    const VkfDeviceRequirements before = requirements;
    const VkfResult result = vkfGetDeviceRequirements(&query, &requirements, message);
    if (result == VKF_SUCCESS) {
        vkfFreeDeviceRequirements(&requirements);
    } else if (std::memcmp(&before, &requirements, sizeof before) != 0) {
        FAIL_CHECK("a call that failed has filled its struct");
    }
    return result;
}

VkfResult createContext(Application& to, VkfMessage* message) {
    static const std::string tuning = tuningText(); // made once, so that a run does not allocate it
    VkfContextCreateInfo info = contextInfo(testDevice());
    info.getInstanceProcAddr = faultyEntry;
    info.tuning = tuning.data();
    info.tuningBytes = tuning.size();
    return make(&to.context, [&](VkfContext* context) { return vkfCreateContext(&info, context, message); });
}

// One small problem for each path, and one with a map of tiles.
std::vector<VkfProblem> problems() {
    std::vector<VkfProblem> all;
    for (const VkfPath path :
         {VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER}) {
        all.push_back(problemOf({.H = 2, .Nq = 8, .Nk = 64, .type = VKF_TYPE_F16}));
        all.back().path = path;
    }
    all.front().kvSplits = 2;
    all.push_back(all.front());
    vkf::enable(all.back(), VKF_USE_MASK);
    all.back().mask.type = VKF_TYPE_BOOL8;
    all.back().mask.rowStride = 64;
    return all;
}

// The step that creates plan `index`.
Step planStep(const VkfProblem& problem, size_t index) {
    return [problem, index](Application& to, VkfMessage* message) {
        return make(&to.plans.at(index),
                    [&](VkfPlan* plan) { return vkfCreatePlan(to.context, &problem, plan, message); });
    };
}

VkfResult checkSupport(Application& to, VkfMessage* message) {
    const VkfProblem problem = problemOf({.H = 2, .Nq = 8, .Nk = 64});
    return vkfCheckSupport(to.context, &problem, message);
}

VkfResult checkDeviceSupport(Application&, VkfMessage* message) {
    VkfDeviceQuery query = queryOf(testDevice());
    query.getInstanceProcAddr = faultyEntry;
    const VkfProblem problem = problemOf({.H = 2, .Nq = 8, .Nk = 64});
    return vkfCheckDeviceSupport(&query, &problem, message);
}

VkfResult createBackward(Application& to, VkfMessage* message) {
    const VkfProblem forward = problemOf({.H = 2, .Nq = 8, .Nk = 64, .type = VKF_TYPE_F16});
    auto problem = vkf::make<VkfBackwardProblem>();
    problem.forward = &forward;
    const VkfResult supported = vkfCheckBackwardSupport(to.context, &problem, message);
    return supported != VKF_SUCCESS ? supported : make(&to.backward, [&](VkfBackward* backward) {
        return vkfCreateBackward(to.context, &problem, backward, message);
    });
}

VkfResult createMerge(Application& to, VkfMessage* message) {
    auto problem = vkf::make<VkfMergeProblem>();
    problem.partials = problem.heads = problem.dim = problem.batch = problem.rows = 2;
    return make(&to.merge, [&](VkfMerge* merge) { return vkfCreateMerge(to.context, &problem, merge, message); });
}

VkfResult createAppend(Application& to, VkfMessage* message) {
    auto problem = vkf::make<VkfAppendProblem>();
    problem.batch = problem.kvHeads = problem.queryHeads = problem.rows = 2;
    problem.keys = problem.headDim = 8;
    problem.rotary.pairs = VKF_ROTARY_HALVES;
    problem.use = VKF_USE_QUERIES;
    return make(&to.append, [&](VkfAppend* append) { return vkfCreateAppend(to.context, &problem, append, message); });
}

std::vector<Step> allSteps() {
    std::vector<Step> steps = {getRequirements, checkDeviceSupport, createContext, checkSupport};
    const std::vector<VkfProblem> all = problems();
    for (size_t i = 0; i < all.size(); i++) {
        steps.push_back(planStep(all[i], i));
    }
    steps.insert(steps.end(), {createBackward, createMerge, createAppend});
    return steps;
}

Attempt attempt(const Step& step, Application& application) {
    VkfMessage message{};
    const VkfResult result = step(application, &message);
    return {result, message.text};
}

// Runs all steps. Calls failed(step, attempt) for the step that the fault hits.
void runSteps(Application& application, const std::function<void(const Step&, const Attempt&)>& failed) {
    for (const Step& step : allSteps()) {
        const Attempt tried = attempt(step, application);
        if (tried.result != VKF_SUCCESS) {
            failed(step, tried);
            if (tried.result == VKF_ERROR_DEVICE_LOST) {
                return;
            }
        }
    }
}

} // namespace

TEST_CASE("each Vulkan call of the library fails once, with each of its errors", "[faults]") {
    std::vector<std::string> calls;
    {
        const Faults faults({}, Compiler::madeUp);
        Application application;
        runSteps(application, [](const Step&, const Attempt& tried) { FAIL(tried.message); });
        calls = faults.calls();
    }
    REQUIRE(std::count(calls.begin(), calls.end(), "vkCreateComputePipelines") > 10);
    forEachError(calls, [](const Fault& fault) {
        INFO(textOf(fault));
        const Faults faults(fault, Compiler::madeUp);
        size_t failures = 0;
        {
            Application application;
            runSteps(application, [&](const Step& step, const Attempt& tried) {
                failures++;
                CHECK(tried.result == libraryResult(fault.result));
                checkMessage(tried.message, fault.function);
                const size_t before = faults.calls().size();
                const Attempt again = attempt(step, application);
                const bool lost = tried.result == VKF_ERROR_DEVICE_LOST;
                CHECK(again.result == (lost ? VKF_ERROR_DEVICE_LOST : VKF_SUCCESS));
                CHECK((!lost || faults.calls().size() == before));
            });
        }
        CHECK(faults.happened());
        CHECK(failures ==
              (fault.function == "vkSetDebugUtilsObjectNameEXT" ? 0 : 1)); // a name is lost, and nothing else
        checkNothingLeft();
    });
}

TEST_CASE("a list that grows while the library reads it is read again", "[faults]") {
    const auto countCalls = [](const std::string& function, uint64_t incomplete) {
        const Faults faults({.function = function, .call = incomplete, .result = VK_INCOMPLETE}, Compiler::madeUp);
        Application application;
        CHECK_THAT(attempt(createContext, application).message, IsEmpty());
        return faults.count(function);
    };
    for (const char* list :
         {"vkEnumerateDeviceExtensionProperties", "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"}) {
        INFO(list);
        CHECK(countCalls(list, 0) == 2); // the first call only counts
        CHECK(countCalls(list, 1) == 4);
    }
}

TEST_CASE("each allocation of the library fails once", "[faults]") {
    {
        // What the steps allocate once for themselves.
        const Faults faults({}, Compiler::madeUp);
        Application application;
        runSteps(application, [](const Step&, const Attempt& tried) { FAIL(tried.message); });
    }
    for (size_t number = 0; number < allSteps().size(); number++) {
        INFO("step " << number);
        const Step step = allSteps()[number];
        const size_t allocations = forEachAllocation([&](size_t index) {
            const Faults faults({}, Compiler::madeUp);
            Application application;
            // A plan needs a context. The context of each run is new, so that the run compiles.
            if (number > 2) {
                REQUIRE(attempt(createContext, application).result == VKF_SUCCESS);
            }
            VkfMessage message{};
            bool failed = false;
            VkfResult result = VKF_SUCCESS;
            {
                const FailingAllocation failing(index);
                result = step(application, &message);
                failed = failing.happened();
            }
            if (failed) {
                CHECK(result == VKF_ERROR_OUT_OF_HOST_MEMORY);
                CHECK(std::string(message.text) == "out of host memory");
            }
            if (failed || result != VKF_SUCCESS) {
                CHECK_THAT(attempt(step, application).message, IsEmpty());
            }
            return failed;
        });
        checkNothingLeft();
        CHECK(allocations > 2);
    }
}

TEST_CASE("each function that the library needs is missing once", "[faults]") {
    std::vector<std::string> functions;
    {
        const Faults faults({}, Compiler::madeUp);
        Application application;
        REQUIRE(attempt(createContext, application).result == VKF_SUCCESS);
        functions = faults.functions();
    }
    for (const std::string& function : functions) {
        INFO(function);
        const Faults faults({.missing = function}, Compiler::madeUp);
        Application application;
        const Attempt tried = attempt(createContext, application);
        CHECK(faults.happened());
        // Functions of extensions.
        if (function == "vkSetDebugUtilsObjectNameEXT" || function.find("Cu") != std::string::npos) {
            CHECK_THAT(tried.message, IsEmpty());
        } else {
            CHECK(tried.result == VKF_ERROR_MISSING_FEATURE);
            CHECK_THAT(tried.message, !IsEmpty());
        }
    }
    checkNothingLeft();
}
