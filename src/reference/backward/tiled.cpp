// SPDX-License-Identifier: MIT
//
// The backward pass of FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 4), whose line numbers the comments
// carry. A tile of keys stays in place, with dk and dv of its keys. Tiles of rows pass by and carry dq. As in version 2
// (Dao 2023, arXiv 2307.08691, algorithm 2), lse replaces m and l, so P needs no division. Differences from the paper:
// - The query heads of a KV head are one more loop, between the loops over tiles.
// - The factor of the scores enters dq and dk once, at the end.
//
// With Real = float, the roundings are those of the kernels:
// - Scores are in units of log2, so that an exponential is one exp2.
// - q and dout of another type than productType are rounded to it for products. delta takes dout as stored.
// - p and ds are rounded to productType for products. A ds past the largest finite fp16 keeps its exponent.
// - Outputs are rounded to their storage types.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "reference/backward/algorithm.hpp"
#include "reference/backward/head.hpp"
#include "reference/dropout.hpp"
#include "reference/score_terms.hpp"

namespace vkf::reference {
namespace {

template <typename Real, bool twoRoundings> class TiledBackward final : public BackwardAlgorithm {
public:
    TiledBackward(const BackwardCall& call, const GradientOutput& output)
        : call_(call), output_(output), head_(call), unit_(call.forward.problem),
          finalScore_(call.forward.problem, unit_.factor()), terms_(call.forward, unit_.factor()),
          dropout_(call.forward), productType_(isFp32 ? call.forward.options.productType : VKF_TYPE_F32),
          roundProbability_(productType_), d_(call.forward.problem.headDim), dv_(call.layout(VKF_BACKWARD_DV).dim),
          tileKeys_(std::min<int64_t>(call.forward.options.tileKeys, std::max(call.forward.problem.keys, 1U))),
          tileRows_(call.forward.options.tileRows), q_(d_), dout_(dv_), o_(dv_), doutInProduct_(dv_),
          s_(static_cast<size_t>(tileKeys_)), dp_(s_.size()), dkOfTile_(s_.size() * d_), dvOfTile_(s_.size() * dv_) {}

    void compute(uint32_t batch, uint32_t kvHead) override {
        const uint32_t group = call_.forward.problem.queryHeads / call_.forward.problem.kvHeads;
        const Mask mask = call_.maskFor(batch, kvHead * group);
        batch_ = batch;
        kvHead_ = kvHead;
        rows_ = call_.forward.rowsOf(batch);
        keys_ = call_.forward.keysOf(batch);
        head_.load(batch, kvHead);
        dq_.assign(size_t{group} * rows_.size() * padded(d_), Real{0}); // line 5
        for (uint32_t ofGroup = 0; ofGroup < group; ofGroup++) {
            addSinks(kvHead * group + ofGroup);
        }
        for (int64_t begin = 0; begin < mask.keys; begin += tileKeys_) { // line 6
            tile_ = intersection({begin, begin + tileKeys_}, {0, mask.keys});
            std::fill(dkOfTile_.begin(), dkOfTile_.end(), Real{0}); // line 8
            std::fill(dvOfTile_.begin(), dvOfTile_.end(), Real{0});
            for (uint32_t ofGroup = 0; ofGroup < group; ofGroup++) {
                for (uint64_t row = 0; row < rows_.size(); row += tileRows_) { // line 9
                    addTile(kvHead * group + ofGroup,
                            {static_cast<int64_t>(row), static_cast<int64_t>(row + tileRows_)}, dqOf(ofGroup));
                }
            }
            storeKeys(); // line 24
        }
        for (uint32_t ofGroup = 0; ofGroup < group; ofGroup++) {
            storeRows(kvHead * group + ofGroup, dqOf(ofGroup)); // line 26
        }
    }

private:
    static constexpr bool isFp32 = std::is_same_v<Real, float>;

    struct Row {
        Real lse; // in the unit of scores
        Real delta;
        bool empty;
    };

    // There may be no rows, and no element.
    Real* dqOf(uint32_t ofGroup) { return dq_.data() + size_t{ofGroup} * rows_.size() * padded(d_); }

    // Lines 10 and 19. `row` counts the rows of the sequence.
    Row loadRow(uint32_t queryHead, uint32_t row) {
        const uint32_t ofAll = rows_.begin + row;
        const uint64_t number = call_.rowNumber(batch_, queryHead, ofAll);
        const double lse = call_.lseOf(number);
        if (std::isinf(lse)) {
            return {0, 0, true};
        }
        const VkfTensorLayout& q = call_.forward.layout(VKF_TENSOR_Q);
        loadElements(q.type, call_.forward.inputs.q, elementOf(q, batch_, queryHead, ofAll), q.dim, q_.data(), 1);
        roundOperand(q.type, &q_);
        call_.loadDout(batch_, queryHead, ofAll, dout_.data());
        call_.loadO(batch_, queryHead, ofAll, o_.data());
        Real delta = 0;
        for (uint32_t d = 0; d < dv_; d++) {
            delta = addProduct<Real, twoRoundings>(dout_[d], o_[d], delta);
        }
        doutInProduct_ = dout_;
        roundOperand(call_.layout(VKF_BACKWARD_DOUT).type, &doutInProduct_);
        return {unit_.fromNatural(static_cast<Real>(lse)), delta - static_cast<Real>(call_.dlseOf(number)), false};
    }

    void roundOperand(VkfType type, std::vector<double>* row) const {
        if (productType_ != VKF_TYPE_F32 && type != productType_) {
            std::transform(row->begin(), row->end(), row->begin(), [&](double x) {
                return static_cast<double>(roundForProduct({productType_, twoRoundings}, x));
            });
        }
    }

    void addTile(uint32_t queryHead, KeyRange rows, Real* dqOfHead) {
        const Mask mask = call_.maskFor(batch_, queryHead);
        rows.end = std::min<int64_t>(rows.end, rows_.size());
        for (int64_t row = rows.begin; row < rows.end; row++) {
            const KeyRange seen = intersection(visibleKeys(mask, row), tile_); // line 12
            const auto ofSequence = static_cast<uint32_t>(row);
            const bool selected = call_.selects(rows_.begin + ofSequence);
            if (firstOpen(mask, row, seen).empty() || !(selected || selectsKeyOf(seen))) {
                continue;
            }
            const Row loaded = loadRow(queryHead, ofSequence);
            if (loaded.empty) {
                continue;
            }
            terms_.load(batch_, queryHead, row, mask);
            dropout_.load(batch_, queryHead, ofSequence);
            forEachOpen(mask, row, seen, [&](KeyRange open) {
                forEachWanted(call_, open, keys_.begin, selected, [&](KeyRange keys) {
                    addKeys(queryHead, ofSequence, loaded, keys, dqOfHead + static_cast<size_t>(row) * padded(d_));
                });
            });
        }
    }

    bool selectsKeyOf(KeyRange keys) const {
        return call_.nextSelected(keys_.begin + static_cast<uint64_t>(keys.begin)) <
               keys_.begin + static_cast<uint64_t>(keys.end);
    }

    void addKeys(uint32_t queryHead, uint32_t row, const Row& loaded, KeyRange keys, Real* dq) {
        dotKeys<Real, twoRoundings>(head_.scores(), q_.data(), keys, s_.data());              // line 11
        dotKeys<Real, twoRoundings>(head_.values(), doutInProduct_.data(), keys, dp_.data()); // line 17
        const uint64_t bias = call_.biasElement(batch_, queryHead, row);
        for (int64_t key = keys.begin; key < keys.end; key++) {
            const auto at = static_cast<size_t>(key - keys.begin);
            const auto inTile = static_cast<size_t>(key - tile_.begin);
            const Real p = unit_.power(terms_.add(finalScore_(s_[at]), key) - loaded.lse);   // line 13
            const Real kept = dropout_.keeps(key) ? static_cast<Real>(dropout_.scale()) : 0; // line 14
            const Real ds = p * (kept * dp_[at] - loaded.delta);                             // lines 18 and 20
            const Real slope = finalScore_.slope(s_[at]) * terms_.derivative(finalScore_(s_[at]), key);
            const Real dt = scoreGradientInProduct(ds * slope);
            addValue<Real, twoRoundings>(head_.values(), dt, key, dq);              // line 21
            addRow<Real, twoRoundings>(dt, q_.data(), d_, &dkOfTile_[inTile * d_]); // line 22
            addRow<Real, twoRoundings>(kept == 0 ? 0 : probabilityInProduct(p), doutInProduct_.data(), dv_,
                                       &dvOfTile_[inTile * dv_]); // lines 15 and 16
            if (output_.dbias != nullptr) {
                double& sum = output_.dbias[bias + static_cast<uint64_t>(key)];
                sum = static_cast<double>(addProduct<Real, twoRoundings>(
                    call_.biasFactor(queryHead), static_cast<double>(ds), static_cast<Real>(sum)));
            }
        }
    }

    Real probabilityInProduct(Real p) const {
        if constexpr (isFp32) {
            return roundProbability_(p);
        } else {
            return p;
        }
    }

    // Kernels keep the range of fp32, by a factor. So a number past the largest finite fp16 keeps its exponent.
    Real scoreGradientInProduct(Real ds) const {
        if (productType_ == VKF_TYPE_F32 || !std::isfinite(ds)) {
            return ds;
        }
        const auto wide = static_cast<double>(ds);
        if (std::abs(wide) <= formatOf(productType_).largest) {
            return static_cast<Real>(roundElement(productType_, wide));
        }
        const double step = ulp(productType_, wide);
        return static_cast<Real>(std::nearbyint(wide / step) * step);
    }

    void addSinks(uint32_t queryHead) {
        if (output_.dsinks == nullptr || !hasSink(call_.forward, queryHead)) {
            return;
        }
        const Real sink = unit_.fromNatural(static_cast<Real>(call_.forward.inputs.sinks[queryHead]));
        Real sum = 0;
        for (uint32_t row = 0; row < rows_.size(); row++) {
            const Row loaded = loadRow(queryHead, row);
            if (!loaded.empty) {
                sum = addProduct<Real, twoRoundings>(-static_cast<double>(unit_.power(sink - loaded.lse)),
                                                     static_cast<double>(loaded.delta), sum);
            }
        }
        output_.dsinks[uint64_t{batch_} * call_.forward.problem.queryHeads + queryHead] = static_cast<double>(sum);
    }

    double stored(VkfBackwardRole role, Real x) const {
        return isFp32 ? roundElement(call_.layout(role).type, static_cast<double>(x)) : static_cast<double>(x);
    }

    void storeKeys() const {
        const auto scale = static_cast<Real>(call_.forward.problem.scale);
        const auto keptScale = static_cast<Real>(dropout_.scale());
        for (int64_t key = tile_.begin; key < tile_.end; key++) {
            const uint32_t ofAll = keys_.begin + static_cast<uint32_t>(key);
            const auto inTile = static_cast<size_t>(key - tile_.begin);
            const uint64_t number = call_.keyNumber(batch_, kvHead_, ofAll);
            if (!call_.selects(ofAll)) {
                continue;
            }
            for (uint32_t d = 0; output_.dk != nullptr && d < d_; d++) {
                output_.dk[number * d_ + d] = stored(VKF_BACKWARD_DK, dkOfTile_[inTile * d_ + d] * scale);
            }
            for (uint32_t d = 0; output_.dv != nullptr && d < dv_; d++) {
                output_.dv[number * dv_ + d] = stored(VKF_BACKWARD_DV, dvOfTile_[inTile * dv_ + d] * keptScale);
            }
        }
    }

    void storeRows(uint32_t queryHead, const Real* dqOfHead) const {
        const auto scale = static_cast<Real>(call_.forward.problem.scale);
        for (uint32_t row = 0; row < rows_.size(); row++) {
            const uint64_t number = call_.rowNumber(batch_, queryHead, rows_.begin + row);
            if (output_.dq == nullptr || !call_.selects(rows_.begin + row)) {
                continue;
            }
            for (uint32_t d = 0; d < d_; d++) {
                output_.dq[number * d_ + d] = stored(VKF_BACKWARD_DQ, dqOfHead[row * padded(d_) + d] * scale);
            }
        }
    }

    const BackwardCall& call_;
    GradientOutput output_;
    BackwardHead head_;
    ScoreUnit<Real> unit_;
    FinalScore<Real> finalScore_;
    RowTerms<Real, twoRoundings> terms_;
    RowDropout dropout_;
    VkfType productType_;
    ProbabilityRounding roundProbability_;
    uint32_t d_;  // columns of dq and dk
    uint32_t dv_; // columns of dv and dout
    int64_t tileKeys_;
    uint32_t tileRows_;
    std::vector<double> q_;
    std::vector<double> dout_;
    std::vector<double> o_;
    std::vector<double> doutInProduct_;
    std::vector<Real> s_;
    std::vector<Real> dp_;
    std::vector<Real> dkOfTile_; // [tileKeys][headDim]
    std::vector<Real> dvOfTile_; // [tileKeys][valueDim]
    std::vector<Real> dq_;       // [query heads of the KV head][rows][headDim, padded]
    uint32_t batch_ = 0;
    uint32_t kvHead_ = 0;
    Call::Span rows_{};
    Call::Span keys_{};
    KeyRange tile_{};
};

} // namespace

std::unique_ptr<BackwardAlgorithm> makeTiledBackward(const BackwardCall& call, const GradientOutput& output) {
    return std::make_unique<TiledBackward<double, false>>(call, output);
}

std::unique_ptr<BackwardAlgorithm> makeTiledBackwardFp32(const BackwardCall& call, const GradientOutput& output,
                                                         bool twoRoundings) {
    if (twoRoundings) {
        return std::make_unique<TiledBackward<float, true>>(call, output);
    }
    return std::make_unique<TiledBackward<float, false>>(call, output);
}

} // namespace vkf::reference
