// SPDX-License-Identifier: MIT
//
// The first version of FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 1; numbers in comments are its
// lines). A tile of keys and values is loaded once and meets every tile of query rows. m, l and o of all rows are in
// memory between the tiles of keys. o is normalised after each tile of keys, so that it is the attention to the keys so
// far.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

class TiledKeysOuter final : public Algorithm {
public:
    explicit TiledKeysOuter(const Call& call)
        : call_(call), scores_(call), columns_(padded(call.layout(VKF_TENSOR_V).dim)), m_(call.rows), l_(call.rows),
          o_(call.rows * columns_), s_(std::min(call.options.tileKeys, std::max(call.problem.keys, 1U))),
          pv_(columns_) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        std::fill(m_.begin(), m_.end(), minusInfinity<double>); // 2
        std::fill(l_.begin(), l_.end(), 0.0);
        std::fill(o_.begin(), o_.end(), 0.0);
        const auto tileKeys = static_cast<int64_t>(s_.size());
        for (int64_t begin = 0; begin < block.mask.keys; begin += tileKeys) {   // 5: K_j, V_j
            for (uint32_t i = 0; i < block.rows; i += call_.options.tileRows) { // 7: Q_i
                const uint32_t end = i + std::min(call_.options.tileRows, block.rows - i);
                updateTile(block, i, end, {begin, begin + tileKeys});
            }
        }
        for (uint32_t i = 0; i < block.rows; i++) {
            scores_.load(block, block.first + i);
            store(i, output.row(call_, block, block.first + i));
        }
    }

private:
    void updateTile(const RowBlock& block, uint32_t first, uint32_t end, KeyRange tile) {
        for (uint32_t i = first; i < end; i++) {
            scores_.load(block, block.first + i); // 8
            updateRow(*block.head, tile, i);
        }
    }

    void updateRow(const KvHead& head, KeyRange tile, uint32_t i) {
        const auto scoreOf = [&](int64_t key) -> double& { return s_[static_cast<size_t>(key - tile.begin)]; };
        double mTile = minusInfinity<double>; // 9, 10
        scores_.forEachVisible(tile, [&](KeyRange keys) {
            scores_.compute(head, keys, &scoreOf(keys.begin));
            for (int64_t key = keys.begin; key < keys.end; key++) {
                mTile = std::max(mTile, scoreOf(key));
            }
        });
        double lTile = 0.0;
        std::fill(pv_.begin(), pv_.end(), 0.0);
        scores_.forEachVisible(tile, [&](KeyRange keys) {
            for (int64_t key = keys.begin; key < keys.end; key++) {
                const double p = std::exp(scoreOf(key) - finiteMaximum(mTile));
                lTile += p;
                addValue<double, false>(head, scores_.afterDropout(p, key), key, pv_.data());
            }
        });
        const double mNew = std::max(m_[i], mTile); // 11
        const double ofOld = std::exp(m_[i] - finiteMaximum(mNew)) * l_[i];
        const double ofTile = std::exp(mTile - finiteMaximum(mNew));
        const double lNew = ofOld + ofTile * lTile;
        double* o = &o_[i * columns_]; // 12
        for (size_t column = 0; column < columns_; column++) {
            o[column] = lNew == 0.0 ? 0.0 : (ofOld * o[column] + ofTile * pv_[column]) / lNew;
        }
        l_[i] = lNew; // 13
        m_[i] = mNew;
    }

    void store(uint32_t i, RowResult result) const {
        const FinishedRow<double> finished = scores_.finished(m_[i], l_[i]);
        const double factor = finished.l == 0.0 ? 0.0 : l_[i] / finished.l;
        for (uint32_t column = 0; column < call_.layout(VKF_TENSOR_O).dim; column++) {
            result.o[column] = o_[i * columns_ + column] * factor;
        }
        if (result.lse != nullptr) {
            *result.lse = finished.lse;
        }
    }

    const Call& call_;
    RowScores scores_;
    size_t columns_;
    std::vector<double> m_;  // [rows]
    std::vector<double> l_;  // [rows]
    std::vector<double> o_;  // [rows][columns]
    std::vector<double> s_;  // [tileKeys]
    std::vector<double> pv_; // P~ V of one row: [columns]
};

} // namespace

std::unique_ptr<Algorithm> makeTiledKeysOuter(const Call& call) { return std::make_unique<TiledKeysOuter>(call); }

} // namespace vkf::reference
