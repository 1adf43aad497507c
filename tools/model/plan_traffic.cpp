// SPDX-License-Identifier: MIT
#include "model/plan_traffic.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace vkf::tools {

namespace {

constexpr double floatBytes = 4;
constexpr double stateBytes = 2 * floatBytes; // m and l of one row
constexpr uint32_t wordElements = 4;          // rows in scratch are padded to a multiple of this

uint32_t valueDimOf(const VkfProblem& problem) { return problem.valueDim != 0 ? problem.valueDim : problem.headDim; }

// Bytes of one element. A fraction for block types.
double bytesOf(VkfType type) {
    const uint32_t elements = vkfBlockElements(type);
    return static_cast<double>(vkfStoredBytes(type, elements)) / elements;
}

int64_t roundUp(int64_t number, int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// A number from VkfPlanInfo::tile, or `otherwise` if it is not there.
uint32_t tileNumber(const VkfPlanInfo& plan, std::string_view name, uint32_t otherwise) {
    std::string_view text = plan.tile;
    while (!text.empty()) {
        const std::string_view field = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(field.size() + 1, text.size()));
        uint32_t number = 0;
        if (field.size() > name.size() && field.starts_with(name) && field[name.size()] == '=' &&
            std::from_chars(field.data() + name.size() + 1, field.data() + field.size(), number).ec == std::errc())
            return number;
    }
    return otherwise;
}

// Keys [begin, end). Empty if end <= begin.
struct Reach {
    int64_t begin;
    int64_t end;

