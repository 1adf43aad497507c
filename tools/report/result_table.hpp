// SPDX-License-Identifier: MIT
//
// Shows the results of a bench as a table. Values that all results share stand above the table once.
#ifndef VKFLASH_TOOLS_REPORT_RESULT_TABLE_HPP
#define VKFLASH_TOOLS_REPORT_RESULT_TABLE_HPP

#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace vkf::tools {

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
};

// The columns for this bench. Empty if the bench has no columns of its own.
std::span<const Column> columnsOf(const std::string& bench);

// Uses the given columns, or all plain fields of the results if there are none.
std::string resultTable(const nlohmann::ordered_json& results, std::span<const Column> columns);

// Minimum, median and maximum of the ratios to each other implementation. "" if there are none.
std::string peerTable(const nlohmann::ordered_json& results);

} // namespace vkf::tools

#endif
