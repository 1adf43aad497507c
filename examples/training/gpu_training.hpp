// SPDX-License-Identifier: MIT
//
// The training on the device. One command buffer holds a step: forward pass, loss, backward pass and descent.
#pragma once

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>

#include "compute_kernel.hpp"
#include "convert.spv.h"
#include "gpu.hpp"
#include "loss.spv.h"
#include "product.spv.h"
#include "program.hpp"
#include "task.hpp"

// Must agree with the shaders.
struct ProductArguments {
    VkDeviceAddress left, right, target;
    std::array<uint32_t, 2> leftStrides, rightStrides;
    uint32_t rows, inner, columns;
    float descentRate;
};
struct LossArguments {
    VkDeviceAddress scores, answers, losses;
    uint32_t rows, columns;
};
struct ConvertArguments {
    VkDeviceAddress wide, narrow;
    uint32_t count, widens;
    float factor;
};

// A matrix in device memory. A transposed one has the strides the other way round.
struct Matrix {
    float* data;
    VkfBinding binding;
    uint32_t rows, columns;
    std::array<uint32_t, 2> strides; // of rows, of columns
    VkfBinding attended;             // what attention reads or writes: the matrix, or its copy in fp16

    Matrix transposed() const { return {data, binding, columns, rows, {strides[1], strides[0]}, attended}; }
};

// Each question sees all pairs of its sequence. The heads of a token lie side by side.
inline VkfProblem attentionProblem(const Layer& layer) {
    auto problem = vkf::make<VkfProblem>();
    problem.batch = sequences;
    problem.queryHeads = problem.kvHeads = heads;
    problem.queryRows = problem.keys = tokens;
    problem.headDim = layer.headDim;
    const VkfType type = layer.fp16 ? VKF_TYPE_F16 : VKF_TYPE_F32;
    problem.q = problem.k = problem.v = problem.o = vkf::rowsFirst(type, tokens, heads, layer.headDim);
    vkf::enable(problem, VKF_USE_LSE);
    return problem;
}

class GpuTraining {
public:
    GpuTraining(Gpu& gpu, const Layer& layer)
        : gpu_(gpu), layer_(layer), product_(gpu.device(), product_spirv, sizeof(ProductArguments)),
          loss_(gpu.device(), loss_spirv, sizeof(LossArguments)), context_(createContext(gpu)) {
        asked_ = allocate(rows, inputs);
        pairs_ = allocate(rows, inputs);
        scores_ = allocate(rows, digits);
        lse_ = allocate(rows, heads);
        answers_ = allocate(rows, 1); // uint32
        losses_ = allocate(rows, 1);
        for (Matrix* matrix : {&q_, &o_, &dQ_, &dO_, &k_, &v_, &dK_, &dV_}) {
            *matrix = allocateAttended();
        }
        const Weights<float> initial = randomWeights<float>(layer.width());
        for (size_t i = 0; i < weightCount; i++) {
            weights_[i] = i == toScores ? allocate(layer.width(), digits) : allocate(inputs, layer.width());
            std::copy(initial[i].begin(), initial[i].end(), weights_[i].data);
        }
        createPasses();
        step_ = gpu_.record([this](VkCommandBuffer commands) { recordStep(commands); });
    }

    // One step of gradient descent. Returns the mean loss before it.
    double step(const Batch& batch) {
        std::copy(batch.asked.begin(), batch.asked.end(), asked_.data);
        std::copy(batch.pairs.begin(), batch.pairs.end(), pairs_.data);
        std::copy(batch.answers.begin(), batch.answers.end(), reinterpret_cast<uint32_t*>(answers_.data));
        gpu_.submit(step_);
        return std::accumulate(losses_.data, losses_.data + rows, 0.0) / rows;
    }

private:
    void createPasses() {
        const VkfProblem problem = attentionProblem(layer_);
        auto backward = vkf::make<VkfBackwardProblem>();
        backward.forward = &problem;
        backward.dout = backward.dq = backward.dk = backward.dv = problem.q;
        VkfMessage message{};
        check(vkfCreatePlan(context_.get(), &problem, plan_.put(), &message), message);
        check(vkfCreateBackward(context_.get(), &backward, backward_.put(), &message), message);
        auto planInfo = vkf::make<VkfPlanInfo>();
        auto backwardInfo = vkf::make<VkfBackwardInfo>();
        check(vkfGetPlanInfo(plan_.get(), &planInfo, &message), message);
        check(vkfGetBackwardInfo(backward_.get(), &backwardInfo, &message), message);
        scratch_ = allocate(1, static_cast<uint32_t>(std::max(planInfo.scratchBytes, backwardInfo.scratchBytes) / 4));
        std::printf("training: %s attention, forward on path %s, backward on path %s\n", layer_.type,
                    vkfPathName(planInfo.path), vkfPathName(backwardInfo.path));
        if (layer_.fp16) { // the device has 16-bit storage, or else there would be no plan
            convert_.emplace(gpu_.device(), convert_spirv, sizeof(ConvertArguments));
        }
    }

