// SPDX-License-Identifier: MIT
//
// vkflash_mpi bench: times calls over all ranks, and the same calls on the first rank alone.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "bench/bench_report.hpp"
#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "commands.hpp"
#include "measure/timing.hpp"
#include "part_files.hpp"
#include "session.hpp"
#include "tensors/random_tensors.hpp"

namespace vkf::mpi::program {
namespace {

struct BenchOptions {
    std::vector<uint32_t> rows = {16384, 32768, 65536, 131072};
    tools::ShapeOptions shape;
    tools::MathOptions math;
    tools::DeviceFlags device;
    SplitOptions split;
    tools::ReportOptions report;
    uint32_t runs = 5;
    bool backward = false;
    bool withoutOne = false;
};

// Multiplications and additions of the visible pairs of rows and keys.
double operationsOf(const VkfProblem& problem, bool backward) {
    double pairs = 0;
    const bool isCausal = has(problem, VKF_USE_CAUSAL);
    const bool isWindow = has(problem, VKF_USE_WINDOW);
    const bool topLeft = problem.alignment == VKF_ALIGNMENT_TOP_LEFT;
    const int64_t shift = topLeft ? 0 : int64_t{problem.keys} - problem.queryRows;
    for (int64_t i = 0; i < problem.queryRows; ++i) {
        int64_t end = problem.keys;
        int64_t begin = 0;
        if (isCausal || (isWindow && problem.window.right >= 0)) {
            end = std::min(end, i + shift + (isCausal ? 0 : problem.window.right) + 1);
        }
        if (isWindow && problem.window.left >= 0) {
            begin = std::max(begin, i + shift - problem.window.left);
        }
        pairs += static_cast<double>(std::max<int64_t>(end - begin, 0));
    }
    const double forward = 2 * pairs * problem.batch * problem.queryHeads * (problem.headDim + problem.valueDim);
    return backward ? 2.5 * forward : forward;
}

// Random memory for a part.
Bytes randomPart(VkfType type, uint64_t elements, uint64_t seed) {
    constexpr uint64_t blockElements = uint64_t{1} << 20;
    const Bytes block = tools::normalBlock(type, std::min(elements, blockElements), seed);
    Bytes part(elements * vkfTypeBytes(type));
    if (!part.empty()) {
        tools::repeatBlock(block, 0, part);
    }
    return part;
}

uint64_t rowsOf(const std::vector<Chunk>& chunks) {
    uint64_t rows = 0;
    for (const Chunk& chunk : chunks) {
        rows += chunk.rows;
    }
    return rows;
}

// What the ranks did for one call.
struct Measured {
    tools::Timing timing;
    double waited = 0; // the longest of all ranks, in the last run
    uint64_t sentBytes = 0;
    uint64_t partBytes = 0; // of q, k, v and o, and of their gradients
    std::string plan;
    std::string method;
};

// Runs `work` on all ranks at once. A run takes as long as its slowest rank.
void timeRuns(const BenchOptions& options, MPI_Comm ranks, const std::function<RunReport()>& work, Measured& measured) {
    std::vector<double> times;
    for (uint32_t i = 0; i < options.runs + 1; ++i) {
        MPI_Barrier(ranks);
        const RunReport report = travelling(work);
        double seconds = report.seconds;
        measured.waited = report.waited;
        measured.sentBytes = report.sentBytes;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, ranks);
        MPI_Allreduce(MPI_IN_PLACE, &measured.waited, 1, MPI_DOUBLE, MPI_MAX, ranks);
        MPI_Allreduce(MPI_IN_PLACE, &measured.sentBytes, 1, MPI_UINT64_T, MPI_MAX, ranks);
        if (i > 0) { // the first run warms up
            times.push_back(seconds);
        }
    }
    measured.timing = tools::timingOf(times);
}

Measured measure(const BenchOptions& options, Ranks& ranks, MPI_Comm communicator, const VkfProblem& problem) {
    Measured measured;
    const Split split = splitOf(options.split, problem);
    const Part part = partOf(problem, split.distribution, {}, static_cast<uint32_t>(ranks.size()),
                             static_cast<uint32_t>(ranks.rank()));
    const uint64_t rows = uint64_t{problem.batch} * problem.queryHeads * rowsOf(part.rows);
    const uint64_t keys = uint64_t{problem.batch} * problem.kvHeads * rowsOf(part.keys);
    const Bytes q = randomPart(problem.q.type, rows * problem.headDim, 1);
    const Bytes k = randomPart(problem.k.type, keys * problem.headDim, 2);
    const Bytes v = randomPart(problem.v.type, keys * problem.valueDim, 3);
    Bytes o(rows * problem.valueDim * vkfTypeBytes(problem.o.type));
    std::vector<float> lse(rows);
    measured.partBytes = q.size() + k.size() + v.size() + o.size();
    {
        Attention attention(ranks, problem, split, {});
        attention.upload({q.data(), k.data(), v.data()});
        measured.plan = attention.description();
        measured.method = methodName(attention.method().method);
        if (!options.backward) {
            timeRuns(
                options, communicator, [&] { return attention.run(); }, measured);
            return measured;
        }
        travelling([&] { return attention.run(); });
        attention.download({o.data(), lse.data()});
    }
    auto gradient = make<VkfBackwardProblem>();
    gradient.forward = &problem;
    gradient.dout = problem.o;
    gradient.dq = problem.q;
    gradient.dk = problem.k;
    gradient.dv = problem.v;
    const Bytes dout = randomPart(problem.o.type, rows * problem.valueDim, 4);
    Backward backward(ranks, gradient, split, {});
    backward.upload({q.data(), k.data(), v.data()}, {o.data(), lse.data(), dout.data()});
    measured.plan = backward.description();
    measured.method = methodName(backward.method().method);
    measured.partBytes *= 2;
    timeRuns(
        options, communicator, [&] { return backward.run(); }, measured);
    return measured;
}

// The whole call on the first rank alone. Empty if it does not fit its memory.
std::optional<Measured> measureOne(const BenchOptions& options, const VkfProblem& problem) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (options.withoutOne || rank != 0) {
        return std::nullopt;
    }
    try {
        Ranks self = openRanks(options.device, MPI_COMM_SELF);
        return measure(options, self, MPI_COMM_SELF, problem);
    } catch (const host::Error& error) {
        if (error.result() != VKF_ERROR_OUT_OF_DEVICE_MEMORY) {
            throw;
        }
        return std::nullopt;
    }
}

