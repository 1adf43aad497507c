// SPDX-License-Identifier: MIT
//
// What the layer learns: associative recall. A sequence has pairs of a letter and a digit, and questions, each of which
// is a letter. The answer is the digit beside this letter. Each step draws other digits, so the weights cannot
// learn them by heart: only attention to the right pair finds the answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

constexpr uint32_t steps = 160;
constexpr uint32_t sequences = 8; // of one step
constexpr uint32_t tokens = 16;   // questions of a sequence, and its pairs: one for each letter
constexpr uint32_t rows = sequences * tokens;
constexpr uint32_t digits = 8;
constexpr uint32_t heads = 2;
constexpr uint32_t inputs = tokens + digits; // columns of a token: zeros, but 1 for its letter and 1 for its digit
constexpr double rate = 4.0;                 // of the gradient descent

// What an argument of the program chooses. In fp16, q, k, v, o and their gradients are rounded to fp16. Weights, scores
// of the digits, losses and sums stay fp32, as in mixed-precision training.
struct Layer {
    const char* type;
    bool fp16;
    uint32_t headDim;

    constexpr uint32_t width() const { return heads * headDim; } // columns of q, k, v and o
};
constexpr Layer fp32Layer = {"fp32", false, 16};
constexpr Layer fp16Layer = {"fp16", true, 64}; // wide enough for path wgmma

// Gradients are held in fp16 times this number. Without it, many of them are below 2^-14, where fp16 loses digits. A
// power of two adds no rounding.
constexpr float lossScale = 0x1p10F;

struct Batch {
    std::vector<float> asked = std::vector<float>(size_t{rows} * inputs); // tokens of questions
    std::vector<float> pairs = std::vector<float>(size_t{rows} * inputs); // tokens of pairs
    std::vector<uint32_t> answers = std::vector<uint32_t>(rows);
};

inline Batch batchOf(uint32_t step) {
    std::mt19937_64 random(step); // the same numbers everywhere
    Batch batch;
    for (size_t first = 0; first < rows; first += tokens) {
        std::array<uint32_t, tokens> digitOf{};
        for (size_t letter = 0; letter < tokens; letter++) {
            digitOf[letter] = static_cast<uint32_t>(random() % digits);
            float* pair = &batch.pairs[(first + letter) * inputs];
            pair[letter] = pair[tokens + digitOf[letter]] = 1.0F;
        }
        for (size_t row = first; row < first + tokens; row++) {
            const size_t letter = random() % tokens;
            batch.asked[row * inputs + letter] = 1.0F;
            batch.answers[row] = digitOf[letter];
        }
    }
    return batch;
}

// The layer: q = asked toQ, k = pairs toK, v = pairs toV, scores of the digits = attention(q, k, v) toScores.
enum WeightName : size_t { toQ, toK, toV, toScores, weightCount };
template <typename Real> using Weights = std::array<std::vector<Real>, weightCount>;

template <typename Real> Weights<Real> randomWeights(uint32_t width) {
    std::mt19937_64 random(12345);
    Weights<Real> weights;
    for (size_t i = 0; i < weightCount; i++) {
        for (size_t j = 0; j < (i == toScores ? width * digits : inputs * width); j++) {
            weights[i].push_back(static_cast<float>(random() >> 40) * 0x1p-24F - 0.5F); // exact in fp32
        }
    }
    return weights;
}
