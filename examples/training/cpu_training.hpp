// SPDX-License-Identifier: MIT
//
// The training on the CPU, in plain loops that share nothing with the library. In double it says what is right, in
// float how far roundings may lead. With fp16 attention, it rounds what the device rounds to fp16.
#pragma once

#include <algorithm>
#include <cmath>

#include "task.hpp"

template <typename Real> class CpuTraining {
public:
    CpuTraining(const Layer& layer, bool roundsToFp16)
        : headDim_(layer.headDim), width_(layer.width()), roundsToFp16_(roundsToFp16) {}

    // One step of gradient descent. Returns the mean loss before it.
    double step(const Batch& batch) {
        const Matrix asked(batch.asked.begin(), batch.asked.end());
        const Matrix pairs(batch.pairs.begin(), batch.pairs.end());
        const Matrix q = stored(product(asked, weights_[toQ], inputs, width_));
        const Matrix k = stored(product(pairs, weights_[toK], inputs, width_));
        const Matrix v = stored(product(pairs, weights_[toV], inputs, width_));
        Matrix o(q.size());
        Matrix p(size_t{rows} * heads * tokens);
        attend(q, k, v, o, p);
        o = stored(o);
        Matrix dScores = product(o, weights_[toScores], width_, digits);
        const Real loss = replaceByGradient(dScores, batch.answers);
        Matrix dO(o.size());
        for (size_t i = 0; i < dO.size(); i++) {
            dO[i] = dot(&dScores[i / width_ * digits], &weights_[toScores][i % width_ * digits], digits);
        }
        dO = stored(dO, lossScale);
        Matrix dQ(q.size());
        Matrix dK(k.size());
        Matrix dV(v.size());
        forEachPair([&](size_t row, size_t key, size_t pair) {
            const Real dp = dot(&dO[row], &v[key], headDim_);
            const Real ds = stored(p[pair] * (dp - dot(&dO[row], &o[row], headDim_)), lossScale);
            const Real probability = stored(p[pair]);
            for (size_t d = 0; d < headDim_; d++) {
                dQ[row + d] += scale_ * ds * k[key + d];
                dK[key + d] += scale_ * ds * q[row + d];
                dV[key + d] += probability * dO[row + d];
            }
        });
        descend(toScores, o, dScores, digits);
        descend(toQ, asked, stored(dQ, lossScale), width_);
        descend(toK, pairs, stored(dK, lossScale), width_);
        descend(toV, pairs, stored(dV, lossScale), width_);
        return static_cast<double>(loss);
    }

private:
    using Matrix = std::vector<Real>;
    uint32_t headDim_, width_;
    bool roundsToFp16_;
    const Real scale_ = 1 / std::sqrt(static_cast<Real>(headDim_));

    // The fp16 number nearest to factor * number, divided by the factor. All numbers of the training are far below the
    // largest one of fp16.
    Real stored(Real number, Real factor = 1) const {
        if (!roundsToFp16_) {
            return number;
        }
        const Real unit = std::ldexp(Real{1}, std::max(std::ilogb(factor * number), -14) - 10); // of the last digit
        return std::nearbyint(factor * number / unit) * unit / factor;
    }

    Matrix stored(Matrix matrix, Real factor = 1) const {
        std::transform(matrix.begin(), matrix.end(), matrix.begin(), [&](Real x) { return stored(x, factor); });
        return matrix;
    }

    static Real dot(const Real* a, const Real* b, size_t count, size_t strideA = 1, size_t strideB = 1) {
        Real sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += a[i * strideA] * b[i * strideB];
        }
        return sum;
    }

    static Matrix product(const Matrix& a, const Matrix& b, size_t inner, size_t columns) {
        Matrix c(a.size() / inner * columns);
        for (size_t i = 0; i < c.size(); i++) {
            c[i] = dot(&a[i / columns * inner], &b[i % columns], inner, 1, columns);
        }
        return c;
    }

    // Calls visit(first element of the row in q and o, of the key in k and v, element of p).
    template <typename Visit> void forEachPair(const Visit& visit) const {
        for (size_t pair = 0; pair < size_t{rows} * heads * tokens; pair++) {
            const size_t row = pair / tokens / heads;
            const size_t key = row / tokens * tokens + pair % tokens;
            const size_t column = pair / tokens % heads * headDim_;
            visit(row * width_ + column, key * width_ + column, pair);
        }
    }

    void attend(const Matrix& q, const Matrix& k, const Matrix& v, Matrix& o, Matrix& p) const {
        Matrix sums(p.size() / tokens);
        forEachPair([&](size_t row, size_t key, size_t pair) {
            p[pair] = std::exp(scale_ * dot(&q[row], &k[key], headDim_));
            sums[pair / tokens] += p[pair];
        });
        forEachPair([&](size_t row, size_t key, size_t pair) {
            p[pair] /= sums[pair / tokens];
            const Real probability = stored(p[pair]);
            for (size_t d = 0; d < headDim_; d++) {
                o[row + d] += probability * v[key + d];
            }
        });
    }

    // Replaces scores by the gradient of the mean cross entropy, which it returns.
    static Real replaceByGradient(Matrix& scores, const std::vector<uint32_t>& answers) {
        Real loss = 0;
        for (size_t row = 0; row < rows; row++) {
            Real* score = &scores[row * digits];
            Real sum = 0;
            for (size_t i = 0; i < digits; i++) {
                sum += std::exp(score[i]);
            }
            loss += (std::log(sum) - score[answers[row]]) / Real{rows};
            for (size_t i = 0; i < digits; i++) {
                score[i] = (std::exp(score[i]) / sum - (i == answers[row] ? 1 : 0)) / Real{rows};
            }
        }
        return loss;
    }

    void descend(WeightName name, const Matrix& input, const Matrix& gradient, size_t columns) {
        Matrix& weight = weights_[name];
        const size_t inner = weight.size() / columns;
        for (size_t i = 0; i < weight.size(); i++) {
            weight[i] -= static_cast<Real>(rate) *
                         dot(&input[i / columns], &gradient[i % columns], gradient.size() / columns, inner, columns);
        }
    }

    Weights<Real> weights_ = randomWeights<Real>(width_);
};
