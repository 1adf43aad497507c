// SPDX-License-Identifier: MIT
#include "support/probabilities.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "support/masks.hpp"

namespace vkf::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Row {
    uint32_t batch;
    uint32_t head;
    uint32_t row;
};

// Rounds every step to Real.
template <typename Real, bool twoRoundings>
Real scoreOf(const VkfProblem& p, const Inputs& inputs, const Row& row, uint32_t key) {
    const VkfTensorLayout q = vkf::layoutOf(p, VKF_TENSOR_Q);
    const VkfTensorLayout k = vkf::layoutOf(p, VKF_TENSOR_K);
    const uint32_t kvHead = row.head / (p.queryHeads / p.kvHeads);
    const uint64_t qFirst = row.batch * q.batchStride + row.head * q.headStride + row.row * q.rowStride;
    const uint64_t kFirst = row.batch * k.batchStride + kvHead * k.headStride + key * k.rowStride;
    Real sum = 0;
    for (uint32_t d = 0; d < p.headDim; d++) {
        const auto a = static_cast<Real>(vkfLoadElement(q.type, inputs.q.data(), qFirst + d));
        const auto b = static_cast<Real>(vkfLoadElement(k.type, inputs.k.data(), kFirst + d));
        sum = twoRoundings ? static_cast<Real>(a * b) + sum : std::fma(a, b, sum);
    }
    const Real scale = p.scale != 0.0F ? static_cast<Real>(p.scale) : 1 / std::sqrt(static_cast<Real>(p.headDim));
    const auto cap = static_cast<Real>(p.softcap);
    return cap > 0 ? cap * std::tanh(sum * scale / cap) : sum * scale;
}

// The probabilities of all keys for one row.
template <typename Real, bool twoRoundings>
std::vector<Real> rowProbabilities(const VkfProblem& p, const Inputs& inputs, const Row& row) {
    const int64_t keys =
        has(p, VKF_USE_KEY_LENGTHS) ? std::clamp<int64_t>(inputs.keyLengths[row.batch], 0, p.keys) : int64_t{p.keys};
    std::vector<Real> probabilities(p.keys, 0);
    Real m = -std::numeric_limits<Real>::infinity();
    for (uint32_t j = 0; j < p.keys; j++) {
        if (isVisible(p, keys, row.row, j)) {
            probabilities[j] = scoreOf<Real, twoRoundings>(p, inputs, row, j);
            m = std::isnan(probabilities[j]) ? probabilities[j] : std::max(m, probabilities[j]);
        }
    }
    Real l = 0;
    for (uint32_t j = 0; j < p.keys; j++) {
        if (isVisible(p, keys, row.row, j)) {
            probabilities[j] = std::exp(probabilities[j] - m);
            l += probabilities[j];
        }
    }
    for (Real& probability : probabilities) {
        probability = probability == 0 ? 0 : probability / l;
    }
    return probabilities;
}

double difference(double value, double exact) {
    if (std::isnan(exact) || std::isnan(value)) {
        return std::isnan(exact) && std::isnan(value) ? 0.0 : infinity;
    }
    return exact == 0.0 && value != 0.0 && std::abs(value) > std::numeric_limits<float>::min()
               ? infinity
               : std::abs(value - exact);
}

double largestDifference(const std::vector<float>& values, const std::vector<double>& exact) {
    double largest = 0.0;
    for (size_t j = 0; j < exact.size(); j++) {
        largest = std::max(largest, difference(static_cast<double>(values[j]), exact[j]));
    }
    return largest;
}

} // namespace

std::string ProbabilitiesVerdict::text() const {
    std::ostringstream text;
    text << "probabilities error " << error << " (bound " << bound << "), worst element " << worst;
    return text.str();
}

ProbabilitiesVerdict judgeProbabilities(const VkfProblem& p, const Inputs& inputs,
                                        const std::vector<float>& probabilities) {
    ProbabilitiesVerdict verdict;
    double errorOfFp32 = 0.0;
    double largest = 0.0;
    uint64_t index = 0;
    for (uint32_t b = 0; b < p.batch; b++) {
        for (uint32_t h = 0; h < p.queryHeads; h++) {
            for (uint32_t i = 0; i < p.queryRows; i++) {
                const Row row{b, h, i};
                const std::vector<double> exact = rowProbabilities<double, false>(p, inputs, row);
                errorOfFp32 =
                    std::max({errorOfFp32, largestDifference(rowProbabilities<float, false>(p, inputs, row), exact),
                              largestDifference(rowProbabilities<float, true>(p, inputs, row), exact)});
                for (const double probability : exact) {
                    const double error = difference(static_cast<double>(probabilities.at(index)), probability);
                    if (error > verdict.error) {
                        verdict.error = error;
                        verdict.worst = index;
                    }
                    largest = std::isnan(probability) ? largest : std::max(largest, probability);
                    index++;
                }
            }
        }
    }
    const double ulp = std::ldexp(1.0, std::ilogb(std::max(largest, 1e-30)) - 23);
    verdict.bound = 2.0 * errorOfFp32 + 4.0 * ulp;
    if (index != probabilities.size()) {
        verdict.error = infinity;
    }
    return verdict;
}

std::vector<int32_t> randomProbabilityRows(const VkfProblem& problem, uint32_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int32_t> rows(problem.probabilityRowCount);
    constexpr std::array<int32_t, 3> far = {-1, std::numeric_limits<int32_t>::max(),
                                            std::numeric_limits<int32_t>::min()};
    for (int32_t& row : rows) {
        const auto inside = static_cast<int32_t>(random() % std::max(problem.queryRows, 1U));
        const uint64_t outside = random() % 16;
        row = outside < 3 ? far[outside] : outside == 3 ? static_cast<int32_t>(problem.queryRows) : inside;
    }
    return rows;
}

} // namespace vkf::test
