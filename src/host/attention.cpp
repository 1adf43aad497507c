// SPDX-License-Identifier: MIT
//
// Plan, Attention and the one-call attention().
#include <vkflash/vkflash.hpp>

#include <cstring>
#include <utility>

#include "host/device_state.hpp"
#include "host/error.hpp"

namespace vkf::host {
namespace {

uint64_t tensorBytes(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

Buffer createTensor(Device& device, const VkfProblem& problem, VkfTensorRole role) {
    return device.createBuffer(tensorBytes(vkfTensorLayout(&problem, role)));
}

uint64_t lseBytes(const VkfProblem& problem) {
    const VkfTensorLayout o = vkfTensorLayout(&problem, VKF_TENSOR_O);
    return uint64_t{o.batch} * o.heads * o.rows * sizeof(float);
}

uint64_t weightsBytes(const VkfProblem& problem) {
    const uint64_t rows = problem.weightRows != 0 ? problem.weightRows : problem.queryRows;
    return uint64_t{problem.batch} * problem.queryHeads * rows * problem.keys * sizeof(float);
}

uint64_t keyLengthsBytes(const VkfProblem& problem) { return uint64_t{problem.batch} * sizeof(int32_t); }

uint64_t blockMaskBytes(const VkfProblem& problem) { return vkfBlockMaskLayout(&problem).words * sizeof(uint32_t); }

uint64_t perHeadBytes(const VkfProblem& problem) { return uint64_t{problem.queryHeads} * sizeof(float); }

uint64_t startsBytes(const VkfProblem& problem) { return (uint64_t{problem.batch} + 1) * sizeof(int32_t); }

// A number for each key, one sequence after the other.
uint64_t documentBytes(const VkfProblem& problem) {
    const bool together = problem.packed != 0 && problem.paging.enabled == 0;
    return (together ? 1 : uint64_t{problem.batch}) * problem.keys * sizeof(int32_t);
}

uint64_t blockTableBytes(const VkfProblem& problem) {
    return uint64_t{problem.batch} * problem.paging.maxPages * sizeof(int32_t);
}

void requirePointer(const void* pointer, uint64_t bytes, const char* name) {
    if (pointer == nullptr && bytes > 0) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, std::string(name) + " is null");
    }
}

void uploadAll(Device& device, const Buffer& to, const void* from, const char* name) {
    requirePointer(from, to.size(), name);
    device.upload(to, from, to.size());
}

void downloadAll(Device& device, void* to, const Buffer& from, const char* name) {
    requirePointer(to, from.size(), name);
    device.download(to, from, from.size());
}

// Rows of o do not overlap, so a span as long as all of them together has nothing between them.
bool hasGaps(const VkfTensorLayout& o) { return o.elements != uint64_t{o.batch} * o.heads * o.rows * o.dim; }

void copyRows(const VkfTensorLayout& layout, const unsigned char* from, unsigned char* to) {
    const size_t elementBytes = vkfTypeBytes(layout.type);
    for (uint64_t batch = 0; batch < layout.batch; ++batch) {
        for (uint64_t head = 0; head < layout.heads; ++head) {
            for (uint64_t row = 0; row < layout.rows; ++row) {
                const uint64_t offset =
                    (batch * layout.batchStride + head * layout.headStride + row * layout.rowStride) * elementBytes;
                std::memcpy(to + offset, from + offset, layout.dim * elementBytes);
            }
        }
    }
}

} // namespace

Plan::Plan(const Device& device, const VkfProblem& problem)
    : device_(device.state_), problem_(problem), info_(make<VkfPlanInfo>()) {
    VkfMessage message{};
    check(vkfCreatePlan(device_->context(), &problem, &plan_, &message), message);
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
    if (problem.lse != 0) {
        lse_ = device.createBuffer(lseBytes(problem));
    }
    if (problem.weights != 0) {
        weights_ = device.createBuffer(weightsBytes(problem));
    }
    if (problem.weightRows != 0) {
        weightRows_ = device.createBuffer(uint64_t{problem.weightRows} * sizeof(int32_t));
    }
    if (problem.keyLengths != 0) {
        keyLengths_ = device.createBuffer(keyLengthsBytes(problem));
    }
    if (problem.maskBlock != 0) {
        blockMask_ = device.createBuffer(blockMaskBytes(problem));
    }
    if (problem.paging.enabled != 0) {
        blockTable_ = device.createBuffer(blockTableBytes(problem));
    }
    if (problem.sinks != 0) {
        sinks_ = device.createBuffer(perHeadBytes(problem));
    }
    if (problem.alibiCustom != 0) {
        alibiSlopes_ = device.createBuffer(perHeadBytes(problem));
    }
    if (problem.bias.enabled != 0) {
        bias_ = device.createBuffer(vkfBroadcastBytes(&problem, &problem.bias));
    }
    if (problem.mask.enabled != 0) {
        mask_ = device.createBuffer(vkfBroadcastBytes(&problem, &problem.mask));
    }
    if (problem.documents != 0) {
        documentIds_ = device.createBuffer(documentBytes(problem));
    }
    if (problem.packed != 0) {
        cuSeqlensQ_ = device.createBuffer(startsBytes(problem));
    }
    if (problem.packed != 0 && problem.paging.enabled == 0) {
        cuSeqlensK_ = device.createBuffer(startsBytes(problem));
    }
    if (problem.dropoutMask.enabled != 0) {
        dropoutMask_ = device.createBuffer(vkfBroadcastBytes(&problem, &problem.dropoutMask));
    }
    if (problem.dropout.deviceSeed != 0) {
        dropoutSeed_ = device.createBuffer(sizeof(uint64_t));
    }
    if (plan_.info().scratchBytes > 0) {
        scratch_ = device.createBuffer(plan_.info().scratchBytes);
    }
}

