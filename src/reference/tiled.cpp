// SPDX-License-Identifier: MIT
//
// The forward pass of FlashAttention-2 (Dao 2023, arXiv 2307.08691, algorithm 1). A tile of query rows walks over the
// tiles of keys, and carries (m, l, o) of each row. With Real = float, the roundings are those of
// shaders/scalar/attention_scalar.comp, except for the order in which l is summed up:
// - Scores are in units of log2, so that an exponential is one exp2; with a bias they are natural.
// - An fp32 q is rounded to productType for the product q k.
// - p enters l unrounded, and is rounded to productType for the product p v.
// - o is rounded to its storage type.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/dropout.hpp"
#include "reference/element.hpp"
#include "reference/row_state.hpp"
#include "reference/score_terms.hpp"

namespace vkf::reference {
namespace {

template <typename Real, bool twoRoundings> class Tiled final : public Algorithm {
public:
    explicit Tiled(const Call& call)
        : call_(call), unit_(call.problem), finalScore_(call.problem, unit_.factor()), terms_(call, unit_.factor()),
          dropout_(call), columns_(padded(call.layout(VKF_TENSOR_V).dim)), roundProbability_(call.options.productType),
          tileRows_(std::min(call.options.tileRows, call.rows)),
          tileKeys_(std::min<int64_t>(call.options.tileKeys, std::max(call.problem.keys, 1U))),
          q_(size_t{tileRows_} * call.problem.headDim), rows_(tileRows_), o_(tileRows_ * columns_),
          s_(static_cast<size_t>(tileKeys_)) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        KeyRange seen = loadRows(block); // keys that any row of the tile sees
        for (int64_t begin = seen.begin / tileKeys_ * tileKeys_; begin < seen.end; begin += tileKeys_) {
            for (uint32_t i = 0; i < block.rows; i++) {
                const KeyRange keys = intersection(rows_[i].visible, {begin, begin + tileKeys_});
                if (!firstOpen(block.mask, block.row(call_, block.first + i), keys).empty()) {
                    addKeys(block, keys, i);
                }
            }
        }
        for (uint32_t i = 0; i < block.rows; i++) {
            const RowResult result = output.row(call_, block, block.first + i);
            finish(i, block.queryHead, result);
            if (result.probabilities != nullptr) {
                writeProbabilities(block, i, result.probabilities);
            }
        }
    }

private:
    // Empties the states and reads q of the rows. Returns the range of keys that any of the rows sees.
    KeyRange loadRows(const RowBlock& block) {
        const VkfTensorLayout& q = call_.layout(VKF_TENSOR_Q);
        KeyRange seen{block.mask.keys, 0};
        for (uint32_t i = 0; i < block.rows; i++) {
            const uint32_t row = block.row(call_, block.first + i);
            const uint64_t element = elementOf(q, block.batch, block.queryHead, call_.row(block.first + i));
            loadQuery(q, element, &q_[size_t{i} * q.dim]);
            rows_[i] = {minusInfinity<Real>, 0, visibleKeys(block.mask, row)};
            seen = {std::min(seen.begin, rows_[i].visible.begin), std::max(seen.end, rows_[i].visible.end)};
        }
        std::fill(o_.begin(), o_.end(), Real{0});
        return seen;
    }

    // Reads a row of q. Rounds fp32 elements as kernels on matrix units do.
    void loadQuery(const VkfTensorLayout& q, uint64_t element, double* to) const {
        loadElements(q.type, call_.inputs.q, element, q.dim, to, 1);
        const ProductRounding rounding = productRounding(call_);
        if (q.type == VKF_TYPE_F32 && rounding.type != VKF_TYPE_F32) {
            std::transform(to, to + q.dim, to,
                           [&](double x) { return static_cast<double>(roundForProduct(rounding, x)); });
        }
    }

    // Adds the keys that row i sees of a tile of keys to its state. There must be one at least.
    void addKeys(const RowBlock& block, KeyRange keys, uint32_t i) {
        RowState<Real>& row = rows_[i];
        Real* o = &o_[i * columns_];
        const int64_t number = block.row(call_, block.first + i);
        const auto scoreOf = [&](int64_t key) -> Real& { return s_[static_cast<size_t>(key - keys.begin)]; };
        terms_.load(block.batch, block.queryHead, number, block.mask);
        dropout_.load(block.batch, block.queryHead, static_cast<uint32_t>(number));
        Real maximum = row.m;
        forEachOpen(block.mask, number, keys, [&](KeyRange open) {
            dotKeys<Real, twoRoundings>(*block.head, &q_[size_t{i} * call_.problem.headDim], open,
                                        &scoreOf(open.begin));
            for (int64_t key = open.begin; key < open.end; key++) {
                scoreOf(key) = terms_.add(finalScore_(scoreOf(key)), key);
                maximum = std::max(maximum, scoreOf(key));
            }
        });
        // The kernels that round p take the next integer for m, so that a maximum that lags behind does not change how
        // p is rounded.
        if (std::is_same_v<Real, float> && call_.options.productType != VKF_TYPE_F32) {
            maximum = unit_.whole(maximum);
        }
        // While a row has seen no score above -infinity, m is 0, because the difference of two infinities is NaN.
        const Real m = finiteMaximum(maximum);
        const Real alpha = unit_.power(row.m - m);
        row.m = maximum;
        row.l *= alpha;
        for (size_t column = 0; column < columns_; column++) {
            o[column] *= alpha;
        }
        forEachOpen(block.mask, number, keys, [&](KeyRange open) {
            for (int64_t key = open.begin; key < open.end; key++) {
                const Real p = unit_.power(scoreOf(key) - m);
                row.l += p;
                addValue<Real, twoRoundings>(*block.head, dropout_.keeps(key) ? probabilityInProduct(p) : 0, key, o);
            }
        });
    }

