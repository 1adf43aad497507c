// SPDX-License-Identifier: MIT
#include "cli/program/help.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vkf::tools {

namespace {

constexpr size_t lineWidth = 110;
constexpr size_t textColumn = 28;

// Breaks a text between words. Further lines begin at the column.
std::string wrapped(std::string_view text, size_t column, size_t used) {
    std::string out;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (used > column && used + 1 + word.size() > lineWidth) {
            out += "\n" + std::string(column, ' ');
            used = column;
        } else if (used > column) {
            out += ' ';
            ++used;
        }
        out += word;
        used += word.size();
    }
    return out + "\n";
}

// A name on the left and its text on the right.
std::string entry(const std::string& name, const std::string& text) {
    if (name.size() + 4 > textColumn)
        return fmt::format("  {}\n{:{}}{}", name, "", textColumn, wrapped(text, textColumn, textColumn));
    return fmt::format("  {:{}}{}", name, textColumn - 2, wrapped(text, textColumn, textColumn));
}

bool takesList(const CLI::Option& option) { return option.get_delimiter() != '\0' || option.get_expected_max() > 1; }

std::string valueName(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    if (type.empty()) // a flag without a value
        return "";
    if (takesList(option))
        return " LIST";
    if (option.get_expected_min() == 0)
        return fmt::format(" [{}]", type);
    return " " + (type == "UINT" || type == "INT" ? "N" : type == "FLOAT" ? "X" : type);
}

// "--rows LIST"
std::string flagName(const CLI::Option& option) { return option.get_name(false, true) + valueName(option); }

std::string flagText(const CLI::Option& option) {
    std::string preset = option.get_default_str();
    std::erase_if(preset, [](char c) { return c == '[' || c == ']' || c == '"'; });
    return preset.empty() ? option.get_description()
                          : fmt::format("{} (default: {})", option.get_description(), preset);
}

bool isFolded(const std::string& title) {
    constexpr std::array groups = {filesGroup, resultsGroup, shapeGroup, masksGroup,
                                   cacheGroup, measureGroup, deviceGroup};
    return std::any_of(groups.begin(), groups.end(),
                       [&](const FlagGroup& group) { return group.folded && title == group.title; });
}

std::string groupText(const std::string& title, const std::vector<const CLI::Option*>& options, bool all) {
    if (!all && isFolded(title)) {
        std::vector<std::string> names;
        names.reserve(options.size());
        for (const CLI::Option* option : options)
            names.push_back(option->get_name());
        const std::string lead = fmt::format("{} (see --help-all):", title);
        return "\n" + lead + wrapped(fmt::format("{}", fmt::join(names, " ")), 2, lead.size());
    }
    std::string text = fmt::format("\n{}\n", title);
    for (const CLI::Option* option : options)
        text += entry(flagName(*option), flagText(*option));
    return text;
}

// Groups in the order of the flags that were added, folded ones last.
std::vector<std::string> groupsInOrder(const CLI::App& command) {
    std::vector<std::string> groups = command.get_groups();
    std::stable_partition(groups.begin(), groups.end(), [](const std::string& title) { return !isFolded(title); });
    return groups;
}

std::string flagsText(const CLI::App& command, bool all) {
    std::string text;
    for (const std::string& title : groupsInOrder(command)) {
        const std::vector<const CLI::Option*> options = command.get_options([&](const CLI::Option* option) {
            return option->get_group() == title && option != command.get_help_ptr() &&
                   option != command.get_help_all_ptr();
        });
        if (!options.empty())
            text += groupText(title == "Options" ? "Flags" : title, options, all);
    }
    return text;
}

std::string commandsText(const CLI::App& command) {
    std::string text;
    for (const CLI::App* sub : command.get_subcommands({}))
        text += entry(sub->get_name(), sub->get_description());
    return text.empty() ? "" : "\nCommands\n" + text;
}

// Number of letters to insert, drop, change or swap with the next one.
size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
        row[0] = i + 1;
        for (size_t j = 0; j < b.size(); ++j) {
            row[j + 1] = std::min({last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1)});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
                row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
        }
        before = last;
        last = row;
    }
    return last[b.size()];
}

} // namespace

std::string helpText(const CLI::App* command, const std::string& name, CLI::AppFormatMode mode) {
    const bool several = !command->get_subcommands({}).empty();
    std::string text = wrapped(command->get_description(), 0, 0);
    text += fmt::format("\nUsage:   {}{} [FLAGS]\n", name,
                        !several                                    ? ""
                        : command->get_require_subcommand_min() > 0 ? " COMMAND"
                                                                    : " [COMMAND]");
    if (!command->get_footer().empty())
        text += fmt::format("Example: {}\n", command->get_footer());
    text += commandsText(*command) + flagsText(*command, mode == CLI::AppFormatMode::All);
    return text + (several ? fmt::format("\n{} COMMAND --help explains a command.\n", name) : "");
}

std::string nearestName(std::string_view word, const std::vector<std::string>& names) {
    std::string nearest;
    size_t least = std::max<size_t>(2, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const size_t distance = editDistance(word, name);
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

} // namespace vkf::tools
