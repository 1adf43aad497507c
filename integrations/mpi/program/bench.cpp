// SPDX-License-Identifier: MIT
//
// vkflash_mpi bench: times calls over all ranks, and the same calls on one GPU.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "bench/bench_report.hpp"
#include "bench_measure.hpp"
#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "cli/progress.hpp"
#include "commands.hpp"
#include "model.hpp"
#include "session.hpp"

namespace vkf::mpi::program {
namespace {

struct BenchOptions {
    std::vector<uint32_t> rows;
    std::string only; // part of the names of standard calls; empty = all
    uint32_t divisor = 1;
    tools::ShapeOptions shape;
    tools::MathOptions math;
    tools::DeviceFlags device;
    SplitOptions split;
    tools::ReportOptions report;
    BenchLimits limits;
    bool backward = false;
    bool withoutOne = false;
};

// The calls of --rows.
std::vector<BenchCall> callsOfRows(const BenchOptions& options) {
    std::vector<BenchCall> calls;
    for (const uint32_t rows : options.rows) {
        tools::ShapeOptions shape = options.shape;
        shape.rows = rows;
        BenchCall call;
        call.name = fmt::format("{} rows", rows);
        call.work = options.backward ? Work::backward : Work::forward;
        call.problem = tools::makeProblem(shape, options.math);
        enable(call.problem, VKF_USE_LSE);
        call.problem.valueDim = call.problem.valueDim == 0 ? call.problem.headDim : call.problem.valueDim;
        call.split = splitOf(options.split, call.problem);
        calls.push_back(call);
    }
    return calls;
}

std::vector<BenchCall> callsOf(const BenchOptions& options) {
    if (!options.rows.empty()) {
        return callsOfRows(options);
    }
    std::vector<BenchCall> calls = standardCalls(options.divisor);
    std::erase_if(calls, [&](const BenchCall& call) { return call.name.find(options.only) == std::string::npos; });
    if (calls.empty()) {
        tools::failInput("--only {}: is part of no name of a call", options.only);
    }
    for (BenchCall& call : calls) {
        const Split split = splitOf(options.split, call.problem);
        call.split.transport = split.transport;
        call.split.headGroups = split.headGroups;
    }
    return calls;
}

uint64_t blockBytes(const VkfProblem& problem, uint32_t ranks) {
    constexpr uint64_t most = uint64_t{256} << 20;
    const uint64_t bytes = uint64_t{problem.batch} * problem.kvHeads * (problem.keys / ranks + 1) *
                           (problem.headDim + problem.valueDim) * vkfTypeBytes(problem.k.type);
    return std::min(bytes, most);
}

double operationsOf(const BenchCall& call) {
    const bool isBackward = call.work == Work::backward || call.work == Work::both;
    return (call.work == Work::backward ? 0 : operationsOf(call.problem, Pass::forward)) +
           (isBackward ? operationsOf(call.problem, Pass::backward) : 0);
}

// What the model says of a pass. 0 where it says nothing.
double modelSeconds(const BenchCall& call, const std::string& method, Pass pass, double one, uint32_t ranks,
                    double bandwidth) {
    if (one == 0 || bandwidth == 0 || call.work == Work::decode) {
        return 0;
    }
    constexpr double latency = 20e-6;
    const Cluster cluster = {ranks, operationsOf(call.problem, pass) / one, bandwidth, latency,
                             chooseHeadGroups(call.problem, call.split, ranks, pass == Pass::backward)};
    return method == "ring" ? ringSeconds(call.problem, call.split.distribution, pass, cluster)
                            : exchangeSeconds(call.problem, pass, cluster);
}

class Bench {
public:
    explicit Bench(const BenchOptions& options)
        : options_(options), calls_(callsOf(options)), ranks_(openRanks(options.device, options.split)),
          size_(static_cast<uint32_t>(ranks_.size())), progress_(fmt::format("bench over {} ranks", size_)) {}

