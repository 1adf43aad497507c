// SPDX-License-Identifier: MIT
//
// Structured bindings name every field of a struct. A new field is an error here, so that none is forgotten.
#include "proof/plans/plan_text.hpp"

#include <cstring>
#include <sstream>

namespace vkf::test {
namespace {

class Text {
public:
    template <typename Value> Text& field(const char* name, const Value& value) {
        out_ << name << ' ' << +value << '\n';
        return *this;
    }
    Text& text(const char* name, const std::string& value) {
        out_ << name << ' ' << value << '\n';
        return *this;
    }
    // The words of a plain struct or array that are not 0, by index.
    template <typename Struct> Text& words(const char* name, const Struct& value) {
        static_assert(sizeof value % sizeof(uint32_t) == 0 && std::is_trivially_copyable_v<Struct>);
        std::array<uint32_t, sizeof value / sizeof(uint32_t)> all;
        std::memcpy(all.data(), &value, sizeof value);
        out_ << name;
        for (size_t i = 0; i < all.size(); i++) {
            if (all[i] != 0) {
                out_ << ' ' << i << ':' << all[i];
            }
        }
        out_ << '\n';
        return *this;
    }
    std::string str() const { return out_.str(); }

private:
    std::ostringstream out_;
};

uint32_t number(Operand operand) { return static_cast<uint32_t>(operand); }

void add(Text& text, const Phase& phase) {
    const auto& [variant, operands, params, lse, items, passes, itemsPerStep, barrierBefore, interleaved] = phase;
    const auto& [kernel, storage16, subgroups, exchange, bf16, loops, subgroupSize, constants, functions] = variant;
    text.text("phase", traitsOf(kernel).name).field("storage16", storage16).field("subgroups", subgroups);
    text.field("functions", functions.functions != nullptr);
    text.field("exchange", exchange).field("loops", static_cast<uint32_t>(loops)).field("bf16", bf16);
    text.field("subgroupSize", subgroupSize);
    text.words("constants", constants).words("operands", operands).words("params", params);
    text.field("lse", number(lse)).field("items", items).field("passes", passes).field("itemsPerStep", itemsPerStep);
    text.field("barrierBefore", barrierBefore).field("interleaved", interleaved);
}

void add(Text& text, const ConsideredTile& considered) {
    const auto& [tile, rows, keys, workgroupSize, sharedBytes, registers, splits, workgroups, rejection, fromTuning,
                 taken] = considered;
    text.text("considered", tile).field("rows", rows).field("keys", keys).field("threads", workgroupSize);
    text.field("shared", sharedBytes).field("registers", registers).field("splits", splits);
    text.field("workgroups", workgroups).field("reason", static_cast<uint32_t>(rejection.reason));
    text.field("value", rejection.value).field("limit", rejection.limit).field("tuning", fromTuning);
    text.field("taken", taken);
}

void add(Text& text, const MatrixLayout& matrix) {
    text.field("matrixRows", matrix.rows).field("columns", matrix.columns).field("depth", matrix.depth);
    text.field("lanes", matrix.lanes).words("elementBits", matrix.elementBits).words("laneBits", matrix.laneBits);
    text.field("exchanged", matrix.viaShared).field("narrow", matrix.smallShapeColumns);
}

void add(Text& text, const TileSequences& tileSequences, uint64_t offset) {
    const auto& [count, packedHeads, tileRows] = tileSequences;
    text.field("slots", count).field("packedHeads", packedHeads).field("tileRows", tileRows).field("offset", offset);
}

// What plans of both passes have.
template <typename Plan> void addCommon(Text& text, const Plan& plan, const TileSequences& tileSequences) {
    const auto at = [&](ScratchRange range) { return plan.scratch.offset(range); };
    text.field("scratchBytes", plan.scratch.bytes()).field("state", at(ScratchRange::rowState));
    text.field("lseOffset", at(ScratchRange::lse)).field("table", at(ScratchRange::table));
    text.field("map", at(ScratchRange::tileMap));
    add(text, tileSequences, at(ScratchRange::rowSequences));
}

} // namespace

std::string textOf(const AttentionPlan& plan) {
    Text text;
    const auto& [path, pathDecisions, tile, tileText, tuned, considered, kernel, constants, standard, fallback, splits,
                 packedHeads, interleavedHeads, matrix, matrixElements, productType, bf16x3, inputAlignment,
                 outputAlignment, map, biasMaskTile, dequantizedKeys, probabilities, lse, extraSlot] =
        static_cast<const Decision&>(plan);
    text.text("path", vkfPathName(path)).words("tile", tile).text("productType", vkfTypeName(productType));
    add(text, matrix);
    text.field("bf16x3", bf16x3).field("inputAlignment", inputAlignment).field("outputAlignment", outputAlignment);
    addCommon(text, plan, plan.tileSequences);
    const uint64_t mapBegin = plan.scratch.offset(ScratchRange::tileMap);
    text.field("order", map ? mapBegin + plan.tileMap.orderOffset : 0);
    text.field("splits", splits).text("tileText", tileText).field("tuned", tuned);
    text.field("keyOffset", plan.scratch.offset(ScratchRange::dequantizedK));
    text.field("valueOffset", plan.scratch.offset(ScratchRange::dequantizedV)).field("steps", plan.steps());
    for (const ConsideredTile& one : considered) {
        add(text, one);
    }
    for (const Phase& phase : plan.phases) {
        add(text, phase);
    }
    return text.str();
}

std::string textOf(const BackwardPlan& plan) {
    Text text;
    const auto& [path, pathDecisions, tile, rowTileText, keyTileText, tuned, matrix, productType, inputAlignment,
                 scalar, coopmat, wgmma, bands, bias, map, whyNoMap, lists, sinks] =
        static_cast<const BackwardDecision&>(plan);
    text.text("path", vkfPathName(path)).words("tile", tile).text("productType", vkfTypeName(productType));
    add(text, matrix);
    text.field("bf16x3", false).field("inputAlignment", inputAlignment).field("outputAlignment", 1);
    addCommon(text, plan, plan.tileSequences);
    text.field("splits", 1).text("tileText", "").field("tuned", tuned).field("keyOffset", 0).field("valueOffset", 0);
    text.field("steps", plan.steps());
    for (const Phase& phase : plan.phases) {
        add(text, phase);
    }
    add(text, plan.keyTileSequences, plan.scratch.offset(ScratchRange::keyTileSequences));
    text.field("ds", plan.scratch.offset(ScratchRange::storedDs))
        .field("p", plan.scratch.offset(ScratchRange::storedP));
    text.field("sums", plan.scratch.offset(ScratchRange::partialSums)).field("bandKeys", plan.bandKeys());
    text.text("rowTile", rowTileText).text("keyTile", keyTileText).words("backwardTable", plan.table);
    return text.str();
}

std::string textOf(const MergeTile& tile) {
    Text text;
    text.words("merge", tile);
    return text.str();
}

} // namespace vkf::test
