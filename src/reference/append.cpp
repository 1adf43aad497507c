// SPDX-License-Identifier: MIT
//
// Appends new rows to a cache, row by row. Rotates in fp64 and rounds once.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"

namespace vkf {

// The last field of version 0.2.
VKF_FIRST_SIZE(VkfAppendBuffers, sin);

} // namespace vkf

namespace vkf::reference {
namespace {

struct RowIndex {
    uint64_t batch;
    uint64_t head;
    uint64_t row;
};

uint64_t elementOfRow(const VkfTensorLayout& layout, const RowIndex& index) {
    return index.batch * layout.batchStride + index.head * layout.headStride + index.row * layout.rowStride;
}

class Append {
public:
    Append(const VkfAppendProblem& problem, const VkfAppendBuffers& buffers)
        : p_(problem), buffers_(buffers), rotaryDim_(p_.rotary.dim != 0 ? p_.rotary.dim : p_.headDim),
          base_(p_.rotary.base != 0.0F ? static_cast<double>(p_.rotary.base) : 10000.0) {}

    void run() const {
        for (uint32_t b = 0; b < p_.batch; b++) {
            const auto length = static_cast<uint32_t>(std::clamp<int64_t>(buffers_.lengths[b], 0, p_.keys));
            const uint32_t first = packed() ? firstRowOf(b) : 0;
            const uint32_t rows = packed() ? std::max(firstRowOf(b + 1), first) - first : p_.rows;
            for (uint32_t i = 0; i < rows; i++) {
                const RowIndex from{packed() ? 0 : b, 0, first + i};
                const uint64_t turn = has(p_, VKF_USE_ROTARY_POSITIONS) ? givenPosition(from) : uint64_t{length} + i;
                for (uint32_t h = 0; h < p_.kvHeads; h++) {
                    appendRow({from.batch, h, from.row}, b, uint64_t{length} + i, turn);
                }
                for (uint32_t h = 0; h < p_.queryHeads; h++) {
                    const RowIndex index{from.batch, h, from.row};
                    std::vector<double> q = load(buffers_.q, layout_.q, index);
                    rotate(q, turn);
                    store(buffers_.rotatedQ, layout_.rotatedQ, index, q);
                }
            }
            if (has(p_, VKF_USE_NEW_LENGTHS)) {
                buffers_.newLengths[b] = static_cast<int32_t>(std::min<uint64_t>(uint64_t{length} + rows, p_.keys));
            }
        }
    }

private:
    bool packed() const { return has(p_, VKF_USE_CU_SEQLENS); }
    uint32_t firstRowOf(uint32_t sequence) const {
        return static_cast<uint32_t>(std::clamp<int64_t>(buffers_.cuSeqlens[sequence], 0, p_.rows));
    }

    // The position by which the caller wants a row to be rotated.
    uint64_t givenPosition(const RowIndex& row) const {
        return static_cast<uint64_t>(std::max(buffers_.rotaryPositions[row.batch * p_.rows + row.row], 0));
    }

    // Writes a row to `position` of the cache, with k rotated by `turn`.
    void appendRow(const RowIndex& from, uint32_t sequence, uint64_t position, uint64_t turn) const {
        RowIndex to{sequence, from.head, position};
        if (position >= p_.keys) {
            return;
        }
        if (has(p_, VKF_USE_BLOCK_TABLE)) {
            const uint64_t entry = uint64_t{sequence} * p_.paging.maxPages + position / p_.paging.pageSize;
            const int32_t page = buffers_.blockTable[entry];
            if (page < 0 || static_cast<uint32_t>(page) >= p_.paging.pages) {
                return;
            }
            to.batch = static_cast<uint64_t>(page);
            to.row = position % p_.paging.pageSize;
        }
        std::vector<double> k = load(buffers_.newK, layout_.newK, from);
        if (p_.rotary.pairs != VKF_ROTARY_OFF) {
            rotate(k, turn);
        }
        std::vector<double> v = load(buffers_.newV, layout_.newV, from);
        divide(k, p_.k, 0, from.head);
        divide(v, p_.v, p_.k.scales, from.head);
        store(buffers_.k, layout_.k, to, k);
        store(buffers_.v, layout_.v, to, v);
    }

    // Divides elements by the scale of their head, in fp32. The first scale of the tensor is kvScales[first].
    void divide(std::vector<double>& row, const VkfTensor& tensor, uint32_t first, uint64_t head) const {
        if (tensor.scales == 0) {
            return;
        }
        const float scale = buffers_.kvScales[first + (tensor.scales == 1 ? 0 : head)];
        for (double& x : row) {
            x = static_cast<double>(static_cast<float>(x) / scale);
        }
    }