tools::Json benchJson(const BenchOptions& options, const VkfProblem& problem, const Ranks& ranks, const Measured& all,
                      const std::optional<Measured>& one, double linkGigabytes) {
    const double operations = operationsOf(problem, options.backward);
    tools::Json json = tools::problemJson(problem);
    json.update({{"backward", options.backward},
                 {"ranks", ranks.size()},
                 {"distribution", distributionName(splitOf(options.split, problem).distribution)},
                 {"method", all.method},
                 {"plan", all.plan}});
    json.update(tools::timesJson(all.timing));
    json.update({{"operations", operations},
                 {"teraflopsPerRank", operations / all.timing.median / ranks.size() * 1e-12},
                 {"waitedSeconds", all.waited},
                 {"sentBytes", all.sentBytes},
                 {"linkGigabytesPerSecond", linkGigabytes},
                 {"partBytes", all.partBytes},
                 {"peakBytes", ranks.peakBytes()},
                 {"memoryOverParts", static_cast<double>(ranks.peakBytes()) / static_cast<double>(all.partBytes)}});
    if (one) {
        json["oneRankSeconds"] = one->timing.median;
        json["share"] = one->timing.median / (ranks.size() * all.timing.median);
    }
    return json;
}

void bench(const BenchOptions& options) {
    tools::checkReport(options.report);
    if (options.runs == 0) {
        tools::failInput("--runs 0: must be at least 1");
    }
    Ranks ranks = openRanks(options.device);
    fmt::print("{}, {} ranks\n{:>9}{:>13}{:>13}{:>8}{:>11}{:>10}{:>9}{:>9}\n", ranks.deviceSummary().name, ranks.size(),
               "rows", "ms", "ms, 1 rank", "share", "TFLOP/s", "waited %", "GB/s", "memory");
    tools::Json results = tools::Json::array();
    for (const uint32_t rows : options.rows) {
        tools::ShapeOptions shape = options.shape;
        shape.rows = rows;
        VkfProblem problem = tools::makeProblem(shape, options.math);
        enable(problem, VKF_USE_LSE);
        problem.valueDim = problem.valueDim == 0 ? problem.headDim : problem.valueDim;
        std::optional<Measured> one;
        ranks.together([&] { one = measureOne(options, problem); });
        const uint64_t block = uint64_t{problem.batch} * problem.kvHeads *
                               (problem.keys / static_cast<uint32_t>(ranks.size()) + 1) *
                               (problem.headDim + problem.valueDim) * vkfTypeBytes(problem.k.type);
        const double link = static_cast<double>(block) / ranks.measureLink(block) * 1e-9;
        ranks.resetPeakBytes();
        const Measured all = measure(options, ranks, MPI_COMM_WORLD, problem);
        const tools::Json json = benchJson(options, problem, ranks, all, one, link);
        results.push_back(json);
        fmt::print("{:>9}{:>13.3f}{:>13}{:>8}{:>11.4g}{:>10.1f}{:>9.3g}{:>9.3g}\n", rows, all.timing.median * 1e3,
                   one ? fmt::format("{:.3f}", one->timing.median * 1e3) : "-",
                   one ? fmt::format("{:.3f}", json["share"].get<double>()) : "-",
                   json["teraflopsPerRank"].get<double>(), 100 * all.waited / all.timing.median, link,
                   json["memoryOverParts"].get<double>());
        std::fflush(stdout);
    }
    if (ranks.rank() == 0) {
        tools::writeReport(options.report, "mpi", ranks.deviceSummary(), {{"results", results}});
    }
}

} // namespace

