// SPDX-License-Identifier: MIT
//
// The table of docs/mapping.md for GGML_OP_FLASH_ATTN_EXT.
#include <catch2/generators/catch_generators.hpp>

#include <cstring>

#include "reference/mapping.hpp"

namespace {

using namespace vkf::test::mapping;

// ---- The other side -----------------------------------------------------------------------------

enum class GgmlType { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl };

// A tensor of ggml: the innermost dimension comes first, and strides are bytes.
struct GgmlTensor {
    GgmlType type = GgmlType::f32;
    std::array<size_t, 4> ne{};
    std::array<size_t, 4> nb{}; // nb[0] is the size of an element or a block
    std::vector<unsigned char> bytes;
    size_t offset = 0; // of a view
};

size_t typeSize(GgmlType type) {
    constexpr std::array<size_t, 9> sizes = {4, 2, 2, 34, 18, 20, 22, 24, 18};
    return sizes[static_cast<size_t>(type)];
}
size_t blockSize(GgmlType type) { return type <= GgmlType::bf16 ? 1 : 32; }

template <typename Number> Number read(const unsigned char* from) {
    Number number{};
    std::memcpy(&number, from, sizeof number);
    return number;
}

double halfAt(const unsigned char* from) { return vkfLoadElement(VKF_TYPE_F16, from, 0); }

// Element e of a block: the GGUF layouts.
double blockElement(GgmlType type, const unsigned char* block, size_t e) {
    const auto nibble = [&](size_t first) { return e < 16 ? block[first + e] & 15 : block[first + e - 16] >> 4; };
    const auto fifthBit = [&](size_t first) { return (read<uint32_t>(block + first) >> e & 1U) != 0 ? 16 : 0; };
    constexpr std::array numbers = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const double d = halfAt(block);
    switch (type) {
    case GgmlType::iq4_nl:
        return d * numbers[static_cast<size_t>(nibble(2))];
    case GgmlType::q8_0:
        return d * read<int8_t>(block + 2 + e);
    case GgmlType::q4_0:
        return d * (nibble(2) - 8);
    case GgmlType::q4_1:
        return d * nibble(4) + halfAt(block + 2);
    case GgmlType::q5_0:
        return d * ((nibble(6) | fifthBit(2)) - 16);
    default:
        return d * (nibble(8) | fifthBit(4)) + halfAt(block + 2);
    }
}

double elementOf(const GgmlTensor& t, size_t i0, size_t i1, size_t i2, size_t i3) {
    const unsigned char* at =
        t.bytes.data() + t.offset + i0 / blockSize(t.type) * t.nb[0] + i1 * t.nb[1] + i2 * t.nb[2] + i3 * t.nb[3];
    switch (t.type) {
    case GgmlType::f32:
        return read<float>(at);
    case GgmlType::f16:
        return halfAt(at);
    case GgmlType::bf16: { // the upper half of an fp32 number
        const uint32_t bits = uint32_t{read<uint16_t>(at)} << 16;
        return read<float>(reinterpret_cast<const unsigned char*>(&bits));
    }
    default:
        return static_cast<float>(blockElement(t.type, at, i0 % 32)); // ggml computes it in fp32
    }
}

// The arguments of ggml_flash_attn_ext, and of ggml_flash_attn_ext_add_sinks.
struct FlashAttnExt {
    GgmlTensor q, k, v, mask; // a mask without bytes is null
    float scale = 1;
    float maxBias = 0;
    float logitSoftcap = 0;
    std::vector<float> sinks;
};

// The ALiBi slope of a head: ggml multiplies the mask by it. An fp32 number.
double slopeOf(double maxBias, size_t heads, size_t head) {
    size_t n = 1;
    while (2 * n <= heads) {
        n *= 2;
    }
    const double m0 = std::pow(2.0, -maxBias / static_cast<double>(n));
    const double m1 = std::pow(2.0, -maxBias / 2.0 / static_cast<double>(n));
    const double slope =
        head < n ? std::pow(m0, static_cast<double>(head + 1)) : std::pow(m1, static_cast<double>(2 * (head - n) + 1));
    return static_cast<float>(slope);
}

Row flashRow(const FlashAttnExt& call, size_t i, size_t h, size_t b) {
    const auto& ne = call.q.ne; // D, rows, heads, sequences
    const double slope = call.maxBias > 0 ? slopeOf(call.maxBias, ne[2], h) : 1.0;
    const double scale = call.logitSoftcap != 0 ? call.scale / static_cast<double>(call.logitSoftcap) : call.scale;
    std::vector<double> scores(call.k.ne[1], -infinity);
    for (size_t j = 0; j < scores.size(); j++) {
        double s = 0;
        for (size_t d = 0; d < ne[0]; d++) {
            s += elementOf(call.q, d, i, h, b) * elementOf(call.k, d, j, h / (ne[2] / call.k.ne[2]), b);
        }
        s *= scale;
        if (call.logitSoftcap != 0) {
            s = call.logitSoftcap * std::tanh(s);
        }
        if (!call.mask.bytes.empty()) {
            s += static_cast<float>(slope * elementOf(call.mask, j, i, h % call.mask.ne[2], b % call.mask.ne[3]));
        }
        scores[j] = s;
    }
    const auto value = [&](size_t j, size_t d) { return elementOf(call.v, d, j, h / (ne[2] / call.v.ne[2]), b); };
    return attend(scores, call.v.ne[0], value, call.sinks.empty() ? -infinity : call.sinks[h]);
}

// The result: [Dv, H, N, B], dense, the innermost dimension first.
std::vector<double> flashAttnExt(const FlashAttnExt& call) {
    const size_t columns = call.v.ne[0];
    const auto [dim, rows, heads, batch] = call.q.ne;
    std::vector<double> result(columns * heads * rows * batch);
    for (size_t b = 0; b < batch; b++) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t h = 0; h < heads; h++) {
                const Row row = flashRow(call, i, h, b);
                std::copy(row.o.begin(), row.o.end(), &result[((b * rows + i) * heads + h) * columns]);
            }
        }
    }
    return result;
}

