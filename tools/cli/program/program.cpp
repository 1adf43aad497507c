// SPDX-License-Identifier: MIT
#include "cli/program/program.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "cli/error.hpp"
#include "cli/program/console.hpp"
#include "cli/program/help.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {
namespace {

std::string wholeLine; // of the command line, once run() knows it

// Replaces control characters by spaces: file names may hold line breaks, and the message must stay one line. If stderr
// is closed, the exit status still reports the error.
ExitStatus report(const char* program, ExitStatus status, std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    text = std::string(program) + ": " + text + "\n";
    std::fflush(stdout);
    std::fputs(text.c_str(), stderr);
    return status;
}

// " (did you mean --causal?)", or "".
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
    const std::string name = nearestName(word, names);
    return name.empty() ? "" : fmt::format(" (did you mean {}?)", name);
}

// CLI11 alone would say only that a sub-command is missing.
void requireKnownCommand(const CLI::App& group, std::span<const std::string> words) {
    if (words.empty())
        return;
    const std::string& word = words[0];
    std::vector<std::string> names;
    for (const CLI::App* command : group.get_subcommands({})) {
        if (command->get_name() == word) {
            if (command->get_require_subcommand_min() > 0)
                requireKnownCommand(*command, words.subspan(1));
            return;
        }
        names.push_back(command->get_name());
    }
    if (!word.starts_with('-'))
        failInput("{}: there is no such sub-command{}; the sub-commands are {}", word, suggestion(word, names),
                  fmt::join(names, ", "));
}

// Names of the flags of a command, as the command line has them.
std::vector<std::string> flagNames(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
        for (const std::string& name : option->get_snames())
            names.push_back("-" + name);
    }
    return names;
}

// Explains why the selected command does not take all words. Returns normally if it is neither a flag nor a command.
void explainExtras(const CLI::App& program, std::span<const std::string> words) {
    const CLI::App* command = &program;
    std::string path = program.get_name();
    while (!command->get_subcommands().empty()) {
        command = command->get_subcommands()[0];
        path += " " + command->get_name();
    }
    const std::vector<std::string> names = flagNames(*command);
    for (const std::string& word : words) {
        const std::string flag = word.substr(0, word.find('='));
        if (flag.starts_with("--") && flag.size() > 2 && std::find(names.begin(), names.end(), flag) == names.end())
            failInput("{}: `{}` has no such flag{}; see {} --help", flag, path, suggestion(flag, names), path);
    }
    std::vector<std::string> commands;
    for (const CLI::App* sub : command->get_subcommands({}))
        commands.push_back(sub->get_name());
    if (const std::vector<std::string> rest = command->remaining(); !rest.empty() && !commands.empty())
        failInput("{}: `{}` has no such sub-command{}; the sub-commands are {}", rest[0], path,
                  suggestion(rest[0], commands), fmt::join(commands, ", "));
}

int run(const std::vector<std::string>& words, const ProgramTitle& title, std::initializer_list<AddCommand> commands) {
    wholeLine = fmt::format("{} {}", title.name, fmt::join(words, " "));
    CLI::App program(title.summary, title.name);
    program.set_version_flag("--version", versionText());
    program.require_subcommand(1);
    program.footer(title.example);
    program.formatter_fn(helpText);
    program.set_help_all_flag("--help-all", "explain every flag");
    Action action;
    for (const AddCommand& add : commands)
        add(program, action);
    try {
        requireKnownCommand(program, words);
        program.parse(std::vector<std::string>(words.rbegin(), words.rend())); // the order in which CLI11 takes them
    } catch (const CLI::Success& answer) {                                     // --help, --help-all and --version
        program.exit(answer);
    } catch (const CLI::ExtrasError&) {
        explainExtras(program, words);
        throw;
    }
    if (action)
        action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        fail("standard output: {}", std::strerror(errno));
    return exitDone;
}

// Reports the exception in flight and returns its exit status. Does not use fmt, which may throw.
ExitStatus reportException(const char* program) {
    try {
        throw;
    } catch (const CLI::ParseError& error) {
        return report(program, exitBadInput, std::string(error.what()) + " (see " + program + " --help)");
    } catch (const ProgramError& error) {
        return report(program, error.status(), error.what());
    } catch (const host::Error& error) {
        const bool refused = error.result() == VKF_ERROR_INVALID_ARGUMENT || error.result() == VKF_ERROR_UNSUPPORTED;
        return report(program, refused ? exitBadInput : exitFailed, error.what());
    } catch (const std::bad_alloc&) {
        return report(program, exitFailed, "out of host memory");
    } catch (const std::system_error& error) { // from fmt::print if stdout is closed or full
        return report(program, exitFailed, "standard output: " + error.code().message());
    } catch (const std::exception& error) {
        return report(program, exitFailed, error.what());
    }
}

} // namespace

int runProgram(int argc, char** argv, const ProgramTitle& title, std::initializer_list<AddCommand> commands) {
    const Console console;
    try {
        return run(commandWords(argc, argv), title, commands);
    } catch (...) {
        return reportException(title.name);
    }
}

std::string versionText() {
    return fmt::format("vkflash {}.{}.{}", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
}

const std::string& commandLine() { return wholeLine; }

} // namespace vkf::tools
