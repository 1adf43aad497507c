// SPDX-License-Identifier: MIT
//
// Inputs that break careless kernels: NaN next to visible numbers, huge and equal scores, empty rows, outputs at the
// edge of their type.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::problemOf;

constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// One stored as it is computed, one narrowed.
constexpr VkfType types[] = {VKF_TYPE_F32, VKF_TYPE_F16};

using Bytes = std::vector<std::byte>;

// Sets one row of a dense single-head tensor.
void setRow(const VkfTensorLayout& layout, Bytes& bytes, uint64_t row, double value) {
    for (uint64_t d = 0; d < layout.dim; d++) {
        vkfStoreElement(layout.type, bytes.data(), row * layout.rowStride + d, value);
    }
}

void setAll(const VkfTensorLayout& layout, Bytes& bytes, double value) {
    for (uint64_t i = 0; i < layout.elements; i++) {
        vkfStoreElement(layout.type, bytes.data(), i, value);
    }
}

void checkOn(const vkf::test::Variation& variation, VkfProblem problem, const Data& data) {
    if (!vkf::test::takes(variation, problem)) {
        return;
    }
    apply(variation, problem);
    const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
    INFO(variation.name << ": " << vkf::test::describe(problem));
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// Runs on five variations, and passes each outcome on.
template <typename Visit> void forEachOutcome(VkfProblem problem, const Data& data, const Visit& visit) {
    for (const vkf::test::Variation* variation : vkf::test::variationsInTurn(problem, 5)) {
        apply(*variation, problem);
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(*variation), problem, data);
        INFO(variation->name << ": " << outcome.text());
        visit(outcome);
    }
}

// Runs on some variations. Problems of about the same size with the same type and masks share their kernels, so most of
// this file has about 100 rows and keys, and heads of 64 columns.
void check(const VkfProblem& problem, const Data& data, size_t most = 3) {
    for (const vkf::test::Variation* variation : vkf::test::variationsInTurn(problem, most)) {
        checkOn(*variation, problem, data);
    }
}

// A key that some rows of a tile see and others do not. At the ends and at the edges of tiles.
struct SharedKey {
    uint64_t key;
    bool causal; // else a window of five keys to either side
};
const std::vector<SharedKey> sharedKeys = {{0, false}, {63, true}, {64, false}, {70, true}, {99, true}, {99, false}};

VkfProblem problemOfSharedKey(const SharedKey& shared, VkfType type) {
    VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
    vkf::enable(problem, VKF_USE_CAUSAL, shared.causal);
    if (!shared.causal) {
        problem.use |= VKF_USE_WINDOW;
        problem.window.left = 5;
        problem.window.right = 5;
    }
    return problem;
}

float lseAt(const vkf::test::Outcome& outcome, size_t row) { return outcome.lse[row]; }

} // namespace

TEST_CASE("a NaN in a key reaches only the rows that see the key", "[attention_hard]") {
    vkf::test::needNan(vkf::test::testDevice());
    size_t firstKey = 0;
    for (const VkfType type : types) {
        for (const SharedKey& shared : vkf::test::eachNth(sharedKeys, 2, firstKey++ % 2)) {
            const VkfProblem problem = problemOfSharedKey(shared, type);
            Data data;
            data.edit = [&](Bytes&, Bytes& k, Bytes&) {
                vkfStoreElement(type, k.data(), shared.key * 64 + 40, quietNaN);
            };
            check(problem, data, 2);
        }
    }
}

TEST_CASE("a key with a huge score changes only the rows that see it", "[attention_hard]") {
    for (const double size : {1e6, 1e30, infinity}) {
        if (size == infinity && vkf::test::losesNan(vkf::test::testDevice())) {
            continue;
        }
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64});
        problem.use |= VKF_USE_CAUSAL;
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
            setRow(vkf::layoutOf(problem, VKF_TENSOR_K), k, 70, size);
        };
        check(problem, data);
    }
}

TEST_CASE("a NaN or an infinity in a value reaches only the rows that see it", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const SharedKey& shared : sharedKeys) {
            const VkfProblem problem = problemOfSharedKey(shared, type);
            Data data;
            data.edit = [&](Bytes&, Bytes&, Bytes& v) {
                vkfStoreElement(type, v.data(), shared.key * 64 + 0, quietNaN);
                vkfStoreElement(type, v.data(), shared.key * 64 + 33, infinity);
                vkfStoreElement(type, v.data(), shared.key * 64 + 63, -infinity);
            };
            check(problem, data, 2);
        }
    }
}

