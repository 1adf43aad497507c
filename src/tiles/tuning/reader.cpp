// SPDX-License-Identifier: MIT
#include "tiles/tuning/reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstdarg>
#include <cstdio>

namespace vkf {
namespace {

std::string_view withoutEnds(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

} // namespace

std::string_view cutText(std::string_view* text, std::string_view separators) {
    const size_t end = std::min(text->find_first_of(separators), text->size());
    const std::string_view part = text->substr(0, end);
    text->remove_prefix(std::min(end + 1, text->size()));
    return part;
}

std::string_view nextWord(std::string_view* line) {
    *line = withoutEnds(*line);
    return cutText(line, " \t");
}

ShownText::ShownText(std::string_view piece) {
    const size_t length = std::min(piece.size(), sizeof text - 1);
    std::transform(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(length), text,
                   [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
}

std::optional<uint32_t> tuningNumber(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x");
    text.remove_prefix(hexadecimal ? 2 : 0);
    uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, hexadecimal ? 16 : 10);
    return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

std::optional<std::string_view> TuningReader::nextLine() {
    if (rest_.empty()) {
        return std::nullopt;
    }
    line_++;
    std::string_view line = cutText(&rest_, "\n");
    return withoutEnds(cutText(&line, "#"));
}

bool TuningReader::refuse(const char* format, ...) {
    VkfMessage detail{};
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(detail.text, sizeof detail.text, format, arguments);
    va_end(arguments);
    fail(message_, VKF_ERROR_INVALID_ARGUMENT, "tuning, line %zu: %s", line_, detail.text);
    return false;
}

bool TuningReader::readFields(std::string_view line, std::span<const TuningField> fields,
                              std::span<std::string_view> values) {
    for (std::string_view word = nextWord(&line); !word.empty(); word = nextWord(&line)) {
        std::string_view value = word;
        const std::string_view name = cutText(&value, "=");
        const auto field =
            std::find_if(fields.begin(), fields.end(), [name](const TuningField& known) { return known.name == name; });
        if (field == fields.end()) {
            return refuse("%s is not a field here", ShownText(name).text);
        }
        std::string_view& stored = values[static_cast<size_t>(field - fields.begin())];
        if (!stored.empty()) {
            return refuse("%s is given twice", ShownText(name).text);
        }
        if (value.empty()) {
            return refuse("%s has no value", ShownText(name).text);
        }
        stored = value;
    }
    for (size_t i = 0; i < fields.size(); i++) {
        if (values[i].empty() && fields[i].absent == 0) {
            return refuse("%s is missing", ShownText(fields[i].name).text);
        }
    }
    return true;
}

bool TuningReader::readNumber(const TuningField& field, std::string_view text, uint32_t* number) {
    const std::optional<uint32_t> read = tuningNumber(text);
    if (!read || *read < field.least || *read > field.most) {
        return refuse("%s=%s: takes a whole number from %u to %u", ShownText(field.name).text, ShownText(text).text,
                      field.least, field.most);
    }
    *number = *read;
    return true;
}

bool TuningReader::readRange(const TuningField& field, std::string_view text, Range* range) {
    const size_t dots = text.find("..");
    const std::string_view most = dots == std::string_view::npos ? text : text.substr(dots + 2);
    if (!readNumber(field, text.substr(0, dots), &range->least) || !readNumber(field, most, &range->most)) {
        return false;
    }
    return range->least <= range->most ||
           refuse("%s=%s: the range is empty", ShownText(field.name).text, ShownText(text).text);
}

} // namespace vkf
