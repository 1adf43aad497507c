# SPDX-License-Identifier: MIT
# 64-bit Windows, by mingw-w64 (Debian: g++-mingw-w64-x86-64-posix). Its tests run under wine, if there is one.
#   cmake --preset release -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/windows.cmake
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
# The C++ library of the compilers that end in "-win32" has no std::thread.
find_program(CMAKE_C_COMPILER NAMES x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-gcc REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++ REQUIRED)
# Programs run without the DLLs of the compiler.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(CMAKE_CROSSCOMPILING_EMULATOR NAMES wine64 wine)
