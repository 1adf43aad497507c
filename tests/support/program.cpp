// SPDX-License-Identifier: MIT
#include "support/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "support/device.hpp"

namespace fs = std::filesystem;

namespace vkf::test {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        if (!part.empty()) {
            parts.push_back(part);
        }
    }
    return parts;
}

// The words that start the program: the build's prefix for this machine, and the program's path. The variable replaces
// them if the tests run on another machine than the build.
std::vector<std::string> commandWords() {
    if (const char* program = std::getenv("VKFLASH_TEST_PROGRAM")) {
        return split(program, '|');
    }
    std::vector<std::string> words = split(VKFLASH_TEST_PROGRAM_PREFIX, '|');
    words.emplace_back(VKFLASH_TEST_PROGRAM);
    return words;
}

// Adds the quirk of the tests' own devices (VKFLASH_TEST_ROLLED) behind the command, unless the test chooses quirks.
// Commands that compute for long do without, because it makes kernels slow.
std::vector<std::string> withAddedQuirks(std::vector<std::string> arguments) {
    const std::vector<std::string> commands = {"run",  "verify",   "backward", "tune",
                                               "demo", "variants", "study",    "shared"};
    const std::vector<std::string> benches = {"prefill", "decode", "backward"};
    const auto isOneOf = [&](size_t word, const std::vector<std::string>& names) {
        return arguments.size() > word && std::find(names.begin(), names.end(), arguments[word]) != names.end();
    };
    const bool isBench = isOneOf(0, {"bench"}) && isOneOf(1, benches);
    const bool chooses = std::find(arguments.begin(), arguments.end(), "--quirk") != arguments.end();
    if (addedQuirks() != 0 && !chooses && (isBench || isOneOf(0, commands))) {
        arguments.insert(arguments.begin() + (isBench ? 2 : 1), {"--quirk", "rolled-scalar-loops"});
    }
    return arguments;
}

} // namespace

Workplace::Workplace(std::string program) : program_(std::move(program)) {
    for (int i = 0; folder_.empty(); ++i) {
        const fs::path candidate = fs::temp_directory_path() / ("vkflash-test-" + std::to_string(i));
        if (fs::create_directory(candidate)) { // false if it exists, so that it belongs to another test
            folder_ = candidate;
        }
    }
}

Workplace::~Workplace() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

ProgramResult Workplace::run(const std::vector<std::string>& arguments, const Surroundings& surroundings) const {
    std::vector<std::string> words = commandWords();
    const fs::path vkflash = words.back(); // all programs of a build lie in one folder
    words.back() = (vkflash.parent_path() / (program_ + vkflash.extension().string())).string();
    const std::vector<std::string> given = withAddedQuirks(arguments);
    words.insert(words.end(), given.begin(), given.end());
    return runWords(words, surroundings);
}

ProgramResult Workplace::runWords(const std::vector<std::string>& words, const Surroundings& surroundings) const {
    const int status = runChild(folder_, words, surroundings);
    ProgramResult result{status, read(outName), read(errName)};
    fs::remove(folder_ / outName);
    fs::remove(folder_ / errName);
    return result;
}

ProgramResult Workplace::run(const std::string& arguments, const Surroundings& surroundings) const {
    return run(split(arguments, ' '), surroundings);
}

std::string Workplace::read(const std::string& name) const {
    std::ifstream stream(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void Workplace::write(const std::string& name, const std::string& contents) const {
    std::ofstream(*this / name, std::ios::binary) << contents;
}

std::vector<std::string> Workplace::files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace vkf::test
