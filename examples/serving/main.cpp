// SPDX-License-Identifier: MIT
//
// A serving loop with continuous batching. One attention call a step serves chunks of prompts, single tokens and trees
// of drafts of several requests, over a paged cache of a block type. The requests share the pages of a system prompt.
// The program prints tokens a second with and without each of these. The outputs of each request must have the bits of
// its own run without other requests, and with its own copy of the system prompt. The exit status is 1 if they differ.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "device_loop.hpp"
#include "program.hpp"

namespace {

constexpr uint32_t maxRunning = 4;      // sequences that are served at the same time
constexpr uint32_t stepRows = 64;       // rows of a step, of all sequences
constexpr float draftTolerance = 0.01F; // matrix units round probabilities to 16 bits

// A prompt always gets on, even if all other sequences verify drafts.
static_assert((maxRunning - 1) * treeRows + chunkRows <= stepRows && maxRunning * treeRows <= stepRows);

struct Features {
    const char* name;
    bool batched; // otherwise one request after the other
    bool shared;  // the system prompt is in the cache once; otherwise each request has its own copy
    bool drafts;  // steps verify a tree; otherwise they take one token
};

struct Served {
    std::vector<Sequence> sequences; // of each request
    uint32_t steps = 0, mostPages = 0;
    uint32_t tokens = 0; // after the prompts
    double seconds = 0;
};

// Every step serves all requests that run. Requests join between steps, and leave when they have their tokens.
class Server {
public:
    Server(DeviceLoop& device, std::span<const Request> requests, const Features& features)
        : device_(device), requests_(requests), features_(features) {
        served_.sequences.resize(requests.size());
    }

    Served run() {
        const auto begin = std::chrono::steady_clock::now();
        if (features_.shared) {
            cacheSystemPrompt();
        }
        for (uint32_t time = 0; admitted_ < requests_.size() || !running_.empty(); time++) {
            admit(time);
            const std::vector<Turn> turns = chooseTurns();
            device_.step(turns);
            served_.steps++;
            uint32_t firstRow = 0;
            for (const Turn& turn : turns) {
                accept(*turn.sequence, turn.rows, firstRow);
                firstRow += static_cast<uint32_t>(turn.rows.size());
            }
            std::erase_if(running_, [](const Sequence* sequence) { return sequence->done(); });
        }
        served_.mostPages = pool_.mostUsed();
        served_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return std::move(served_);
    }

private:
    // The block tables of all requests begin with the pages of `system_`, which keeps them in use.
    void cacheSystemPrompt() {
        const auto& prompt = requests_.front().prompt;
        system_.text.assign(prompt.begin(), prompt.begin() + systemTokens);
        pool_.fill(system_.table, {}, systemTokens);
        while (system_.cached < systemTokens) {
            device_.step({{&system_, chunkOf(system_)}});
            system_.cached += chunkRows;
            served_.steps++;
        }
    }

    // A request gets the pages of its longest text at once, so that it never waits for a page while it runs.
    void admit(uint32_t time) {
        while (admitted_ < requests_.size() && running_.size() < device_.sequences) {
            const Request& request = requests_[admitted_];
            const auto missing = pagesFor(request.rows()) - static_cast<uint32_t>(system_.table.size());
            if (request.arrival > time || missing > pool_.freePages()) {
                return;
            }
            Sequence& sequence = served_.sequences[admitted_++];
            sequence = {&request, request.prompt, system_.cached, {}, {}};
            pool_.fill(sequence.table, system_.table, request.rows());
            running_.push_back(&sequence);
        }
    }

    // Decoding comes first, so that prompts delay no token. They get the rows that are left.
    std::vector<Turn> chooseTurns() {
        std::vector<Turn> turns;
        size_t rows = 0;
        for (const bool inPrompt : {false, true}) {
            for (Sequence* sequence : running_) {
                if (sequence->inPrompt() != inPrompt) {
                    continue;
                }
                std::vector<Row> own = inPrompt ? chunkOf(*sequence) : treeOf(*sequence, features_.drafts);
                if (rows + own.size() <= device_.rows) {
                    rows += own.size();
                    turns.push_back({sequence, std::move(own)});
                }
            }
        }
        return turns;
    }

