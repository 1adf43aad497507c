// SPDX-License-Identifier: MIT
#include "support/process/child.hpp"

#include <stdexcept>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "tensors/tensor_file.hpp"

namespace vkf::test {
namespace {

namespace fs = std::filesystem;

class Handle {
public:
    explicit Handle(HANDLE handle) : handle_(handle) {}
    Handle(const Handle&) = delete;
    Handle(Handle&&) = delete;
    Handle& operator=(const Handle&) = delete;
    Handle& operator=(Handle&&) = delete;
    ~Handle() { CloseHandle(handle_); }

    HANDLE get() const { return handle_; }

private:
    HANDLE handle_;
};

// The child inherits handles that are made with these attributes.
SECURITY_ATTRIBUTES inherited() { return {sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE}; }

HANDLE createFile(const fs::path& path) {
    SECURITY_ATTRIBUTES attributes = inherited();
    return CreateFileW(path.c_str(), GENERIC_WRITE, FILE_SHARE_READ, &attributes, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                       nullptr);
}

HANDLE closedPipe() {
    SECURITY_ATTRIBUTES attributes = inherited();
    HANDLE reader = nullptr;
    HANDLE writer = nullptr;
    if (CreatePipe(&reader, &writer, &attributes, 0) != 0) {
        CloseHandle(reader);
    }
    return writer;
}

// Quotes a word as CommandLineToArgvW reads it: backslashes count double before a quotation mark.
std::wstring quoted(const std::wstring& word) {
    std::wstring text = L"\"";
    size_t backslashes = 0;
    for (const wchar_t c : word) {
        text.append(c == L'"' ? backslashes + 1 : 0, L'\\');
        backslashes = c == L'\\' ? backslashes + 1 : 0;
        text.push_back(c);
    }
    return text.append(backslashes, L'\\') + L"\"";
}

// The child runs in another folder, and perhaps on another drive. So a program with a folder gets its full path.
std::wstring commandLine(const std::vector<std::string>& words) {
    const fs::path program = tools::pathOf(words[0]);
    std::wstring text = quoted(program.has_parent_path() ? fs::absolute(program).wstring() : program.wstring());
    for (size_t i = 1; i < words.size(); ++i) {
        text += L" " + quoted(tools::pathOf(words[i]).wstring());
    }
    return text;
}

} // namespace

int runChild(const fs::path& folder, const std::vector<std::string>& words, const Surroundings& surroundings) {
    const Handle out(surroundings.closedPipe ? closedPipe() : createFile(folder / outName));
    const Handle err(createFile(folder / errName));
    STARTUPINFOW startup{};
    startup.cb = sizeof(startup);
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = out.get();
    startup.hStdError = err.get();
    std::wstring text = commandLine(words);
    PROCESS_INFORMATION process{};
    if (CreateProcessW(nullptr, text.data(), nullptr, nullptr, TRUE, 0, nullptr, folder.c_str(), &startup, &process) ==
        0) {
        return 127;
    }
    const Handle child(process.hProcess);
    const Handle thread(process.hThread);
    DWORD status = 0;
    if (WaitForSingleObject(child.get(), INFINITE) != WAIT_OBJECT_0 || GetExitCodeProcess(child.get(), &status) == 0) {
        throw std::runtime_error("cannot run " + words[0]);
    }
    return static_cast<int>(status);
}

} // namespace vkf::test
