// SPDX-License-Identifier: MIT
#include "support/program.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace vkf::test {

namespace {

constexpr const char* outName = "captured.out";
constexpr const char* errName = "captured.err";

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

// Everything that the child does between fork and exec. It must not return.
[[noreturn]] void become(const fs::path& folder, const std::vector<char*>& argv, const Surroundings& surroundings) {
    if (chdir(folder.c_str()) != 0) {
        _exit(126);
    }
    const int err = open(errName, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int out = open(outName, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int ends[2];
    if (surroundings.closedPipe && pipe(ends) == 0) {
        close(ends[0]);
        out = ends[1];
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
}

} // namespace

Workplace::Workplace() {
    std::string pattern = (fs::temp_directory_path() / "vkflash-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("cannot create " + pattern);
    }
    folder_ = pattern;
}

Workplace::~Workplace() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

ProgramResult Workplace::run(const std::vector<std::string>& arguments, const Surroundings& surroundings) const {
    std::vector<std::string> words = commandWords();
    words.insert(words.end(), arguments.begin(), arguments.end());
    return runWords(std::move(words), surroundings);
}

ProgramResult Workplace::runWords(std::vector<std::string> words, const Surroundings& surroundings) const {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);

    const pid_t child = fork();
    if (child == 0) {
        become(folder_, argv, surroundings);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        throw std::runtime_error("cannot run " + words[0]);
    }
    ProgramResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(outName),
                         read(errName)};
    fs::remove(folder_ / outName);
    fs::remove(folder_ / errName);
    return result;
}

ProgramResult Workplace::run(const std::string& arguments, const Surroundings& surroundings) const {
    return run(split(arguments, ' '), surroundings);
}

std::string Workplace::read(const std::string& name) const {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void Workplace::write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
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