    // Takes a row if it is the next token of the text. Behind the text, the output of the row before gives this token.
    void accept(Sequence& sequence, const std::vector<Row>& rows, uint32_t firstRow) {
        const uint32_t before = sequence.cached;
        for (uint32_t row = 0; row < rows.size();) {
            // Drafts of other branches may lie between this row and its place behind the text.
            if (before + row != sequence.cached) {
                device_.copyRow(sequence.table, before + row, sequence.cached);
            }
            const std::span<const float> output = device_.output(firstRow + row);
            if (sequence.cached++ >= systemTokens) {
                sequence.outputs.insert(sequence.outputs.end(), output.begin(), output.end());
            }
            if (sequence.cached == sequence.text.size()) {
                sequence.text.push_back(nextToken(output));
                served_.tokens++;
            }
            if (sequence.done()) {
                return pool_.release(sequence.table);
            }
            const uint32_t parent = row++;
            while (row < rows.size() &&
                   (rows[row].parent != parent || rows[row].token != sequence.text[sequence.cached])) {
                row++;
            }
        }
    }

    DeviceLoop& device_;
    std::span<const Request> requests_;
    Features features_;
    PagePool pool_;
    Sequence system_;
    std::vector<Sequence*> running_;
    size_t admitted_ = 0;
    Served served_;
};

// Prints which requests differ, and returns whether none does. A tolerance of 0 asks for the same bits. With another
// one, texts may go on differently where two tokens are almost equally good: outputs are compared up to there.
bool areSame(const char* runs, const Served& served, const Served& expected, float tolerance) {
    bool same = true;
    for (size_t i = 0; i < served.sequences.size(); i++) {
        const Sequence& a = served.sequences[i];
        const Sequence& b = expected.sequences[i];
        const auto equalTokens = static_cast<size_t>(std::ranges::mismatch(a.text, b.text).in1 - a.text.begin());
        const size_t floats = std::min(a.outputs.size(), (equalTokens - systemTokens) * outputWidth);
        const std::span<const float> outputs(a.outputs.data(), floats), others(b.outputs.data(), floats);
        const auto isClose = [&](float x, float y) { return std::abs(x - y) <= tolerance; };
        const bool bits = a.text == b.text && std::memcmp(outputs.data(), others.data(), outputs.size_bytes()) == 0;
        if (!(tolerance == 0 ? bits : std::ranges::equal(outputs, others, isClose))) {
            std::printf("serving: request %zu differs: %s\n", i, runs);
            same = false;
        }
    }
    return same;
}

int run() {
    Gpu gpu;
    const vkf::Context context = createContext(gpu);
    DeviceLoop batch(gpu, context.get(), maxRunning, stepRows);
    DeviceLoop single(gpu, context.get(), 1, chunkRows);
    const std::vector<Request> requests = makeRequests();
    std::printf("serving: %s\n", batch.description());
    const auto serve = [&](const Features& features) {
        DeviceLoop& device = features.batched ? batch : single;
        device.step({}); // some drivers compile at the first submission
        Served served = Server(device, requests, features).run();
        std::printf("serving: %-28s %7.1f tokens/s, %4u steps, at most %2u pages\n", features.name,
                    served.tokens / served.seconds, served.steps, served.mostPages);
        return served;
    };
    const Served ofAll = serve({"all features", true, true, true});
    const Served ofAlone = serve({"one by one", false, true, true});
    const Served ofCopies = serve({"copies of the system prompt", true, false, true});
    const Served ofUndrafted = serve({"no drafts", true, true, false});
    const Served ofNone = serve({"none of these features", false, false, false});

    bool right = areSame("batched, and alone", ofAll, ofAlone, 0);
    right = areSame("shared prompt, and its copies", ofAll, ofCopies, 0) && right;
    right = areSame("batched, and alone, without drafts", ofUndrafted, ofNone, 0) && right;
    // While a draft is verified, it may stand after drafts of another branch. The sums of its row then have another
    // order than without drafts, and other last bits.
    right = areSame("with and without drafts", ofAll, ofUndrafted, draftTolerance) && right;
    std::printf("serving: each request and its own run: %s\n", right ? "same bits" : "WRONG");
    return right ? 0 : 1;
}

} // namespace

int main() { return runProgram("serving", run); }
