// SPDX-License-Identifier: MIT
//
// The formula, row by row in fp64: all scores, their maximum, the weights and their sum, the weighted
// sum. What it gives for numbers that are not finite is the contract: a score of -infinity has weight 0;
// a row of nothing else is empty; a score of +infinity makes the row NaN, as infinity - infinity is.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithm.hpp"
#include "element.hpp"

namespace vkf::reference {
namespace {

class Direct final : public Algorithm {
public:
    explicit Direct(const Call& call)
        : call_(call), q_(call.problem.headDim), s_(call.problem.keys), o_(padded(call.layout(VKF_TENSOR_V).dim)) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        const VkfTensorLayout& q = call_.layout(VKF_TENSOR_Q);
        for (uint32_t place = block.place; place < block.place + block.rows; place++) {
            const uint32_t row = call_.row(place);
            loadElements(q.type, call_.inputs.q, elementOf(q, block.batch, block.queryHead, row), q.dim, q_.data(), 1);
            computeRow(block, row, output.row(call_, block, place));
        }
    }

private:
    double finalScore(double dot) const {
        const double s = static_cast<double>(call_.problem.scale) * dot;
        const auto softcap = static_cast<double>(call_.problem.softcap);
        return softcap > 0.0 ? softcap * std::tanh(s / softcap) : s;
    }

    void computeRow(const RowBlock& block, uint32_t row, RowResult result) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const KeyRange keys = visibleKeys(block.mask, row);
        double largest = -infinity;
        forEachOpen(block.mask.blocks, row, keys, [&](KeyRange open) {
            dotKeys<double, false>(*block.head, q_.data(), open, &s_[static_cast<size_t>(open.begin)]);
            for (auto key = static_cast<size_t>(open.begin); key < static_cast<size_t>(open.end); key++) {
                s_[key] = finalScore(s_[key]);
                largest = std::max(largest, s_[key]);
            }
        });
        // Scores that are all -infinity weigh 0 against any finite m.
        const double m = largest == -infinity ? 0.0 : largest;
        double l = 0.0;
        std::fill(o_.begin(), o_.end(), 0.0);
        forEachOpen(block.mask.blocks, row, keys, [&](KeyRange open) {
            for (int64_t key = open.begin; key < open.end; key++) {
                const double p = std::exp(s_[static_cast<size_t>(key)] - m);
                l += p;
                addValue<double, false>(*block.head, p, key, o_.data());
            }
        });
        for (uint32_t column = 0; column < call_.layout(VKF_TENSOR_O).dim; column++) {
            result.o[column] = l == 0.0 ? 0.0 : o_[column] / l;
        }
        if (result.lse != nullptr) {
            *result.lse = m + std::log(l); // ln 0 = -infinity
        }
    }

    const Call& call_;
    std::vector<double> q_;
    std::vector<double> s_; // by key
    std::vector<double> o_;
};

} // namespace

std::unique_ptr<Algorithm> makeDirect(const Call& call) { return std::make_unique<Direct>(call); }

} // namespace vkf::reference