    bool empty() const { return begin >= end; }
    double keys() const { return empty() ? 0 : static_cast<double>(end - begin); }
    // Extends the range to whole chunks. The last chunk ends at `most`.
    Reach inChunks(int64_t chunk, int64_t most) const {
        return empty() ? Reach{0, 0} : Reach{begin / chunk * chunk, std::min(roundUp(end, chunk), most)};
    }
};

// The keys that rows [first, last] may see.
Reach reachOf(const VkfProblem& p, int64_t firstRow, int64_t lastRow) {
    const int64_t keys = p.keys;
    const int64_t offset = p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - int64_t{p.queryRows};
    const int64_t left = has(p, VKF_USE_WINDOW) ? p.window.left : -1;
    const int64_t right = has(p, VKF_USE_CAUSAL) ? 0 : has(p, VKF_USE_WINDOW) ? p.window.right : -1;
    const int64_t begin = left < 0 || left > keys ? 0 : std::max<int64_t>(firstRow + offset - left, 0);
    const int64_t end = right < 0 || right > keys ? keys : std::min(lastRow + offset + right + 1, keys);
    return {begin, end};
}

// Sums over the row tiles of one head.
struct TileSums {
    double rows = 0;
    double keys = 0;      // keys of the key tiles that a row tile reaches
    double rowVisits = 0; // each row counts once for each key tile that it meets
};

TileSums sumTiles(const VkfProblem& problem, uint32_t packedHeads, uint32_t tileRows, uint32_t tileKeys) {
    TileSums sums;
    const uint64_t rows = uint64_t{problem.queryRows} * packedHeads;
    for (uint64_t first = 0; first < rows; first += tileRows) {
        const uint64_t end = std::min<uint64_t>(first + tileRows, rows);
        const Reach reach =
            reachOf(problem, static_cast<int64_t>(first / packedHeads), static_cast<int64_t>((end - 1) / packedHeads));
        const auto count = static_cast<double>(end - first);
        sums.rows += count;
        if (reach.empty())
            continue;
        const Reach tiles = reach.inChunks(tileKeys, problem.keys);
        sums.keys += tiles.keys();
        sums.rowVisits += count * static_cast<double>(roundUp(tiles.end, tileKeys) - tiles.begin) / tileKeys;
    }
    return sums;
}

// Numbers that the three kernels of path standard share. Kernels on cooperative matrices store whole matrices of S.
struct StandardTile {
    int64_t matrixRows;
    int64_t matrixColumns;
    // Chunk of keys of the product P v. P is written and read in such chunks.
    int64_t chunkKeys;
    int64_t softmaxKeys; // scores of a row that the softmax keeps in registers
    int64_t keysOfP;     // keys of a row of P with padding
};

StandardTile standardTile(const VkfProblem& problem, const VkfPlanInfo& plan) {
    const uint32_t subgroups = tileNumber(plan, "subgroups", 0);
    const bool matrices = subgroups != 0;
    StandardTile tile{};
    tile.matrixRows = matrices ? plan.tileRows / (subgroups * tileNumber(plan, "rowTiles", 1)) : 1;
    tile.matrixColumns = matrices ? plan.tileKeys / tileNumber(plan, "keyTiles", 1) : 1;
    tile.chunkKeys = tileNumber(plan, "chunkKeys", plan.tileKeys);
    tile.softmaxKeys = tileNumber(plan, "softmaxKeys", 0);
    tile.keysOfP = roundUp(problem.keys, matrices ? tile.chunkKeys : wordElements);
    return tile;
}

// Traffic of path standard apart from q, k and o. Sums over the row tiles of one head.
struct StandardSums {
    double scoresWritten = 0;
    double scoresRead = 0;
    double probabilitiesWritten = 0; // P
    double probabilitiesRead = 0;
    double values = 0; // rows of v
};

StandardSums sumStandard(const VkfProblem& problem, const VkfPlanInfo& plan) {
    const StandardTile tile = standardTile(problem, plan);
    const int64_t rows = problem.queryRows;
    StandardSums sums;
    for (int64_t first = 0; first < rows; first += plan.tileRows) {
        const int64_t end = std::min<int64_t>(first + plan.tileRows, rows);
        const Reach reach = reachOf(problem, first, end - 1);
        const Reach tiles = reach.inChunks(plan.tileKeys, problem.keys);
        const Reach chunks = reach.inChunks(tile.chunkKeys, tile.keysOfP);
        const bool wanted = has(problem, VKF_USE_PROBABILITIES) && !has(problem, VKF_USE_PROBABILITY_ROWS);
        const Reach written = wanted ? Reach{0, tile.keysOfP} : chunks;
        const auto count = static_cast<double>(end - first);
        sums.scoresWritten += static_cast<double>(roundUp(end - first, tile.matrixRows)) *
                              static_cast<double>(roundUp(tiles.end, tile.matrixColumns) - tiles.begin);
        sums.probabilitiesWritten += count * written.keys();
        sums.probabilitiesRead += count * chunks.keys();
        sums.values += Reach{chunks.begin, std::min<int64_t>(chunks.end, problem.keys)}.keys();
        // S is read in words of four keys, for the keys that a row sees. If a row does not fit in registers, the
        // softmax reads it a second time for P.
        const double reads = written.keys() <= static_cast<double>(tile.softmaxKeys) ? 1 : 2;
        for (int64_t row = first; row < end; ++row)
            sums.scoresRead +=
                reads * reachOf(problem, row, row).inChunks(wordElements, roundUp(problem.keys, 4)).keys();
    }
    return sums;
}

struct Counted {
    const VkfProblem& problem;
    const VkfPlanInfo& plan;
    double heads; // heads whose row tiles are counted
    TileSums sums;
};

double queriesRead(const Counted& c, double rows) {
    return c.heads * rows * c.problem.headDim * bytesOf(c.problem.q.type);
}

double keysRead(const Counted& c) { return c.heads * c.sums.keys * c.problem.headDim * bytesOf(c.problem.k.type); }

double valuesRead(const Counted& c, double rows) {
    return c.heads * rows * valueDimOf(c.problem) * bytesOf(c.problem.v.type);
}

// The outputs that every path writes at its end.
void addOutputs(const Counted& c, Traffic& traffic) {
    const double rows = c.heads * c.sums.rows;
    traffic.entries.push_back({"o", 0, rows * valueDimOf(c.problem) * bytesOf(c.problem.o.type)});
    if (has(c.problem, VKF_USE_LSE))
        traffic.entries.push_back({"lse", 0, rows * floatBytes});
}

// If the probabilities come from lse, q and k are read at least once more.
void addProbabilities(const VkfProblem& p, VkfPath path, Traffic& traffic) {
    const bool fromLse = path != VKF_PATH_STANDARD || has(p, VKF_USE_PROBABILITY_ROWS);
    const double rows = static_cast<double>(p.batch) * p.queryHeads *
                        (has(p, VKF_USE_PROBABILITY_ROWS) ? p.probabilityRowCount : p.queryRows);
    const double read = rows * (p.headDim * bytesOf(p.q.type) + floatBytes) +
                        static_cast<double>(p.batch) * p.kvHeads * p.keys * p.headDim * bytesOf(p.k.type);
    if (has(p, VKF_USE_PROBABILITIES))
        traffic.entries.push_back({"probabilities", fromLse ? read : 0, rows * p.keys * floatBytes});
}

Traffic fusedPlan(const Counted& c) {
    // Path scalar may hold only some columns of q at a time. The other kernels keep all columns.
    const uint32_t columns4 = (c.problem.headDim + 3) / 4;
    const bool keepsQueries = columns4 <= tileNumber(c.plan, "chunkDim4", columns4);
    const double rows = keepsQueries ? c.sums.rows * std::max(c.plan.kvSplits, 1U) : c.sums.rowVisits;
    Traffic traffic{{{"q", queriesRead(c, rows), 0}, {"k", keysRead(c), 0}, {"v", valuesRead(c, c.sums.keys), 0}}};
    if (c.plan.scratchBytes != 0) {
        const auto scratch = static_cast<double>(c.plan.scratchBytes);
        traffic.entries.push_back({"partial results", scratch, scratch});
    }
    addOutputs(c, traffic);
    return traffic;
}

Traffic standardPlan(const Counted& c) {
    const StandardSums standard = sumStandard(c.problem, c.plan);
    const double p = c.heads * bytesOf(c.plan.productType);
    const double s = c.heads * floatBytes;
    const double state = c.heads * c.sums.rows * stateBytes;
    Traffic traffic{{{"q", queriesRead(c, c.sums.rowVisits), 0},
                     {"k", keysRead(c), 0},
                     {"v", valuesRead(c, standard.values), 0},
                     {"S", s * standard.scoresRead, s * standard.scoresWritten},
                     {"P", p * standard.probabilitiesRead, p * standard.probabilitiesWritten},
                     {"m, l", state, state}}};
    addOutputs(c, traffic);
    return traffic;
}

// A row tile writes its state for each key tile, and reads it for each key tile but the first. The final division reads
// it once more.
Traffic keyOuterPlan(const Counted& c) {
    const double o = c.heads * static_cast<double>(roundUp(valueDimOf(c.problem), wordElements)) * floatBytes;
    const double ml = c.heads * stateBytes;
    const double visits = c.sums.rowVisits;
    Traffic traffic{{{"q", queriesRead(c, visits), 0},
                     {"k", keysRead(c), 0},
                     {"v", valuesRead(c, c.sums.keys), 0},
                     {"o before the division", visits * o, visits * o},
                     {"m, l", visits * ml, visits * ml}}};
    addOutputs(c, traffic);
    return traffic;
}

} // namespace

