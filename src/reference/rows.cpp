// SPDX-License-Identifier: MIT
#include "reference/rows.hpp"

#include <algorithm>
#include <vector>

#include "base/boundary.hpp"
#include "reference/chosen_rows.hpp"
#include "reference/parallel.hpp"

namespace vkf::reference {
namespace {

// A loop with fewer multiplications is done before a thread would have started.
constexpr double worthThreads = 200'000.0;
// Keys that one work item widens to float.
constexpr int64_t keysPerItem = 256;

std::unique_ptr<Algorithm> makeAlgorithm(const Call& call) {
    switch (call.options.algorithm) {
    case VKF_REFERENCE_TILED:
        return makeTiled(call);
    case VKF_REFERENCE_TILED_FP32:
    case VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS:
        return makeTiledFp32(call, call.options.algorithm == VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS);
    case VKF_REFERENCE_BLOCK_SPARSE:
        return makeBlockSparse(call);
    case VKF_REFERENCE_STANDARD:
        return makeStandard(call);
    case VKF_REFERENCE_ONLINE:
        return makeOnline(call);
    case VKF_REFERENCE_TILED_KEYS_OUTER:
        return makeTiledKeysOuter(call);
    case VKF_REFERENCE_RECOMPUTE:
        return makeRecompute(call);
    default:
        return makeDirect(call);
    }
}

// Reports the share of the work that is done to the caller, at most a thousand times.
class Progress {
public:
    Progress(const VkfReferenceOptions& options, double begin, double end)
        : options_(options), begin_(begin), end_(end) {}

    void report(double share) {
        if (options_.progress != nullptr && share - reported_ >= 0.001) {
            reported_ = share;
            options_.progress(options_.user, begin_ + share * (end_ - begin_));
        }
    }

private:
    const VkfReferenceOptions& options_;
    double begin_;
    double end_;
    double reported_ = 0.0;
};

uint32_t threadsFor(const Call& call, double multiplications) {
    return multiplications < worthThreads ? 1 : call.options.threads;
}

// Rows of one work item: a tile, or fewer if tiles leave threads without work. Rows do not depend on each other, so
// that their number changes no result.
uint32_t rowsPerItem(const Call& call, uint32_t rows, uint32_t heads) {
    if (wantsWholeHeads(call)) {
        return rows;
    }
    const uint64_t share = uint64_t{rows} * heads / (4 * uint64_t{call.options.threads});
    return static_cast<uint32_t>(std::clamp<uint64_t>(share, 1, std::min(call.options.tileRows, rows)));
}

class HeadLoop {
public:
    HeadLoop(const Call& call, const Output& output) : call_(call), output_(output), kv_(makeKvHead(call)) {
        for (uint32_t worker = 0; worker < call.options.threads; worker++) {
            workers_.push_back(makeAlgorithm(call));
        }
    }

