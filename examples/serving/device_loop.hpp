// SPDX-License-Identifier: MIT
//
// The device's side of a step: appends the new rows of all sequences to their pages, and computes their attention. Both
// calls are recorded once. Sizes that change from step to step are numbers in device memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "compute_kernel.hpp"
#include "gpu.hpp"
#include "program.hpp"
#include "requests.hpp"

constexpr uint32_t heads = 8, kvHeads = 2, headDim = 64;
constexpr uint32_t outputWidth = heads * headDim;
constexpr uint32_t qkvWidth = (heads + 2 * kvHeads) * headDim; // a row has q, k and v side by side
constexpr VkfType cacheType = VKF_TYPE_Q8_0;                   // or another type that vkfCmdAppend writes
// Fixed splits: the bits of a result do not depend on the sequences that share its call.
constexpr uint32_t splitKeys = 64;

// What one sequence has in a step.
struct Turn {
    Sequence* sequence;
    std::vector<Row> rows;
};

// This program has no model. Each token has random numbers for q, k and v, in place of what a model's layers make of
// the text. The append rotates q and k by the token's position, so results depend on the whole text all the same.
inline std::vector<float> randomModel() {
    std::mt19937 random(1);
    std::vector<float> values(size_t{vocabulary} * qkvWidth);
    std::ranges::generate(values,
                          [&] { return static_cast<float>(random() >> 8) / static_cast<float>(1 << 22) - 2.0F; });
    return values;
}

