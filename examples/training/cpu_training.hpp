// SPDX-License-Identifier: MIT
//
// The training on the CPU, in plain loops that share nothing with the library. In double it says what is right, in
// float how far roundings may lead.
#pragma once

#include <cmath>

#include "task.hpp"

template <typename Real> class CpuTraining {
public:
    // One step of gradient descent. Returns the mean loss before it.
    double step(const Batch& batch) {
        const Matrix asked(batch.asked.begin(), batch.asked.end());
        const Matrix pairs(batch.pairs.begin(), batch.pairs.end());
        const Matrix q = product(asked, weights_[toQ], inputs, width);
        const Matrix k = product(pairs, weights_[toK], inputs, width);
        const Matrix v = product(pairs, weights_[toV], inputs, width);
        Matrix o(q.size());
        Matrix p(size_t{rows} * heads * tokens);
        attend(q, k, v, o, p);
        Matrix dScores = product(o, weights_[toScores], width, digits);
        const Real loss = replaceByGradient(dScores, batch.answers);
        Matrix dO(o.size());
        for (size_t i = 0; i < dO.size(); i++) {
            dO[i] = dot(&dScores[i / width * digits], &weights_[toScores][i % width * digits], digits);
        }
        Matrix dQ(q.size());
        Matrix dK(k.size());
        Matrix dV(v.size());
        forEachPair([&](size_t row, size_t key, size_t pair) {
            const Real dp = dot(&dO[row], &v[key], headDim);
            const Real ds = scale * p[pair] * (dp - dot(&dO[row], &o[row], headDim));
            for (size_t d = 0; d < headDim; d++) {
                dQ[row + d] += ds * k[key + d];
                dK[key + d] += ds * q[row + d];
                dV[key + d] += p[pair] * dO[row + d];
            }
        });
        descend(toScores, o, dScores, digits);
        descend(toQ, asked, dQ, width);
        descend(toK, pairs, dK, width);
        descend(toV, pairs, dV, width);
        return static_cast<double>(loss);
    }

private:
    using Matrix = std::vector<Real>;
    const Real scale = 1 / std::sqrt(Real{headDim});

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
    template <typename Visit> static void forEachPair(const Visit& visit) {
        for (size_t pair = 0; pair < size_t{rows} * heads * tokens; pair++) {
            const size_t row = pair / tokens / heads;
            const size_t key = row / tokens * tokens + pair % tokens;
            const size_t column = pair / tokens % heads * headDim;
            visit(row * width + column, key * width + column, pair);
        }
    }

    void attend(const Matrix& q, const Matrix& k, const Matrix& v, Matrix& o, Matrix& p) const {
        Matrix sums(p.size() / tokens);
        forEachPair([&](size_t row, size_t key, size_t pair) {
            p[pair] = std::exp(scale * dot(&q[row], &k[key], headDim));
            sums[pair / tokens] += p[pair];
        });
        forEachPair([&](size_t row, size_t key, size_t pair) {
            p[pair] /= sums[pair / tokens];
            for (size_t d = 0; d < headDim; d++) {
                o[row + d] += p[pair] * v[key + d];
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

    Weights<Real> weights_ = randomWeights<Real>();
};
