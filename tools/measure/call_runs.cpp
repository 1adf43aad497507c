// SPDX-License-Identifier: MIT
#include "measure/call_runs.hpp"

#include <algorithm>
#include <utility>

#include "cli/error.hpp"
#include "cli/verdict.hpp"

namespace vkf::tools {

void CallExtras::addTo(host::HostTensors& tensors) const {
    tensors.sinks = sinks.data();
    tensors.bias = bias.data();
    tensors.mask = mask.data();
    tensors.documentIds = documents.data();
    tensors.cuSeqlensQ = tensors.cuSeqlensK = starts.data();
    std::transform(functionArrays.begin(), functionArrays.end(), tensors.functionArrays.begin(),
                   [](const std::vector<std::byte>& array) {
                       return host::HostArray{array.data(), array.size()};
                   });
}

ExtraBuffers::ExtraBuffers(host::Device& device, const CallExtras& extras)
    : sinks_(uploaded(device, extras.sinks)), bias_(uploaded(device, extras.bias)),
      mask_(uploaded(device, extras.mask)), documents_(uploaded(device, extras.documents)),
      starts_(uploaded(device, extras.starts)) {
    for (const std::vector<std::byte>& array : extras.functionArrays)
        functionArrays_.push_back(uploaded(device, array));
}

void ExtraBuffers::addTo(VkfBindings& bindings) const {
    bindings.sinks = sinks_.binding();
    bindings.bias = bias_.binding();
    bindings.mask = mask_.binding();
    bindings.documentIds = documents_.binding();
    bindings.cuSeqlensQ = bindings.cuSeqlensK = starts_.binding();
    for (size_t i = 0; i < functionArrays_.size(); ++i)
        bindings.functionArrays[i] = functionArrays_[i].binding();
}

double operationsOf(const VkfProblem& problem, double pairsOfHead) {
    return pairsOfHead * 2 * problem.batch * problem.queryHeads *
           (static_cast<double>(problem.headDim) + vkf::layoutOf(problem, VKF_TENSOR_V).dim);
}

CallRuns::CallRuns(host::Device& device, GpuClock& clock, BenchMemory& memory, ExtraCall call)
    : device_(device), memory_(memory), call_(std::move(call)), plan_(device, call_.problem),
      extras_(device, call_.extras), runs_(clock, plan_.handle(), plan_.info().stepCount) {
    if (has(call_.problem, VKF_USE_TILE_MAP))
        tileMap_ = device.createBuffer(plan_.info().tileMapBytes);
}

double CallRuns::operations() const {
    return call_.pairsOfHead == 0 ? info().operations : operationsOf(call_.problem, call_.pairsOfHead);
}

void CallRuns::begin() {
    if (tileMap_.size() != 0)
        device_.submit([this](VkCommandBuffer commands) { recordMap(commands, 0); });
    runs_.run(bindings(0));
}

ClockSample CallRuns::run() {
    set_ = (set_ + 1) % memory_.sets();
    return runs_.run(bindings(set_));
}

BenchResult CallRuns::checked(const Timing& timing, uint32_t sampleRows, const VkfReferenceFunctions* formulas,
                              const ExtraCall* meant) {
    BenchResult result;
    result.problem = call_.problem;
    result.plan = info();
    result.operations = operations();
    result.timing = timing;
    result.oneSubmission = runs_.oneSubmission();
    result.sets = memory_.sets();
    result.tensorBytes = memory_.tensorBytes();
    memory_.poison(0);
    runs_.run(bindings(0));
    host::HostTensors tensors = memory_.download(0);
    const ExtraCall& judged = meant != nullptr ? *meant : call_;
    judged.extras.addTo(tensors);
    result.verdict = verifyResult(judged.problem, tensors, result.plan, sampleRows, formulas);
    return result;
}

void CallRuns::record(VkCommandBuffer commands, size_t set) const {
    recordAttention(commands, plan_.handle(), bindings(set));
}

void CallRuns::recordMap(VkCommandBuffer commands, size_t set) const {
    const VkfBindings all = bindings(set);
    requireSuccess(vkfCmdMapTiles, commands, plan_.handle(), &all);
}

VkfBindings CallRuns::bindings(size_t set) const {
    VkfBindings bindings = memory_.bindings(set);
    extras_.addTo(bindings);
    bindings.tileMap = tileMap_.binding();
    return bindings;
}

} // namespace vkf::tools
