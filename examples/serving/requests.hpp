// SPDX-License-Identifier: MIT
//
// Requests, and the rows that each of them has in a step: a chunk of its prompt, or a tree of drafts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "pages.hpp"

constexpr uint32_t vocabulary = 64;
constexpr uint32_t requestCount = 8;
constexpr uint32_t systemTokens = 64; // the prompt that all requests begin with
constexpr uint32_t longestQuestion = 40;
constexpr uint32_t mostTokens = 32; // that a request wants
constexpr uint32_t chunkRows = 16;  // rows of a prompt that a step takes
constexpr uint32_t treeRows = 8;    // the last token and its drafts; the mask has a byte for each row
constexpr uint32_t branchDepth = 4;

// Nobody appends to a shared page, so shared pages are full. Chunks begin at the same rows with and without sharing.
static_assert(systemTokens % pageSize == 0 && systemTokens % chunkRows == 0);
static_assert(systemTokens + longestQuestion + mostTokens + treeRows <= maxPages * pageSize);
static_assert(systemTokens / pageSize + maxPages <= pages && treeRows == 8 && treeRows <= chunkRows);

struct Request {
    uint32_t arrival; // step
    std::vector<uint32_t> prompt;
    uint32_t tokens; // that it wants

    // Rows of the cache for the longest text, and for drafts behind it.
    uint32_t rows() const { return static_cast<uint32_t>(prompt.size()) + tokens + treeRows; }
};

// A token in a step. The tokens of a prompt are a chain: the parent of each is the one before it.
struct Row {
    uint32_t token;
    uint32_t parent;   // the row of the token before it, in the same step; row 0 has no parent in the step
    uint32_t position; // in the text, which differs from the place in the cache for drafts that compete
};

// A request that is being served.
struct Sequence {
    const Request* request = nullptr;
    std::vector<uint32_t> text; // the prompt and the tokens after it
    uint32_t cached = 0;        // tokens of the text whose k and v the cache holds
    BlockTable table;
    std::vector<float> outputs; // of all tokens of the text after the system prompt but the last

    bool inPrompt() const { return cached + 1 < text.size(); }
    bool done() const { return text.size() == request->prompt.size() + request->tokens; }
};

// All prompts begin with the same tokens. Numbers come from the generator itself, because the standard's distributions
// differ between libraries.
inline std::vector<Request> makeRequests() {
    std::mt19937 random(7);
    const auto token = [&] { return static_cast<uint32_t>(random() % vocabulary); };
    std::vector<uint32_t> system(systemTokens);
    std::ranges::generate(system, token);
    std::vector<Request> requests;
    for (uint32_t i = 0; i < requestCount; i++) {
        Request request{.arrival = 2 * i, .prompt = system, .tokens = mostTokens / 2 + i % 4 * mostTokens / 6};
        std::generate_n(std::back_inserter(request.prompt), 1 + random() % longestQuestion, token);
        requests.push_back(request);
    }
    return requests;
}

// The next tokens of the prompt. Chunks have a fixed size, so that no request's chunks depend on other requests.
inline std::vector<Row> chunkOf(const Sequence& sequence) {
    std::vector<Row> rows;
    const auto end = std::min(static_cast<uint32_t>(sequence.text.size()), sequence.cached + chunkRows);
    for (uint32_t position = sequence.cached; position < end; position++) {
        rows.push_back({sequence.text[position], std::max(position - sequence.cached, 1U) - 1, position});
    }
    return rows;
}

// The last two different tokens that followed `token` in the text, the latest first.
inline std::vector<uint32_t> followers(const std::vector<uint32_t>& text, uint32_t token) {
    std::vector<uint32_t> found;
    for (size_t i = text.size() - 1; i-- > 0 && found.size() < 2;) {
        if (text[i] == token && (found.empty() || found[0] != text[i + 1])) {
            found.push_back(text[i + 1]);
        }
    }
    return found;
}

// The last token of the text, whose k and v the cache lacks, and drafts: guesses of what follows. A guess is what
// followed the same token before. Two guesses of the next token begin two branches, in which one guess follows the
// other. Every guess has a follower, because the last token of the text has one.
inline std::vector<Row> treeOf(const Sequence& sequence, bool drafts) {
    std::vector<Row> rows = {{sequence.text.back(), 0, sequence.cached}};
    const std::vector<uint32_t> guesses = followers(sequence.text, sequence.text.back());
    for (size_t branch = 0; drafts && branch < guesses.size(); branch++) {
        uint32_t token = guesses[branch], parent = 0;
        for (uint32_t depth = 1; depth <= branchDepth && rows.size() < treeRows; depth++) {
            rows.push_back({token, parent, sequence.cached + depth});
            parent = static_cast<uint32_t>(rows.size()) - 1;
            token = followers(sequence.text, token).front();
        }
    }
    return rows;
}

// The bytes of the mask over the last treeRows keys: bit c of a row is key c of them. A row sees its ancestors, itself,
// and all keys before the step. More rows than that are a chain, for which the causal mask suffices.
inline std::vector<uint8_t> maskOf(const std::vector<Row>& rows) {
    std::vector<uint8_t> mask(rows.size(), 0xff);
    for (uint32_t i = 0; rows.size() <= treeRows && i < rows.size(); i++) {
        const auto before = treeRows - static_cast<uint32_t>(rows.size());
        const uint32_t ofParent = i == 0 ? (1U << before) - 1 : mask[rows[i].parent];
        mask[i] = static_cast<uint8_t>(ofParent | 1U << (before + i));
    }
    return mask;
}
