// SPDX-License-Identifier: MIT
#include "bench_calls.hpp"

#include <algorithm>
#include <array>

namespace vkf::mpi::program {
namespace {

constexpr uint32_t headDim = 128;

struct Row {
    const char* name;
    Work work;
    bool isCausal;
    Method method;
    uint32_t heads;
    uint32_t kvHeads;
    uint32_t tokens; // of decode: keys of the cache
};

constexpr std::array<Row, 11> table = {{
    {"full 16k", Work::forward, false, Method::ring, 16, 16, 16384},
    {"causal 128k", Work::forward, true, Method::ring, 16, 16, 131072},
    {"causal 128k, with backward", Work::both, true, Method::ring, 16, 16, 131072},
    {"gqa 64k", Work::forward, true, Method::ring, 32, 8, 65536},
    {"causal 512k", Work::forward, true, Method::ring, 16, 16, 524288},
    {"causal 512k, with backward", Work::both, true, Method::ring, 16, 16, 524288},
    {"causal 1m, 4 heads", Work::forward, true, Method::ring, 4, 4, 1048576},
    {"decode 1m", Work::decode, false, Method::ring, 32, 8, 1048576},
    {"decode 4m", Work::decode, false, Method::ring, 32, 8, 4194304},
    {"causal 128k, head exchange", Work::forward, true, Method::headExchange, 16, 16, 131072},
    {"causal 128k, exchange, backward", Work::both, true, Method::headExchange, 16, 16, 131072},
}};

BenchCall callOf(const Row& row, uint32_t divisor) {
    BenchCall call;
    call.name = row.name;
    call.work = row.work;
    call.problem = make<VkfProblem>();
    call.problem.queryHeads = row.heads;
    call.problem.kvHeads = row.kvHeads;
    call.problem.keys = std::max(row.tokens / divisor, 1U);
    call.problem.queryRows = row.work == Work::decode ? 1 : call.problem.keys;
    call.problem.batch = 1;
    call.problem.headDim = call.problem.valueDim = headDim;
    call.problem.q = call.problem.k = call.problem.v = call.problem.o = dense(VKF_TYPE_F16);
    enable(call.problem, VKF_USE_CAUSAL, row.isCausal);
    enable(call.problem, VKF_USE_LSE);
    call.split.distribution = row.isCausal ? Distribution::zigzag : Distribution::contiguous;
    call.split.method = row.method;
    return call;
}

} // namespace

std::vector<BenchCall> standardCalls(uint32_t divisor) {
    std::vector<BenchCall> calls;
    calls.reserve(table.size());
    for (const Row& row : table) {
        calls.push_back(callOf(row, divisor));
    }
    return calls;
}

} // namespace vkf::mpi::program
