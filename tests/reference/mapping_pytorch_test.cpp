// SPDX-License-Identifier: MIT
//
// The table of docs/mapping.md for scaled_dot_product_attention of PyTorch.
#include <catch2/generators/catch_generators.hpp>

#include <optional>

#include "reference/mapping.hpp"

namespace {

using namespace vkf::test::mapping;

// ---- The other side -----------------------------------------------------------------------------

struct Sdpa {
    size_t batch = 0, heads = 0, kvHeads = 0, rows = 0, keys = 0, dim = 0, valueDim = 0;
    Strided query, key, value; // (N, Hq, L, E), (N, H, S, E), (N, H, S, Ev)
    // attn_mask, which broadcasts to (N, Hq, L, S): strides of 0 repeat.
    std::optional<Strided> added;
    std::optional<Strided> takesPart; // boolean: 0 is False
    bool isCausal = false;
    bool isLowerRight = false; // attn_mask = causal_lower_right(L, S)
    bool isUpperLeft = false;  // attn_mask = causal_upper_left(L, S)
    std::optional<float> scale;
};

// key or value with a head for each head of the query, as repeat_interleave(Hq / H, dim = 1) makes it.
Strided repeatInterleave(const Strided& from, const Sdpa& call, size_t columns) {
    Strided to{{}, {call.heads * call.keys * columns, call.keys * columns, columns, 1}};
    for (size_t b = 0; b < call.batch; b++) {
        for (size_t h = 0; h < call.kvHeads; h++) {
            for (size_t copy = 0; copy < call.heads / call.kvHeads; copy++) {
                for (size_t j = 0; j < call.keys; j++) {
                    for (size_t d = 0; d < columns; d++) {
                        to.values.push_back(static_cast<float>(from.at(b, h, j, d)));
                    }
                }
            }
        }
    }
    return to;
}

// Whether row i takes key j into account.
bool takesPart(const Sdpa& call, size_t b, size_t h, size_t i, size_t j) {
    const bool upperLeft = call.isCausal || call.isUpperLeft;
    return (!upperLeft || j <= i) && (!call.isLowerRight || j + call.rows <= i + call.keys) &&
           (!call.takesPart || call.takesPart->at(b, h, i, j) != 0);
}

// A row that masks everything is 0, as since version 2.5.
std::vector<double> scaledDotProductAttention(const Sdpa& call) {
    const Strided key = repeatInterleave(call.key, call, call.dim);
    const Strided value = repeatInterleave(call.value, call, call.valueDim);
    const double scale = call.scale ? *call.scale : 1.0 / std::sqrt(static_cast<double>(call.dim));
    std::vector<double> result;
    for (size_t b = 0; b < call.batch; b++) {
        for (size_t h = 0; h < call.heads; h++) {
            for (size_t i = 0; i < call.rows; i++) {
                std::vector<double> scores(call.keys, -infinity);
                for (size_t j = 0; j < call.keys; j++) {
                    double dot = 0;
                    for (size_t d = 0; d < call.dim; d++) {
                        dot += call.query.at(b, h, i, d) * key.at(b, h, j, d);
                    }
                    const double bias = call.added ? call.added->at(b, h, i, j) : 0.0;
                    scores[j] = takesPart(call, b, h, i, j) ? scale * dot + bias : -infinity;
                }
                const Row row = attend(scores, call.valueDim, [&](size_t j, size_t d) { return value.at(b, h, j, d); });
                result.insert(result.end(), row.o.begin(), row.o.end());
            }
        }
    }
    return result;
}

// ---- Both sides ---------------------------------------------------------------------------------

// Strides in elements on both sides.
VkfTensor sameStrides(const Strided& tensor) {
    VkfTensor here{};
    here.batchStride = tensor.stride[0];
    here.headStride = tensor.stride[1];
    here.rowStride = tensor.stride[2];
    return here;
}

VkfBroadcastArray sameStrides(VkfType type, const Strided& mask) {
    VkfBroadcastArray here{};
    here.type = type;
    here.batchStride = mask.stride[0];
    here.headStride = mask.stride[1];
    here.rowStride = mask.stride[2];
    return here;
}

Sdpa randomSdpa(Random& random) {
    Sdpa call;
    call.kvHeads = random.between(1, 3);
    call.heads = call.kvHeads * random.between(1, 3);
    call.batch = random.between(1, 3);
    call.rows = random.between(2, 9);
    call.keys = call.rows + random.between(1, 6);
    if (random.coin()) {
        std::swap(call.rows, call.keys);
    }
    call.dim = random.between(3, 9);
    call.valueDim = random.between(3, 9);
    call.query = random.dense(call.batch, call.heads, call.rows, call.dim);
    call.key = random.dense(call.batch, call.kvHeads, call.keys, call.dim);
    call.value = random.dense(call.batch, call.kvHeads, call.keys, call.valueDim);
    call.scale = 0.37F;
    return call;
}

Ours spelled(const Sdpa& call) {
    Ours ours;
    VkfProblem& p = ours.problem;
    p.batch = small(call.batch);
    p.queryHeads = small(call.heads);
    p.kvHeads = small(call.kvHeads);
    p.queryRows = small(call.rows);
    p.keys = small(call.keys);
    p.headDim = small(call.dim);
    p.valueDim = small(call.valueDim);
    p.q = p.k = p.v = p.o = vkf::dense(VKF_TYPE_F32);
    p.scale = 0.37F;
    ours.inputs.q = call.query.values.data();
    ours.inputs.k = call.key.values.data();
    ours.inputs.v = call.value.values.data();
    return ours;
}

// Random True and False. The first row of keys is all False.
Strided randomBooleans(Random& random, size_t a, size_t b, size_t c, size_t keys) {
    Strided mask = random.dense(a, b, c, keys);
    for (float& element : mask.values) {
        element = random.coin() ? 1.0F : 0.0F;
    }
    std::fill_n(mask.values.begin(), keys, 0.0F);
    return mask;
}

// Bytes of VKF_TYPE_BOOL8. Any byte but 0 keeps.
std::vector<unsigned char> bytesOf(const Strided& mask) {
    std::vector<unsigned char> bytes;
    for (const float element : mask.values) {
        bytes.push_back(element != 0 ? static_cast<unsigned char>(1 + bytes.size() % 255) : 0);
    }
    return bytes;
}

// Rounds the numbers to a type, and returns them as stored.
std::vector<unsigned char> stored(VkfType type, std::vector<float>& values) {
    std::vector<unsigned char> bytes(values.size() * vkfTypeBytes(type));
    for (size_t i = 0; i < values.size(); i++) {
        vkfStoreElement(type, bytes.data(), i, values[i]);
        values[i] = static_cast<float>(vkfLoadElement(type, bytes.data(), i));
    }
    return bytes;
}

} // namespace

