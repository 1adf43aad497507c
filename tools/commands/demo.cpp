// SPDX-License-Identifier: MIT
//
// vkflash demo: computes the sample tensors and a larger generated problem on the best device. Checks the results and
// compares the time with the unfused computation. On a device without 16-bit storage, it computes in fp32 and leaves
// the comparison out.
#include <memory>
#include <utility>

#include "cli/device_text.hpp"
#include "cli/error.hpp"
#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "commands/commands.hpp"
#include "measure/timing.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

namespace {

struct DemoOptions {
    std::string samples;
    DeviceFlags device;
};

struct DemoDevice {
    host::Device device;
    bool hasStorage16; // DeviceSummary::features ignores withoutFeatures
};

DemoDevice openDemoDevice(const DeviceFlags& flags) {
    host::Device device = openDevice(flags);
    const VkfFeatures features = device.summary().features & ~flags.withoutFeatures;
    return {std::move(device), (features & VKF_FEATURE_STORAGE_16BIT) != 0};
}

// One problem of the demo with its memory.
struct DemoSubject {
    std::string title;
    VkfProblem problem;
    host::HostTensors tensors;
    uint32_t sampleRows = 0; // number of rows of each head to check on the CPU; 0 = all
};

std::string problemText(const VkfProblem& problem) {
    std::string heads = fmt::format("{} heads", problem.queryHeads);
    if (problem.kvHeads != problem.queryHeads)
        heads += fmt::format(" over {} KV heads", problem.kvHeads);
    return fmt::format("{}, {} rows, {} keys, D = {}, {}{}", heads, problem.queryRows, problem.keys, problem.headDim,
                       vkfTypeName(problem.q.type), has(problem, VKF_USE_CAUSAL) ? ", causal" : "");
}

struct Measured {
    VkfPlanInfo plan{};
    Timing timing;
};

// Leaves the result in tensors.o.
Measured compute(host::Device& device, const VkfProblem& problem, const host::HostTensors& tensors) {
    Progress progress(fmt::format("attention, path {}", vkfPathName(problem.path)));
    host::Attention attention(device, problem);
    attention.upload(tensors);
    Measured result;
    result.plan = attention.plan().info();
    result.timing =
        measure([&] { return attention.run([&](double share) { progress.update(share); }); }, {.seconds = 0.3});
    attention.download(tensors);
    return result;
}

void showUnfused(host::Device& device, const DemoSubject& subject, const Timing& fused) {
    VkfProblem problem = subject.problem;
    problem.path = VKF_PATH_STANDARD;
    const Measured unfused = compute(device, problem, subject.tensors);
    const VkfVerdict verdict = verifyResult(problem, subject.tensors, unfused.plan, subject.sampleRows);
    requirePassed(verdict, subject.title + ", unfused");
    fmt::print("  three passes  {:>9}   scores in {} of memory\n", timeText(unfused.timing.median),
               bytesText(static_cast<double>(unfused.plan.scratchBytes)));
    fmt::print("  ratio         {:>8.2f}x   medians of {} and {} runs on the device\n",
               unfused.timing.median / fused.median, fused.runs, unfused.timing.runs);
}

void show(DemoDevice& on, const DemoSubject& subject) {
    fmt::print("\n{}\n", subject.title);
    fmt::print("  problem       {}\n", problemText(subject.problem));

    const Measured fused = compute(on.device, subject.problem, subject.tensors);
    fmt::print("  path          {}, tiles of {} rows x {} keys, {} invocations, {} of shared memory\n",
               vkfPathName(fused.plan.path), fused.plan.tileRows, fused.plan.tileKeys, fused.plan.workgroupSize,
               bytesText(fused.plan.sharedMemoryBytes));
    std::fflush(stdout);
    const VkfVerdict verdict = verifyResult(subject.problem, subject.tensors, fused.plan, subject.sampleRows);
    fmt::print("  against fp64  {}: {}{}\n", errorText(verdict.oError, verdict.oBound),
               verdict.passed ? "right" : "WRONG",
               subject.sampleRows != 0 ? fmt::format(" (about {} rows of each head)", subject.sampleRows) : "");
    std::fflush(stdout);
    requirePassed(verdict, subject.title);

    fmt::print("  fused         {:>9}   {} operations a second, no scores in memory\n", timeText(fused.timing.median),
               operationsText(fused.plan.operations / fused.timing.median));
    std::fflush(stdout);
    if (on.hasStorage16)
        showUnfused(on.device, subject, fused.timing);
    else
        fmt::print("  three passes  The unfused computation needs 16-bit storage, so the demo leaves it out.\n");
    std::fflush(stdout);
}

// Changes no value, because fp32 has every number of fp16 and bf16.
void convertToF32(Tensor& tensor) {
    const VkfType type = vkfTypeOf(tensor.type);
    const uint64_t elements = tensor.bytes.size() / elementBytes(tensor.type);
    std::vector<std::byte> converted(elements * elementBytes(ElementType::f32));
    for (uint64_t i = 0; i < elements; ++i)
        vkfStoreElement(VKF_TYPE_F32, converted.data(), i, vkfLoadElement(type, tensor.bytes.data(), i));
    tensor.type = ElementType::f32;
    tensor.bytes = std::move(converted);
}

void showSamples(DemoDevice& on, const std::string& folder) {
    InputFiles files;
    files.q = folder + "/q.npy";
    files.k = folder + "/k.npy";
    files.v = folder + "/v.npy";
    Inputs inputs = loadInputs(files);
    if (!on.hasStorage16)
        for (Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v})
            convertToF32(*tensor);
    DemoSubject subject{"Sample tensors of the repository", problemOf(inputs), {}, 0};
    subject.problem.use |= VKF_USE_CAUSAL;
    std::vector<std::byte> o(tensorBytes(outputShape(inputs), elementBytes(inputs.q.type)).value());
    subject.tensors.q = inputs.q.bytes.data();
    subject.tensors.k = inputs.k.bytes.data();
    subject.tensors.v = inputs.v.bytes.data();
    subject.tensors.o = o.data();
    show(on, subject);
}

