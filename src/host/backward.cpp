// SPDX-License-Identifier: MIT
//
// Backward and the one-call backward().
#include <vkflash/vkflash.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "host/device_state.hpp"
#include "host/error.hpp"
#include "host/optional_tensors.hpp"
#include "host/transfer.hpp"

namespace vkf::host {
namespace {

VkfGradients wantedBy(const VkfBackwardProblem& problem) {
    return problem.gradients != 0 ? problem.gradients : VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;
}

bool wants(const VkfBackwardProblem& problem, VkfGradientBits gradient) {
    return (wantedBy(problem) & static_cast<VkfGradients>(gradient)) != 0;
}

// The layout of dbias. Dimensions that share elements have one entry.
VkfTensorLayout biasLayout(const VkfBackwardProblem& problem) {
    const VkfProblem& p = *problem.forward;
    const auto differing = [](uint64_t stride, uint32_t requested, uint32_t count) {
        return stride == 0 ? 1 : requested != 0 ? std::min(requested, count) : count;
    };
    VkfTensorLayout layout{};
    layout.type = problem.dbiasType;
    layout.batch = differing(p.bias.batchStride, p.bias.sequences, p.batch);
    layout.heads = differing(p.bias.headStride, p.bias.heads, p.queryHeads);
    layout.rows = differing(p.bias.rowStride, 0, p.longestRows != 0 ? p.longestRows : p.queryRows);
    layout.dim = p.longestKeys != 0 ? p.longestKeys : p.keys;
    layout.batchStride = p.bias.batchStride;
    layout.headStride = p.bias.headStride;
    layout.rowStride = p.bias.rowStride;
    layout.elements =
        vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS) / std::max<uint64_t>(vkfTypeBytes(problem.dbiasType), 1);
    return layout;
}

// One output: its layout, its binding and its host array.
struct Output {
    const char* name;
    VkfGradientBits gradient;
    VkfTensorLayout (*layout)(const VkfBackwardProblem&);
    VkfBinding VkfBackwardBindings::*binding;
    void* (*array)(const HostGradients&);
};

template <VkfBackwardRole role> VkfTensorLayout ofRole(const VkfBackwardProblem& problem) {
    return layoutOf(problem, role);
}

VkfTensorLayout sinksLayout(const VkfBackwardProblem& problem) {
    VkfTensorLayout layout{};
    layout.type = VKF_TYPE_F32;
    layout.batch = layout.heads = layout.rows = 1;
    layout.dim = problem.forward->queryHeads;
    layout.elements = layout.dim;
    return layout;
}

template <auto member> void* arrayOf(const HostGradients& gradients) { return gradients.*member; }

using B = VkfBackwardBindings;
using G = HostGradients;

constexpr std::array<Output, 5> outputs = {{
    {"dq", VKF_GRADIENT_Q, ofRole<VKF_BACKWARD_DQ>, &B::dq, arrayOf<&G::dq>},
    {"dk", VKF_GRADIENT_K, ofRole<VKF_BACKWARD_DK>, &B::dk, arrayOf<&G::dk>},
    {"dv", VKF_GRADIENT_V, ofRole<VKF_BACKWARD_DV>, &B::dv, arrayOf<&G::dv>},
    {"dbias", VKF_GRADIENT_BIAS, biasLayout, &B::dbias, arrayOf<&G::dbias>},
    {"dsinks", VKF_GRADIENT_SINKS, sinksLayout, &B::dsinks, arrayOf<&G::dsinks>},
}};

Buffer createBuffer(Device& device, uint64_t bytes) { return bytes > 0 ? device.createBuffer(bytes) : Buffer(); }

} // namespace

struct Backward::State {
    State(Device& on, const VkfBackwardProblem& given);

    Device device;
    VkfProblem forward{};
    VkfBackwardProblem problem;
    vkf::Backward backward;
    VkfBackwardInfo info = make<VkfBackwardInfo>();
    Buffer q, k, v, o, lse, dout, dlse, scratch;
    std::vector<Buffer> optional; // in the order of optionalTensors; outputs have none
    std::vector<Buffer> functionArrays;
    std::array<Buffer, outputs.size()> written;
    VkfBindings call = make<VkfBindings>();
    VkfBackwardBindings bindings = make<VkfBackwardBindings>();

private:
    void keepForward();
    void createBuffers();
    void bindAll();
};

Backward::State::State(Device& on, const VkfBackwardProblem& given) : device(on), problem(given) {
    VkfMessage message{};
    device.state_->remembering(
        [&] { check(vkfCreateBackward(device.context(), &given, backward.put(), &message), message); });
    keepForward();
    check(vkfGetBackwardInfo(backward.get(), &info, &message), message);
    createBuffers();
    bindAll();
}

// The caller's problem of the forward pass may end before this object.
void Backward::State::keepForward() {
    forward = *problem.forward;
    problem.forward = &forward;
}