    Real probabilityInProduct(Real p) const {
        if constexpr (std::is_same_v<Real, float>) {
            return roundProbability_(p);
        } else {
            return p;
        }
    }

    FinishedRow<Real> finished(uint32_t i, uint32_t queryHead) const {
        return finishRow(call_, unit_, queryHead, rows_[i].m, rows_[i].l);
    }

    void finish(uint32_t i, uint32_t queryHead, RowResult result) const {
        const FinishedRow<Real> row = finished(i, queryHead);
        const Real factor = row.l == 0 ? 0 : 1 / row.l * static_cast<Real>(dropout_.scale());
        for (uint32_t column = 0; column < call_.layout(VKF_TENSOR_O).dim; column++) {
            const auto o = static_cast<double>(o_[i * columns_ + column] * factor);
            result.o[column] = std::is_same_v<Real, float> ? roundElement(call_.layout(VKF_TENSOR_O).type, o) : o;
        }
        if (result.lse != nullptr) {
            *result.lse = static_cast<double>(row.lse);
        }
    }

    // A row's saved lse in the unit of scores, 0 for -infinity.
    Real savedOrigin(const RowBlock& block, uint32_t row) const {
        const uint64_t head = uint64_t{block.batch} * call_.problem.queryHeads + block.queryHead;
        const auto lse = static_cast<Real>(call_.options.savedLse[head * call_.problem.queryRows + row]);
        return lse == minusInfinity<Real> ? 0 : unit_.fromNatural(lse);
    }

    // Writes P. Computes the scores of the row once more.
    void writeProbabilities(const RowBlock& block, uint32_t i, double* probabilities) {
        const RowState<Real>& row = rows_[i];
        const Real m = finiteMaximum(row.m);
        const FinishedRow<Real> rowEnd = finished(i, block.queryHead);
        // If lse was saved, probabilities are made from it, as in attention_probabilities.comp.
        const double* saved = call_.options.savedLse;
        const Real factor = row.l == 0 ? 0 : saved != nullptr ? 1 : 1 / rowEnd.l;
        const Real from = saved != nullptr ? savedOrigin(block, call_.row(block.first + i)) : m;
        terms_.load(block.batch, block.queryHead, block.row(call_, block.first + i), block.mask);
        std::fill_n(probabilities, call_.problem.keys, 0.0);
        for (int64_t begin = row.visible.begin; begin < row.visible.end; begin += tileKeys_) {
            const KeyRange keys = intersection(row.visible, {begin, begin + tileKeys_});
            forEachOpen(block.mask, block.row(call_, block.first + i), keys, [&](KeyRange open) {
                dotKeys<Real, twoRoundings>(*block.head, &q_[size_t{i} * call_.problem.headDim], open, s_.data());
                for (int64_t key = open.begin; key < open.end; key++) {
                    const Real s = terms_.add(finalScore_(s_[static_cast<size_t>(key - open.begin)]), key);
                    probabilities[key] = static_cast<double>(unit_.power(s - from) * factor);
                }
            });
        }
    }

    const Call& call_;
    ScoreUnit<Real> unit_;
    FinalScore<Real> finalScore_;
    RowTerms<Real, twoRoundings> terms_;
    RowDropout dropout_;
    size_t columns_;
    ProbabilityRounding roundProbability_;
    uint32_t tileRows_;
    int64_t tileKeys_;
    std::vector<double> q_;            // [tileRows][headDim]
    std::vector<RowState<Real>> rows_; // [tileRows]
    std::vector<Real> o_;              // [tileRows][columns]
    std::vector<Real> s_;              // [tileKeys]
};

} // namespace

std::unique_ptr<Algorithm> makeTiled(const Call& call) { return std::make_unique<Tiled<double, false>>(call); }

std::unique_ptr<Algorithm> makeTiledFp32(const Call& call, bool twoRoundings) {
    if (twoRoundings) {
        return std::make_unique<Tiled<float, true>>(call);
    }
    return std::make_unique<Tiled<float, false>>(call);
}

} // namespace vkf::reference
