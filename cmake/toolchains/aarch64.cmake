# SPDX-License-Identifier: MIT
# Linux on 64-bit ARM (Debian: g++-aarch64-linux-gnu). Its tests run under qemu-user, if there is one. QEMU_LD_PREFIX
# then names the folder of the target's libraries: /usr/aarch64-linux-gnu.
#   cmake --preset release -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(CMAKE_C_COMPILER aarch64-linux-gnu-gcc REQUIRED)
find_program(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++ REQUIRED)
find_program(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
