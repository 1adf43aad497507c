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
    const auto& [variant, operands, params, lse, items, passes, itemsPerStep, joins, alternates] = phase;
    const auto& [kernel, storage16, subgroups, exchange, rolled, bf16, subgroupSize, constants] = variant;
    text.text("phase", traitsOf(kernel).name).field("storage16", storage16).field("subgroups", subgroups);
    text.field("exchange", exchange).field("rolled", rolled).field("bf16", bf16).field("subgroupSize", subgroupSize);
    text.words("constants", constants).words("operands", operands).words("params", params);
    text.field("lse", number(lse)).field("items", items).field("passes", passes).field("itemsPerStep", itemsPerStep);
    text.field("joins", joins).field("alternates", alternates);
}

void add(Text& text, const ConsideredTile& considered) {
    const auto& [tile, rows, keys, workgroupSize, sharedBytes, registers, splits, workgroups, objection, fromTuning,
                 taken] = considered;
    text.text("considered", tile).field("rows", rows).field("keys", keys).field("threads", workgroupSize);
    text.field("shared", sharedBytes).field("registers", registers).field("splits", splits);
    text.field("workgroups", workgroups).field("reason", static_cast<uint32_t>(objection.reason));
    text.field("value", objection.value).field("limit", objection.limit).field("tuning", fromTuning);
    text.field("taken", taken);
}

void add(Text& text, const MatrixLayout& matrix) {
    text.field("matrixRows", matrix.rows).field("columns", matrix.columns).field("depth", matrix.depth);
    text.field("lanes", matrix.lanes).words("elementBits", matrix.elementBits).words("laneBits", matrix.laneBits);
    text.field("exchanged", matrix.exchanged).field("narrow", matrix.narrowColumns);
}

void add(Text& text, const Slots& slots) {
    const auto& [count, packedHeads, tileRows, offset] = slots;
    text.field("slots", count).field("packedHeads", packedHeads).field("tileRows", tileRows).field("offset", offset);
}

void add(Text& text, const AttentionPlan& plan) {
    const auto& [path, tile, productType, matrix, inParts, inputAlignment, outputAlignment, scratchBytes,
                 scratchStateOffset, scratchLseOffset, tableOffset, mapOffset, orderOffset, slots, splits, tileText,
                 tuned, maskedRows, expandedKeys, considered, phases] = plan;
    text.text("path", vkfPathName(path)).words("tile", tile).text("productType", vkfTypeName(productType));
    add(text, matrix);
    text.field("inParts", inParts).field("inputAlignment", inputAlignment).field("outputAlignment", outputAlignment);
    text.field("scratchBytes", scratchBytes).field("state", scratchStateOffset).field("lseOffset", scratchLseOffset);
    text.field("table", tableOffset).field("map", mapOffset).field("order", orderOffset);
    add(text, slots);
    text.field("splits", splits).text("tileText", tileText).field("tuned", tuned);
    text.field("keyOffset", expandedKeys.keyOffset).field("valueOffset", expandedKeys.valueOffset);
    text.field("steps", plan.steps());
    for (const ConsideredTile& one : considered) {
        add(text, one);
    }
    for (const Phase& phase : phases) {
        add(text, phase);
    }
}

} // namespace

std::string textOf(const AttentionPlan& plan) {
    Text text;
    add(text, plan);
    return text.str();
}

std::string textOf(const GradientPlan& plan) {
    Text text;
    add(text, static_cast<const AttentionPlan&>(plan));
    add(text, plan.keySlots);
    text.field("ds", plan.dsOffset).field("p", plan.pOffset).field("sums", plan.sumsOffset);
    text.field("bandKeys", plan.bandKeys).text("rowTile", plan.rowTileText).text("keyTile", plan.keyTileText);
    text.words("gradientTable", plan.table);
    return text.str();
}

std::string textOf(const MergeTile& tile) {
    Text text;
    text.words("merge", tile);
    return text.str();
}

} // namespace vkf::test
