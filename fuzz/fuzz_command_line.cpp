// SPDX-License-Identifier: MIT
//
// Reads any bytes as the words of a command line, one word a line, and runs the program with them in a folder with some
// tensor files. There is no Vulkan driver, so commands that need a device end when they open it: all flags and files
// are read by then. The program must end with a status of its own, and say one line where it fails.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int vkflash_main(int argc, char** argv); // main of tools/commands/main.cpp

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

// Words are cut at line ends. The first one is the name of the program.
std::vector<std::string> wordsOf(const uint8_t* data, size_t size) {
    std::vector<std::string> words = {"vkflash"};
    std::string_view text(reinterpret_cast<const char*>(data), size);
    while (!text.empty() && words.size() < 40) {
        const size_t end = text.find('\n');
        words.emplace_back(text.substr(0, end).substr(0, text.substr(0, end).find('\0')));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return words;
}

// Words that leave the folder are not for a fuzzer.
bool isHarmless(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); ++i)
        if (words[i].find('/') != std::string::npos || words[i].find("..") != std::string::npos)
            return false;
    return true;
}

// The folder in which the program runs. libFuzzer itself reads its corpus by paths from another one.
std::filesystem::path& folder() {
    static std::filesystem::path path;
    return path;
}

// A file in memory in the place of stdout or stderr.
class Captured {
public:
    explicit Captured(int stream) : stream_(stream), kept_(dup(stream)), file_(memfd_create("captured", 0)) {
        require(kept_ >= 0 && file_ >= 0 && dup2(file_, stream_) == stream_);
    }
    std::string end() const {
        dup2(kept_, stream_);
        close(kept_);
        std::string text(static_cast<size_t>(lseek(file_, 0, SEEK_END)), ' ');
        require(pread(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
        close(file_);
        return text;
    }

private:
    int stream_, kept_, file_;
};

} // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    setenv("VK_DRIVER_FILES", "", 1);
    const std::filesystem::path place = std::filesystem::temp_directory_path() / "vkflash_fuzz_command_line";
    std::filesystem::remove_all(place);
    std::filesystem::create_directories(place);
    for (const char* name : {"q.npy", "k.npy", "v.npy", "sample.safetensors"})
        std::filesystem::copy_file(std::filesystem::path(VKFLASH_SAMPLES_DIR) / name, place / name);
    folder() = place;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<std::string> words = wordsOf(data, size);
    if (!isHarmless(words))
        return -1;
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::filesystem::path home = std::filesystem::current_path();
    std::filesystem::current_path(folder());
    Captured out(STDOUT_FILENO);
    Captured err(STDERR_FILENO);
    const int status = vkflash_main(static_cast<int>(words.size()), argv.data());
    std::fflush(stdout);
    const std::string said = err.end();
    out.end();
    std::filesystem::current_path(home);
    require(status >= 0 && status <= 2);
    const bool oneLine = said.starts_with("vkflash:") && said.find('\n') == said.size() - 1;
    require(status == 0 || oneLine);
    return 0;
}
