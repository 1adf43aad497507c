// SPDX-License-Identifier: MIT
#include "bench_measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <mpi.h>

#include "part_files.hpp"
#include "tensors/random_tensors.hpp"

namespace vkf::mpi::program {
namespace {

using Tick = std::function<void()>;

Bytes randomBytes(VkfType type, uint64_t elements, uint64_t seed) {
    constexpr uint64_t blockElements = uint64_t{1} << 20;
    const Bytes block = tools::normalBlock(type, std::min(elements, blockElements), seed);
    Bytes bytes(elements * vkfTypeBytes(type));
    if (!bytes.empty()) {
        tools::repeatBlock(block, 0, bytes);
    }
    return bytes;
}

uint64_t rowsOf(const std::vector<Chunk>& chunks) {
    uint64_t rows = 0;
    for (const Chunk& chunk : chunks) {
        rows += chunk.rows;
    }
    return rows;
}

// Random tensors of so many rows and keys of the problem, or of a part of it.
struct Tensors {
    Tensors(const VkfProblem& problem, uint64_t queryRows, uint64_t keyCount)
        : rows(uint64_t{problem.batch} * problem.queryHeads * queryRows),
          keys(uint64_t{problem.batch} * problem.kvHeads * keyCount),
          q(randomBytes(problem.q.type, rows * problem.headDim, 1)),
          k(randomBytes(problem.k.type, keys * problem.headDim, 2)),
          v(randomBytes(problem.v.type, keys * problem.valueDim, 3)),
          o(rows * problem.valueDim * vkfTypeBytes(problem.o.type)), lse(rows) {}

    uint64_t bytes() const { return q.size() + k.size() + v.size() + o.size(); }

