// SPDX-License-Identifier: MIT
//
// The softmax of a row whose scores arrive piece by piece (Milakov and Gimelshein 2018, arXiv 1805.02867): when the
// maximum grows, the sums so far are multiplied by exp(m_old - m_new).
#include <algorithm>
#include <cmath>
#include <limits>

#include <vkflash/reference.h>

#include "reference/row_state.hpp"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using vkf::reference::finiteMaximum; // for an empty state 0, which makes the factors 0

// Turns sums relative to the old m into sums relative to the new m, which is not smaller.
void moveTo(VkfOnlineSoftmax* state, double m) {
    const double alpha = std::exp(state->m - finiteMaximum(m));
    state->m = m;
    state->l *= alpha;
    for (uint32_t i = 0; i < state->dim; i++) {
        state->o[i] *= alpha;
    }
}

} // namespace

void vkfOnlineSoftmaxReset(VkfOnlineSoftmax* state) {
    state->m = -infinity;
    state->l = 0.0;
    std::fill_n(state->o, state->dim, 0.0);
}

void vkfOnlineSoftmaxUpdate(VkfOnlineSoftmax* state, const double* scores, uint32_t count, const double* values,
                            size_t valueStride) {
    double m = state->m;
    for (uint32_t j = 0; j < count; j++) {
        m = std::max(m, scores[j]);
    }
    moveTo(state, m);
    for (uint32_t j = 0; j < count; j++) {
        if (scores[j] == -infinity) {
            continue;
        }
        const double p = std::exp(scores[j] - finiteMaximum(m));
        state->l += p;
        for (uint32_t i = 0; i < state->dim; i++) {
            state->o[i] += p * values[j * valueStride + i];
        }
    }
}

void vkfOnlineSoftmaxMerge(VkfOnlineSoftmax* state, const VkfOnlineSoftmax* other) {
    const double m = std::max(state->m, other->m);
    const double beta = std::exp(other->m - finiteMaximum(m));
    moveTo(state, m);
    state->l += other->l * beta;
    for (uint32_t i = 0; i < state->dim; i++) {
        state->o[i] += other->o[i] * beta;
    }
}

void vkfOnlineSoftmaxCompute(const VkfOnlineSoftmax* state, const double* scores, uint32_t count,
                             double* probabilities) {
    for (uint32_t j = 0; j < count; j++) {
        const bool dropped = scores[j] == -infinity || state->l == 0.0;
        probabilities[j] = dropped ? 0.0 : std::exp(scores[j] - finiteMaximum(state->m)) / state->l;
    }
}

double vkfOnlineSoftmaxFinish(VkfOnlineSoftmax* state) {
    for (uint32_t i = 0; i < state->dim; i++) {
        state->o[i] = state->l == 0.0 ? 0.0 : state->o[i] / state->l;
    }
    return finiteMaximum(state->m) + std::log(state->l);
}
