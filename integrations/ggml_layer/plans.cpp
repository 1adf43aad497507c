// SPDX-License-Identifier: MIT
#include "plans.hpp"

#include <cstring>
#include <string_view>

#include "../ggml/slopes.hpp"
#include "device.hpp"

namespace vkf::layer {

size_t Plans::Hash::operator()(const Dispatch& dispatch) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&dispatch), sizeof dispatch});
}

bool Plans::Equal::operator()(const Dispatch& a, const Dispatch& b) const {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof a) == 0;
}

std::shared_ptr<const PlannedCall> Plans::find(const Dispatch& dispatch) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(dispatch);
        if (found != calls_.end()) {
            return found->second;
        }
    }
    // Without the lock, so that other threads go on while the driver compiles.
    std::shared_ptr<const PlannedCall> made = make(dispatch);
    if (made->temporary) {
        return made;
    }
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= capacity) {
        calls_.clear();
    }
    return calls_.emplace(dispatch, std::move(made)).first->second;
}

std::shared_ptr<const PlannedCall> Plans::make(const Dispatch& dispatch) {
    auto call = std::make_shared<PlannedCall>();
    DispatchProblem asked;
    call->refusal = describe(dispatch, &asked);
    if (!call->refusal.empty()) {
        return call;
    }
    VkfMessage message{};
    auto info = vkf::make<VkfPlanInfo>();
    VkfResult result = vkfCreatePlan(device_.context(), &asked.problem, call->plan.put(), &message);
    if (result == VKF_SUCCESS) {
        result = vkfGetPlanInfo(call->plan.get(), &info, &message);
    }
    if (result != VKF_SUCCESS) {
        call->refusal = message.text;
        call->temporary = result != VKF_ERROR_UNSUPPORTED && result != VKF_ERROR_INVALID_ARGUMENT;
        return call;
    }
    call->use = asked.problem.use;
    call->scratchBytes = info.scratchBytes;
    call->maskBytes = maskBytes(dispatch.push);
    if (info.scratchBytes > mostScratchBytes) {
        call->refusal = "the call needs more scratch memory than the layer takes";
    }
    if (has(asked.problem, VKF_USE_BIAS_FACTORS)) {
        call->factors = factorsOf(asked.maxBias, asked.problem.queryHeads);
        if (call->factors == nullptr) {
            call->refusal = "there is no memory for the factors of max_bias";
            call->temporary = true;
        }
    }
    return call;
}

std::shared_ptr<Memory> Plans::factorsOf(float maxBias, uint32_t heads) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Memory>& memory = factors_[{maxBias, heads}];
    if (memory == nullptr) {
        const std::vector<float> factors = ggml::slopes(maxBias, heads);
        memory = device_.allocate(factors.size() * sizeof(float), true);
        if (memory != nullptr) {
            std::memcpy(memory->mapped(), factors.data(), factors.size() * sizeof(float));
        }
    }
    return memory;
}

} // namespace vkf::layer