// ---- Both sides ---------------------------------------------------------------------------------

VkfType typeHere(GgmlType type) {
    constexpr std::array types = {VKF_TYPE_F32,  VKF_TYPE_F16,  VKF_TYPE_BF16, VKF_TYPE_Q8_0,  VKF_TYPE_Q4_0,
                                  VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL};
    return types[static_cast<size_t>(type)];
}

// A random tensor that is a view of a larger one: rows beyond ne[1] belong to others. With `rowsOutside` the heads lie
// inside of the rows, as ggml_permute makes it.
GgmlTensor randomTensor(Random& random, GgmlType type, std::array<size_t, 4> ne, bool rowsOutside) {
    const size_t row = ne[0] / blockSize(type) * typeSize(type);
    const size_t rows = ne[1] + 3;
    GgmlTensor tensor{type, ne, {typeSize(type), row, row * rows, row * rows * ne[2]}, {}, 0};
    if (rowsOutside) {
        tensor.nb[1] = row * ne[2];
        tensor.nb[2] = row;
    }
    const std::vector<float> values = random.numbers(ne[0] * rows * ne[2] * ne[3]);
    tensor.bytes.resize(row * rows * ne[2] * ne[3]);
    if (blockSize(type) == 32) {
        vkfQuantizeBlocks(typeHere(type), values.data(), values.size() / 32, tensor.bytes.data());
    }
    for (size_t e = 0; blockSize(type) == 1 && e < values.size(); e++) {
        vkfStoreElement(typeHere(type), tensor.bytes.data(), e, values[e]);
    }
    return tensor;
}

// [keys, rows or more, ne2, ne3] of f16. Some elements are -infinity; row 0 sees no key.
GgmlTensor randomMask(Random& random, size_t keys, size_t rows, size_t ne2, size_t ne3) {
    GgmlTensor mask = randomTensor(random, GgmlType::f16, {keys, rows, ne2, ne3}, false);
    mask.ne[1] = rows + 3; // all of it is the mask's own
    for (size_t e = 0; e < mask.bytes.size() / 2; e++) {
        if (e / keys % mask.ne[1] == 0 || random.between(0, 3) == 0) {
            vkfStoreElement(VKF_TYPE_F16, mask.bytes.data(), e, -infinity);
        }
    }
    return mask;
}

FlashAttnExt randomCall(Random& random) {
    FlashAttnExt call;
    const size_t dim = 32 * random.between(1, 2);
    const size_t kvHeads = random.between(1, 3);
    const size_t heads = kvHeads * random.between(1, 3);
    const size_t batch = random.between(1, 3);
    const size_t keys = random.between(3, 15);
    call.q = randomTensor(random, GgmlType::f32, {dim, random.between(2, 5), heads, batch}, true);
    call.k = randomTensor(random, GgmlType::f16, {dim, keys, kvHeads, batch}, random.coin());
    call.v = randomTensor(random, GgmlType::f16, {32, keys, kvHeads, batch}, random.coin());
    call.scale = 0.37F;
    return call;
}

