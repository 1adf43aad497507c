# SPDX-License-Identifier: MIT
# Linux on 32-bit ARM (Debian: g++-arm-linux-gnueabihf). Its tests run under qemu-user, if there is one. QEMU_LD_PREFIX
# then names the folder of the target's libraries: /usr/arm-linux-gnueabihf.
#   cmake --preset release -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/32bit.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
find_program(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc REQUIRED)
find_program(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++ REQUIRED)
find_program(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm)
