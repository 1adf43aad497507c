// SPDX-License-Identifier: MIT
//
// The command line, the standard streams and the terminal: what differs between Windows and other systems.
#pragma once

#include <string>
#include <vector>

namespace vkf::tools {

// The words of the command line in UTF-8, without the program's name. On Windows, main gets them in an encoding that
// does not have every character of a file name.
std::vector<std::string> commandWords(int argc, char** argv);

// Prepares the standard streams for the program's text, and restores the terminal at the end. A full disk or a closed
// pipe then comes back as an error of the write.
class Console {
public:
    Console();
    Console(const Console&) = delete;
    Console(Console&&) = delete;
    Console& operator=(const Console&) = delete;
    Console& operator=(Console&&) = delete;
#if defined(_WIN32)
    ~Console();

private:
    unsigned outputCodePage_ = 0; // of the terminal before; 0 if there is none
#else
    ~Console() = default;
#endif
};

// Whether stderr is a terminal that can erase a line.
bool stderrIsTerminal();

} // namespace vkf::tools
