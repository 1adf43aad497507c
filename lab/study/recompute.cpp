// SPDX-License-Identifier: MIT
//
// vkflash_lab recompute: compares P of standard attention with P recomputed from lse. lse is one number a row, and a
// backward pass needs to keep nothing else of P.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "cli/error.hpp"
#include "cli/repeated_runs.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "study/studies.hpp"
#include "study/study_inputs.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

struct RecomputeOptions {
    StudyInputOptions inputs;
    DeviceFlags device;
    bool json = false;
};

// P is held in fp64, for some rows of every head at a time.
constexpr uint64_t maxBytesOfProbabilities = uint64_t{64} << 20;
// In fp64, two ways to compute the same probability differ by less.
constexpr double agreementOfLse = 1e-12;

// One kept lse, and the errors of P recomputed from it.
struct Kept {
    std::string name;
    std::vector<double> lse;
    double lseError = 0;   // largest |lse - lse of the fp64 reference|
    double difference = 0; // largest |P' - P|
    // Largest |sum of a row of P' - 1|. For a row that sees no key, largest |sum|.
    double rowSum = 0;

    // An error x of lse multiplies a probability by exp(x).
    double bound() const { return std::expm1(lseError) + agreementOfLse; }
};

double distance(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
        return 0;
    return std::isnan(a - b) ? std::numeric_limits<double>::infinity() : std::abs(a - b);
}

void compareLse(Kept& kept, const std::vector<double>& exact) {
    for (size_t row = 0; row < exact.size(); ++row)
        kept.lseError = std::max(kept.lseError, distance(kept.lse[row], exact[row]));
}

void compareProbabilities(Kept& kept, std::span<const double> recomputed, std::span<const double> standard,
                          uint32_t keys) {
    for (size_t row = 0; row < recomputed.size(); row += keys) {
        double sum = 0;
        double expected = 0;
        for (size_t i = row; i < row + keys; ++i) {
            kept.difference = std::max(kept.difference, distance(recomputed[i], standard[i]));
            sum += recomputed[i];
            expected = std::max(expected, standard[i] > 0 ? 1.0 : standard[i]);
        }
        kept.rowSum = std::max(kept.rowSum, distance(sum, std::isnan(sum) ? sum : expected));
    }
}

std::vector<double> rounded(const std::vector<double>& lse) {
    std::vector<double> result(lse.size());
    std::transform(lse.begin(), lse.end(), result.begin(), [](double x) { return static_cast<float>(x); });
    return result;
}

// The lse of the device, after a check of its result. Empty if there is no device and the caller asked for none.
struct DeviceLse {
    std::string device; // name of the device, or why there is none
    std::optional<std::vector<double>> lse;
};

std::optional<host::Device> openIfThere(const DeviceFlags& flags, std::string* reason) {
    try {
        return openDevice(flags);
    } catch (const host::Error& error) { // a missing device that the caller asked for is a ProgramError
        *reason = fmt::format("none: {}", error.what());
        return std::nullopt;
    }
}

DeviceLse computeOnDevice(StudyInputs& inputs, const DeviceFlags& flags) {
    DeviceLse result;
    std::optional<host::Device> device = openIfThere(flags, &result.device);
    if (!device)
        return result;
    const host::HostTensors tensors = inputs.tensors();
    const host::AttentionReport report = runAttention(*device, inputs.problem(), tensors);
    if (flags.validation)
        checkValidation(*device);
    requirePassed(verifyResult(inputs.problem(), tensors, report.plan), report.plan.description);
    result.device = fmt::format("{}, path {}", device->summary().name, vkfPathName(report.plan.path));
    result.lse.emplace(tensors.lse, tensors.lse + inputs.rows());
    return result;
}

// The probabilities of every head for the rows `chunk`, `chunk` + `chunks`, `chunk` + 2 `chunks`, ...
std::vector<double> probabilitiesOf(StudyInputs& inputs, const std::vector<double>* lse, uint32_t chunk,
                                    uint32_t chunks) {
    const VkfProblem& p = inputs.problem();
    const uint64_t rows = (p.queryRows - chunk - 1) / chunks + 1;
    std::vector<double> probabilities(uint64_t{p.batch} * p.queryHeads * rows * p.keys);
    auto options = make<VkfReferenceOptions>();
    options.algorithm = lse != nullptr ? VKF_REFERENCE_RECOMPUTE : VKF_REFERENCE_STANDARD;
    options.rowBegin = chunk;
    options.rowStride = chunks;
    options.probabilities = probabilities.data();
    options.savedLse = lse != nullptr ? lse->data() : nullptr;
    runReference(inputs, options, lse != nullptr ? "recomputing P" : "standard attention");
    return probabilities;
}