    void run() {
        fmt::print("{}, {} ranks{}\n{:<32}{:>11}{:>12}{:>8}{:>8}{:>10}{:>10}{:>8}{:>8}\n", ranks_.deviceSummary().name,
                   size_, sharedText(ranks_), "call", "ms", "ms, 1 GPU", "share", "model", "TFLOP/s", "waited %",
                   "GB/s", "memory");
        for (const BenchCall& call : calls_) {
            measureOrLeaveOut(call);
            ++done_;
        }
        progress_.hide();
        if (ranks_.rank() == 0) {
            tools::writeReport(options_.report, "mpi", ranks_.deviceSummary(),
                               {{"ranks", size_},
                                {"ranksOnDevice", ranks_.ranksOnDevice()},
                                {"results", results_},
                                {"leftOut", leftOut_}});
        }
        tools::requireResults(results_, leftOut_);
    }

private:
    // Calls that ranks or device cannot do are left out. All ranks throw the same error then.
    void measureOrLeaveOut(const BenchCall& call) {
        try {
            measure(call);
        } catch (const host::Error& error) {
            if (ranks_.hasFailed()) {
                throw;
            }
            leftOut_.push_back({{"name", call.name}, {"reason", error.what()}});
            progress_.hide();
            fmt::print("{:<32}  left out: {}\n", call.name, error.what());
        }
        std::fflush(stdout);
    }

    void measure(const BenchCall& call) {
        const auto tick = [this] { progress_.update(static_cast<double>(done_) / static_cast<double>(calls_.size())); };
        const LinkSpeed link = ranks_.measureLink(blockBytes(call.problem, size_), call.split.transport);
        std::optional<PassSeconds> one;
        together(ranks_, [&] { one = onOne(call, tick); });
        const MeasuredCall all = measureCall(ranks_, call, options_.limits, tick);
        progress_.hide();
        report(call, link, one, all);
    }

    // The call on the GPU of the first rank. Empty if it does not fit its memory.
    std::optional<PassSeconds> onOne(const BenchCall& call, const std::function<void()>& tick) {
        if (options_.withoutOne || ranks_.rank() != 0) {
            return std::nullopt;
        }
        try {
            host::Device device = tools::openDevice(options_.device);
            return measureOnOne(device, call, size_, options_.limits, tick);
        } catch (const host::Error& error) {
            if (error.result() != VKF_ERROR_OUT_OF_DEVICE_MEMORY) {
                throw;
            }
            return std::nullopt;
        }
    }

    void report(const BenchCall& call, const LinkSpeed& link, const std::optional<PassSeconds>& one,
                const MeasuredCall& all) {
        const double operations = operationsOf(call);
        const double seconds = all.seconds();
        tools::Json json = {{"name", call.name}};
        json.update(tools::problemJson(call.problem));
        json.update({{"distribution", distributionName(call.split.distribution)},
                     {"method", all.last().method},
                     {"plan", all.last().plan},
                     {"seconds", seconds},
                     {"operations", operations},
                     {"teraflopsPerRank", operations / seconds / size_ * 1e-12},
                     {"waitedSeconds", all.waited()},
                     {"sentBytes", all.sentBytes()},
                     {"link", linkJson(link)},
                     {"partBytes", all.last().partBytes},
                     {"peakBytes", all.last().peakBytes},
                     {"memoryOverPart", all.memory()}});
        addPass(json, "forward", all.forward);
        addPass(json, "backward", all.backward);
        std::string share = "-";
        std::string model = "-";
        if (one) {
            json["oneGpuSeconds"] = one->sum();
            if (call.work == Work::decode) {
                json["timeOverOneGpu"] = seconds / one->sum();
                share = fmt::format("{:.2f}x", seconds / one->sum());
            } else {
                json["share"] = one->sum() / (size_ * seconds);
                share = fmt::format("{:.3f}", one->sum() / (size_ * seconds));
            }
            const std::string& method = all.last().method;
            const double predicted = modelSeconds(call, method, Pass::forward, one->forward, size_, link.slowest) +
                                     modelSeconds(call, method, Pass::backward, one->backward, size_, link.slowest);
            if (predicted > 0) {
                json["modelShare"] = one->sum() / (size_ * predicted);
                model = fmt::format("{:.3f}", one->sum() / (size_ * predicted));
            }
        }
        results_.push_back(json);
        fmt::print("{:<32}{:>11.3f}{:>12}{:>8}{:>8}{:>10.4g}{:>10.1f}{:>8.3g}{:>8.3f}\n", call.name, seconds * 1e3,
                   one ? fmt::format("{:.3f}", one->sum() * 1e3) : "-", share, model,
                   json["teraflopsPerRank"].get<double>(), 100 * all.waited() / seconds, link.slowest * 1e-9,
                   all.memory());
    }

