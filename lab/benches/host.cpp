// SPDX-License-Identifier: MIT
//
// vkflash_lab host: CPU time of recording a call, and of making a plan with and without cached pipelines. Nothing
// runs on the device.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "benches/benches.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "measure/own_objects.hpp"
#include "measure/timing.hpp"
#include "shapes/bench_shapes.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

struct HostOptions {
    ProblemGrid grid = {
        .shape = {.heads = 16}, .rows = {4096}, .dims = {64, 128, 256}, .types = {"f16"}, .paths = {"auto"}};
    size_t calls = 8192;
    DeviceFlags device;
    ReportOptions report;
};

// Drivers keep compiled shaders on disk. A second start of this program would load them and would not measure the
// compilation. Drivers read these variables when they are loaded. A variable that the user has set stays.
void switchOffDriverCaches() {
    constexpr std::pair<const char*, const char*> switches[] = {
        {"__GL_SHADER_DISK_CACHE", "0"},       // NVIDIA
        {"MESA_SHADER_CACHE_DISABLE", "true"}, // Mesa
    };
    for (const auto& [name, value] : switches) {
#if defined(_WIN32)
        if (std::getenv(name) == nullptr)
            _putenv_s(name, value);
#else
        setenv(name, value, 0);
#endif
    }
}

double secondsOf(const std::function<void()>& work) {
    const Stopwatch time;
    work();
    return time.seconds();
}

struct HostResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    // The first context, without pipelines.
    double contextSeconds = 0;
    // A plan in a new context with an empty pipeline cache. Measured once, because it fills the cache.
    double coldSeconds = 0;
    // A plan in a new context with the cache that the first plan filled.
    Timing filledCache;
    // A plan in a context that has the pipelines.
    Timing sameContext;
    // Recording one call with all steps.
    Timing record;
};

// The addresses point to no memory. This bench never submits, so no device reads them.
VkfBindings madeUpBindings(const VkfProblem& problem, VkDeviceSize scratchBytes) {
    auto bindings = make<VkfBindings>();
    VkDeviceAddress next = VkDeviceAddress{1} << 32;
    for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v, &bindings.o, &bindings.lse, &bindings.scratch}) {
        binding->address = next;
        next += VkDeviceAddress{1} << 32;
    }
    if (!has(problem, VKF_USE_LSE))
        bindings.lse = {};
    bindings.scratch.size = scratchBytes;
    return bindings;
}

// A command buffer that is never submitted.
class Recording {
public:
    explicit Recording(const host::Device& device) : device_(device) {
        VkCommandPoolCreateInfo pool{};
        pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool.queueFamilyIndex = device.queueFamily();
        check(load<PFN_vkCreateCommandPool>(device, "vkCreateCommandPool")(device.handle(), &pool, nullptr, &pool_),
              "vkCreateCommandPool");
        VkCommandBufferAllocateInfo buffer{};
        buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        buffer.commandPool = pool_;
        buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        buffer.commandBufferCount = 1;
        const auto allocate = load<PFN_vkAllocateCommandBuffers>(device, "vkAllocateCommandBuffers");
        check(allocate(device.handle(), &buffer, &commands_), "vkAllocateCommandBuffers");
    }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { load<PFN_vkDestroyCommandPool>(device_, "vkDestroyCommandPool")(device_.handle(), pool_, nullptr); }