// nb / bytes of an element, or nb / bytes of a block * 32.
uint64_t elements(const GgmlTensor& tensor, size_t nb) {
    const VkfType type = typeHere(tensor.type);
    return vkfBlockElements(type) == 1 ? nb / vkfTypeBytes(type) : nb / vkfStoredBytes(type, 32) * 32;
}

VkfTensor tensorHere(const GgmlTensor& tensor) {
    VkfTensor here{};
    here.type = typeHere(tensor.type);
    here.rowStride = elements(tensor, tensor.nb[1]);
    here.headStride = elements(tensor, tensor.nb[2]);
    here.batchStride = elements(tensor, tensor.nb[3]);
    return here;
}

void takeKeys(const FlashAttnExt& call, Ours& ours) {
    ours.problem.k = tensorHere(call.k);
    ours.problem.v = tensorHere(call.v);
    ours.inputs.k = call.k.bytes.data() + call.k.offset;
    ours.inputs.v = call.v.bytes.data() + call.v.offset;
}

void takeMask(const FlashAttnExt& call, Ours& ours) {
    const auto& ne = call.mask.ne;
    ours.problem.use |= VKF_USE_BIAS;
    ours.problem.bias.type = VKF_TYPE_F16;
    ours.problem.bias.rowStride = ne[0];
    ours.problem.bias.headStride = ne[0] * ne[1];
    ours.problem.bias.batchStride = ne[0] * ne[1] * ne[2];
    ours.problem.bias.heads = small(ne[2]);
    ours.problem.bias.sequences = small(ne[3]);
    ours.inputs.bias = call.mask.bytes.data();
}

// The slopes of docs/mapping.md for max_bias m.
std::vector<float> slopesHere(double m, size_t heads) {
    const auto n = static_cast<double>(size_t{1} << static_cast<size_t>(std::log2(static_cast<double>(heads))));
    std::vector<float> slopes;
    for (size_t h = 0; h < heads; h++) {
        const auto head = static_cast<double>(h);
        slopes.push_back(static_cast<float>(head < n ? std::exp2(-(m / n) * (head + 1))
                                                     : std::exp2(-(m / 2 / n) * (2 * (head - n) + 1))));
    }
    return slopes;
}

Ours spelled(const FlashAttnExt& call) {
    Ours ours;
    VkfProblem& p = ours.problem;
    p.headDim = small(call.q.ne[0]);
    p.queryRows = small(call.q.ne[1]);
    p.queryHeads = small(call.q.ne[2]);
    p.batch = small(call.q.ne[3]);
    p.keys = small(call.k.ne[1]);
    p.kvHeads = small(call.k.ne[2]);
    p.valueDim = small(call.v.ne[0]);
    p.q = tensorHere(call.q);
    p.o = vkf::rowsFirst(VKF_TYPE_F32, p.queryRows, p.queryHeads, p.valueDim);
    p.scale = 0.37F;
    ours.inputs.q = call.q.bytes.data();
    takeKeys(call, ours);
    return ours;
}

// o as it lies in memory by the strides of VkfProblem::o.
std::vector<double> inMemory(const VkfProblem& problem, const std::vector<double>& o) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_O);
    std::vector<double> memory(layout.elements);
    size_t from = 0;
    for (size_t b = 0; b < layout.batch; b++) {
        for (size_t h = 0; h < layout.heads; h++) {
            for (size_t i = 0; i < layout.rows; i++) {
                const uint64_t to = b * layout.batchStride + h * layout.headStride + i * layout.rowStride;
                for (size_t d = 0; d < layout.dim; d++) {
                    memory[to + d] = o[from++];
                }
            }
        }
    }
    return memory;
}

} // namespace

