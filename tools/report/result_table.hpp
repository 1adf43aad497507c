// SPDX-License-Identifier: MIT
//
// Shows the results of a bench as a table. Values that all results share stand above the table once.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace vkf::tools {

// Escapes text for use between tags and in quoted attributes. HTML forbids control characters; they become U+FFFD.
std::string escapeHtml(std::string_view text);

enum class CellKind {
    plain,
    time,
    nanoseconds,
    bytes,
    bytesPerSecond,
    number,
    error,
    share,
    percent,
    ratio,
    peers,
    clock
};

struct Column {
    const char* heading;
    const char* field;
    CellKind kind = CellKind::plain;
    const char* usual = nullptr; // the field whose value this one has in most benches; such a column is not shown
};

// The columns for this bench. Empty if the page does not know the bench.
std::span<const Column> columnsOf(const std::string& bench);

// Shows those of the given columns that some result has, or all plain fields of the results if there are none.
std::string resultTable(const nlohmann::ordered_json& results, std::span<const Column> columns);

// Minimum, median and maximum of the ratios to each other implementation. "" if there are none.
std::string peerTable(const nlohmann::ordered_json& results);

} // namespace vkf::tools