TEST_CASE("an infinity in the last value stays one, though its tile has room for more keys", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const uint32_t rows : {1U, 100U}) {
            const VkfProblem problem = problemOf({1, 1, 1, rows, 101, 64, 0, type});
            Data data;
            data.edit = [&](Bytes&, Bytes&, Bytes& v) {
                vkfStoreElement(type, v.data(), uint64_t{100} * 64 + 5, infinity);
            };
            check(problem, data);
        }
    }
}

TEST_CASE("a NaN in a query reaches its own row alone", "[attention_hard]") {
    vkf::test::needNan(vkf::test::testDevice());
    for (const VkfType type : types) {
        for (const uint64_t row : {0U, 33U, 99U}) {
            const VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
            Data data;
            data.edit = [&](Bytes& q, Bytes&, Bytes&) { vkfStoreElement(type, q.data(), row * 64 + 17, quietNaN); };
            check(problem, data, 2);
        }
    }
}

// Path coopmat has a polynomial for a softcap if all scores are near 0. Here only the scores of row or key n - 1 are
// not near 0. The kernel must notice them next to the NaN of n.
TEST_CASE("a NaN hides no score from a softcap", "[attention_hard]") {
    vkf::test::needStorage16(vkf::test::testDevice(), "path coopmat");
    for (const bool inQuery : {true, false}) {
        for (const uint64_t n : {33U, 70U}) {
            VkfProblem problem = problemOfSharedKey({n, false}, VKF_TYPE_F16);
            if (inQuery) { // without a window nearly all tiles are full
                vkf::enable(problem, VKF_USE_WINDOW, false);
                problem.window = {};
            }
            problem.softcap = 3.0F;
            Data data;
            data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                const VkfTensorLayout layout = vkf::layoutOf(problem, inQuery ? VKF_TENSOR_Q : VKF_TENSOR_K);
                setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
                setAll(layout, inQuery ? q : k, 0.0);
                setRow(layout, inQuery ? q : k, n - 1, 1.0);
                setRow(layout, inQuery ? q : k, n, quietNaN);
            };
            for (const vkf::test::Variation& variation : vkf::test::variations) {
                const bool usual = variation.quirks == 0 || inQuery || vkf::test::wholeSweeps();
                const bool wgmma = variation.path == VKF_PATH_WGMMA && takes(variation, problem);
                if ((variation.path == VKF_PATH_COOPMAT && usual) || wgmma) {
                    checkOn(variation, problem, data);
                }
            }
        }
    }
}

TEST_CASE("scores of magnitude 1e4 stay finite and right", "[attention_hard]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
        problem.scale = 1.0F;
        check(problem, Data{.magnitude = 35.0}); // sqrt(64) * 35^2 is about 1e4
    }
}

TEST_CASE("equal scores give the mean of the values", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const double size : {0.0, 3.0, -3.0}) {
            const VkfProblem problem = problemOf({1, 1, 1, 100, 99, 64, 0, type});
            Data data;
            data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, size);
                setAll(vkf::layoutOf(problem, VKF_TENSOR_K), k, 3.0);
            };
            check(problem, data);
        }
    }
}

TEST_CASE("one huge key takes all the probability", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const uint64_t key : {0U, 64U, 98U}) {
            for (const double size : {100.0, 1e6}) { // fp16 holds 65504 instead
                const VkfProblem problem = problemOf({1, 1, 1, 100, 99, 64, 0, type});
                Data data;
                data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                    setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
                    setRow(vkf::layoutOf(problem, VKF_TENSOR_K), k, key, size);
                };
                check(problem, data);
            }
        }
    }
}

