# SPDX-License-Identifier: MIT
# cmake -D INPUT=kernel.ptx.full -D OUTPUT=kernel.ptx -P StripPtx.cmake
# Drops comments and indentation of a PTX text: a quarter of its bytes.
file(READ "${INPUT}" text)
string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n[ \t\n]+" "\n" text "${text}")
string(STRIP "${text}" text)
file(WRITE "${OUTPUT}" "${text}\n")
