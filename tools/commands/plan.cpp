// SPDX-License-Identifier: MIT
//
// vkflash plan: describes the plan for a shape without running it.
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/block_mask_options.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "commands/commands.hpp"
#include "commands/plan_explain.hpp"

namespace vkf::tools {

namespace {

struct PlanOptions {
    ShapeOptions shape;
    MathOptions math;
    DeviceFlags device;
    bool json = false;
    bool explain = false;
};

nlohmann::ordered_json planJson(const host::Device& device, const VkfPlanInfo& info) {
    return {{"device", device.summary().name},
            {"path", vkfPathName(info.path)},
            {"tileRows", info.tileRows},
            {"tileKeys", info.tileKeys},
            {"workgroupSize", info.workgroupSize},
            {"sharedMemoryBytes", info.sharedMemoryBytes},
            {"subgroupReductions", info.subgroupReductions != 0},
            {"productType", vkfTypeName(info.productType)},
            {"steps", info.stepCount},
            {"scratchBytes", info.scratchBytes},
            {"scratchAlignment", info.scratchAlignment},
            {"operations", info.operations},
            {"minimumBytes", info.minimumBytes},
            {"tile", info.tile},
            {"tuned", info.tuned != 0},
            {"description", info.description}};
}

void printText(const host::Device& device, const VkfPlanInfo& info) {
    fmt::print("device      {}\n", device.summary().name);
    fmt::print("path        {}\n", vkfPathName(info.path));
    fmt::print("tiles       {} query rows x {} keys, {} invocations, {} of shared memory\n", info.tileRows,
               info.tileKeys, info.workgroupSize, bytesText(info.sharedMemoryBytes));
    fmt::print("reductions  {}\n", info.subgroupReductions ? "subgroup operations" : "in shared memory");
    fmt::print("products    p v with p as {}\n", vkfTypeName(info.productType));
    fmt::print("steps       {}\n", info.stepCount);
    fmt::print("scratch     {}\n", bytesText(static_cast<double>(info.scratchBytes)));
    fmt::print("operations  {}\n", operationsText(info.operations));
    fmt::print("least data  {}\n", bytesText(info.minimumBytes));
    if (info.tile[0] != 0)
        fmt::print("tuning      {}, chosen by {}\n", info.tile, info.tuned ? "the tuning file" : "the library");
    fmt::print("in short    {}\n", info.description);
}

void plan(const PlanOptions& options) {
    const VkfProblem problem = makeProblem(options.shape, options.math);
    const host::Device device = openDevice(options.device);
    const host::Plan plan(device, problem);
    if (options.device.validation)
        checkValidation(device);
    if (options.json) {
        nlohmann::ordered_json document = planJson(device, plan.info());
        if (options.explain)
            document["explanation"] = explanationJson(device, plan);
        fmt::print("{}\n", document.dump(2));
    } else {
        printText(device, plan.info());
        if (options.explain)
            fmt::print("{}", explanationText(device, plan));
    }
}

} // namespace

void addPlanCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<PlanOptions>();
    CLI::App* command = program.add_subcommand("plan", "Describes the plan for a shape without running it.");
    addShapeOptions(*command, options->shape);
    addCacheOptions(*command, options->shape.cache);
    addMathOptions(*command, options->math);
    addMaskBlockOption(*command, options->math.maskBlock);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    command->add_flag(
        "--explain", options->explain,
        "also explain the plan: tiles that the papers' formulas allow, tiles that the library considered, bytes moved");
    command->add_flag("--json", options->json, "print JSON");
    command->callback([options, &action] { action = [options] { plan(*options); }; });
}

} // namespace vkf::tools