TEST_CASE("the running maximum may grow or fall by any step", "[attention_hard]") {
    // Scores along the keys. For example, a kernel may rescale its sums only after the maximum has grown by 2^8. It
    // must be right if every tile grows by less and several tiles together grow by more.
    const struct {
        const char* name;
        double step;
        uint64_t keys;  // keys of one step
        uint64_t steps; // the scores stay where these lead
    } profiles[] = {
        {"a little with every key", 0.02, 1, 200},   {"by under 2^8 in 64 keys", 0.08, 1, 200},
        {"by over 2^8 in 64 keys", 0.1, 1, 200},     {"by under 2^8 every 16 keys", 5.0, 16, 12},
        {"by under 2^8 every 64 keys", 5.0, 64, 3},  {"a lot with every key", 20.0, 1, 200},
        {"a lot at first, then no more", 5.0, 1, 8},
    };
    constexpr uint64_t rows = 100;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem problem = problemOf({1, 1, 1, rows, 200, 64, 0, type});
        problem.scale = 1.0F;
        for (const auto& profile : profiles) {
            INFO(profile.name);
            // Column 0 of q has one factor for each row. It turns the profile gradually into its mirror image, which
            // falls. So the rows of one tile need different maxima. The other columns add scores of magnitude 1.
            Data data{.magnitude = 0.35};
            data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                for (uint64_t row = 0; row < rows; row++) {
                    vkfStoreElement(type, q.data(), row * 64, 1.0 - static_cast<double>(2 * (row * 29 % rows)) / rows);
                }
                for (uint64_t key = 0; key < 200; key++) {
                    const uint64_t steps = std::min(key / profile.keys, profile.steps);
                    vkfStoreElement(type, k.data(), key * 64, profile.step * static_cast<double>(steps));
                }
            };
            check(problem, data, 2);
        }
    }
}

TEST_CASE("rows whose scores are all very negative are as good as any", "[attention_hard]") {
    for (const VkfType type : types) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
        problem.scale = 1.0F;
        for (const double score : {-1e4, -1e30}) { // fp16 holds -65504 instead
            Data data;
            data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                for (uint64_t row = 0; row < problem.queryRows; row++) {
                    vkfStoreElement(type, q.data(), row * 64, 1.0);
                }
                for (uint64_t key = 0; key < problem.keys; key++) {
                    vkfStoreElement(type, k.data(), key * 64, score);
                }
            };
            check(problem, data);
        }
    }
}

TEST_CASE("very negative scores in front of small ones leave no trace", "[attention_hard]") {
    for (const VkfType type : types) {
        const VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
            for (uint64_t key = 0; key < 65; key++) {
                setRow(vkf::layoutOf(problem, VKF_TENSOR_K), k, key, -1e30);
            }
        };
        check(problem, data);
    }
}

TEST_CASE("keys with a score of minus infinity have a probability of zero", "[attention_hard]") {
    for (const VkfType type : types) {
        const VkfProblem problem = problemOf({1, 1, 1, 100, 100, 64, 0, type});
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
            setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
            for (uint64_t key = 0; key < 70; key++) {
                setRow(vkf::layoutOf(problem, VKF_TENSOR_K), k, key, -infinity);
            }
        };
        check(problem, data);
    }
}

TEST_CASE("a row that sees one key gives that key's value, however the score looks", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const float scale : {1.0F, -20.0F}) { // scores of magnitude up to a thousand, of both signs
            VkfProblem problem = problemOf({1, 1, 1, 100, 130, 64, 0, type});
            problem.scale = scale;
            problem.use |= VKF_USE_WINDOW; // 0, 0
            check(problem, {}, 1);
            problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
            check(problem, {}, 1);
            vkf::enable(problem, VKF_USE_WINDOW, false);
            problem.use |= VKF_USE_CAUSAL; // row 0
            check(problem, {}, 1);
        }
    }
}

TEST_CASE("rows that see no key are exactly zero with an lse of minus infinity", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 5, 2, 8});
    problem.use |= VKF_USE_CAUSAL;
    forEachOutcome(problem, {}, [](const vkf::test::Outcome& outcome) {
        CHECK(outcome.passed());
        for (size_t row = 0; row < 3; row++) {
            CHECK(lseAt(outcome, row) == -std::numeric_limits<float>::infinity());
            for (size_t d = 0; d < 8; d++) {
                CHECK(vkfLoadElement(VKF_TYPE_F32, outcome.o.data(), row * 8 + d) == 0.0);
            }
        }
        CHECK(std::isfinite(lseAt(outcome, 3)));
    });
}

