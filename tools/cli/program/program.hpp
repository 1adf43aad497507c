// SPDX-License-Identifier: MIT
//
// Runs a program with sub-commands. The exit status is 0 only if all requested results are written and right. Otherwise
// the program prints one line to stderr.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace vkf::tools {

// The work of the selected sub-command. It runs after all flags are parsed. Errors are exceptions.
using Action = std::function<void()>;

// Adds one sub-command. The sub-command sets `action` when the command line selects it.
using AddCommand = std::function<void(CLI::App& program, Action& action)>;

// A sub-command and the options that its flags set.
template <typename Options> struct AddedCommand {
    CLI::App* command;
    std::shared_ptr<Options> options;
};

// Adds a sub-command with an example in its help. `work` is what it does with the options. The caller adds the flags.
template <typename Options>
AddedCommand<Options> addCommand(CLI::App& program, Action& action, const char* name, const char* description,
                                 const char* example, void (*work)(const Options& options)) {
    auto options = std::make_shared<Options>();
    CLI::App* command = program.add_subcommand(name, description);
    command->footer(example);
    command->callback([options, work, &action] { action = [options, work] { work(*options); }; });
    return {command, options};
}

struct ProgramTitle {
    const char* name;    // errors begin with it
    const char* summary; // one sentence
    const char* example; // a command line
};

// Parses the command line, runs the selected sub-command and reports what it throws. Returns the exit status. A list of
// small functions needs no allocation, which could fail where nobody reports it.
int runProgram(int argc, char** argv, const ProgramTitle& title, std::initializer_list<AddCommand> commands);

// "vkflash 0.5.0"
std::string versionText();

// The program's name and the words of its command line, joined by spaces, for reports. "" before runProgram.
const std::string& commandLine();

} // namespace vkf::tools
