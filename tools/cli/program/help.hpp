// SPDX-License-Identifier: MIT
//
// The text of --help: an example, and the flags in groups.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace vkf::tools {

// Groups that many commands share. --help lists only the names of the flags in a folded group; --help-all explains
// them.
struct FlagGroup {
    const char* title;
    bool folded;
};
inline constexpr FlagGroup filesGroup = {"Files", false};
inline constexpr FlagGroup resultsGroup = {"Results", false};
inline constexpr FlagGroup shapeGroup = {"Shape", false};
inline constexpr FlagGroup masksGroup = {"Masks and scores", false};
inline constexpr FlagGroup cacheGroup = {"Types and pages of k and v", true};
inline constexpr FlagGroup measureGroup = {"Measurement and report", true};
inline constexpr FlagGroup deviceGroup = {"Device", true};

// Puts the flags that are added while the object lives into a group.
class HelpGroup {
public:
    HelpGroup(CLI::App& command, const FlagGroup& group)
        : defaults_(*command.option_defaults()), before_(defaults_.get_group()) {
        defaults_.group(group.title);
    }
    HelpGroup(const HelpGroup&) = delete;
    HelpGroup(HelpGroup&&) = delete;
    HelpGroup& operator=(const HelpGroup&) = delete;
    HelpGroup& operator=(HelpGroup&&) = delete;
    // NOLINTNEXTLINE(bugprone-exception-escape): CLI11 took this group before, and memory for it was there
    ~HelpGroup() { defaults_.group(before_); }

private:
    CLI::OptionDefaults& defaults_;
    std::string before_;
};

// Help of a command, for CLI::App::formatter_fn.
std::string helpText(const CLI::App* command, const std::string& name, CLI::AppFormatMode mode);

// The name that a misspelt word most probably means. "" if none is near.
std::string nearestName(std::string_view word, const std::vector<std::string>& names);

} // namespace vkf::tools
