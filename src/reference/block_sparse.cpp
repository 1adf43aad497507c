// SPDX-License-Identifier: MIT
//
// Block-sparse FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 5). It is algorithm 1 with tiles of keys as
// large as the mask's blocks: outer loop over tiles of keys, inner loop over query rows. It skips blocks that the mask
// drops, without a look at their keys, values or scores. After each block, o is the attention to the keys so far,
// divided by l. Without a block mask, blocks have tileKeys keys, and none is skipped.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/dropout.hpp"
#include "reference/element.hpp"
#include "reference/row_state.hpp"
#include "reference/score_terms.hpp"

namespace vkf::reference {
namespace {

// Returns exp(a - b). For a = -infinity it is 0, even if b is -infinity too.
double ratio(double a, double b) { return a == minusInfinity<double> ? 0.0 : std::exp(a - b); }

class BlockSparse final : public Algorithm {
public:
    explicit BlockSparse(const Call& call)
        : call_(call), terms_(call, 1.0), dropout_(call), columns_(padded(call.layout(VKF_TENSOR_V).dim)),
          blockKeys_(call.problem.blockMask.blockSize != 0 ? call.problem.blockMask.blockSize : call.options.tileKeys),
          rows_(std::min(call.options.tileRows, call.rows)), q_(rows_.size() * call.problem.headDim),
          o_(rows_.size() * columns_), s_(std::min<size_t>(call.problem.keys, static_cast<size_t>(blockKeys_))),
          pv_(columns_) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        load(block);
        for (int64_t begin = 0; begin < block.mask.keys; begin += blockKeys_) {
            for (uint32_t i = 0; i < block.rows; i++) {
                const KeyRange keys = intersection(rows_[i].visible, {begin, begin + blockKeys_});
                if (!keys.empty() && isOpenBlock(block, i, begin)) {
                    addBlock(block, keys, i);
                }
            }
        }
        for (uint32_t i = 0; i < block.rows; i++) {
            const RowResult result = output.row(call_, block, block.first + i);
            finish(i, block.queryHead, result);
        }
    }

private:
    void finish(uint32_t i, uint32_t queryHead, RowResult result) const {
        const double l = rows_[i].l;
        const FinishedRow<double> finished = finishRow(call_, ScoreUnit<double>(true), queryHead, rows_[i].m, l);
        for (uint32_t column = 0; column < call_.layout(VKF_TENSOR_O).dim; column++) {
            result.o[column] = finished.l == 0.0 ? 0.0 : o_[i * columns_ + column] * l / finished.l;
        }
        if (result.lse != nullptr) {
            *result.lse = finished.lse;
        }
    }

    void load(const RowBlock& block) {
        const VkfTensorLayout& q = call_.layout(VKF_TENSOR_Q);
        for (uint32_t i = 0; i < block.rows; i++) {
            const uint64_t element = elementOf(q, block.batch, block.queryHead, call_.row(block.first + i));
            loadElements(q.type, call_.inputs.q, element, q.dim, &q_[size_t{i} * q.dim], 1);
            rows_[i] = {minusInfinity<double>, 0.0, visibleKeys(block.mask, block.row(call_, block.first + i))};
        }
        std::fill(o_.begin(), o_.end(), 0.0);
    }

    bool isOpenBlock(const RowBlock& block, uint32_t i, int64_t key) const {
        return block.mask.blocks.words == nullptr || block.mask.blocks.open(block.row(call_, block.first + i), key);
    }

    bool isOpen(const RowBlock& block, uint32_t i, int64_t key) const {
        return block.mask.open(block.row(call_, block.first + i), key);
    }

    double finalScore(double dot) const {
        const double s = static_cast<double>(call_.problem.scale) * dot;
        const auto softcap = static_cast<double>(call_.problem.softcap);
        return softcap > 0.0 ? softcap * std::tanh(s / softcap) : s;
    }

    // Adds the block's m~, l~ and P~ v to m, l and o of row i.
    void addBlock(const RowBlock& block, KeyRange keys, uint32_t i) {
        const KvHead& head = *block.head;
        terms_.load(block.batch, block.queryHead, block.row(call_, block.first + i), block.mask);
        dropout_.load(block.batch, block.queryHead, block.row(call_, block.first + i));
        const auto count = static_cast<size_t>(keys.end - keys.begin);
        dotKeys<double, false>(head, &q_[size_t{i} * call_.problem.headDim], keys, s_.data());
        double mBlock = minusInfinity<double>;
        for (size_t j = 0; j < count; j++) {
            const int64_t key = keys.begin + static_cast<int64_t>(j);
            s_[j] = isOpen(block, i, key) ? terms_.add(finalScore(s_[j]), key) : minusInfinity<double>;
            mBlock = std::max(mBlock, s_[j]);
        }
        double lBlock = 0.0;
        std::fill(pv_.begin(), pv_.end(), 0.0);
        for (size_t j = 0; j < count; j++) {
            if (!isOpen(block, i, keys.begin + static_cast<int64_t>(j))) {
                continue;
            }
            const double p = ratio(s_[j], mBlock);
            lBlock += p;
            const int64_t key = keys.begin + static_cast<int64_t>(j);
            addValue<double, false>(head, p * dropout_.factor(key), key, pv_.data());
        }
        RowState<double>& row = rows_[i];
        const double m = std::max(row.m, mBlock);
        const double ofOld = ratio(row.m, m) * row.l;
        const double ofBlock = ratio(mBlock, m);
        const double l = ofOld + ofBlock * lBlock;
        for (size_t column = 0; column < columns_; column++) {
            double& o = o_[i * columns_ + column];
            o = l == 0.0 ? 0.0 : (ofOld * o + ofBlock * pv_[column]) / l;
        }
        row.m = m;
        row.l = l;
    }

    const Call& call_;
    RowTerms<double, false> terms_;
    RowDropout dropout_;
    size_t columns_;
    int64_t blockKeys_;
    std::vector<RowState<double>> rows_;
    std::vector<double> q_;  // [rows][headDim]
    std::vector<double> o_;  // [rows][columns]
    std::vector<double> s_;  // of one row and block
    std::vector<double> pv_; // P~ v of one row and block
};

} // namespace

std::unique_ptr<Algorithm> makeBlockSparse(const Call& call) { return std::make_unique<BlockSparse>(call); }

} // namespace vkf::reference
