// SPDX-License-Identifier: MIT
//
// Reads tuning data line by line and field by field, as all kinds of lines need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/message.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// The name of a field and the range of its numbers.
struct TuningField {
    std::string_view name;
    uint32_t least;
    uint32_t most;
    uint32_t absent = 0; // the number of a line without the field; 0 = the field is required
};

// Removes the part before the next separator from the front of a text, and returns it.
std::string_view cutText(std::string_view* text, std::string_view separators);

// Removes the next word from the front of a line, and returns it.
std::string_view nextWord(std::string_view* line);

std::optional<uint32_t> tuningNumber(std::string_view text);

// A piece of the text for a message: short, and printable whatever it holds.
struct ShownText {
    explicit ShownText(std::string_view piece);
    char text[33]{};
};

// Knows the line that is being read, so that every refusal names it.
class TuningReader {
public:
    TuningReader(std::string_view text, VkfMessage* message) : rest_(text), message_(message) {}

    // Returns the next line without its comment and blanks, or nullopt at the end.
    std::optional<std::string_view> nextLine();

    // Returns false.
    bool refuse(const char* format, ...) VKF_PRINTF_FORMAT(2, 3);

    // Reads the values of a line's fields, in the order of the table.
    bool readFields(std::string_view line, std::span<const TuningField> fields, std::span<std::string_view> values);

    bool readNumber(const TuningField& field, std::string_view text, uint32_t* number);
    bool readRange(const TuningField& field, std::string_view text, Range* range);

private:
    std::string_view rest_;
    VkfMessage* message_;
    size_t line_ = 0;
};

} // namespace vkf
