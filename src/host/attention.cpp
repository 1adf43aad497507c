// SPDX-License-Identifier: MIT
//
// Plan, Attention and the one-call attention().
#include <vkflash/vkflash.hpp>

#include <utility>

#include "host/device_state.hpp"
#include "host/error.hpp"
#include "host/optional_tensors.hpp"
#include "host/transfer.hpp"

namespace vkf::host {
namespace {

Buffer createTensor(Device& device, const VkfProblem& problem, VkfTensorRole role) {
    return device.createBuffer(tensorBytes(vkf::layoutOf(problem, role)));
}

} // namespace

Plan::Plan(const Device& device, const VkfProblem& problem)
    : device_(device.state_), problem_(problem), info_(make<VkfPlanInfo>()) {
    VkfMessage message{};
    device_->remembering([&] { check(vkfCreatePlan(device_->context(), &problem, &plan_, &message), message); });
    if (const VkfResult result = vkfGetPlanInfo(plan_, &info_, &message); result != VKF_SUCCESS) {
        vkfDestroyPlan(plan_);
        check(result, message);
    }
}

Plan::Plan(Plan&& other) noexcept
    : device_(std::move(other.device_)), plan_(std::exchange(other.plan_, nullptr)), problem_(other.problem_),
      info_(other.info_) {}

Plan& Plan::operator=(Plan&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(plan_, other.plan_);
    problem_ = other.problem_;
    info_ = other.info_;
    return *this;
}

Plan::~Plan() { vkfDestroyPlan(plan_); }

Attention::Attention(Device& device, const VkfProblem& problem) : device_(device), plan_(device, problem) {
    q_ = createTensor(device, problem, VKF_TENSOR_Q);
    k_ = createTensor(device, problem, VKF_TENSOR_K);
    v_ = createTensor(device, problem, VKF_TENSOR_V);
    o_ = createTensor(device, problem, VKF_TENSOR_O);
    for (const OptionalTensor& row : optionalTensors()) {
        const uint64_t bytes = row.bytes(problem);
        optional_.push_back(bytes > 0 ? device.createBuffer(bytes) : Buffer());
    }
    if (plan_.info().scratchBytes > 0) {
        scratch_ = device.createBuffer(plan_.info().scratchBytes);
    }
    if (has(problem, VKF_USE_TILE_MAP) && plan_.info().tileMapBytes > 0) {
        tileMap_ = device.createBuffer(plan_.info().tileMapBytes);
    }
}

void Attention::upload(const HostTensors& tensors) {
    VkfMessage message{};
    check(vkfCheckSequences(&plan_.problem(), tensors.cuSeqlensQ, tensors.cuSeqlensK, &message), message);
    uploadAll(device_, q_, tensors.q, "q");
    uploadAll(device_, k_, tensors.k, "k");
    uploadAll(device_, v_, tensors.v, "v");
    for (size_t i = 0; i < optionalTensors().size(); i++) {
        if (const OptionalTensor& row = optionalTensors()[i]; row.input != nullptr) {
            uploadAll(device_, optional_[i], row.input(tensors), row.name);
        }
    }
    uploadFunctionArrays(device_, plan_.problem(), tensors, &functionArrays_);
    hasTileMap_ = false;
}

double Attention::makeTileMap() {
    if (tileMap_.size() == 0 || hasTileMap_) {
        return 0;
    }
    const VkfBindings all = bindings();
    const double seconds = device_.submit([&](VkCommandBuffer commandBuffer) {
        VkfMessage message{};
        check(vkfCmdMapTiles(commandBuffer, plan_.handle(), &all, &message), message);
    });
    hasTileMap_ = true;
    return seconds;
}

double Attention::run(const std::function<void(double)>& progress) {
    const uint32_t stepCount = plan_.info().stepCount;
    const VkfBindings all = bindings();
    double seconds = makeTileMap();
    for (uint32_t step = 0; step < stepCount; ++step) {
        seconds += device_.submit([&](VkCommandBuffer commandBuffer) {
            VkfMessage message{};
            check(vkfCmdAttentionSteps(commandBuffer, plan_.handle(), &all, step, 1, &message), message);
        });
        if (progress) {
            progress(static_cast<double>(step + 1) / stepCount);
        }
    }
    return seconds;
}

void Attention::download(const HostTensors& tensors) {
    Downloads downloads(device_);
    downloads.addRows(layoutOf(plan_.problem(), VKF_TENSOR_O), tensors.o, o_, "o");
    for (size_t i = 0; i < optionalTensors().size(); i++) {
        if (const OptionalTensor& row = optionalTensors()[i]; row.output != nullptr) {
            downloads.add(row.output(tensors), optional_[i], row.name);
        }
    }
    downloads.write();
}

VkfBindings Attention::bindings() const noexcept {
    auto bindings = make<VkfBindings>();
    bindings.q = q_.binding();
    bindings.k = k_.binding();
    bindings.v = v_.binding();
    bindings.o = o_.binding();
    for (size_t i = 0; i < optionalTensors().size(); i++) {
        bindings.*optionalTensors()[i].binding = optional_[i].binding();
    }
    bindFunctionArrays(functionArrays_, &bindings);
    bindings.scratch = scratch_.binding();
    bindings.tileMap = tileMap_.binding();
    return bindings;
}

AttentionReport attention(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          const std::function<void(double)>& progress) {
    Attention attention(device, problem);
    // Checks the outputs before all the work, not after it.
    requirePointer(tensors.o, attention.bindings().o.size, "o");
    for (const OptionalTensor& row : optionalTensors()) {
        if (row.output != nullptr) {
            requirePointer(row.output(tensors), row.bytes(problem), row.name);
        }
    }
    attention.upload(tensors);
    AttentionReport report;
    report.seconds = attention.run(progress);
    attention.download(tensors);
    report.plan = attention.plan().info();
    return report;
}

} // namespace vkf::host