void addBenchCommand(CLI::App& program, tools::Action& action, const std::string& commandLine) {
    auto options = std::make_shared<BenchOptions>();
    options->report.commandLine = commandLine;
    options->shape.heads = 16;
    options->shape.dim = 128;
    CLI::App* command = program.add_subcommand(
        "bench",
        "Times calls over all ranks, and the same calls on the first rank alone. share is the time of one rank "
        "divided by the ranks and by their time; memory is the most device memory of a rank over its tensors.");
    command->footer("mpirun -n 4 vkflash_mpi bench --causal --json mpi.json");
    {
        const tools::HelpGroup group(*command, tools::shapeGroup);
        tools::addList(*command, "--rows", options->rows, "query rows, and keys, of the whole sequence");
        tools::addValue(*command, "--dim", options->shape.dim, "head dimension");
        tools::addValue(*command, "--type", options->shape.type, "type of the tensors: f32, f16, bf16");
    }
    tools::addHeadOptions(*command, options->shape);
    tools::addMathOptions(*command, options->math);
    addSplitOptions(*command, options->split);
    tools::addDeviceOptions(*command, options->device);
    tools::addTuningOption(*command, options->device.tuning);
    tools::addReportOptions(*command, options->report);
    tools::addValue(*command, "--runs", options->runs, "timed runs of each call, after one that warms up");
    command->add_flag("--backward", options->backward, "time the backward pass");
    command->add_flag("--without-one", options->withoutOne, "leave out the calls on the first rank alone");
    command->callback([options, &action] { action = [options] { bench(*options); }; });
}

} // namespace vkf::mpi::program