    // Returns the cosine and sine for pair t of a row.
    std::pair<double, double> turned(uint64_t position, uint32_t t) const {
        if (p_.rotary.tableRows != 0) {
            const uint64_t row = std::min<uint64_t>(position, p_.rotary.tableRows - 1);
            const uint64_t at = row * (rotaryDim_ / 2) + t;
            return {buffers_.cos[at], buffers_.sin[at]};
        }
        const double angle = static_cast<double>(position) * std::pow(base_, -2.0 * t / rotaryDim_);
        return {std::cos(angle), std::sin(angle)};
    }

    void rotate(std::vector<double>& row, uint64_t position) const {
        const bool halves = p_.rotary.pairs == VKF_ROTARY_HALVES;
        for (uint32_t t = 0; t < rotaryDim_ / 2; t++) {
            double& x = row[halves ? t : 2 * t];
            double& y = row[halves ? t + rotaryDim_ / 2 : 2 * t + 1];
            const auto [c, s] = turned(position, t);
            const double turnedX = x * c - y * s;
            y = x * s + y * c;
            x = turnedX;
        }
    }

    static std::vector<double> load(const void* base, const VkfTensorLayout& layout, const RowIndex& index) {
        std::vector<double> row(layout.dim);
        const uint64_t first = elementOfRow(layout, index);
        for (uint32_t d = 0; d < layout.dim; d++) {
            row[d] = vkfLoadElement(layout.type, base, first + d);
        }
        return row;
    }

    static void store(void* base, const VkfTensorLayout& layout, const RowIndex& index,
                      const std::vector<double>& row) {
        const uint64_t first = elementOfRow(layout, index);
        const uint32_t block = vkfBlockElements(layout.type);
        if (block > 1) {
            const std::vector<float> values(row.begin(), row.end());
            vkfQuantizeBlocks(layout.type, values.data(), values.size() / block,
                              static_cast<unsigned char*>(base) + vkfStoredBytes(layout.type, first));
            return;
        }
        for (uint32_t d = 0; d < layout.dim; d++) {
            vkfStoreElement(layout.type, base, first + d, row[d]);
        }
    }

    const VkfAppendProblem& p_;
    const VkfAppendBuffers& buffers_;
    // The public functions: a shared core library exports no others.
    struct Layouts {
        explicit Layouts(const VkfAppendProblem& p)
            : newK(layoutOf(p, VKF_APPEND_NEW_K)), newV(layoutOf(p, VKF_APPEND_NEW_V)), k(layoutOf(p, VKF_APPEND_K)),
              v(layoutOf(p, VKF_APPEND_V)), q(layoutOf(p, VKF_APPEND_Q)), rotatedQ(layoutOf(p, VKF_APPEND_ROTATED_Q)) {}
        VkfTensorLayout newK, newV, k, v, q, rotatedQ;
    };
    Layouts layout_{p_};
    uint32_t rotaryDim_;
    double base_;
};

VkfResult append(const VkfAppendProblem* problem, const VkfAppendBuffers* buffers, VkfMessage* message) {
    VkfAppendBuffers given{};
    if (const VkfResult result = vkfCheckAppend(problem, message); result != VKF_SUCCESS) {
        return result;
    }
    VkfAppendProblem p{};
    if (const VkfResult result = readVersioned(problem, &p, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = readVersioned(buffers, &given, "buffers", message); result != VKF_SUCCESS) {
        return result;
    }
    const bool some = p.batch != 0;
    const bool cached = some && p.keys != 0; // the caches have elements
    const bool queries = some && has(p, VKF_USE_QUERIES);
    const bool tables = some && has(p, VKF_USE_ROTARY_TABLES);
    const struct {
        const void* buffer;
        bool needed;
        const char* name;
    } needs[] = {
        {given.newK, some, "newK"},
        {given.newV, some, "newV"},
        {given.k, cached, "k"},
        {given.v, cached, "v"},
        {given.lengths, some, "lengths"},
        {given.q, queries, "q"},
        {given.rotatedQ, queries, "rotatedQ"},
        {given.newLengths, some && has(p, VKF_USE_NEW_LENGTHS), "newLengths"},
        {given.blockTable, cached && has(p, VKF_USE_BLOCK_TABLE), "blockTable"},
        {given.cuSeqlens, some && has(p, VKF_USE_CU_SEQLENS), "cuSeqlens"},
        {given.kvScales, cached && has(p, VKF_USE_KV_SCALES), "kvScales"},
        {given.cos, tables, "cos"},
        {given.sin, tables, "sin"},
        {given.rotaryPositions, some && has(p, VKF_USE_ROTARY_POSITIONS), "rotaryPositions"},
    };
    for (const auto& need : needs) {
        if (need.needed && need.buffer == nullptr) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", need.name);
        }
    }
    Append(p, given).run();
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceAppend(const VkfAppendProblem* problem, const VkfAppendBuffers* buffers, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::reference::append(problem, buffers, message); });
}
