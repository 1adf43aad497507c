#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests packages: unpacks them into an empty root, and uses them like someone who installed them.
#
#   check_packages.sh PACKAGES WORK VULKAN_INCLUDE [WORD...]
#
# PACKAGES         folder of the packages of one version, or CPackConfig.cmake of a build, which then makes them
# WORK             folder for the root and for programs that are built against it; it is deleted first
# VULKAN_INCLUDE   folder of the Vulkan headers
# WORD...          words that start a program on a Vulkan driver
set -euo pipefail
shopt -s inherit_errexit nullglob
packages=$(realpath "$1") vulkan=$3
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
rm -rf "$2"
mkdir -p "$2"
work=$(realpath "$2")
shift 3

fail() { echo "packages: $*" >&2; exit 1; }
say() { echo "packages: $*"; }
for program in cpack dpkg-deb dpkg-shlibdeps file pkg-config readelf; do
    command -v $program >/dev/null || { say "skipped, because $program was not found"; exit 0; }
done

if [ -f "$packages" ]; then
    cpack --config "$packages" -B "$work/packages" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log" >&2; exit 1; }
    packages=$work/packages
fi

version=$(sed -nE 's/^#define VKF_VERSION_(MAJOR|MINOR|PATCH) //p' "$source/include/vkflash/types.h" | paste -sd .)
soname=libvkflash.so.${version%%.*}
runtime=libvkflash${version%%.*}

# run WORD...: starts a program on the driver, with the library of the root.
run() {
    local words=() word before=
    for word in "${prefix[@]}"; do
        [ "$before" != --library-path ] || word=$word:$lib
        words+=("$word")
        before=$word
    done
    LD_LIBRARY_PATH=$lib "${words[@]}" "$@"
}
prefix=("${@:-env}")

check_fields() {
    local name=$1 deb=$2 depends
    depends=$(dpkg-deb --field "$deb" Depends)
    [ "$(dpkg-deb --field "$deb" Version)" = "$version-1" ] || fail "$deb is not of version $version-1"
    [ "$(dpkg-deb --field "$deb" Source)" = vkflash ] || fail "$deb has another source than vkflash"
    case $name in
        "$runtime") [[ $depends == *libc6* && $depends != *vkflash* ]] || fail "$name depends on: $depends" ;;
        *) [[ $depends == *"$runtime (= $version-1)"* ]] || fail "$name depends on: $depends" ;;
    esac
    for document in copyright changelog.gz changelog.Debian.gz; do
        [ -s "$root/usr/share/doc/$name/$document" ] || fail "$name has no $document"
    done
}

# The library exports what its headers declare, and nothing else. The functions of reference.h are in a static library.
check_library() {
    local library exported declared header
    library=$(find "$root/usr/lib" -name "libvkflash.so.$version" -type f)
    [ -n "$library" ] || fail "$runtime has no libvkflash.so.$version"
    [[ $(readelf -d "$library") == *"Library soname: [$soname]"* ]] || fail "$library is not $soname"
    [ "$(readlink "${library%/*}/$soname")" = "libvkflash.so.$version" ] || fail "$soname is no link to $library"
    ! readelf -d "$library" | grep -E 'RUNPATH|RPATH' || fail "$library looks for libraries in a folder of its own"
    exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
    declared=$(for header in "$root"/usr/include/vkflash/*.h; do
        [ "${header##*/}" = reference.h ] || tr '\n' ' ' <"$header"
    done | grep -oE 'VKF_API [^;]*;' | grep -oE '\bvkf[A-Z][A-Za-z0-9]*\(' | tr -d '(' | sort -u)
    [ -n "$declared" ] && [ "$exported" = "$declared" ] ||
        fail "libvkflash does not export what its headers declare:" "$(diff <(echo "$declared") <(echo "$exported"))"
    say "$(wc -l <<<"$exported") functions are exported, as many as the headers declare"
}

check_consumers() {
    local prefix_of_package=$1 name=$2
    cmake -D "SOURCE=$source/include/vkflash" -D "PREFIX=$prefix_of_package" \
        -P "$source/tests/consumers/installed_headers.cmake"
    cmake -S "$source/tests/consumers/cpp17" -B "$work/$name" -DCMAKE_PREFIX_PATH="$prefix_of_package" \
        -DVKFLASH_VULKAN_INCLUDE_DIR="$vulkan" -DCMAKE_BUILD_TYPE=Release >"$work/$name.log" ||
        { cat "$work/$name.log" >&2; exit 1; }
    cmake --build "$work/$name" >>"$work/$name.log" || { cat "$work/$name.log" >&2; exit 1; }
    "$work/$name/consumer" || fail "a program in C++ does not run with $name"
    say "a program in C++ runs with $name, found by CMake"
}