    static tools::Json linkJson(const LinkSpeed& link) {
        const auto gigabytes = [](double bytes) { return bytes * 1e-9; };
        return {{"shared", link.isShared},
                {"gigabytesPerSecond", gigabytes(link.slowest)},
                {"toHost", gigabytes(link.toHost)},
                {"messages", gigabytes(link.messages)},
                {"toDevice", gigabytes(link.toDevice)},
                {"bothWays", gigabytes(link.bothWays)}};
    }

    static void addPass(tools::Json& json, const char* name, const std::optional<Measured>& pass) {
        if (pass) {
            json[name] = tools::timesJson(pass->timing);
        }
    }

    const BenchOptions& options_;
    std::vector<BenchCall> calls_;
    Ranks ranks_;
    uint32_t size_;
    tools::Progress progress_;
    size_t done_ = 0;
    tools::Json results_ = tools::Json::array();
    tools::Json leftOut_ = tools::Json::array();
};

void bench(const BenchOptions& options) {
    tools::checkReport(options.report);
    if (options.limits.runs == 0) {
        tools::failInput("--runs 0: must be at least 1");
    }
    if (options.divisor == 0) {
        tools::failInput("--divide 0: must be at least 1");
    }
    Bench(options).run();
}

} // namespace

void addBenchCommand(CLI::App& program, tools::Action& action) {
    auto options = std::make_shared<BenchOptions>();
    options->shape.heads = 16;
    options->shape.dim = 128;
    CLI::App* command = program.add_subcommand(
        "bench",
        "Times calls over all ranks, and the same calls on one GPU: standard calls, or those of --rows. share is the "
        "time of one GPU divided by the ranks and by their time; for decode the time of the ranks over that of one "
        "GPU with the keys of one rank. memory is the most device memory of a rank over its tensors.");
    command->footer("mpirun -n 4 vkflash_mpi bench --json mpi.json");
    tools::addValue(*command, "--only", options->only, "only standard calls whose names contain this text");
    tools::addValue(*command, "--divide", options->divisor, "divide the tokens of standard calls, for small devices");
    {
        const tools::HelpGroup group(*command, tools::shapeGroup);
        command->add_option("--rows", options->rows, "query rows, and keys, of whole sequences")->delimiter(',');
        tools::addValue(*command, "--dim", options->shape.dim, "head dimension");
        tools::addValue(*command, "--type", options->shape.type, "type of the tensors: f32, f16, bf16");
    }
    tools::addHeadOptions(*command, options->shape);
    tools::addMathOptions(*command, options->math);
    addSplitOptions(*command, options->split);
    tools::addDeviceOptions(*command, options->device);
    tools::addTuningOption(*command, options->device.tuning);
    tools::addReportOptions(*command, options->report);
    tools::addValue(*command, "--runs", options->limits.runs, "timed runs of each pass, after those that warm up");
    tools::addValue(*command, "--seconds", options->limits.seconds, "time after which no further run of a pass starts");
    command->add_flag("--backward", options->backward, "with --rows: time the backward pass");
    command->add_flag("--without-one", options->withoutOne, "leave out the calls on one GPU");
    command->callback([options, &action] { action = overRanks([options] { bench(*options); }); });
}

} // namespace vkf::mpi::program