    // Begins a recording and drops the earlier one.
    VkCommandBuffer begin() {
        const auto reset = load<PFN_vkResetCommandPool>(device_, "vkResetCommandPool");
        check(reset(device_.handle(), pool_, 0), "vkResetCommandPool");
        VkCommandBufferBeginInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        check(load<PFN_vkBeginCommandBuffer>(device_, "vkBeginCommandBuffer")(commands_, &info),
              "vkBeginCommandBuffer");
        return commands_;
    }

private:
    const host::Device& device_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

Timing measureRecording(const host::Device& device, const Plan& plan, const VkfBindings& bindings, size_t calls) {
    constexpr size_t callsInBuffer = 256; // as in a long command buffer of an application
    Recording recording(device);
    std::vector<double> times;
    times.reserve(calls);
    VkCommandBuffer commands = nullptr;
    const auto record = [&] {
        if (vkfCmdAttention(commands, plan.get(), &bindings, nullptr) != VKF_SUCCESS)
            fail("recording failed");
    };
    commands = recording.begin();
    for (size_t i = 0; i < callsInBuffer; ++i) // warms up
        record();
    for (size_t i = 0; i < calls; ++i) {
        if (i % callsInBuffer == 0)
            commands = recording.begin();
        times.push_back(secondsOf(record));
    }
    return timingOf(std::move(times));
}

HostResult measureHost(const host::Device& device, const std::string& tuning, const VkfProblem& problem, size_t calls,
                       const std::function<void()>& progress) {
    constexpr TimingOptions plans = {.warmUps = 1, .maxRuns = 1000, .seconds = 0.2};
    HostResult result;
    result.problem = problem;
    const PipelineCache cache(device);
    Context context;
    Plan plan;
    result.contextSeconds = secondsOf([&] { context = createContext(device, cache, tuning); });
    result.coldSeconds = secondsOf([&] { plan = createPlan(context, problem); });
    result.plan = planInfo(plan);
    progress();
    result.sameContext = measure([&] { return secondsOf([&] { createPlan(context, problem); }); }, plans);
    result.filledCache = measure(
        [&] {
            const Context fresh = createContext(device, cache, tuning);
            Plan again;
            return secondsOf([&] { again = createPlan(fresh, problem); });
        },
        plans);
    progress();
    result.record = measureRecording(device, plan, madeUpBindings(problem, result.plan.scratchBytes), calls);
    progress();
    return result;
}

// ---- Output ------------------------------------------------------------------------------------------------

void printHostHeading() {
    fmt::print("{:<6}{:>5}  {:<10}{:>6}{:>13}{:>13}{:>15}{:>15}{:>10}{:>10}\n", "type", "D", "path", "steps",
               "cold plan", "filled cache", "same context", "record median", "least", "spread");
}

void printRow(const HostResult& result) {
    fmt::print("{:<6}{:>5}  {:<10}{:>6}{:>13}{:>13}{:>15}{:>15}{:>10}{:>9.1f}%\n", vkfTypeName(result.problem.q.type),
               result.problem.headDim, vkfPathName(result.plan.path), result.plan.stepCount,
               timeText(result.coldSeconds), timeText(result.filledCache.median), timeText(result.sameContext.median),
               timeText(result.record.median), timeText(result.record.least), result.record.spread * 100);
    std::fflush(stdout);
}

Json json(const HostResult& result) {
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.plan.path)},
                 {"plan", result.plan.description},
                 {"steps", result.plan.stepCount},
                 {"contextSeconds", result.contextSeconds},
                 {"coldPlanSeconds", result.coldSeconds},
                 {"filledCachePlanSeconds", result.filledCache.median},
                 {"sameContextPlanSeconds", result.sameContext.median},
                 {"recordNanoseconds", result.record.median * 1e9},
                 {"recordLeastNanoseconds", result.record.least * 1e9},
                 {"recordSpread", result.record.spread},
                 {"recordedCalls", result.record.runs}});
    return json;
}

void benchHost(const HostOptions& options) {
    const std::vector<VkfProblem> problems = problemsOf(options.grid);
    if (options.calls == 0)
        failInput("--calls 0: takes a number of at least 1");
    checkReport(options.report);
    switchOffDriverCaches();
    const host::Device device = openDevice(options.device);
    const std::string tuning = loadTuning(options.device.tuning);
    fmt::print("device  {}, {}\n", device.summary().name, device.summary().driver);
    printHostHeading();
    Progress progress("host");
    Json results = Json::array();
    for (const VkfProblem& problem : problems) {
        const double share = static_cast<double>(results.size()) / static_cast<double>(problems.size());
        const HostResult result = measureHost(device, tuning, problem, options.calls, [&] { progress.update(share); });
        progress.hide();
        printRow(result);
        results.push_back(json(result));
    }
    if (options.device.validation)
        checkValidation(device);
    writeReport(options.report, "host", device.summary(), {{"results", std::move(results)}});
}

} // namespace

void addHostCommand(CLI::App& program, Action& action) {
    const auto [command, options] =
        addCommand<HostOptions>(program, action, "host", "CPU time of recording a call and of making a plan.",
                                "vkflash_lab host --dims 128", benchHost);
    addGridOptions(*command, options->grid);
    addValue(*command, "--calls", options->calls, "number of calls to record");
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    addReportOptions(*command, options->report);
}

} // namespace vkf::tools
