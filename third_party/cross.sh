# SPDX-License-Identifier: MIT
# Part of ./dev: builds for other systems than this one, and runs the tests there in an emulator. Fetches the compilers
# and emulators of this Debian release. Changes nothing of the system.

cross_help() {
    cat <<'TEXT'
./dev cross windows         build for 64-bit Windows with mingw-w64, and run the tests that need no device under wine
./dev cross aarch64         build for 64-bit ARM, and run these tests under qemu-user
./dev cross 32bit           build for 32-bit ARM, and run these tests under qemu-user

A name of a test group may follow. The build is in build/cross/TARGET. Tests that need a device are skipped.
TEXT
}

# Sets the variables of a target: cross_triplet, the first part of the names of its compiler's programs;
# cross_packages, its packages; cross_emulator, the program that runs its programs; cross_sysroot, whether the compiler
# must be told where its libraries are.
describe_cross_target() {
    case $1 in
        windows)
            cross_triplet=x86_64-w64-mingw32 cross_emulator=wine64 cross_sysroot=
            cross_packages=g++-mingw-w64-x86-64-posix,wine64 ;;
        aarch64)
            cross_triplet=aarch64-linux-gnu cross_emulator=qemu-aarch64 cross_sysroot=yes
            cross_packages=g++-aarch64-linux-gnu,qemu-user ;;
        32bit)
            cross_triplet=arm-linux-gnueabihf cross_emulator=qemu-arm cross_sysroot=yes
            cross_packages=g++-arm-linux-gnueabihf,qemu-user ;;
        *) cross_help >&2; die "unknown target: $1" ;;
    esac
}

# fetch_cross TARGET: prints the folder of the unpacked compiler and emulator. Its bin/ has a script for each program.
# They use the C library of this system, which is of the same release.
fetch_cross() {
    local archive uri codename hash folder work
    archive=$(debian_archive) || die "./dev cross fetches compilers, and can do so only on Debian"
    read -r uri codename <<<"$archive"
    hash=$(echo "$codename $cross_packages" | sha256sum | cut -c1-12)
    folder="${XDG_CACHE_HOME:-$HOME/.cache}/vkflash/$1-$hash"
    if [ ! -e "$folder" ]; then
        need_programs mmdebstrap:mmdebstrap
        mkdir -p "${folder%/*}"
        work=$(mktemp -d "$folder.XXXXXX")
        chmod 755 "$work"
        say "fetching a compiler and an emulator of Debian $codename for $1 (about 200 MB)"
        unpack "$work/root" "$cross_packages" "$codename" "deb $uri $codename main" >&2
        mkdir "$work/bin"
        write_compiler_scripts "$work"
        "write_emulator_script_${cross_emulator%-*}" "$work"
        chmod 755 "$work"/bin/*
        mv -T "$work" "$folder" 2>/dev/null || rm -rf "$work" # another run may have been faster
    fi
    echo "$folder"
}

# Prints the lines with which each script begins. $root and $libraries are then known.
script_head() {
    cat <<'SCRIPT'
#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")/root
for libraries in "$root"/usr/lib/*-linux-gnu; do :; done
export LD_LIBRARY_PATH="$libraries"
SCRIPT
}

write_compiler_scripts() {
    local program name options
    for program in "$1"/root/usr/bin/"$cross_triplet"-*; do
        name=${program##*/} options=
        case $name in *-gcc* | *-g++*) options=${cross_sysroot:+'--sysroot="$root"'} ;; esac
        { script_head; echo "exec \"\$root/usr/bin/$name\" $options \"\$@\""; } >"$1/bin/$name"
    done
}

# The variable LD_LIBRARY_PATH is for qemu and not for the program that it runs.
write_emulator_script_qemu() {
    { script_head
      echo "QEMU_LD_PREFIX=\"\$root/usr/$cross_triplet\" exec \"\$root/usr/bin/$cross_emulator\" -U LD_LIBRARY_PATH \"\$@\""
    } >"$1/bin/$cross_emulator"
}