TEST_CASE("an fp16 output saturates where the exact result overflows, and only there", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 4, 8, 64});
    problem.o.type = VKF_TYPE_F16;
    for (const double value : {65504.0, 65519.0, 65536.0, 1e30, -1e30}) {
        Data data;
        data.edit = [&](Bytes&, Bytes&, Bytes& v) { setAll(vkf::layoutOf(problem, VKF_TENSOR_V), v, value); };
        check(problem, data);
    }
}

TEST_CASE("an fp16 output stays finite where rounded probabilities lead past the largest fp16", "[attention_hard]") {
    // fp16 rounds the probability of every key up, by 2^-11 of it. So matrices add up to 65536, where 65504 is exact.
    VkfProblem problem = problemOf({1, 1, 1, 100, 99, 64, 0, VKF_TYPE_F16});
    problem.scale = static_cast<float>(std::log(1.0 + 0x1.01p-11) / problem.headDim);
    for (const double value : {65504.0, -65504.0}) {
        Data data;
        data.edit = [&](Bytes& q, Bytes& k, Bytes& v) {
            setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 1.0);
            setAll(vkf::layoutOf(problem, VKF_TENSOR_K), k, 1.0);
            setAll(vkf::layoutOf(problem, VKF_TENSOR_V), v, value);
        };
        check(problem, data, std::size(vkf::test::variations));
    }
}

TEST_CASE("probabilities of 16 bits are rounded to nearest", "[attention_hard]") {
    // All values are 1, so o is the sum of rounded probabilities over the sum of probabilities. Bits that are cut off
    // take 2^-11.5 of the sum in fp16, 2^-8.5 in bf16. Rounding to nearest was seen to take a quarter of the bound.
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem problem = problemOf({1, 1, 1, 100, 512, 64, 0, type});
        problem.o.type = VKF_TYPE_F32;
        Data data;
        data.edit = [&](Bytes&, Bytes&, Bytes& v) { setAll(vkf::layoutOf(problem, VKF_TENSOR_V), v, 1.0); };
        forEachOutcome(problem, data, [&](const vkf::test::Outcome& outcome) {
            double sum = 0.0;
            for (uint32_t row = 0; row < problem.queryRows; row++) {
                sum += vkfLoadElement(VKF_TYPE_F32, outcome.o.data(), uint64_t{row} * problem.valueDim) - 1.0;
            }
            INFO(vkfTypeName(type) << ", mean error " << sum / problem.queryRows);
            CHECK(std::abs(sum / problem.queryRows) < (type == VKF_TYPE_F16 ? 0x1p-14 : 0x1p-11));
        });
    }
}

TEST_CASE("a bf16 output rounds to nearest even", "[attention_hard]") {
    VkfProblem problem = problemOf({1, 1, 1, 4, 1, 64});
    problem.o.type = VKF_TYPE_BF16;
    Data data;
    // Values half-way between two bf16 numbers. The lower neighbour is even or odd. The score is 0, so that p is 1 on
    // kernels whose m is a whole number too.
    data.edit = [&](Bytes& q, Bytes&, Bytes& v) {
        setAll(vkf::layoutOf(problem, VKF_TENSOR_Q), q, 0.0);
        for (uint64_t d = 0; d < 64; d++) {
            vkfStoreElement(VKF_TYPE_F32, v.data(), d, (128.0 + static_cast<double>(d) + 0.5) / 128.0);
        }
    };
    forEachOutcome(problem, data, [](const vkf::test::Outcome& outcome) {
        for (uint64_t d = 0; d < 64; d++) {
            std::byte expected[2];
            vkfStoreElement(VKF_TYPE_BF16, expected, 0, (128.0 + static_cast<double>(d) + 0.5) / 128.0);
            CHECK(std::memcmp(expected, outcome.o.data() + 2 * d, 2) == 0);
        }
    });
}