void compareAll(StudyInputs& inputs, std::vector<Kept>& all) {
    const VkfProblem& p = inputs.problem();
    if (inputs.rows() == 0 || p.keys == 0)
        return;
    const uint64_t bytesOfRow = uint64_t{p.batch} * p.queryHeads * p.keys * sizeof(double);
    const uint64_t rowsAtOnce = std::max<uint64_t>(maxBytesOfProbabilities / bytesOfRow, 1);
    const auto chunks = static_cast<uint32_t>((p.queryRows + rowsAtOnce - 1) / rowsAtOnce);
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const std::vector<double> standard = probabilitiesOf(inputs, nullptr, chunk, chunks);
        for (Kept& kept : all)
            compareProbabilities(kept, probabilitiesOf(inputs, &kept.lse, chunk, chunks), standard, p.keys);
    }
}

// Bytes that a forward pass keeps for the backward pass.
struct Bytes {
    double lse; // fp32
    double ml;  // fp32, two numbers for each row
    double p;   // P in the type of q
};

Bytes bytesOf(const StudyInputs& inputs) {
    const auto rows = static_cast<double>(inputs.rows());
    const VkfProblem& p = inputs.problem();
    return {4 * rows, 8 * rows, rows * p.keys * static_cast<double>(vkfTypeBytes(p.q.type))};
}

void printText(const StudyInputs& inputs, const std::string& device, const std::vector<Kept>& all) {
    const Bytes bytes = bytesOf(inputs);
    fmt::print("problem  {}\ndevice   {}\n\n", inputs.text(), device);
    fmt::print("kept     lse, 4 bytes a row       {:>10}\n", bytesText(bytes.lse));
    fmt::print("or       m and l, 8 bytes a row   {:>10}\n", bytesText(bytes.ml));
    fmt::print("not P, in {:<4}                    {:>10}\n\n", vkfTypeName(inputs.problem().q.type),
               bytesText(bytes.p));
    fmt::print("{:<28}{:>14}{:>14}{:>14}{:>18}\n", "P recomputed from", "lse error", "P error", "bound",
               "row sum error");
    for (const Kept& kept : all)
        fmt::print("{:<28}{:>14.2g}{:>14.2g}{:>14.2g}{:>18.2g}\n", kept.name, kept.lseError, kept.difference,
                   kept.bound(), kept.rowSum);
}

void printJson(const StudyInputs& inputs, const std::string& device, const std::vector<Kept>& all) {
    const Bytes bytes = bytesOf(inputs);
    nlohmann::ordered_json document = {{"problem", inputs.text()},
                                       {"device", device},
                                       {"lseBytes", bytes.lse},
                                       {"stateBytes", bytes.ml},
                                       {"probabilitiesBytes", bytes.p}};
    for (const Kept& kept : all)
        document["recomputed"].push_back({{"from", kept.name},
                                          {"lseDifference", kept.lseError},
                                          {"probabilitiesDifference", kept.difference},
                                          {"probabilitiesBound", kept.bound()},
                                          {"rowSumDifference", kept.rowSum}});
    fmt::print("{}\n", document.dump(2));
}

void study(const RecomputeOptions& options) {
    StudyInputs inputs(options.inputs);
    const DeviceLse device = computeOnDevice(inputs, options.device);
    auto tiled = make<VkfReferenceOptions>();
    tiled.algorithm = VKF_REFERENCE_TILED;
    const std::vector<double> exact = runReference(inputs, tiled, "attention on the CPU").lse;
    std::vector<Kept> all;
    all.push_back({.name = "lse of the CPU, fp64", .lse = exact});
    all.push_back({.name = "the same kept in fp32", .lse = rounded(exact)});
    if (device.lse)
        all.push_back({.name = "lse of the device, fp32", .lse = *device.lse});
    for (Kept& kept : all)
        compareLse(kept, exact);
    compareAll(inputs, all);
    for (const Kept& kept : all)
        if (!(kept.difference <= kept.bound()))
            fail("{}: the error of P recomputed from it is {:.3g}, the bound is {:.3g}", kept.name, kept.difference,
                 kept.bound());
    options.json ? printJson(inputs, device.device, all) : printText(inputs, device.device, all);
}

} // namespace

void addStudyRecomputeCommand(CLI::App& group, Action& action) {
    const auto [command, options] = addCommand<RecomputeOptions>(
        group, action, "recompute", "Compares P recomputed from lse with P, and the bytes of both.",
        "vkflash_lab recompute --rows 8192 --heads 1", study);
    addStudyInputOptions(*command, options->inputs);
    addMathOptions(*command, options->inputs.math);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    command->add_flag("--json", options->json, "print JSON");
}

} // namespace vkf::tools