# With the flags of pkg-config, and on a device.
check_c() {
    cmake -D CC=cc -D "PREFIX=$root/usr" -D "VULKAN_INCLUDE_DIR=$vulkan" -D "OUTPUT=$work/consumer_c11" \
        -D RUN_PREFIX=true -P "$source/tests/consumers/c11/build.cmake"
    run "$work/consumer_c11" || fail "a program in C does not run"
    say "a program in C runs, found by pkg-config"
}

check_tools() {
    local page found command program=$root/usr/bin/vkflash
    [ "$(LD_LIBRARY_PATH=$lib "$program" --version)" = "vkflash $version" ] || fail "vkflash --version is wrong"
    ! readelf -d "$program" | grep -E 'RUNPATH|RPATH' || fail "$program looks for libraries in a folder of its own"
    found=
    for page in "$root"/usr/share/man/man1/*.1.gz; do
        found=$found$(zcat "$page" | groff -man -Tutf8 -ww -z 2>&1)
    done
    [ -z "$found" ] || fail "groff does not like the manual pages: $found"
    for command in $(LD_LIBRARY_PATH=$lib "$program" --help | awk '/^[^ ]/ { inside = $0 == "Commands" }
            inside && /^  [^ ]/ { print $1 }'); do
        [ -s "$root/usr/share/man/man1/vkflash-$command.1.gz" ] || fail "vkflash $command has no manual page"
    done
    run "$program" demo --samples "$root/usr/share/vkflash/samples" >"$work/demo.txt" ||
        { cat "$work/demo.txt"; fail "vkflash demo fails"; }
    say "vkflash demo runs, and all commands have manual pages"
}

check_python() {
    local folder=$root/usr/lib/python3/dist-packages
    [ -e "$folder/vkflash/py.typed" ] || fail "the module for Python is not typed"
    if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
        say "no NumPy for /usr/bin/python3: the module is not loaded"
        return
    fi
    PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 run /usr/bin/python3 - "$version" <<'PROGRAM' || fail "the module fails"
import sys
import numpy as np
import vkflash

assert vkflash.__version__ == sys.argv[1], vkflash.__version__
x = np.random.rand(2, 4, 9, 32).astype(np.float32)
o = vkflash.attention(x, x, x, functions="bool keep(Position at) { return at.key == at.row; }")
assert np.array_equal(o, x), np.abs(o - x).max()
print("packages: the module runs in Python", *sys.version.split()[:1], "on", vkflash.default_device().name)
PROGRAM
}

check_archive() {
    local top
    mkdir "$work/unpacked"
    tar -xzf "$1" -C "$work/unpacked"
    top=("$work"/unpacked/*)
    [ ${#top[@]} -eq 1 ] || fail "$1 has several folders at its top"
    check_consumers "${top[0]}" archive
    if [ -x "${top[0]}/bin/vkflash" ]; then
        [ "$("${top[0]}/bin/vkflash" --version)" = "vkflash $version" ] || fail "bin/vkflash of $1 does not run"
    fi
    ! grep -rlF "$source/" "$work/unpacked" || fail "$1 names folders of the machine that made it"
}

debs=("$packages"/*.deb)
[ ${#debs[@]} -gt 0 ] || fail "there are no packages in $packages"
root=$work/root
for deb in "${debs[@]}"; do dpkg-deb --extract "$deb" "$root"; done
lib=$(dirname "$(find "$root/usr/lib" -name "$soname")")
for deb in "${debs[@]}"; do
    name=$(dpkg-deb --field "$deb" Package)
    check_fields "$name" "$deb"
    case $name in
        "$runtime") check_library ;;
        libvkflash-dev) check_consumers "$root/usr" libvkflash-dev; check_c ;;
        vkflash-tools) check_tools ;;
        python3-vkflash) check_python ;;
        *) fail "there is no test for $name" ;;
    esac
done
! grep -rlF "$source/" "$root" || fail "a package names folders of the machine that made it"
for archive in "$packages"/*.tar.gz; do check_archive "$archive"; done
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error --suppress-tags "initial-upload-closes-no-bugs" "${debs[@]}" ||
        fail "lintian found errors"
    say "lintian found no errors"
fi