    Matrix allocate(uint32_t count, uint32_t columns) {
        const size_t bytes = size_t{count} * columns * sizeof(float);
        const Allocation memory = gpu_.allocate(bytes);
        VkfBinding binding{};
        binding.address = bytes != 0 ? memory.address : 0;
        binding.size = bytes;
        return {static_cast<float*>(memory.mapped), binding, count, columns, {columns, 1}, binding};
    }

    Matrix allocateAttended() {
        Matrix matrix = allocate(rows, layer_.width());
        if (layer_.fp16) {
            matrix.attended = allocate(rows, layer_.width() / 2).binding; // two numbers in 4 bytes
        }
        return matrix;
    }

    // Rounds to fp16 what attention reads, or widens what it wrote. Does nothing without fp16.
    void recordNarrow(VkCommandBuffer commands, const Matrix& matrix, float factor = 1.0F) const {
        recordConversion(commands, matrix, 0, factor);
    }
    void recordWiden(VkCommandBuffer commands, const Matrix& matrix, float factor = 1.0F) const {
        recordConversion(commands, matrix, 1, factor);
    }
    void recordConversion(VkCommandBuffer commands, const Matrix& matrix, uint32_t widens, float factor) const {
        if (convert_) {
            const uint32_t count = matrix.rows * matrix.columns;
            const ConvertArguments arguments = {matrix.binding.address, matrix.attended.address, count, widens, factor};
            convert_->record(commands, &arguments, (count + 63) / 64);
        }
    }

    // target = left * right, or with a rate: target -= rate * left * right.
    void recordProduct(VkCommandBuffer commands, const Matrix& left, const Matrix& right, const Matrix& target,
                       float descentRate = 0.0F) const {
        const ProductArguments arguments = {left.binding.address, right.binding.address, target.binding.address,
                                            left.strides,         right.strides,         left.rows,
                                            left.columns,         right.columns,         descentRate};
        product_.record(commands, &arguments, (left.rows * right.columns + 63) / 64);
    }

    void recordStep(VkCommandBuffer commands) {
        recordProduct(commands, asked_, weights_[toQ], q_);
        recordProduct(commands, pairs_, weights_[toK], k_);
        recordProduct(commands, pairs_, weights_[toV], v_);
        for (const Matrix* input : {&q_, &k_, &v_}) {
            recordNarrow(commands, *input);
        }
        auto call = vkf::make<VkfBindings>();
        call.q = q_.attended;
        call.k = k_.attended;
        call.v = v_.attended;
        call.o = o_.attended;
        call.lse = lse_.binding;
        call.scratch = scratch_.binding;
        VkfMessage message{};
        recordBarrier(commands);
        check(vkfCmdAttention(commands, plan_.get(), &call, &message), message);
        recordWiden(commands, o_);
        recordProduct(commands, o_, weights_[toScores], scores_);
        const LossArguments loss = {scores_.binding.address, answers_.binding.address, losses_.binding.address, rows,
                                    digits};
        loss_.record(commands, &loss, (rows + 63) / 64); // scores_ now has their gradient
        recordProduct(commands, scores_, weights_[toScores].transposed(), dO_);
        recordNarrow(commands, dO_, lossScale);
        auto gradients = vkf::make<VkfBackwardBindings>();
        gradients.forward = &call;
        gradients.dout = dO_.attended;
        gradients.dq = dQ_.attended;
        gradients.dk = dK_.attended;
        gradients.dv = dV_.attended;
        gradients.scratch = scratch_.binding; // the forward call is over
        recordBarrier(commands);
        check(vkfCmdBackward(commands, backward_.get(), &gradients, &message), message);
        for (const Matrix* gradient : {&dQ_, &dK_, &dV_}) {
            recordWiden(commands, *gradient, 1.0F / lossScale);
        }
        constexpr auto down = static_cast<float>(rate); // all gradients are computed before the first weight changes
        recordProduct(commands, o_.transposed(), scores_, weights_[toScores], down);
        recordProduct(commands, asked_.transposed(), dQ_, weights_[toQ], down);
        recordProduct(commands, pairs_.transposed(), dK_, weights_[toK], down);
        recordProduct(commands, pairs_.transposed(), dV_, weights_[toV], down);
    }

    Gpu& gpu_;
    Layer layer_;
    ComputeKernel product_, loss_;
    std::optional<ComputeKernel> convert_; // with fp16
    vkf::Context context_;
    vkf::Plan plan_;
    vkf::Backward backward_;
    Matrix scratch_{}, asked_{}, pairs_{}, q_{}, k_{}, v_{}, o_{}, lse_{}, scores_{}, dO_{}, dQ_{}, dK_{}, dV_{},
        answers_{}, losses_{};
    std::array<Matrix, weightCount> weights_{};
    VkCommandBuffer step_ = VK_NULL_HANDLE;
};
