// SPDX-License-Identifier: MIT
//
// Plans by shape. A model asks for few shapes, again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include <vkflash/host.hpp>
#include <vkflash/vkflash.hpp>

#include "problem.hpp"

namespace vkf::ggml {

class Accelerator;

// A plan, and the factors of its heads' bias if it has them.
struct CachedPlan {
    Plan plan;
    VkfPlanInfo info;
    host::Buffer factors;
    uint64_t lastUse;
};

class PlanCache {
public:
    explicit PlanCache(Accelerator& accelerator) : accelerator_(accelerator) {}
    ~PlanCache();
    PlanCache(const PlanCache&) = delete;
    PlanCache& operator=(const PlanCache&) = delete;

    // Returns the plan, or nullptr if the cache does not have it.
    CachedPlan* find(const NodeProblem& asked);
    // Makes the plan and keeps it. Blocks while the driver compiles. If the cache is full, the plan that was not used
    // for the longest time goes: the device must not be using it.
    //
    // Throws host::Error with the results of vkfCreatePlan.
    CachedPlan* make(const NodeProblem& asked);
    bool full() const { return plans_.size() >= capacity; }
    size_t size() const { return plans_.size(); }

    static constexpr size_t capacity = 256;

private:
    struct Hash {
        size_t operator()(const NodeProblem& asked) const;
    };
    struct Equal {
        bool operator()(const NodeProblem& a, const NodeProblem& b) const;
    };
    void dropOldest();
    host::Buffer newFactors(const NodeProblem& asked);

    Accelerator& accelerator_;
    std::unordered_map<NodeProblem, std::unique_ptr<CachedPlan>, Hash, Equal> plans_;
    uint64_t uses_ = 0;
};

} // namespace vkf::ggml