void Attention::upload(const HostTensors& tensors) {
    VkfMessage message{};
    check(vkfCheckSequences(&plan_.problem(), tensors.cuSeqlensQ, tensors.cuSeqlensK, &message), message);
    uploadAll(device_, q_, tensors.q, "q");
    uploadAll(device_, k_, tensors.k, "k");
    uploadAll(device_, v_, tensors.v, "v");
    uploadAll(device_, keyLengths_, tensors.keyLengths, "keyLengths");
    uploadAll(device_, blockMask_, tensors.blockMask, "blockMask");
    uploadAll(device_, blockTable_, tensors.blockTable, "blockTable");
    uploadAll(device_, sinks_, tensors.sinks, "sinks");
    uploadAll(device_, alibiSlopes_, tensors.alibiSlopes, "alibiSlopes");
    uploadAll(device_, bias_, tensors.bias, "bias");
    uploadAll(device_, mask_, tensors.mask, "mask");
    uploadAll(device_, documentIds_, tensors.documentIds, "documentIds");
    uploadAll(device_, cuSeqlensQ_, tensors.cuSeqlensQ, "cuSeqlensQ");
    uploadAll(device_, cuSeqlensK_, tensors.cuSeqlensK, "cuSeqlensK");
    uploadAll(device_, dropoutMask_, tensors.dropoutMask, "dropoutMask");
    uploadAll(device_, dropoutSeed_, tensors.dropoutSeed, "dropoutSeed");
    uploadAll(device_, weightRows_, tensors.weightRows, "weightRows");
}

double Attention::run(const std::function<void(double)>& progress) {
    const uint32_t stepCount = plan_.info().stepCount;
    const VkfBindings all = bindings();
    double seconds = 0;
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
    const VkfTensorLayout layout = vkfTensorLayout(&plan_.problem(), VKF_TENSOR_O);
    if (tensors.o != nullptr && hasGaps(layout)) {
        std::vector<unsigned char> span(o_.size());
        device_.download(span.data(), o_, span.size());
        copyRows(layout, span.data(), static_cast<unsigned char*>(tensors.o));
    } else {
        downloadAll(device_, tensors.o, o_, "o");
    }
    downloadAll(device_, tensors.lse, lse_, "lse");
    downloadAll(device_, tensors.weights, weights_, "weights");
}

VkfBindings Attention::bindings() const noexcept {
    auto bindings = make<VkfBindings>();
    bindings.q = q_.binding();
    bindings.k = k_.binding();
    bindings.v = v_.binding();
    bindings.o = o_.binding();
    bindings.lse = lse_.binding();
    bindings.weights = weights_.binding();
    bindings.keyLengths = keyLengths_.binding();
    bindings.blockMask = blockMask_.binding();
    bindings.blockTable = blockTable_.binding();
    bindings.sinks = sinks_.binding();
    bindings.alibiSlopes = alibiSlopes_.binding();
    bindings.bias = bias_.binding();
    bindings.mask = mask_.binding();
    bindings.documentIds = documentIds_.binding();
    bindings.cuSeqlensQ = cuSeqlensQ_.binding();
    bindings.cuSeqlensK = cuSeqlensK_.binding();
    bindings.dropoutMask = dropoutMask_.binding();
    bindings.dropoutSeed = dropoutSeed_.binding();
    bindings.weightRows = weightRows_.binding();
    bindings.scratch = scratch_.binding();
    return bindings;
}

AttentionReport attention(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          const std::function<void(double)>& progress) {
    Attention attention(device, problem);
    // Now rather than after all the work.
    requirePointer(tensors.o, attention.bindings().o.size, "o");
    requirePointer(tensors.lse, attention.bindings().lse.size, "lse");
    attention.upload(tensors);
    AttentionReport report;
    report.seconds = attention.run(progress);
    attention.download(tensors);
    report.plan = attention.plan().info();
    return report;
}

} // namespace vkf::host
