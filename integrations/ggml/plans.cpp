// SPDX-License-Identifier: MIT
#include "plans.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "accelerator.hpp"
#include "slopes.hpp"

namespace vkf::ggml {

size_t PlanCache::Hash::operator()(const NodeProblem& asked) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&asked), sizeof asked});
}

bool PlanCache::Equal::operator()(const NodeProblem& a, const NodeProblem& b) const {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof a) == 0;
}

PlanCache::~PlanCache() {
    for (auto& [asked, plan] : plans_) {
        accelerator_.deleteBuffer(std::move(plan->factors));
    }
}

CachedPlan* PlanCache::find(const NodeProblem& asked) {
    const auto found = plans_.find(asked);
    if (found == plans_.end()) {
        return nullptr;
    }
    found->second->lastUse = ++uses_;
    return found->second.get();
}

CachedPlan* PlanCache::make(const NodeProblem& asked) {
    if (full()) {
        dropOldest();
    }
    auto made = std::make_unique<CachedPlan>();
    VkfMessage message{};
    VkfResult result = vkfCreatePlan(accelerator_.context(), &asked.problem, made->plan.put(), &message);
    made->info = vkf::make<VkfPlanInfo>();
    if (result == VKF_SUCCESS) {
        result = vkfGetPlanInfo(made->plan.get(), &made->info, &message);
    }
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
    if (has(asked.problem, VKF_USE_BIAS_FACTORS)) {
        made->factors = newFactors(asked);
    }
    made->lastUse = ++uses_;
    return plans_.emplace(asked, std::move(made)).first->second.get();
}

host::Buffer PlanCache::newFactors(const NodeProblem& asked) {
    const std::vector<float> factors = slopes(asked.maxBias, asked.problem.queryHeads);
    host::Buffer buffer = accelerator_.newBuffer(factors.size() * sizeof(float));
    accelerator_.upload(buffer, factors.data(), buffer.size(), 0);
    return buffer;
}

void PlanCache::dropOldest() {
    const auto oldest = std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
        return a.second->lastUse < b.second->lastUse;
    });
    accelerator_.deleteBuffer(std::move(oldest->second->factors));
    plans_.erase(oldest);
}

} // namespace vkf::ggml
