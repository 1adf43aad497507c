// SPDX-License-Identifier: MIT
#include "functions/messages.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/identifier.hpp"

namespace vkf::functions {
namespace {

constexpr std::string_view errorStart = "ERROR: ";

// The texts behind "ERROR: ", without the log's summary.
std::vector<std::string_view> errorsOf(std::string_view log) {
    std::vector<std::string_view> errors;
    while (!log.empty()) {
        const size_t end = std::min(log.find('\n'), log.size());
        std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        if (line.starts_with(errorStart) && line.find("compilation errors") == std::string_view::npos) {
            line.remove_prefix(errorStart.size());
            errors.push_back(line.substr(0, line.find_last_not_of(" \r") + 1));
        }
    }
    return errors;
}

// Takes the prefix away that the user's own names have in the kernels.
std::string withOwnNames(const UserFile& file, std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && isWordPart(text[end])) {
            ++end;
        }
        std::string_view word = text.substr(i, std::max(end - i, size_t{1}));
        i += word.size();
        if (word.starts_with(namePrefix)) {
            const std::string_view own = word.substr(namePrefix.size());
            word = std::find(file.names.begin(), file.names.end(), own) == file.names.end() ? word : own;
        }
        result += word;
    }
    return result;
}

// The error without the name of the file, if it is in a line of the user: "7: 'x' : undeclared identifier".
std::optional<std::string_view> inUserLine(std::string_view error) {
    if (!error.starts_with(lineName) || error.substr(lineName.size(), 1) != ":") {
        return {};
    }
    return error.substr(lineName.size() + 1);
}

} // namespace

std::string messageOf(const UserFile& file, std::string_view where, std::string_view log) {
    const std::vector<std::string_view> errors = errorsOf(log);
    for (const std::string_view error : errors) {
        if (const std::optional<std::string_view> line = inUserLine(error)) {
            return file.name + ":" + withOwnNames(file, *line);
        }
    }
    return file.name + ": does not compile in " + std::string(where) + ": " +
           withOwnNames(file, errors.empty() ? log.substr(0, log.find('\n')) : errors.front());
}

} // namespace vkf::functions