TEST_CASE("calls of ggml_flash_attn_ext give the same as what docs/mapping.md writes for them", "[mapping]") {
    Random random(GENERATE(1U, 2U, 3U, 4U));
    FlashAttnExt theirs = randomCall(random);
    const auto [dim, rows, heads, batch] = theirs.q.ne;
    const size_t keys = theirs.k.ne[1];
    const size_t kvHeads = theirs.k.ne[2];
    Ours ours = spelled(theirs);
    std::vector<float> slopes;

    SECTION("q, k and v with strides, result") {}
    SECTION("v that is a view of k") {
        theirs.v = theirs.k;
        theirs.v.ne[0] = 16;
        theirs.v.offset = 8 * theirs.k.nb[0];
        ours.problem.valueDim = 16;
        ours.problem.o = vkf::rowsFirst(VKF_TYPE_F32, rows, heads, 16);
        takeKeys(theirs, ours);
    }
    SECTION("k and v of other types") {
        const size_t first = random.between(0, 7);
        for (size_t n = 0; n < 8; n++) { // every type, k and v of different ones
            const auto kType = static_cast<GgmlType>((first + n) % 8);
            const auto vType = static_cast<GgmlType>((first + 3 * n + 1) % 8);
            theirs.k = randomTensor(random, kType, {dim, keys, kvHeads, batch}, random.coin());
            theirs.v = randomTensor(random, vType, {32, keys, kvHeads, batch}, random.coin());
            takeKeys(theirs, ours);
            checkSame(inMemory(ours.problem, compute(ours).o), flashAttnExt(theirs), fp64Bound);
        }
    }
    SECTION("mask [keys, rows, 1, 1]; its first row masks all keys") {
        theirs.mask = randomMask(random, keys, rows, 1, 1);
        takeMask(theirs, ours);
    }
    SECTION("mask [keys, rows, heads, 1]") {
        theirs.mask = randomMask(random, keys, rows, heads, 1);
        takeMask(theirs, ours);
    }
    SECTION("mask [keys, rows, 1, sequences]") {
        theirs.mask = randomMask(random, keys, rows, 1, batch);
        takeMask(theirs, ours);
    }
    SECTION("mask [keys, rows, ne2, ne3], repeated by modulo") {
        for (size_t ne2 = 1; ne2 <= heads; ne2++) {
            for (size_t ne3 = 1; ne3 <= batch; ne3++) {
                theirs.mask = randomMask(random, keys, rows, ne2, ne3);
                takeMask(theirs, ours);
                checkSame(inMemory(ours.problem, compute(ours).o), flashAttnExt(theirs), fp64Bound);
            }
        }
    }
    SECTION("causal masks as -infinity in mask") {
        theirs.mask = randomMask(random, keys, rows, 1, 1);
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < keys; j++) {
                const double element = j + rows <= i + keys ? 0.0 : -infinity;
                vkfStoreElement(VKF_TYPE_F16, theirs.mask.bytes.data(), i * keys + j, element);
            }
        }
        ours.problem.use |= VKF_USE_CAUSAL;
    }
    SECTION("windows as -infinity in mask") {
        theirs.mask = randomMask(random, keys, rows, 1, 1);
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < keys; j++) {
                const double element = j + rows <= i + keys && j + rows + 1 >= i + keys ? 0.0 : -infinity;
                vkfStoreElement(VKF_TYPE_F16, theirs.mask.bytes.data(), i * keys + j, element);
            }
        }
        ours.problem.use |= VKF_USE_WINDOW;
        ours.problem.window.left = 1;
        ours.problem.window.right = 0;
    }
    SECTION("scale") {
        theirs.scale = 0.11F;
        ours.problem.scale = 0.11F;
    }
    SECTION("max_bias") {
        theirs.mask = randomMask(random, keys, rows, heads, batch);
        theirs.maxBias = 5;
        takeMask(theirs, ours);
        slopes = slopesHere(5, heads);
        ours.problem.use |= VKF_USE_BIAS_FACTORS;
        ours.inputs.biasFactors = slopes.data();
    }
    SECTION("logit_softcap, with a mask") {
        theirs.mask = randomMask(random, keys, rows, 1, 1);
        theirs.logitSoftcap = 0.5F;
        takeMask(theirs, ours);
        ours.problem.softcap = 0.5F;
    }
    SECTION("sinks, with a mask") {
        theirs.mask = randomMask(random, keys, rows, 1, 1);
        theirs.sinks = random.numbers(heads);
        takeMask(theirs, ours);
        ours.problem.use |= VKF_USE_SINKS;
        ours.inputs.sinks = theirs.sinks.data();
    }

    checkSame(inMemory(ours.problem, compute(ours).o), flashAttnExt(theirs), fp64Bound);
}