# Debian's wineserver is a script that looks for the program in the system's folders, and so does wine for a library of
# another package. Wine takes the encoding of file names from the locale. The test of a device would take seconds with
# wine's vulkan-1.dll, which needs a display.
write_emulator_script_wine64() {
    ln -sf wineserver64 "$1/root/usr/lib/wine/wineserver"
    { script_head
      cat <<'SCRIPT'
export WINEPREFIX="${WINEPREFIX:-$(dirname "$root")/prefix}"
export WINEPATH="$root/usr/x86_64-w64-mingw32/lib" LC_ALL=C.UTF-8 WINEDEBUG="${WINEDEBUG:--all}"
export WINEDLLOVERRIDES="${WINEDLLOVERRIDES-vulkan-1=}"
exec "$root/usr/lib/wine/wine64" "$@"
SCRIPT
    } >"$1/bin/wine64"
}

# Prints the folder of Catch2's source. Debian has it as a library for its own systems only.
fetch_catch2_source() {
    local archive uri codename suite hash folder work options
    archive=$(debian_archive) || return 1
    read -r uri codename <<<"$archive"
    suite=$codename
    if [ "$codename" = bookworm ]; then suite=bookworm-backports; fi
    hash=$(echo "$suite" | sha256sum | cut -c1-12)
    folder="${XDG_CACHE_HOME:-$HOME/.cache}/vkflash/catch2-$hash"
    if [ ! -e "$folder" ]; then
        say "fetching Catch2's source of Debian $suite"
        work=$(mktemp -d "$folder.XXXXXX")
        chmod 755 "$work"
        mkdir -p "$work"/apt/{lists,cache,archive} "$work/source"
        echo "deb-src $uri $suite main" >"$work/apt/sources.list"
        options=(-qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
            -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root)
        apt_get "${options[@]}" update >&2
        (cd "$work/apt/archive" && apt_get "${options[@]}" source --download-only catch2 >&2)
        tar xf "$work"/apt/archive/catch2_*.orig.tar.* -C "$work/source" --strip-components=1
        rm -rf "$work/apt"
        mv -T "$work" "$folder" 2>/dev/null || rm -rf "$work"
    fi
    echo "$folder/source"
}

# build_catch2 TARGET: builds Catch2 for the target, once. Prints where CMake finds it.
build_catch2() {
    local folder=$PWD/build/cross/$1/catch2 source
    if [ ! -e "$folder/installed" ]; then
        source=$(fetch_catch2_source)
        say "building Catch2 for $1"
        mkdir -p "$folder"
        { cmake --fresh -G Ninja -S "$source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$1.cmake" -DCMAKE_INSTALL_PREFIX="$folder/root" \
            -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_CXX_STANDARD=20 \
            -DBUILD_TESTING=OFF &&
            ninja -C "$folder/build" install; } >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
        touch "$folder/installed"
    fi
    echo "$folder/root/lib/cmake/Catch2"
}

cross() {
    local target=${1:-help} folder catch2
    if [ "$target" = help ]; then cross_help; return; fi
    shift
    describe_cross_target "$target"
    need_programs cmake:cmake ninja-build:ninja g++:c++
    # The headers and glslang of the unpacked packages. Headers of this system would hide those of the target.
    toolchain_root=$(fetch_root "vulkan cpp")
    folder=$(fetch_cross "$target")
    PATH=$folder/bin:$PATH
    mkdir -p build/cross
    catch2=$(build_catch2 "$target")
    configure "build/cross/$target" release -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$target.cmake" \
        -DCatch2_DIR="$catch2" -DVKFLASH_INSTALL=OFF
    ninja -C "build/cross/$target" >&2
    if [ "$target" = windows ] && [ ! -e "$folder/prefix" ]; then
        say "making a folder for wine"
        wine64 wineboot --init >build/cross/wineboot.log 2>&1 || { cat build/cross/wineboot.log >&2; exit 1; }
    fi
    # Browser and Python are of this system, and their tests do not depend on the target.
    VKFLASH_TEST_BROWSER=none VKFLASH_TEST_PYTHON=none run_tests "build/cross/$target" "$@"
}
