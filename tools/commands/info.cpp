// SPDX-License-Identifier: MIT
//
// vkflash info: lists the devices of this machine with what vkflash can do on each, and the content of this build.
#include <memory>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/device_text.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "commands/commands.hpp"
#include "vkflash/inspect.h"
#include "vkflash/tuning.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Availability {
    std::string name;
    std::string missing; // reason; empty = available
};

std::vector<Availability> shaderVariants() {
    std::vector<Availability> variants;
    const char* name = nullptr;
    const char* missing = nullptr;
    for (uint32_t i = 0; i < vkfGetShaderVariantCount() && vkfGetShaderVariant(i, &name, &missing) == VKF_SUCCESS; ++i)
        variants.push_back({name, missing != nullptr ? missing : ""});
    return variants;
}

// Checks each path with an ordinary problem in 16-bit types, or in fp32 if the device has no 16-bit storage.
std::vector<Availability> pathsOf(const host::Device& device) {
    const host::DeviceSummary& summary = device.summary();
    auto problem = make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = problem.kvHeads = 8;
    problem.queryRows = problem.keys = 1024;
    problem.headDim = 128;
    const bool halves = (summary.features & VKF_FEATURE_STORAGE_16BIT) != 0;
    problem.q = problem.k = problem.v = problem.o = dense(halves ? VKF_TYPE_F16 : VKF_TYPE_F32);

    std::vector<Availability> paths;
    for (const VkfPath path :
         {VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_COOPMAT, VKF_PATH_WGMMA, VKF_PATH_DECODE, VKF_PATH_KEY_OUTER}) {
        problem.path = path;
        VkfMessage message{};
        Plan plan; // only a plan asks the driver whether it takes the kernels of path wgmma
        const VkfResult result = path == VKF_PATH_WGMMA
                                     ? vkfCreatePlan(device.context(), &problem, plan.put(), &message)
                                     : vkfCheckSupport(device.context(), &problem, &message);
        paths.push_back({vkfPathName(path), result == VKF_SUCCESS ? "" : message.text});
    }
    return paths;
}

// The matrices of path coopmat for one type, and whether their element layout is known.
struct Matrices {
    VkfType type;
    VkfMatrixInfo info;
};

std::vector<Matrices> matricesOf(const host::Device& device) {
    std::vector<Matrices> matrices;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        auto info = make<VkfMatrixInfo>();
        if (vkfGetMatrixInfo(device.context(), type, &info, nullptr) == VKF_SUCCESS)
            matrices.push_back({type, info});
    }
    return matrices;
}

struct DeviceReport {
    host::DeviceSummary summary;
    std::vector<Availability> paths; // empty if the device is not usable
    std::vector<Matrices> matrices;
    std::string reason;         // why the device is not usable
    uint32_t tuningEntries = 0; // entries of the tuning file for this device
};

std::vector<DeviceReport> deviceReports(const std::string& tuning) {
    std::vector<DeviceReport> reports;
    for (const host::DeviceSummary& summary : host::listDevices()) {
        DeviceReport report{summary, {}, {}, summary.reason};
        if (summary.usable == VKF_SUCCESS) {
            try {
                host::DeviceOptions options;
                options.select = std::to_string(summary.index);
                options.tuning = tuning;
                const host::Device device(options);
                report.paths = pathsOf(device);
                report.tuningEntries = vkfGetTuningEntryCount(device.context());
                report.matrices = matricesOf(device);
            } catch (const host::Error& error) {
                report.reason = error.what();
            }
        }
        reports.push_back(std::move(report));
    }
    return reports;
}

Json json(const std::vector<Availability>& entries) {
    Json list = Json::array();
    for (const Availability& entry : entries) {
        Json item = {{"name", entry.name}, {"available", entry.missing.empty()}};
        if (!entry.missing.empty())
            item["reason"] = entry.missing;
        list.push_back(std::move(item));
    }
    return list;
}

Json json(const std::vector<Matrices>& matrices) {
    Json list = Json::array();
    for (const auto& [type, info] : matrices)
        list.push_back({{"type", vkfTypeName(type)},
                        {"rows", info.rows},
                        {"columns", info.columns},
                        {"depth", info.depth},
                        {"layoutKnown", info.layoutKnown != 0},
                        {"layoutMeasured", info.layoutFromApplication != 0}});
    return list;
}

