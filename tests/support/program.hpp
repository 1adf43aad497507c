// SPDX-License-Identifier: MIT
//
// Runs the built program `vkflash` and other programs like a person, in their own folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/process/child.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::test {

struct ProgramResult {
    int status = -1; // see runChild
    std::string out;
    std::string err;
};

// A new empty folder, which is removed at the end. Programs run in it, so file names are short.
class Workplace {
public:
    explicit Workplace(std::string program = "vkflash"); // program of this build that `run` starts
    Workplace(const Workplace&) = delete;
    Workplace(Workplace&&) = delete;
    Workplace& operator=(const Workplace&) = delete;
    Workplace& operator=(Workplace&&) = delete;
    ~Workplace();

    std::filesystem::path operator/(const std::string& name) const { return folder_ / tools::pathOf(name); }
    const std::string& program() const { return program_; }
    ProgramResult run(const std::vector<std::string>& arguments, const Surroundings& surroundings = {}) const;
    // Runs with arguments in one text, separated by spaces.
    ProgramResult run(const std::string& arguments, const Surroundings& surroundings = {}) const;

    // Runs any program, by path or by PATH.
    ProgramResult runWords(const std::vector<std::string>& words, const Surroundings& surroundings = {}) const;

    std::string read(const std::string& name) const;
    void write(const std::string& name, const std::string& contents) const;
    // Names of all files but the program's captured output, in order.
    std::vector<std::string> files() const;

private:
    std::string program_;
    std::filesystem::path folder_;
};

} // namespace vkf::test
