// SPDX-License-Identifier: MIT
//
// The results of a bench as a table. What all of them have in common stands above it once.
#ifndef VKFLASH_TOOLS_REPORT_RESULT_TABLE_HPP
#define VKFLASH_TOOLS_REPORT_RESULT_TABLE_HPP

#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace vkf::tools {

enum class CellKind { plain, time, nanoseconds, bytes, bytesPerSecond, number, error, share, percent, ratio, peers };

struct Column {
    const char* heading;
    const char* field;
    CellKind kind = CellKind::plain;
};

// Of a bench that has columns of its own, else none.
std::span<const Column> columnsOf(const std::string& bench);

// The columns given; all plain fields of the results if none are.
std::string resultTable(const nlohmann::ordered_json& results, std::span<const Column> columns);

// Least, median and most of the ratios to each of those that the results were compared with; "" if there are none.
std::string peerTable(const nlohmann::ordered_json& results);

} // namespace vkf::tools

#endif