    uint64_t rows, keys;
    Bytes q, k, v, o;
    std::vector<float> lse;
};

VkfBackwardProblem backwardOf(const VkfProblem& problem) {
    auto backward = make<VkfBackwardProblem>();
    backward.forward = &problem;
    backward.dout = problem.o;
    backward.dq = problem.q;
    backward.dk = problem.k;
    backward.dv = problem.v;
    return backward;
}

// Times of runs until a limit is reached. `run` returns the seconds, equal on all ranks.
tools::Timing timeRuns(const BenchLimits& limits, const std::function<double()>& run, const Tick& tick) {
    constexpr double longRun = 1;
    constexpr double clockRise = 0.5; // the time in which the clock of a GPU rises that had nothing to do
    std::vector<double> times;
    double all = 0;
    const double first = run();
    for (double warm = first; warm < std::min(clockRise, limits.seconds);) {
        warm += run();
    }
    const uint32_t runs = first > longRun ? std::min(limits.runs, 2U) : limits.runs;
    while (times.empty() || (times.size() < runs && all < limits.seconds)) {
        times.push_back(run());
        all += times.back();
        tick();
    }
    return tools::timingOf(times);
}

// Runs `work` on all ranks at once. A run takes as long as its slowest rank.
void timeOverRanks(const BenchLimits& limits, const std::function<RunReport()>& work, const Tick& tick,
                   Measured& measured) {
    const auto run = [&] {
        MPI_Barrier(MPI_COMM_WORLD);
        const RunReport report = work();
        std::array<double, 2> most = {report.seconds, report.waited};
        measured.sentBytes = report.sentBytes;
        MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &measured.sentBytes, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
        measured.waited = most[1];
        return most[0];
    };
    measured.timing = timeRuns(limits, run, tick);
}

// Takes the numbers of the rank with the most memory over its tensors.
void measureMemory(const Ranks& ranks, uint64_t partBytes, Measured& measured) {
    struct {
        double over;
        int rank;
    } own = {static_cast<double>(ranks.peakBytes()) / static_cast<double>(std::max<uint64_t>(partBytes, 1)),
             ranks.rank()},
      most = own;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    std::array<uint64_t, 2> bytes = {partBytes, ranks.peakBytes()};
    MPI_Bcast(bytes.data(), 2, MPI_UINT64_T, most.rank, MPI_COMM_WORLD);
    measured.partBytes = bytes[0];
    measured.peakBytes = bytes[1];
}

Measured measureForward(Ranks& ranks, const BenchCall& call, const BenchLimits& limits, const Tick& tick,
                        Tensors& tensors) {
    Measured measured;
    ranks.resetPeakBytes();
    Attention attention(ranks, call.problem, call.split, {});
    attention.upload({tensors.q.data(), tensors.k.data(), tensors.v.data()});
    measured.plan = attention.description();
    measured.method = methodName(attention.method().method);
    timeOverRanks(
        limits, [&] { return attention.run(); }, tick, measured);
    measureMemory(ranks, tensors.bytes(), measured);
    attention.download({tensors.o.data(), tensors.lse.data()});
    return measured;
}

Measured measureBackward(Ranks& ranks, const BenchCall& call, const BenchLimits& limits, const Tick& tick,
                         const Tensors& tensors) {
    Measured measured;
    const VkfBackwardProblem problem = backwardOf(call.problem);
    Bytes dout;
    ranks.together([&] { dout = randomBytes(problem.dout.type, tensors.rows * call.problem.valueDim, 4); });
    ranks.resetPeakBytes();
    Backward backward(ranks, problem, call.split, {});
    backward.upload({tensors.q.data(), tensors.k.data(), tensors.v.data()},
                    {tensors.o.data(), tensors.lse.data(), dout.data()});
    measured.plan = backward.description();
    measured.method = methodName(backward.method().method);
    timeOverRanks(
        limits, [&] { return backward.run(); }, tick, measured);
    measureMemory(ranks, 2 * tensors.bytes(), measured); // each tensor has a gradient
    return measured;
}

Measured measureDecode(Ranks& ranks, const BenchCall& call, const BenchLimits& limits, const Tick& tick) {
    Measured measured;
    const uint32_t keys = keysDealt(Deal::contiguous, call.problem.keys, static_cast<uint32_t>(ranks.size()),
                                    static_cast<uint32_t>(ranks.rank()));
    std::optional<Tensors> own;
    ranks.together([&] { own.emplace(call.problem, call.problem.queryRows, keys); });
    const Tensors& tensors = *own;
    ranks.resetPeakBytes();
    Decode decode(ranks, call.problem, Deal::contiguous);
    decode.uploadCache(tensors.k.data(), tensors.v.data());
    decode.uploadRows(tensors.q.data());
    measured.plan = decode.description();
    measured.method = "decode";
    timeOverRanks(
        limits, [&] { return decode.run(); }, tick, measured);
    measureMemory(ranks, tensors.bytes(), measured);
    return measured;
}

host::HostTensors pointersTo(Tensors& tensors) {
    host::HostTensors pointers{};
    pointers.q = tensors.q.data();
    pointers.k = tensors.k.data();
    pointers.v = tensors.v.data();
    pointers.o = tensors.o.data();
    pointers.lse = tensors.lse.data();
    return pointers;
}

double secondsOf(const std::function<void()>& work) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double forwardOnOne(host::Device& device, const VkfProblem& problem, const BenchLimits& limits, const Tick& tick,
                    Tensors& tensors) {
    host::Attention attention(device, problem);
    attention.upload(pointersTo(tensors));
    const tools::Timing timing = timeRuns(
        limits, [&] { return secondsOf([&] { attention.run(); }); }, tick);
    attention.download(pointersTo(tensors));
    return timing.median;
}

double backwardOnOne(host::Device& device, const VkfProblem& problem, const BenchLimits& limits, const Tick& tick,
                     Tensors& tensors) {
    const VkfBackwardProblem gradient = backwardOf(problem);
    const Bytes dout = randomBytes(gradient.dout.type, tensors.rows * problem.valueDim, 4);
    host::HostGradients gradients{};
    gradients.dout = dout.data();
    host::Backward backward(device, gradient);
    backward.upload(pointersTo(tensors), gradients);
    return timeRuns(
               limits, [&] { return secondsOf([&] { backward.run(); }); }, tick)
        .median;
}

// A backward pass needs o and lse of a forward pass, whose time does not count.
BenchLimits forwardLimits(const BenchCall& call, const BenchLimits& limits) {
    return call.work == Work::backward ? BenchLimits{1, 0} : limits;
}

double sumOf(const MeasuredCall& call, double (*number)(const Measured&)) {
    return (call.forward ? number(*call.forward) : 0) + (call.backward ? number(*call.backward) : 0);
}

} // namespace

double MeasuredCall::seconds() const {
    return sumOf(*this, [](const Measured& one) { return one.timing.median; });
}

double MeasuredCall::waited() const {
    return sumOf(*this, [](const Measured& one) { return one.waited; });
}

uint64_t MeasuredCall::sentBytes() const {
    return (forward ? forward->sentBytes : 0) + (backward ? backward->sentBytes : 0);
}

double MeasuredCall::memory() const {
    return std::max(forward ? forward->memory() : 0, backward ? backward->memory() : 0);
}

MeasuredCall measureCall(Ranks& ranks, const BenchCall& call, const BenchLimits& limits, const Tick& tick) {
    MeasuredCall measured;
    if (call.work == Work::decode) {
        measured.forward = measureDecode(ranks, call, limits, tick);
        return measured;
    }
    const Part part = partOf(call.problem, call.split.distribution, {}, static_cast<uint32_t>(ranks.size()),
                             static_cast<uint32_t>(ranks.rank()));
    std::optional<Tensors> own;
    ranks.together([&] { own.emplace(call.problem, rowsOf(part.rows), rowsOf(part.keys)); });
    Tensors& tensors = *own;
    Measured forward = measureForward(ranks, call, forwardLimits(call, limits), tick, tensors);
    if (call.work != Work::backward) {
        measured.forward = std::move(forward);
    }
    if (call.work == Work::backward || call.work == Work::both) {
        measured.backward = measureBackward(ranks, call, limits, tick, tensors);
    }
    return measured;
}

PassSeconds measureOnOne(host::Device& device, const BenchCall& call, uint32_t ranks, const BenchLimits& limits,
                         const Tick& tick) {
    VkfProblem problem = call.problem;
    if (call.work == Work::decode) {
        problem.keys = keysDealt(Deal::contiguous, problem.keys, ranks, 0);
    }
    Tensors tensors(problem, problem.queryRows, problem.keys);
    PassSeconds seconds;
    const double forward = forwardOnOne(device, problem, forwardLimits(call, limits), tick, tensors);
    if (call.work != Work::backward) {
        seconds.forward = forward;
    }
    if (call.work == Work::backward || call.work == Work::both) {
        seconds.backward = backwardOnOne(device, problem, limits, tick, tensors);
    }
    return seconds;
}

} // namespace vkf::mpi::program
