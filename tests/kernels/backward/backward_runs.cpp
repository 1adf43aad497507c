// SPDX-License-Identifier: MIT
#include "kernels/backward/backward_runs.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "support/device.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::test {
namespace {

VkfGradients wantedBy(const VkfBackwardProblem& problem) {
    return problem.gradients != 0 ? problem.gradients : VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;
}

uint64_t bytesOf(const VkfBackwardProblem& problem, VkfGradients bit, VkfBackwardRole role) {
    const VkfTensorLayout layout = layoutOf(problem, role);
    return (wantedBy(problem) & bit) != 0 ? vkfStoredBytes(layout.type, layout.elements) : 0;
}

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
}

// The outputs of a call in device memory.
struct DeviceOutputs {
    DeviceOutputs(host::Device& device, const VkfBackwardProblem& problem, uint64_t scratchBytes)
        : dq(device, bytesOf(problem, VKF_GRADIENT_Q, VKF_BACKWARD_DQ)),
          dk(device, bytesOf(problem, VKF_GRADIENT_K, VKF_BACKWARD_DK)),
          dv(device, bytesOf(problem, VKF_GRADIENT_V, VKF_BACKWARD_DV)),
          dbias(device, vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS)),
          dsinks(device,
                 (wantedBy(problem) & VKF_GRADIENT_SINKS) != 0 ? problem.forward->queryHeads * sizeof(float) : 0),
          scratch(device, scratchBytes) {}

    Guarded dq, dk, dv, dbias, dsinks, scratch;
};

// Downloads one output. Sets *intact to false if a guard was written.
std::vector<std::byte> downloaded(host::Device& device, const Guarded& memory, bool* intact) {
    const std::vector<std::byte> all = memory.download(device);
    *intact = *intact && memory.intact(all);
    return {all.begin() + static_cast<std::ptrdiff_t>(memory.offset),
            all.begin() + static_cast<std::ptrdiff_t>(memory.offset + memory.bytes)};
}

// Fills dout, o and dlse of rows without a visible key with NaN. Every second such row gets the other mark of an empty
// row, an lse of +infinity.
void poisonEmptyRows(const VkfBackwardProblem& problem, BackwardInputs* inputs) {
    const VkfTensorLayout o = layoutOf(*problem.forward, VKF_TENSOR_O);
    const VkfTensorLayout dout = layoutOf(problem, VKF_BACKWARD_DOUT);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (uint64_t row = 0; row < inputs->lse.size(); row++) {
        if (inputs->lse[row] != -infinity) {
            continue;
        }
        const uint64_t head = row / o.rows;
        const auto poisonRow = [&](const VkfTensorLayout& layout, std::vector<std::byte>& bytes) {
            const uint64_t first = head / o.heads * layout.batchStride + head % o.heads * layout.headStride +
                                   row % o.rows * layout.rowStride;
            const size_t size = vkfTypeBytes(layout.type);
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first * size), layout.dim * size, std::byte{0xff});
        };
        poisonRow(o, inputs->o);
        poisonRow(dout, inputs->dout);
        inputs->lse[row] = row % 2 == 0 ? infinity : -infinity;
        if (!inputs->dlse.empty()) {
            inputs->dlse[row] = std::numeric_limits<float>::quiet_NaN();
        }
    }
}

} // namespace

std::string BackwardOutcome::text() const {
    std::ostringstream text;
    text << info.description << " " << info.rowTile << " / " << info.keyTile;
    const std::pair<const char*, const VkfGradientError&> errors[] = {{"dq", verdict.dq},
                                                                      {"dk", verdict.dk},
                                                                      {"dv", verdict.dv},
                                                                      {"dbias", verdict.dbias},
                                                                      {"dsinks", verdict.dsinks}};
    for (const auto& [name, error] : errors) {
        text << "\n"
             << name << " error " << error.error << " (bound " << error.bound << "), worst element "
             << error.worstElement << ": " << error.worstValue << " for " << error.worstReference;
    }
    text << (gapsIntact ? "" : ", GAPS WRITTEN") << (guardsIntact ? "" : ", GUARDS WRITTEN");
    return text.str();
}

VkfBackwardInfo infoOf(host::Device& device, const VkfBackwardProblem& problem) {
    VkfMessage message{};
    vkf::Backward backward;
    check(vkfCreateBackward(device.context(), &problem, backward.put(), &message), message);
    auto info = make<VkfBackwardInfo>();
    check(vkfGetBackwardInfo(backward.get(), &info, &message), message);
    return info;
}