void Backward::State::createBuffers() {
    q = createBuffer(device, tensorBytes(layoutOf(forward, VKF_TENSOR_Q)));
    k = createBuffer(device, tensorBytes(layoutOf(forward, VKF_TENSOR_K)));
    v = createBuffer(device, tensorBytes(layoutOf(forward, VKF_TENSOR_V)));
    o = createBuffer(device, tensorBytes(layoutOf(forward, VKF_TENSOR_O)));
    lse = createBuffer(device, vkfGetArrayBytes(&forward, VKF_ARRAY_LSE));
    dout = createBuffer(device, tensorBytes(layoutOf(problem, VKF_BACKWARD_DOUT)));
    dlse = createBuffer(device, vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DLSE));
    for (const OptionalTensor& row : optionalTensors()) {
        optional.push_back(createBuffer(device, row.input != nullptr ? row.bytes(forward) : 0));
    }
    for (size_t i = 0; i < outputs.size(); i++) {
        const uint64_t bytes = wants(problem, outputs[i].gradient) ? tensorBytes(outputs[i].layout(problem)) : 0;
        written[i] = createBuffer(device, bytes);
    }
    scratch = createBuffer(device, info.scratchBytes);
}

void Backward::State::bindAll() {
    for (size_t i = 0; i < optionalTensors().size(); i++) {
        call.*optionalTensors()[i].binding = optional[i].binding();
    }
    call.q = q.binding();
    call.k = k.binding();
    call.v = v.binding();
    call.o = o.binding();
    call.lse = lse.binding();
    bindings.forward = &call;
    bindings.dout = dout.binding();
    bindings.dlse = dlse.binding();
    for (size_t i = 0; i < outputs.size(); i++) {
        bindings.*outputs[i].binding = written[i].binding();
    }
    bindings.scratch = scratch.binding();
}

Backward::Backward(Device& device, const VkfBackwardProblem& problem)
    : state_(std::make_unique<State>(device, problem)) {}
Backward::Backward(Backward&& other) noexcept = default;
Backward& Backward::operator=(Backward&& other) noexcept = default;
Backward::~Backward() = default;

const VkfBackwardInfo& Backward::info() const noexcept { return state_->info; }
VkfBackward Backward::handle() const noexcept { return state_->backward.get(); }
const VkfBackwardBindings& Backward::bindings() const noexcept { return state_->bindings; }

void Backward::upload(const HostTensors& tensors, const HostGradients& gradients) {
    State& s = *state_;
    VkfMessage message{};
    check(vkfCheckSequences(&s.forward, tensors.cuSeqlensQ, tensors.cuSeqlensK, &message), message);
    uploadAll(s.device, s.q, tensors.q, "q");
    uploadAll(s.device, s.k, tensors.k, "k");
    uploadAll(s.device, s.v, tensors.v, "v");
    uploadAll(s.device, s.o, tensors.o, "o");
    uploadAll(s.device, s.lse, tensors.lse, "lse");
    uploadAll(s.device, s.dout, gradients.dout, "dout");
    uploadAll(s.device, s.dlse, gradients.dlse, "dlse");
    for (size_t i = 0; i < optionalTensors().size(); i++) {
        const OptionalTensor& row = optionalTensors()[i];
        if (s.optional[i].size() > 0) {
            uploadAll(s.device, s.optional[i], row.input(tensors), row.name);
        }
    }
    uploadFunctionArrays(s.device, s.forward, tensors, &s.functionArrays);
    bindFunctionArrays(s.functionArrays, &s.call);
}

double Backward::run(const std::function<void(double)>& progress) {
    State& s = *state_;
    double seconds = 0;
    for (uint32_t step = 0; step < s.info.stepCount; ++step) {
        seconds += s.device.submit([&](VkCommandBuffer commandBuffer) {
            VkfMessage message{};
            check(vkfCmdBackwardSteps(commandBuffer, s.backward.get(), &s.bindings, step, 1, &message), message);
        });
        if (progress) {
            progress(static_cast<double>(step + 1) / s.info.stepCount);
        }
    }
    return seconds;
}

void Backward::download(const HostGradients& gradients) {
    State& s = *state_;
    Downloads downloads(s.device);
    for (size_t i = 0; i < outputs.size(); i++) {
        if (s.written[i].size() > 0) {
            downloads.addRows(outputs[i].layout(s.problem), outputs[i].array(gradients), s.written[i], outputs[i].name);
        }
    }
    downloads.write();
}

BackwardReport backward(Device& device, const VkfBackwardProblem& problem, const HostTensors& tensors,
                        const HostGradients& gradients, const std::function<void(double)>& progress) {
    Backward backward(device, problem);
    // Checks the outputs before all the work, not after it.
    for (const Output& output : outputs) {
        if (wants(problem, output.gradient)) {
            requirePointer(output.array(gradients), tensorBytes(output.layout(problem)), output.name);
        }
    }
    backward.upload(tensors, gradients);
    BackwardReport report;
    report.seconds = backward.run(progress);
    backward.download(gradients);
    report.info = backward.info();
    return report;
}

} // namespace vkf::host