// A shape that a device of this kind computes in well under a second, fused and unfused.
// On a CPU the shape reuses the kernels of the sample tensors, because compiling a kernel takes longer there than
// running it.
DemoSubject generatedSubject(const DemoDevice& on) {
    const host::DeviceKind kind = on.device.summary().kind;
    const bool cpu = kind == host::DeviceKind::cpu;
    const bool discrete = kind == host::DeviceKind::discrete;
    ShapeOptions shape;
    shape.heads = cpu ? 4 : 16;
    shape.kvHeads = cpu ? 2 : 16;
    shape.rows = cpu ? 1024 : discrete ? 4096 : 2048;
    shape.dim = cpu ? 64 : 128;
    shape.type = cpu && on.hasStorage16 ? "f16" : "f32";
    MathOptions math;
    math.causal = cpu ? "bottom-right" : "";
    return {"Generated tensors", makeProblem(shape, math), {}, 32};
}

void showGenerated(DemoDevice& on) {
    DemoSubject subject = generatedSubject(on);
    RandomTensors random(subject.problem, 1);
    subject.tensors = random.pointers(subject.problem);
    show(on, subject);
}

void demo(const DemoOptions& options) {
    DemoDevice on = openDemoDevice(options.device);
    const host::DeviceSummary& summary = on.device.summary();
    fmt::print("vkflash {}.{}.{}\n", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
    fmt::print("  device        {}: {}, {}\n", summary.name, kindText(summary.kind), summary.driver);
    if (!on.hasStorage16)
        fmt::print("  type          The device has no 16-bit storage, so the demo computes in fp32.\n");
    std::fflush(stdout);
    showSamples(on, options.samples);
    showGenerated(on);
    if (options.device.validation)
        checkValidation(on.device);
}

} // namespace

void addDemoCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<DemoOptions>(
        program, action, "demo",
        "Computes sample tensors on the best device, checks them, and compares the time with the unfused path.",
        "vkflash demo", demo);
    options->samples = VKFLASH_SAMPLES_DIR;
    command->add_option("--samples", options->samples, "folder with q.npy, k.npy and v.npy");
    addDeviceOptions(*command, options->device);
    command->add_flag_callback(
        "--without-16-bit-storage",
        [options = options] { options->device.withoutFeatures = VKF_FEATURE_STORAGE_16BIT; },
        "compute as on a device that has no 16-bit storage");
}

} // namespace vkf::tools
