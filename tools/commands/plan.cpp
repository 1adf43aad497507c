// SPDX-License-Identifier: MIT
//
// vkflash plan: describes the plan for a shape without running it.
#include <memory>
#include <optional>
#include <utility>

#include "bench/bench_report.hpp"
#include "cli/error.hpp"
#include "cli/function_inputs.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/text.hpp"
#include "commands/commands.hpp"
#include "commands/plan_explain.hpp"
#include "measure/own_objects.hpp"
#include "tensors/random_tensors.hpp"

namespace vkf::tools {

namespace {

struct PlanOptions {
    ShapeOptions shape;
    MathOptions math;
    FunctionFiles functions;
    DeviceFlags device;
    bool backward = false;
    bool json = false;
    bool explain = false;
};

Json planJson(const VkfPlanInfo& info) {
    return {{"path", vkfPathName(info.path)},
            {"tileRows", info.tileRows},
            {"tileKeys", info.tileKeys},
            {"kvSplits", info.kvSplits},
            {"workgroupSize", info.workgroupSize},
            {"sharedMemoryBytes", info.sharedMemoryBytes},
            {"subgroupReductions", info.subgroupReductions != 0},
            {"productType", vkfTypeName(info.productType)},
            {"steps", info.stepCount},
            {"scratchBytes", info.scratchBytes},
            {"scratchAlignment", info.scratchAlignment},
            {"inputAlignment", info.inputAlignment},
            {"operations", info.operations},
            {"minimumBytes", info.minimumBytes},
            {"tile", info.tile},
            {"tuned", info.tuned != 0},
            {"tileMapBytes", info.tileMapBytes},
            {"description", info.description}};
}

Json planJson(const VkfBackwardInfo& info) {
    return {{"path", vkfPathName(info.path)},
            {"rowTile", info.rowTile},
            {"keyTile", info.keyTile},
            {"bandKeys", info.bandKeys},
            {"tileMapBytes", info.tileMapBytes},
            {"workgroupSize", info.workgroupSize},
            {"sharedMemoryBytes", info.sharedMemoryBytes},
            {"productType", vkfTypeName(info.productType)},
            {"steps", info.stepCount},
            {"scratchBytes", info.scratchBytes},
            {"scratchAlignment", info.scratchAlignment},
            {"inputAlignment", info.inputAlignment},
            {"operations", info.operations},
            {"minimumBytes", info.minimumBytes},
            {"tuned", info.tuned != 0},
            {"description", info.description}};
}

// What plans of both passes need.
template <typename Info> std::string needsText(const Info& info) {
    return fmt::format(
        "products    with p as {}\nsteps       {}\nscratch     {}\nalignment   {} bytes of q, k and v, {} of "
        "scratch\noperations  {}\nleast data  {}\n",
        vkfTypeName(info.productType), info.stepCount, bytesText(static_cast<double>(info.scratchBytes)),
        info.inputAlignment, info.scratchAlignment, operationsText(info.operations), bytesText(info.minimumBytes));
}

std::string planText(const VkfPlanInfo& info) {
    std::string text = fmt::format("path        {}\n", vkfPathName(info.path));
    text += fmt::format("tiles       {} query rows x {} keys, {} invocations, {} of shared memory\n", info.tileRows,
                        info.tileKeys, info.workgroupSize, bytesText(info.sharedMemoryBytes));
    text += fmt::format("key splits  {}\n", info.kvSplits);
    text += fmt::format("reductions  {}\n", info.subgroupReductions ? "subgroup operations" : "in shared memory");
    if (info.tileMapBytes != 0)
        text +=
            fmt::format("tile map    {} of the scratch memory\n", bytesText(static_cast<double>(info.tileMapBytes)));
    text += needsText(info);
    if (info.tile[0] != 0)
        text +=
            fmt::format("tuning      {}, chosen by {}\n", info.tile, info.tuned ? "the tuning file" : "the library");
    return text + fmt::format("in short    {}\n", info.description);
}

std::string planText(const VkfBackwardInfo& info) {
    std::string text = fmt::format("path        {}, backward pass\n", vkfPathName(info.path));
    for (const auto& [what, tile] : {std::pair{"dq", info.rowTile}, std::pair{"dk, dv", info.keyTile}})
        if (tile[0] != 0)
            text += fmt::format("tile        {} of {}\n", tile, what);
    if (info.bandKeys != 0)
        text += fmt::format("bands       {} keys, whose ds is kept in scratch memory\n", info.bandKeys);
    text += fmt::format("workgroups  {} invocations, {} of shared memory at most\n", info.workgroupSize,
                        bytesText(info.sharedMemoryBytes));
    text += needsText(info);
    text += fmt::format("tuning      chosen by {}\n", info.tuned ? "the tuning file" : "the library");
    return text + fmt::format("in short    {}\n", info.description);
}

void print(const PlanOptions& options, const host::Device& device, const VkfProblem& problem, const Json& json,
           const std::string& text) {
    if (options.device.validation)
        checkValidation(device);
    if (!options.json) {
        fmt::print("device      {}\n{}", device.summary().name, text);
        return;
    }
    Json document = {{"device", device.summary().name}, {"problem", problemJson(problem)}};
    document.update(json);
    fmt::print("{}\n", document.dump(2));
}

// Shows what `info` says, with the explanation if it is asked for. `explained` is the plan, or the backward pass and
// its forward problem.
template <typename Info, typename... Explained>
void show(const PlanOptions& options, const host::Device& device, const VkfProblem& problem, const Info& info,
          const Explained&... explained) {
    Json json = planJson(info);
    if (options.explain && options.json)
        json["explanation"] = explanationJson(device, explained...);
    print(options, device, problem, json,
          planText(info) + (options.explain ? explanationText(device, explained...) : ""));
}

void planBackward(const PlanOptions& options) {
    const FunctionInputs functions(options.functions);
    VkfProblem problem = makeProblem(options.shape, options.math);
    functions.apply(problem);
    enable(problem, VKF_USE_LSE);
    const host::Device device = openDevice(options.device);
    VkfBackwardProblem gradients = gradientsOf(problem);
    gradients.maxScratchBytes = mostScratchBytes(options.shape.cache.scratch);
    VkfMessage message{};
    if (vkfCheckBackward(&gradients, &message) != VKF_SUCCESS)
        failInput("--backward: {}", message.text);
    const Backward backward = createBackward(device.context(), gradients);
    show(options, device, problem, backwardInfo(backward), backward.get(), problem);
}

void plan(const PlanOptions& options) {
    const FunctionInputs functions(options.functions);
    VkfProblem problem = makeProblem(options.shape, options.math);
    functions.apply(problem);
    const host::Device device = openDevice(options.device);
    const host::Plan plan(device, problem);
    show(options, device, problem, plan.info(), plan);
}

} // namespace

void addPlanCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<PlanOptions>(
        program, action, "plan", "Describes the plan for a shape without running it.",
        "vkflash plan --heads 32 --kv-heads 8 --rows 4096 --dim 128 --causal --explain",
        [](const PlanOptions& chosen) { chosen.backward ? planBackward(chosen) : plan(chosen); });
    addShapeOptions(*command, options->shape);
    addCacheOptions(*command, options->shape.cache);
    addChosenCountOption(*command, options->shape.cache);
    addMathOptions(*command, options->math);
    addFunctionOptions(*command, options->functions);
    addMaskBlockOption(*command, options->math.maskBlock);
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    const HelpGroup group(*command, resultsGroup);
    command->add_flag("--backward", options->backward,
                      "describe the backward pass with gradients of q, k and v; --path is then its path");
    command->add_flag("--explain", options->explain,
                      "also explain the plan: why this path and not another one, tiles, bytes moved");
    command->add_flag("--json", options->json, "print JSON");
}

} // namespace vkf::tools