TEST_CASE("calls of scaled_dot_product_attention give the same as what docs/mapping.md writes for them", "[mapping]") {
    Random random(GENERATE(1U, 2U, 3U, 4U));
    Sdpa theirs = randomSdpa(random);
    Ours ours = spelled(theirs);
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> moreBytes;
    double bound = fp64Bound;

    SECTION("query, key, value, enable_gqa, result") {}
    SECTION("query, key and value with strides: transposed from (N, L, heads, E)") {
        theirs.query.stride = {theirs.rows * theirs.heads * theirs.dim, theirs.dim, theirs.heads * theirs.dim, 1};
        theirs.key.stride = {theirs.keys * theirs.kvHeads * theirs.dim, theirs.dim, theirs.kvHeads * theirs.dim, 1};
        ours.problem.q = vkf::rowsFirst(VKF_TYPE_F32, theirs.rows, theirs.heads, theirs.dim);
        ours.problem.k = sameStrides(theirs.key);
    }
    SECTION("query of type bf16, key of type f16") {
        bytes = stored(VKF_TYPE_BF16, theirs.query.values);
        moreBytes = stored(VKF_TYPE_F16, theirs.key.values);
        ours.problem.q.type = VKF_TYPE_BF16;
        ours.problem.k.type = VKF_TYPE_F16;
        ours.inputs.q = bytes.data();
        ours.inputs.k = moreBytes.data();
    }
    SECTION("more leading dimensions: folded into batch") {
        // (2, N, heads, L, E)
        theirs.batch *= 2;
        for (Strided* tensor : {&theirs.query, &theirs.key, &theirs.value}) {
            const std::vector<float> more = random.numbers(tensor->values.size());
            tensor->values.insert(tensor->values.end(), more.begin(), more.end());
        }
        ours.problem.batch *= 2;
        ours.inputs.q = theirs.query.values.data();
        ours.inputs.k = theirs.key.values.data();
        ours.inputs.v = theirs.value.values.data();
    }
    SECTION("attn_mask, boolean (L, S)") {
        theirs.takesPart = randomBooleans(random, 1, 1, theirs.rows, theirs.keys);
        theirs.takesPart->stride = {0, 0, theirs.keys, 1};
        bytes = bytesOf(*theirs.takesPart);
        ours.problem.use |= VKF_USE_MASK;
        ours.problem.mask.type = VKF_TYPE_BOOL8;
        ours.problem.mask.rowStride = theirs.keys;
        ours.inputs.mask = bytes.data();
        CHECK(vkfGetArrayBytes(&ours.problem, VKF_ARRAY_MASK) == (bytes.size() + 3) / 4 * 4);
    }
    SECTION("attn_mask, boolean (N, Hq, 1, S)") {
        theirs.takesPart = randomBooleans(random, theirs.batch, theirs.heads, 1, theirs.keys);
        theirs.takesPart->stride[2] = 0;
        bytes = bytesOf(*theirs.takesPart);
        ours.problem.use |= VKF_USE_MASK;
        ours.problem.mask = sameStrides(VKF_TYPE_BOOL8, *theirs.takesPart);
        ours.inputs.mask = bytes.data();
    }
    SECTION("attn_mask, float (N, 1, L, S)") {
        theirs.added = random.dense(theirs.batch, 1, theirs.rows, theirs.keys);
        theirs.added->stride[1] = 0;
        std::fill_n(theirs.added->values.begin(), theirs.keys, static_cast<float>(-infinity)); // masks a row
        ours.problem.use |= VKF_USE_BIAS;
        ours.problem.bias = sameStrides(VKF_TYPE_F32, *theirs.added);
        ours.inputs.bias = theirs.added->values.data();
    }
    SECTION("attn_mask, f16 and bf16 (Hq, L, S)") {
        const VkfType type = random.coin() ? VKF_TYPE_F16 : VKF_TYPE_BF16;
        theirs.added = random.dense(1, theirs.heads, theirs.rows, theirs.keys);
        theirs.added->stride[0] = 0;
        bytes = stored(type, theirs.added->values);
        ours.problem.use |= VKF_USE_BIAS;
        ours.problem.bias = sameStrides(type, *theirs.added);
        ours.inputs.bias = bytes.data();
    }
    SECTION("is_causal") {
        theirs.isCausal = true;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    }
    SECTION("attn_mask = causal_lower_right(L, S)") {
        theirs.isLowerRight = true;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    }
    SECTION("attn_mask = causal_upper_left(L, S)") {
        theirs.isUpperLeft = true;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    }
    SECTION("masks and the bias combine") {
        theirs.takesPart = randomBooleans(random, theirs.batch, theirs.heads, theirs.rows, theirs.keys);
        theirs.added = random.dense(theirs.batch, theirs.heads, theirs.rows, theirs.keys);
        theirs.isCausal = true;
        bytes = bytesOf(*theirs.takesPart);
        ours.problem.use |= VKF_USE_MASK | VKF_USE_BIAS;
        ours.problem.mask = sameStrides(VKF_TYPE_BOOL8, *theirs.takesPart);
        ours.problem.bias = sameStrides(VKF_TYPE_F32, *theirs.added);
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
        ours.inputs.mask = bytes.data();
        ours.inputs.bias = theirs.added->values.data();
    }
    SECTION("scale") {
        theirs.scale = -0.8F;
        ours.problem.scale = -0.8F;
    }
    SECTION("scale = None") {
        theirs.scale.reset();
        ours.problem.scale = 0;
        bound = fp32Bound;
    }

    checkSame(compute(ours).o, scaledDotProductAttention(theirs), bound);
}