// The token after a row. Sums of its output stand for a model's output layer.
inline uint32_t nextToken(std::span<const float> output) {
    std::array<float, vocabulary> logits{};
    for (uint32_t i = 0; i < outputWidth; i++) {
        logits[i % vocabulary] += output[i];
    }
    return static_cast<uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

class DeviceLoop {
public:
    const uint32_t sequences, rows; // the most of a step

    DeviceLoop(Gpu& gpu, VkfContext context, uint32_t mostSequences, uint32_t mostRows)
        : sequences(mostSequences), rows(mostRows), gpu_(gpu) {
        VkfMessage message{};
        const VkfAppendProblem append = appendProblem();
        check(vkfCreateAppend(context, &append, append_.put(), &message), message);
        const VkfProblem attention = attentionProblem();
        check(vkfCreatePlan(context, &attention, attention_.put(), &message), message);
        check(vkfGetPlanInfo(attention_.get(), &info_, &message), message);
        k_ = gpu.allocate(rowBytes() * pages * pageSize), v_ = gpu.allocate(rowBytes() * pages * pageSize);
        qkv_ = gpu.allocate(size_t{rows} * qkvWidth * sizeof(float));
        outputs_ = gpu.allocate(size_t{rows} * outputWidth * sizeof(float));
        scratch_ = gpu.allocate(info_.scratchBytes);
        const auto arrayOf = [&](VkfArray array) { return gpu.allocate(vkfGetAppendArrayBytes(&append, array)); };
        lengths_ = arrayOf(VKF_ARRAY_LENGTHS), newLengths_ = arrayOf(VKF_ARRAY_NEW_LENGTHS);
        starts_ = arrayOf(VKF_ARRAY_CU_SEQLENS), positions_ = arrayOf(VKF_ARRAY_ROTARY_POSITIONS);
        tables_ = arrayOf(VKF_ARRAY_BLOCK_TABLE);
        mask_ = gpu.allocate(vkfGetArrayBytes(&attention, VKF_ARRAY_MASK));
        commands_ = gpu.record([this](VkCommandBuffer commandBuffer) { record(commandBuffer); });
    }

    // Runs a step and waits for it.
    void step(const std::vector<Turn>& turns) {
        uint32_t start = 0;
        for (uint32_t b = 0; b < turns.size(); b++) {
            intsOf(starts_)[b] = static_cast<int32_t>(start);
            intsOf(lengths_)[b] = static_cast<int32_t>(turns[b].sequence->cached);
            std::ranges::copy(turns[b].sequence->table, intsOf(tables_) + size_t{b} * maxPages);
            std::ranges::copy(maskOf(turns[b].rows), static_cast<uint8_t*>(mask_.mapped) + size_t{b} * chunkRows);
            for (const Row& row : turns[b].rows) {
                std::memcpy(static_cast<float*>(qkv_.mapped) + size_t{start} * qkvWidth,
                            model_.data() + size_t{row.token} * qkvWidth, qkvWidth * sizeof(float));
                intsOf(positions_)[start++] = static_cast<int32_t>(row.position);
            }
        }
        // The other sequences have no rows.
        std::fill(intsOf(starts_) + turns.size(), intsOf(starts_) + sequences + 1, static_cast<int32_t>(start));
        gpu_.submit(commands_);
    }

    // The output of a row of the last step, fp32 [heads, headDim]. Rows count through all turns.
    std::span<const float> output(uint32_t row) const {
        return {static_cast<const float*>(outputs_.mapped) + size_t{row} * outputWidth, outputWidth};
    }

    // Copies k and v of one row of a sequence to another one. This cache lies in memory that the host sees. An engine
    // whose cache does not records copies of buffers.
    void copyRow(const BlockTable& table, uint32_t from, uint32_t to) {
        const auto placeOf = [&](uint32_t row) {
            return (static_cast<uint32_t>(table[row / pageSize]) * pageSize + row % pageSize) * rowBytes();
        };
        for (const Allocation& cache : {k_, v_}) {
            auto* const memory = static_cast<std::byte*>(cache.mapped);
            std::memcpy(memory + placeOf(to), memory + placeOf(from), rowBytes());
        }
    }

    const char* description() const { return info_.description; }

private:
    static int32_t* intsOf(const Allocation& allocation) { return static_cast<int32_t*>(allocation.mapped); }
    static size_t rowBytes() { return vkfStoredBytes(cacheType, uint64_t{kvHeads} * headDim); }

    // Some heads of rows that have q, k and v side by side.
    VkfTensor partOfQkv() const {
        VkfTensor tensor = vkf::rowsFirst(VKF_TYPE_F32, rows, 1, qkvWidth);
        tensor.headStride = headDim;
        return tensor;
    }

    template <typename Problem> Problem problemOfStep() const {
        auto problem = vkf::make<Problem>();
        problem.batch = sequences, problem.keys = maxPages * pageSize;
        problem.queryHeads = heads, problem.kvHeads = kvHeads, problem.headDim = headDim;
        problem.q = partOfQkv();
        problem.k = problem.v = vkf::rowsFirst(cacheType, pageSize, kvHeads, headDim); // heads of a row lie together
        problem.paging = {pageSize, maxPages, pages, 0, {}};
        return problem;
    }

    VkfAppendProblem appendProblem() const {
        auto problem = problemOfStep<VkfAppendProblem>();
        problem.rows = rows;
        problem.newK = problem.newV = problem.rotatedQ = problem.q;
        problem.rotary.pairs = VKF_ROTARY_HALVES;
        problem.use =
            VKF_USE_BLOCK_TABLE | VKF_USE_CU_SEQLENS | VKF_USE_QUERIES | VKF_USE_NEW_LENGTHS | VKF_USE_ROTARY_POSITIONS;
        return problem;
    }

    VkfProblem attentionProblem() const {
        auto problem = problemOfStep<VkfProblem>();
        problem.queryRows = rows;
        problem.longestRows = chunkRows, problem.splitKeys = splitKeys;
        problem.o = vkf::rowsFirst(VKF_TYPE_F32, rows, heads, headDim);
        // A mask for each sequence, the same for all heads. Strides count bits.
        problem.mask.type = VKF_TYPE_BOOL1, problem.mask.lastKeys = treeRows;
        problem.mask.rowStride = treeRows, problem.mask.batchStride = uint64_t{chunkRows} * treeRows;
        problem.use = VKF_USE_CAUSAL | VKF_USE_BLOCK_TABLE | VKF_USE_CU_SEQLENS | VKF_USE_KEY_LENGTHS | VKF_USE_MASK;
        return problem;
    }

    void record(VkCommandBuffer commandBuffer) const {
        VkfMessage message{};
        auto append = vkf::make<VkfAppendBindings>();
        append.q = append.rotatedQ = at(qkv_);
        append.newK = at(qkv_, size_t{heads} * headDim);
        append.newV = at(qkv_, size_t{heads + kvHeads} * headDim);
        append.k = at(k_), append.v = at(v_), append.blockTable = at(tables_);
        append.lengths = at(lengths_), append.newLengths = at(newLengths_);
        append.cuSeqlens = at(starts_), append.rotaryPositions = at(positions_);
        check(vkfCmdAppend(commandBuffer, append_.get(), &append, &message), message);
        recordBarrier(commandBuffer);
        auto attention = vkf::make<VkfBindings>();
        attention.q = at(qkv_), attention.o = at(outputs_);
        attention.k = at(k_), attention.v = at(v_), attention.blockTable = at(tables_);
        attention.cuSeqlensQ = at(starts_), attention.keyLengths = at(newLengths_), attention.mask = at(mask_);
        attention.scratch = at(scratch_), attention.scratch.size = info_.scratchBytes;
        check(vkfCmdAttention(commandBuffer, attention_.get(), &attention, &message), message);
    }

    Gpu& gpu_;
    std::vector<float> model_ = randomModel();
    vkf::Append append_;
    vkf::Plan attention_;
    VkfPlanInfo info_ = vkf::make<VkfPlanInfo>();
    Allocation k_{}, v_{}, qkv_{}, outputs_{}, scratch_{};
    Allocation lengths_{}, newLengths_{}, starts_{}, positions_{}, tables_{}, mask_{};
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
};