TEST_CASE("a bf16 output saturates where it would overflow, and keeps infinities and NaN", "[attention_hard]") {
    // Bits of fp32 values, and the bf16 bits that each becomes.
    struct Edge {
        uint32_t stored;
        uint16_t expected;
    };
    const std::array edges = {Edge{0x7f7f7fff, 0x7f7f}, Edge{0x7f7f8000, 0x7f7f}, Edge{0x7f7fffff, 0x7f7f},
                              Edge{0xff7fffff, 0xff7f}, Edge{0x7f7e8000, 0x7f7e}, Edge{0x7f800000, 0x7f80},
                              Edge{0xff800000, 0xff80}};
    VkfProblem problem = problemOf({1, 1, 1, 4, 1, 64});
    problem.o.type = VKF_TYPE_BF16;
    Data data;
    data.edit = [&](Bytes&, Bytes&, Bytes& v) {
        for (size_t d = 0; d < edges.size(); d++) {
            std::memcpy(v.data() + sizeof(float) * d, &edges[d].stored, sizeof(float));
        }
        vkfStoreElement(VKF_TYPE_F32, v.data(), edges.size(), quietNaN);
    };
    forEachOutcome(problem, data, [&](const vkf::test::Outcome& outcome) {
        for (size_t d = 0; d < edges.size(); d++) {
            uint16_t stored = 0;
            std::memcpy(&stored, outcome.o.data() + sizeof stored * d, sizeof stored);
            INFO("value " << std::hex << edges[d].stored);
            CHECK(stored == edges[d].expected);
        }
        CHECK(std::isnan(vkfLoadElement(VKF_TYPE_BF16, outcome.o.data(), edges.size())));
    });
}

namespace {

// The kernels whose partial results may have any type.
const vkf::test::Variation splitting[] = {vkf::test::variations[0], vkf::test::variations[6], vkf::test::variations[7]};

} // namespace

TEST_CASE("splits agree on keys that outweigh all others, and on keys with a probability of zero", "[attention_hard]") {
    for (const VkfType type : types) {
        VkfProblem problem = problemOf({1, 12, 1, 2, 500, 64, 0, type});
        problem.scale = 1.0F;
        for (const uint32_t splits : {2U, 9U}) {
            if (splits == (type == VKF_TYPE_F32 ? 2U : 9U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            for (const double score : {300.0, -300.0, -1e30, -infinity}) { // score of the second half of the keys
                Data data{.magnitude = 0.3};
                data.edit = [&](Bytes& q, Bytes& k, Bytes&) {
                    for (uint64_t row = 0; row < 24; row++) {
                        vkfStoreElement(type, q.data(), row * 64, 1.0);
                    }
                    for (uint64_t key = 250; key < 500; key++) {
                        vkfStoreElement(type, k.data(), key * 64, score);
                    }
                };
                for (const vkf::test::Variation& variation : splitting) {
                    apply(variation, problem);
                    problem.kvSplits = splits;
                    const vkf::test::Outcome outcome =
                        vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
                    INFO(variation.name << ", " << splits << " splits, " << score << ", " << outcome.text());
                    CHECK(outcome.passed());
                }
            }
        }
    }
}

TEST_CASE("rows that see no key in any split, or only in one", "[attention_hard]") {
    for (const VkfType type : types) {
        for (const uint32_t rows : {1U, 5U}) {
            if (rows == (type == VKF_TYPE_F32 ? 1U : 5U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({3, 12, 1, rows, 400, 40, 0, type});
            problem.kvSplits = 7;
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            problem.use |= VKF_USE_WINDOW;
            problem.window.left = 3;
            problem.window.right = 0;
            for (const vkf::test::Variation& variation : splitting) {
                apply(variation, problem);
                const vkf::test::Outcome outcome =
                    vkf::test::runCall(vkf::test::deviceOf(variation), problem, Data{.keyLengths = {400, 0, 2}});
                INFO(variation.name << ", " << outcome.text());
                CHECK(outcome.passed());
            }
        }
    }
}

TEST_CASE("the same call gives the same bits every time", "[attention_hard]") {
    VkfProblem problem = problemOf({2, 4, 2, 113, 203, 72, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    problem.softcap = 10;
    for (const vkf::test::Variation* chosen : vkf::test::variationsInTurn(problem, 3)) {
        const vkf::test::Variation& variation = *chosen;
        apply(variation, problem);
        const bool study = variation.path == VKF_PATH_STANDARD || variation.path == VKF_PATH_KEY_OUTER;
        problem.kvSplits = study ? 1 : 3;
        const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
        const vkf::test::Outcome first = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
        for (int i = 0; i < 3; i++) {
            const vkf::test::Outcome again = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
            CHECK(again.o == first.o);
            CHECK(again.lse == first.lse);
        }
    }
}
