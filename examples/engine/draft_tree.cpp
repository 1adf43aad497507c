// SPDX-License-Identifier: MIT
//
// Verifies the drafts of a tree in one call. The keys of the drafts stand at the end of the cache. Each draft sees all
// keys before the tree, its ancestors and itself: a mask over the last keys says so, with a bit for each pair of
// drafts. The program prints one result and the expected value. The exit status is 1 if any result is wrong.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "gpu.hpp"
#include "program.hpp"

namespace {

constexpr uint32_t heads = 4;
constexpr uint32_t cached = 1000; // keys before the tree
constexpr uint32_t dim = 32;

// The parent of each draft, a draft before it; -1 = the last key before the tree. Two guesses of the next token, and
// what may follow each of them.
constexpr std::array<int, 8> parents = {-1, -1, 0, 0, 1, 2, 2, 4};
constexpr uint32_t drafts = parents.size();
constexpr uint32_t keys = cached + drafts;

// Row i of the mask is a byte whose bits are the drafts that draft i sees: what its parent sees, and itself.
std::array<unsigned char, drafts> maskOf(const std::array<int, drafts>& tree) {
    std::array<unsigned char, drafts> rows{};
    for (uint32_t i = 0; i < drafts; i++) {
        const unsigned ofParent = tree[i] >= 0 ? rows[static_cast<uint32_t>(tree[i])] : 0U;
        rows[i] = static_cast<unsigned char>(ofParent | 1U << i);
    }
    return rows;
}

VkfProblem describeProblem() {
    auto problem = vkf::make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = heads;
    problem.kvHeads = 1;
    problem.queryRows = drafts;
    problem.keys = keys;
    problem.headDim = dim;
    problem.use |= VKF_USE_MASK;
    problem.mask.type = VKF_TYPE_BOOL1;
    problem.mask.lastKeys = drafts;
    problem.mask.rowStride = 8; // bits
    return problem;
}

// All scores are equal, and v of key j is j. Therefore a row is the mean of the numbers of the keys that it sees.
float expected(unsigned char row) {
    double sum = 0.5 * cached * (cached - 1.0);
    double count = cached;
    for (uint32_t draft = 0; draft < drafts; draft++) {
        if ((row >> draft & 1U) != 0) {
            sum += cached + draft;
            count++;
        }
    }
    return static_cast<float>(sum / count);
}

int run() {
    Gpu gpu;
    const Allocation q = gpu.allocate(size_t{heads} * drafts * dim * sizeof(float));
    const Allocation k = gpu.allocate(size_t{keys} * dim * sizeof(float));
    const Allocation v = gpu.allocate(size_t{keys} * dim * sizeof(float));
    const Allocation o = gpu.allocate(size_t{heads} * drafts * dim * sizeof(float));
    const std::array<unsigned char, drafts> rows = maskOf(parents);
    const Allocation mask = gpu.allocate(rows.size());
    std::memcpy(mask.mapped, rows.data(), rows.size());
    for (size_t i = 0; i < size_t{heads} * drafts * dim; i++) {
        static_cast<float*>(q.mapped)[i] = 1.0F;
    }
    for (size_t i = 0; i < size_t{keys} * dim; i++) {
        static_cast<float*>(k.mapped)[i] = 0.5F;
        const size_t key = i / dim;
        static_cast<float*>(v.mapped)[i] = static_cast<float>(key);
    }

    const vkf::Context context = createContext(gpu);
    const VkfProblem problem = describeProblem();
    VkfMessage message{};
    vkf::Plan plan;
    check(vkfCreatePlan(context.get(), &problem, plan.put(), &message), message);
    auto info = vkf::make<VkfPlanInfo>();
    check(vkfGetPlanInfo(plan.get(), &info, &message), message);
    const Allocation scratch = gpu.allocate(info.scratchBytes != 0 ? info.scratchBytes : 4);

    auto bindings = vkf::make<VkfBindings>();
    bindings.q.address = q.address;
    bindings.k.address = k.address;
    bindings.v.address = v.address;
    bindings.o.address = o.address;
    bindings.mask.address = mask.address;
    if (info.scratchBytes != 0) {
        bindings.scratch.address = scratch.address;
        bindings.scratch.size = info.scratchBytes;
    }
    gpu.frame([&](VkCommandBuffer commandBuffer) {
        check(vkfCmdAttention(commandBuffer, plan.get(), &bindings, &message), message);
    });

    bool right = true;
    const auto resultAt = [&o](uint32_t head, uint32_t row) {
        return static_cast<const float*>(o.mapped)[(size_t{head} * drafts + row) * dim];
    };
    for (uint32_t head = 0; head < heads; head++) {
        for (uint32_t row = 0; row < drafts; row++) {
            right = right && std::abs(resultAt(head, row) - expected(rows[row])) < 0.01F;
        }
    }
    std::printf("draft_tree: draft 7 is %.3f, must be %.3f: %s\n", static_cast<double>(resultAt(0, 7)),
                static_cast<double>(expected(rows[7])), right ? "all drafts right" : "WRONG");
    return right ? 0 : 1;
}

} // namespace

int main() { return runProgram("draft_tree", run); }