Traffic planTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    if (plan.stepCount == 0)
        return {};
    // Where the query heads of a KV head are rows of one tile.
    const bool packed = plan.path == VKF_PATH_DECODE || plan.path == VKF_PATH_WGMMA ||
                        (plan.path == VKF_PATH_COOPMAT && !has(problem, VKF_USE_BLOCK_MASK));
    const uint32_t group = packed ? problem.queryHeads / problem.kvHeads : 1;
    const Counted counted{problem, plan, static_cast<double>(problem.batch) * problem.queryHeads / group,
                          sumTiles(problem, group, plan.tileRows, plan.tileKeys)};
    Traffic traffic = plan.path == VKF_PATH_STANDARD    ? standardPlan(counted)
                      : plan.path == VKF_PATH_KEY_OUTER ? keyOuterPlan(counted)
                                                        : fusedPlan(counted);
    addProbabilities(problem, plan.path, traffic);
    return traffic;
}

double visiblePairs(const VkfProblem& problem, const std::vector<uint32_t>& blockMask) {
    const uint64_t rowWords = vkf::blockMaskLayoutOf(problem).rowWords;
    const int64_t block = problem.blockMask.blockSize;
    double pairs = 0;
    for (uint64_t batch = 0; batch < problem.batch; ++batch)
        for (uint64_t head = 0; head < problem.queryHeads; ++head)
            for (int64_t row = 0; row < problem.queryRows; ++row) {
                const Reach visible = reachOf(problem, row, row);
                const uint32_t* words =
                    &blockMask[batch * problem.blockMask.batchStride + head * problem.blockMask.headStride +
                               static_cast<uint64_t>(row / block) * rowWords];
                for (int64_t key = visible.begin; key < visible.end;) {
                    const int64_t end = std::min((key / block + 1) * block, visible.end);
                    if ((words[key / block / 32] >> (key / block % 32) & 1U) != 0)
                        pairs += static_cast<double>(end - key);
                    key = end;
                }
            }
    return pairs;
}

} // namespace vkf::tools
