// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "cli/error.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/problem_measure.hpp"
#include "soak/soak.hpp"

namespace vkf::tools {

namespace {

constexpr uint32_t shortestRows = 1024;
constexpr uint32_t growth = 4;      // of rows from one call to the next
constexpr uint32_t checkedRows = 8; // on the CPU

struct LongCall {
    uint32_t rows = 0;
    uint32_t steps = 0;
    double longestStep = 0; // seconds of the host's clock
    VkfVerdict verdict{};
};

VkfProblem longProblem(const host::Device& device, uint32_t rows) {
    auto problem = make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = problem.kvHeads = 1;
    problem.queryRows = problem.keys = rows;
    problem.headDim = 128;
    problem.use |= VKF_USE_CAUSAL;
    problem.q = problem.k = problem.v = problem.o = dense(VKF_TYPE_F16);
    if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS)
        problem.q = problem.k = problem.v = problem.o = dense(VKF_TYPE_F32); // the device stores no 16-bit types
    return problem;
}

LongCall runLongCall(host::Device& device, uint32_t rows, Progress& progress) {
    const VkfProblem problem = longProblem(device, rows);
    const host::Plan plan(device, problem);
    BenchMemory memory(device);
    memory.prepare(problem, plan.info().scratchBytes, 1);
    LongCall call = {rows, plan.info().stepCount};
    for (uint32_t step = 0; step < call.steps; ++step) {
        const Stopwatch time;
        runStep(device, plan, memory.bindings(0), step);
        call.longestStep = std::max(call.longestStep, time.seconds());
        progress.update(static_cast<double>(step + 1) / call.steps);
    }
    call.verdict = verifyResult(problem, memory.download(0), plan.info(), checkedRows);
    requirePassed(call.verdict, fmt::format("{} rows, {}", rows, plan.info().description));
    return call;
}

} // namespace

SoakReport soakLong(const DeviceFlags& flags, uint32_t rows, const Deadline& deadline) {
    Progress progress("long sequence");
    host::Device device = openDevice(flags);
    LongCall longest;
    std::string why;
    for (uint32_t next = std::min(shortestRows, rows); longest.rows < rows; next = std::min(next * growth, rows)) {
        const Stopwatch time;
        try {
            longest = runLongCall(device, next, progress);
        } catch (const host::Error& error) {
            if (error.result() != VKF_ERROR_OUT_OF_DEVICE_MEMORY || longest.rows == 0)
                throw;
            why = "; no memory for more";
            break;
        }
        if (longest.rows < rows && time.seconds() * growth * growth > deadline.left()) { // operations grow as squares
            why = "; no time for more";
            break;
        }
    }
    if (flags.validation)
        checkValidation(device);
    return {fmt::format("long     {} rows and keys, causal, D = 128: {} steps, longest {}, right: {}{}\n", longest.rows,
                        longest.steps, timeText(longest.longestStep),
                        errorText(longest.verdict.oError, longest.verdict.oBound), why)};
}

} // namespace vkf::tools