BackwardOutcome runBackwardUnjudged(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                                    const BackwardInputs& more, uint32_t stepsAtOnce, std::byte scratchByte) {
    VkfMessage message{};
    vkf::Backward backward;
    check(vkfCreateBackward(device.context(), &problem, backward.put(), &message), message);
    BackwardOutcome outcome;
    outcome.info.structSize = sizeof outcome.info;
    check(vkfGetBackwardInfo(backward.get(), &outcome.info, &message), message);
    const DeviceInputs memory(device, inputs);
    const Guarded dout = uploaded(device, more.dout);
    const Guarded dlse = uploaded(device, more.dlse);
    const Guarded o = uploaded(device, more.o);
    const Guarded lse = uploaded(device, more.lse);
    const DeviceOutputs to(device, problem, outcome.info.scratchBytes);
    const std::vector<std::byte> before(outcome.info.scratchBytes, scratchByte);
    if (!before.empty()) {
        device.upload(to.scratch.buffer, before.data(), before.size(), to.scratch.offset);
    }
    VkfBindings call = memory.bindings(*problem.forward);
    call.o = o.binding();
    call.lse = lse.binding();
    auto bindings = make<VkfBackwardBindings>();
    bindings.forward = &call;
    bindings.dout = dout.binding();
    bindings.dlse = dlse.binding();
    bindings.dq = to.dq.binding();
    bindings.dk = to.dk.binding();
    bindings.dv = to.dv.binding();
    bindings.dbias = to.dbias.binding();
    bindings.dsinks = to.dsinks.binding();
    bindings.scratch = to.scratch.binding();
    const uint32_t steps = outcome.info.stepCount;
    for (uint32_t step = 0; step < steps; step += stepsAtOnce != 0 ? stepsAtOnce : steps) {
        const uint32_t count = std::min(stepsAtOnce != 0 ? stepsAtOnce : steps, steps - step);
        device.submit([&](VkCommandBuffer commandBuffer) {
            check(vkfCmdBackwardSteps(commandBuffer, backward.get(), &bindings, step, count, &message), message);
        });
    }
    outcome.guardsIntact = to.scratch.intact(to.scratch.download(device));
    outcome.outputs = {
        downloaded(device, to.dq, &outcome.guardsIntact), downloaded(device, to.dk, &outcome.guardsIntact),
        downloaded(device, to.dv, &outcome.guardsIntact), downloaded(device, to.dbias, &outcome.guardsIntact),
        downloaded(device, to.dsinks, &outcome.guardsIntact)};
    const auto intact = [&](VkfBackwardRole role, const std::vector<std::byte>& bytes) {
        return bytes.empty() || gapsIntact(layoutOf(problem, role), bytes);
    };
    outcome.gapsIntact = intact(VKF_BACKWARD_DQ, outcome.outputs.dq) && intact(VKF_BACKWARD_DK, outcome.outputs.dk) &&
                         intact(VKF_BACKWARD_DV, outcome.outputs.dv);
    return outcome;
}

bool repeatsBits(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                 const BackwardInputs& more, const BackwardOutcome& first) {
    const uint32_t runs = wholeSweeps() ? 100 : 1;
    for (uint32_t run = 0; run < runs; run++) {
        if (runBackwardUnjudged(device, problem, inputs, more).outputs != first.outputs) {
            return false;
        }
    }
    return true;
}

BackwardOutcome runBackward(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                            BackwardInputs more, uint32_t stepsAtOnce) {
    computeForward(*problem.forward, inputs, VKF_TYPE_F32, &more);
    poisonEmptyRows(problem, &more);
    BackwardOutcome outcome = runBackwardUnjudged(device, problem, inputs, more, stepsAtOnce);
    auto options = make<VkfReferenceOptions>();
    options.productType = outcome.info.productType;
    auto outputs = make<VkfBackwardOutputs>();
    const auto pointer = [](const std::vector<std::byte>& bytes) { return bytes.empty() ? nullptr : bytes.data(); };
    outputs.dq = pointer(outcome.outputs.dq);
    outputs.dk = pointer(outcome.outputs.dk);
    outputs.dv = pointer(outcome.outputs.dv);
    outputs.dbias = pointer(outcome.outputs.dbias);
    outputs.dsinks = reinterpret_cast<const float*>(pointer(outcome.outputs.dsinks));
    outcome.verdict.structSize = sizeof outcome.verdict;
    const VkfReferenceInputs reference = inputs.reference();
    const VkfReferenceBackwardInputs backwardReference = more.reference();
    VkfMessage message{};
    check(vkfReferenceVerifyBackward(&problem, &reference, &backwardReference, &options, &outputs, &outcome.verdict,
                                     &message),
          message);
    return outcome;
}

} // namespace vkf::test
