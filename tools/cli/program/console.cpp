// SPDX-License-Identifier: MIT
#include "cli/program/console.hpp"

#include <csignal>
#include <cstdio>

#if defined(_WIN32)
#include <clocale>
#include <memory>

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX // mingw-w64 defines it for C++
#define NOMINMAX
#endif
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#else
#include <unistd.h>
#endif

namespace vkf::tools {

#if defined(_WIN32)

namespace {

std::string utf8(const wchar_t* text) {
    // The size includes the 0 at the end.
    const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
    if (size <= 0)
        return "";
    std::string bytes(static_cast<size_t>(size), '\0');
    WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes.data(), size, nullptr, nullptr);
    bytes.pop_back();
    return bytes;
}

} // namespace

std::vector<std::string> commandWords(int, char**) {
    int count = 0;
    const std::unique_ptr<wchar_t*, decltype(&LocalFree)> wide(CommandLineToArgvW(GetCommandLineW(), &count),
                                                               &LocalFree);
    std::vector<std::string> words;
    for (int i = 1; wide && i < count; ++i)
        words.push_back(utf8(wide.get()[i]));
    return words;
}

Console::Console() {
    // Files hold "\n" as on other systems, and so do streams.
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    // With this locale, paths of Microsoft's C++ library are UTF-8. Other C++ libraries ignore the locale there.
    std::setlocale(LC_CTYPE, ".UTF-8");
    outputCodePage_ = GetConsoleOutputCP();
    if (outputCodePage_ != 0)
        SetConsoleOutputCP(CP_UTF8);
}

Console::~Console() {
    if (outputCodePage_ != 0)
        SetConsoleOutputCP(outputCodePage_);
}

bool stderrIsTerminal() {
    const HANDLE handle = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode = 0;
    return GetConsoleMode(handle, &mode) != 0 && SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

#else

std::vector<std::string> commandWords(int argc, char** argv) {
    return argc > 0 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
}

Console::Console() {
    // By default these signals end the process and leave half-written files.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

bool stderrIsTerminal() { return isatty(fileno(stderr)) != 0; }

#endif

} // namespace vkf::tools