    // Computes every query head of one KV head. Calls report() with the fraction that is done.
    template <typename Report> void run(uint32_t batch, uint32_t kvHead, const Report& report) {
        const Call::Span rows = call_.rowsOf(batch);
        const Call::Span selected = selectedOf(rows);
        const uint32_t first = selected.begin;
        const uint32_t end = selected.end;
        if (first == end) {
            return;
        }
        loadScales(call_, kvHead, &kv_);
        const Mask mask = maskOf(call_.problem, rows.size(), call_.keyLength(batch), call_.rowOffset(batch));
        const Pages pages = call_.pages(batch, mask.keys);
        const VkfTensorLayout& v = call_.layout(VKF_TENSOR_V);
        const double elements = static_cast<double>(mask.keys) * (call_.problem.headDim + v.dim);
        parallelFor(
            threadsFor(call_, elements), static_cast<uint64_t>((mask.keys + keysPerItem - 1) / keysPerItem),
            [&](uint32_t, uint64_t item) {
                const int64_t begin = static_cast<int64_t>(item) * keysPerItem;
                loadKeys(call_, batch, kvHead, {begin, std::min(begin + keysPerItem, mask.keys)}, &kv_, pages);
            },
            [](uint64_t) {});

        const uint32_t heads = call_.problem.queryHeads / call_.problem.kvHeads;
        const uint32_t perItem = rowsPerItem(call_, end - first, heads);
        const uint64_t itemsPerHead = (uint64_t{end - first} + perItem - 1) / perItem;
        parallelFor(
            threadsFor(call_, elements * (end - first) * heads), itemsPerHead * heads,
            [&](uint32_t worker, uint64_t item) {
                const auto firstOfItem = static_cast<uint32_t>(first + item % itemsPerHead * perItem);
                const auto queryHead = static_cast<uint32_t>(kvHead * uint64_t{heads} + item / itemsPerHead);
                const uint32_t count = std::min(perItem, end - firstOfItem);
                Mask ofHead = mask;
                ofHead.blocks = call_.blockMask(batch, queryHead);
                ofHead.documents = call_.documents(batch, mask.keys);
                ofHead.booleans = call_.booleanMask(batch, queryHead, mask.keys);
                ofHead.own = call_.ownMask(batch, queryHead, mask);
                ofHead.chosen = call_.chosenKeys(batch, kvHead);
                ofHead.pages = pages;
                workers_[worker]->compute({&kv_, ofHead, batch, queryHead, rows.begin, firstOfItem, count}, output_);
            },
            [&](uint64_t done) { report(static_cast<double>(done) / static_cast<double>(itemsPerHead * heads)); });
    }

private:
    // The numbers of a sequence's rows among the selected rows. Packed sequences have no chosen rows.
    Call::Span selectedOf(Call::Span rows) const {
        if (!has(call_.problem, VKF_USE_CU_SEQLENS)) {
            return {0, call_.rows};
        }
        return {selectedRows(rows.begin, call_.options.rowBegin, call_.options.rowStride),
                selectedRows(rows.end, call_.options.rowBegin, call_.options.rowStride)};
    }

    const Call& call_;
    const Output& output_;
    KvHead kv_;
    std::vector<std::unique_ptr<Algorithm>> workers_;
};

} // namespace

void computeRows(const Call& call, const Output& output, double progressBegin, double progressEnd) {
    if (call.empty() || call.rows == 0) {
        return;
    }
    HeadLoop loop(call, output);
    Progress progress(call.options, progressBegin, progressEnd);
    const double total = static_cast<double>(call.problem.batch) * call.problem.kvHeads;
    double finished = 0.0;
    for (uint32_t batch = 0; batch < call.problem.batch; batch++) {
        for (uint32_t kvHead = 0; kvHead < call.problem.kvHeads; kvHead++) {
            loop.run(batch, kvHead, [&](double share) { progress.report((finished + share) / total); });
            finished += 1.0;
        }
    }
}

namespace {

// Computes the probabilities of the rows that a list chooses, without o and lse.
void computeChosenProbabilities(const Call& call) {
    const ChosenRows rows(call);
    const uint64_t keys = call.problem.keys;
    Call chosen = rows.callOf(call);
    std::vector<double> probabilities(call.heads() * chosen.rows * keys);
    std::vector<double> o(call.heads() * chosen.rows * call.layout(VKF_TENSOR_O).dim);
    chosen.options.probabilities = probabilities.data();
    computeRows(chosen, {o.data(), nullptr, true}, 1.0, 1.0);
    for (uint64_t head = 0; head < call.heads(); head++) {
        double* to = call.options.probabilities + head * call.probabilityRows() * keys;
        for (const uint32_t index : rows.missing) {
            std::fill_n(to + index * keys, keys, 0.0);
        }
        for (uint64_t i = 0; i < chosen.rows; i++) {
            std::copy_n(&probabilities[(head * chosen.rows + i) * keys], keys, to + rows.indices[i] * keys);
        }
    }
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceAttention(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                const VkfReferenceOptions* options, double* o, double* lse, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        Call call{};
        if (const VkfResult result = checkCall(problem, inputs, options, &call, message); result != VKF_SUCCESS) {
            return result;
        }
        if (o == nullptr && !call.empty()) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "o is null");
        }
        const bool chosen =
            call.options.probabilities != nullptr && vkf::has(call.problem, VKF_USE_PROBABILITY_ROWS) && !call.empty();
        if (chosen) {
            computeChosenProbabilities(call);
            call.options.probabilities = nullptr;
        }
        computeRows(call, {o, lse, false}, 0.0, 1.0);
        return VKF_SUCCESS;
    });
}
