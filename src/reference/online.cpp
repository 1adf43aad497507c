// SPDX-License-Identifier: MIT
//
// Attention as a reduction over the keys of a row. Each key updates the state (m, l, o) of the online softmax, and is
// not needed afterwards. Tiles change only where the data lies.
#include <algorithm>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

class Online final : public Algorithm {
public:
    explicit Online(const Call& call) : call_(call), scores_(call), v_(call.layout(VKF_TENSOR_V).dim) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        for (uint32_t selected = block.first; selected < block.first + block.rows; selected++) {
            scores_.load(block, selected);
            computeRow(*block.head, output.row(call_, block, selected));
        }
    }

private:
    void computeRow(const KvHead& head, RowResult result) {
        VkfOnlineSoftmax state{};
        state.dim = call_.layout(VKF_TENSOR_O).dim;
        state.o = result.o;
        vkfOnlineSoftmaxReset(&state);
        scores_.forEachVisible([&](KeyRange keys) {
            // The scores of a lane group cost as much as one score.
            for (int64_t group = keys.begin / lanes * lanes; group < keys.end; group += lanes) {
                addKeys(head, intersection(keys, {group, group + lanes}), &state);
            }
        });
        const FinishedRow<double> finished = scores_.finished(state.m, state.l);
        state.l = finished.l;
        vkfOnlineSoftmaxFinish(&state);
        if (result.lse != nullptr) {
            *result.lse = finished.lse;
        }
    }

    void addKeys(const KvHead& head, KeyRange keys, VkfOnlineSoftmax* state) {
        double s[lanes];
        scores_.compute(head, keys, s);
        for (int64_t key = keys.begin; key < keys.end; key++) {
            const float* v = &head.v[static_cast<size_t>(key) * head.columns];
            std::transform(v, v + v_.size(), v_.begin(), [&](float x) {
                return scores_.afterDropout(head.valueScale * static_cast<double>(x), key);
            });
            vkfOnlineSoftmaxUpdate(state, &s[key - keys.begin], 1, v_.data(), v_.size());
        }
    }

    const Call& call_;
    RowScores scores_;
    std::vector<double> v_; // of one key
};

} // namespace

std::unique_ptr<Algorithm> makeOnline(const Call& call) { return std::make_unique<Online>(call); }

} // namespace vkf::reference