Json json(const DeviceReport& report) {
    const host::DeviceSummary& summary = report.summary;
    Json heaps = Json::array();
    for (const host::MemoryHeap& heap : summary.heaps)
        heaps.push_back({{"bytes", heap.bytes}, {"deviceLocal", heap.deviceLocal}});
    Json result = {{"index", summary.index},
                   {"name", summary.name},
                   {"kind", kindText(summary.kind)},
                   {"driver", summary.driver},
                   {"apiVersion", apiVersionText(summary.apiVersion)},
                   {"usable", !report.paths.empty()},
                   {"limits",
                    {{"sharedMemoryBytes", summary.sharedMemoryBytes},
                     {"maxInvocations", summary.maxInvocations},
                     {"maxGroupCountX", summary.maxGroupCountX},
                     {"subgroupSize", summary.subgroupSize},
                     {"maxPushConstantBytes", summary.maxPushConstantBytes},
                     {"timestampPeriod", summary.timestampPeriod}}},
                   {"heaps", std::move(heaps)},
                   {"features", featureNames(summary.features)},
                   {"paths", json(report.paths)},
                   {"matrices", json(report.matrices)},
                   {"tuningEntries", report.tuningEntries},
                   {"extensions", summary.extensions}};
    if (report.paths.empty())
        result["reason"] = report.reason;
    return result;
}

void printEntries(const std::vector<Availability>& entries, const char* indent) {
    for (const Availability& entry : entries)
        fmt::print("{}{:<60}{}\n", indent, entry.name, entry.missing.empty() ? "yes" : "no: " + entry.missing);
}

// Names those that are missing. --json lists all.
void printVariants(const std::vector<Availability>& variants) {
    std::vector<Availability> missing;
    for (const Availability& variant : variants)
        if (!variant.missing.empty())
            missing.push_back(variant);
    fmt::print("{} of {} shaders are in this build\n", variants.size() - missing.size(), variants.size());
    printEntries(missing, "    ");
}

void print(const DeviceReport& report, bool tuned) {
    const host::DeviceSummary& summary = report.summary;
    fmt::print("\n[{}] {}\n", summary.index, summary.name);
    fmt::print("    {}, {}, Vulkan {}\n", kindText(summary.kind), summary.driver, apiVersionText(summary.apiVersion));
    for (const host::MemoryHeap& heap : summary.heaps)
        fmt::print("    memory      {}{}\n", bytesText(static_cast<double>(heap.bytes)),
                   heap.deviceLocal ? " on the device" : "");
    fmt::print("    workgroup   {} invocations, {} of shared memory, subgroups of {}\n", summary.maxInvocations,
               bytesText(summary.sharedMemoryBytes), summary.subgroupSize);
    fmt::print("    features    {}\n", fmt::join(featureNames(summary.features), ", "));
    for (const auto& [type, info] : report.matrices)
        fmt::print("    matrices    {} {}x{}x{}, {}\n", vkfTypeName(type), info.rows, info.columns, info.depth,
                   info.layoutFromApplication != 0 ? "scores in registers, element layout measured"
                   : info.layoutKnown != 0         ? "scores in registers"
                                           : "scores through shared memory: kernels cannot use this element layout");
    if (tuned)
        fmt::print("    tuning      {} entries of the file are for this device\n", report.tuningEntries);
    if (report.paths.empty())
        fmt::print("    cannot be used: {}\n", report.reason);
    else
        fmt::print("    paths\n");
    printEntries(report.paths, "        ");
}

struct InfoOptions {
    std::string tuning; // file
    bool json = false;
};

void info(const InfoOptions& options) {
    const std::string tuning = loadTuning(options.tuning);
    const std::string version = fmt::format("{}.{}.{}", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
    const std::vector<Availability> variants = shaderVariants();
    if (!options.json) {
        // The content of the build is useful on a machine without Vulkan, too.
        fmt::print("vkflash {}\n", version);
        printVariants(variants);
    }
    const std::vector<DeviceReport> reports = deviceReports(tuning);
    if (options.json) {
        Json devices = Json::array();
        for (const DeviceReport& report : reports)
            devices.push_back(json(report));
        fmt::print("{}\n", Json{{"version", version}, {"shaders", json(variants)}, {"devices", devices}}.dump(2));
    } else {
        for (const DeviceReport& report : reports)
            print(report, !tuning.empty());
    }
    if (reports.empty())
        fail("there is no Vulkan device on this machine");
}

} // namespace

void addInfoCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<InfoOptions>(
        program, action, "info", "Lists devices, limits and features, and which paths run or why they do not.",
        "vkflash info", info);
    addTuningOption(*command, options->tuning);
    command->add_flag("--json", options->json, "print JSON");
}

} // namespace vkf::tools
