// SPDX-License-Identifier: MIT
#include "support/process/child.hpp"

#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vkf::test {
namespace {

// Everything that the child does between fork and exec. It must not return.
[[noreturn]] void become(const std::filesystem::path& folder, const std::vector<char*>& argv,
                         const Surroundings& surroundings) {
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

int runChild(const std::filesystem::path& folder, const std::vector<std::string>& words,
             const Surroundings& surroundings) {
    std::vector<std::string> copies = words; // execvp takes no constants
    std::vector<char*> argv;
    argv.reserve(copies.size() + 1);
    for (std::string& word : copies) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);

    const pid_t child = fork();
    if (child == 0) {
        become(folder, argv, surroundings);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        throw std::runtime_error("cannot run " + words[0]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace vkf::test
