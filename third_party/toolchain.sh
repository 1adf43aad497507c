# SPDX-License-Identifier: MIT
# Part of ./dev: finds or fetches what the build and the tests need. Changes the system only through apt-get, and only
# as root.

# Packages of a newer Debian, for Debian systems with too old packages. They are unpacked into a folder and use the C
# library in that folder; see cmake/VkfToolchainRoot.cmake.
readonly vulkan_suite=testing
readonly vulkan_packages=glslang-tools,glslang-dev,spirv-tools,spirv-tools-dev,libvulkan-dev,libvulkan-volk-dev,libvulkan-memory-allocator-dev,mesa-vulkan-drivers,vulkan-validationlayers
# Packages of the running release or its backports. The system's compiler links them.
readonly cpp_packages=catch2,libcli11-dev,libfmt-dev,nlohmann-json3-dev
# Packages of the running release: the browser that shows a page in the tests.
readonly browser_packages=chromium-headless-shell,fonts-dejavu-core
# RADV, AMD's driver in Mesa, that compiles for chips which the machine does not have. Later releases of Debian have
# Mesa 26, which has no RADV_FORCE_FAMILY.
readonly radv_suite=trixie
readonly radv_packages=mesa-vulkan-drivers,libvulkan1

# clang for the kernels of path wgmma (ptx_compiler.cmake), and the libraries that small systems lack. The packages have
# the same names in all releases.
readonly ptx_packages="clang-19 libclang-cpp19 libllvm19 libclang-common-19-dev libz3-4 libedit2 libbsd0 libmd0 libffi8"

# need_programs PACKAGE:PROGRAM... installs the packages of missing programs.
need_programs() {
    local entry missing=()
    for entry in "$@"; do
        command -v "${entry#*:}" >/dev/null || missing+=("${entry%%:*}")
    done
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    if ! command -v apt-get >/dev/null; then
        die "please install: ${missing[*]}"
    elif [ "$(id -u)" -ne 0 ]; then
        die "please install what is missing:  sudo apt-get install ${missing[*]}"
    fi
    say "installing ${missing[*]}"
    retry install_packages "${missing[@]}"
}

install_packages() {
    apt_get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt_get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

# retry COMMAND...: runs it once more if it fails. Archives come back, and other programs stop using apt.
retry() {
    "$@" && return
    say "that failed; trying again in 15 seconds"
    sleep 15
    "$@"
}

# The release file of an archive may have expired. apt refuses it without this option.
apt_get() {
    local wait=DPkg::Lock::Timeout=300 # another program may be installing packages
    apt-get -o "$wait" "$@" || apt-get -o "$wait" -o Acquire::Check-Valid-Until=false "$@"
}

# Prints "URI CODENAME": the archive from which this machine installs Debian packages, and its release.
debian_archive() {
    [ -r /etc/os-release ] || return 1
    local ID="" VERSION_CODENAME="" uri files
    # shellcheck source=/dev/null
    . /etc/os-release
    [ "$ID" = debian ] || return 1
    files=$(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.sources' -o -name '*.list' 2>/dev/null)
    # shellcheck disable=SC2086
    uri=$(awk -v suite="$VERSION_CODENAME" '
        FILENAME ~ /\.sources$/ && /^URIs:/ { uri = $2 }
        FILENAME ~ /\.sources$/ && /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) found = 1 }
        FILENAME ~ /\.sources$/ && found && uri != "" { print uri; exit }
        FILENAME ~ /\.sources$/ && /^$/ { uri = ""; found = 0 }
        FILENAME ~ /\.list$/ && $1 == "deb" {
            sub(/\[[^]]*\] */, ""); if ($3 == suite) { print $2; exit }
        }' $files)
    [ -n "$uri" ] && echo "$uri $VERSION_CODENAME"
}

# unpack FOLDER PACKAGES RELEASE APT_LINE... : unpacks packages with their dependencies. Runs none of their scripts.
unpack() {
    local folder=$1 packages=$2 release=$3 line
    # chrootless: needs no rights that an ordinary user or a container lacks.
    local options=(--mode=chrootless --variant=extract --include="$packages"
        --aptopt="APT::Default-Release \"$release\"")
    shift 3
    [ -t 2 ] || options+=(--quiet) # a terminal shows the progress
    # Takes over this machine's apt settings for a proxy and for expired release files.
    while read -r line; do options+=(--aptopt="$line"); done < <(
        apt-config dump --format '%f "%v";%n' 2>/dev/null |
            grep -E '^Acquire::(https?::Proxy|Check-Valid-Until) ' || true)
    printf '%s\n' "$@" >"$folder.list"
    rm -rf "$folder" # of an earlier try
    if ! mmdebstrap "${options[@]}" "" "$folder" "$folder.list"; then
        say "trying again, and accepting an expired release file of the archive"
        rm -rf "$folder"
        mmdebstrap "${options[@]}" --aptopt='Acquire::Check-Valid-Until "false"' "" "$folder" "$folder.list"
    fi
}

# cache_folder NAME WORDS...: prints a folder of the user's cache. Its name changes with the words: what is fetched into
# it, and how.
cache_folder() {
    local name=$1
    shift
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/vkflash/$name$(echo "$*" | sha256sum | cut -c1-12)"
}

# fetch_packages FOLDER SUITE PACKAGES TEXT [FUNCTION]: unpacks packages of a Debian release, and what they depend on,
# into FOLDER/root, unless FOLDER is there. FUNCTION gets the folder before it has its name. Fails if they cannot be
# fetched.
fetch_packages() {
    local folder=$1 suite=$2 packages=$3 text=$4 finish=${5:-true} archive uri work
    [ ! -e "$folder" ] || return 0
    archive=$(debian_archive) || return 1
    uri=${archive% *}
    (need_programs mmdebstrap:mmdebstrap) || return 1
    work=$(work_folder "$folder")
    say "fetching $text of Debian $suite"
    if ! retry unpack "$work/root" "$packages" "$suite" "deb $uri $suite main" >&2 || ! "$finish" "$work"; then
        rm -rf "$work"
        return 1
    fi
    finish_folder "$work" "$folder"
}

# work_folder FOLDER: makes a folder beside FOLDER and prints its path.
work_folder() {
    local work
    mkdir -p "${1%/*}"
    work=$(mktemp -d "$1.XXXXXX")
    chmod 755 "$work"
    echo "$work"
}

# finish_folder WORK FOLDER: gives the folder its name. Another run may have been faster. Its folder is just as good.
finish_folder() { mv -T "$1" "$2" 2>/dev/null || rm -rf "$1"; }

# write_script FILE: makes a program of the script on the standard input.
write_script() {
    cat >"$1"
    chmod 755 "$1"
}

# fetch_root GROUPS: makes the toolchain root for the missing groups (vulkan, cpp) and prints its path. The root is in
# the user's cache. Its name changes with the package lists.
fetch_root() {
    local groups=$1 archive uri codename root work
    archive=$(debian_archive) ||
        die "this system's Vulkan tools are missing or too old (see above), and ./dev can fetch them only on Debian; install the Vulkan SDK and set VULKAN_SDK"
    read -r uri codename <<<"$archive"
    root=$(cache_folder "" "$groups $codename $vulkan_suite $vulkan_packages $cpp_packages")
    if [ ! -e "$root" ]; then
        need_programs mmdebstrap:mmdebstrap
        work=$(work_folder "$root")
        case " $groups " in *" vulkan "*)
            say "fetching Vulkan tools and drivers of Debian $vulkan_suite (about 150 MB)"
            unpack "$work/vulkan" "$vulkan_packages" "$vulkan_suite" "deb $uri $vulkan_suite main" ;;
        esac
        case " $groups " in *" cpp "*)
            say "fetching C++ libraries of Debian $codename"
            unpack_cpp "$work/cpp" "$uri" "$codename" ;;
        esac
        finish_folder "$work" "$root"
    fi
    echo "$root"
}

unpack_cpp() {
    local folder=$1 uri=$2 codename=$3
    if [ "$codename" = bookworm ]; then # Catch2 of bookworm itself is 2.13
        unpack "$folder" "$cpp_packages" bookworm-backports \
            "deb $uri bookworm main" "deb $uri bookworm-backports main"
    else
        unpack "$folder" "$cpp_packages" "$codename" "deb $uri $codename main"
    fi
}

# Checks whether this machine has everything, once for every change of third_party/. Fetches what is missing. Sets
# toolchain_root; it is empty if the machine's own tools are enough.
ensure_toolchain() {
    ensure_ptx_compiler
    local setup=build/setup key missing
    need_programs cmake:cmake ninja-build:ninja g++:c++
    key=$(cat third_party/* cmake/VkfToolchainRoot.cmake | sha256sum)
    if [ -r "$setup/root" ] && [ "$(cat "$setup/key")" = "$key" ]; then
        toolchain_root=$(cat "$setup/root")
        if [ -z "$toolchain_root" ] || [ -d "$toolchain_root" ]; then return; fi
    fi
    say "looking for the tools that the build needs"
    mkdir -p build
    toolchain_root=
    if ! check_toolchain >build/setup.log 2>&1; then
        missing=$(sed -nE 's/^-- ([^:]*): .*(not found|too old|does not tell).*/\1/p' build/setup.log |
            paste -sd, | sed 's/,/, /g')
        [ -n "$missing" ] || { cat build/setup.log >&2; exit 1; }
        say "this system lacks, or has too old: $missing"
        toolchain_root=$(fetch_root "$(tr ';' ' ' <"$setup/missing_groups.txt")")
        check_toolchain >build/setup.log 2>&1 || { cat build/setup.log >&2; exit 1; }
        say "taking them from $toolchain_root"
    fi
    echo "$key" >"$setup/key"
    echo "$toolchain_root" >"$setup/root"
}

check_toolchain() {
    rm -rf build/setup
    cmake -G Ninja -S third_party -B build/setup -DVKFLASH_TOOLCHAIN_ROOT="$toolchain_root"
}

# Finds or fetches clang for the kernels of path wgmma. Sets ptx_compiler. Without one the build leaves out the path.
ensure_ptx_compiler() {
    ptx_compiler=${VKFLASH_PTX_COMPILER:-}
    if [ -z "$ptx_compiler" ]; then
        ptx_compiler=$(find_ptx_compiler || fetch_ptx_compiler) || say "no clang 17 or later: path wgmma is left out"
    fi
}

find_ptx_compiler() {
    local name version
    for name in clang++-19 clang++-20 clang++-21 clang++-18 clang++-17 clang++; do
        command -v "$name" >/dev/null || continue
        version=$("$name" -dumpversion 2>/dev/null | cut -d. -f1)
        if [ "${version:-0}" -ge 17 ] && "$name" -print-targets 2>/dev/null | grep nvptx64 >/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# Prints the path of a script that starts the fetched clang. The compiler is of this system's release and uses its C
# library. apt fetches just these packages, without their dependencies.
fetch_ptx_compiler() {
    local archive uri codename root work apt package
    archive=$(debian_archive) || return 1
    read -r uri codename <<<"$archive"
    root=$(cache_folder clang- "$codename $ptx_packages")
    if [ ! -e "$root" ]; then
        work=$(work_folder "$root")
        mkdir -p "$work/root" "$work/apt/lists/partial" "$work/apt/archives/partial"
        say "fetching clang 19 of Debian $codename for the kernels of path wgmma (about 40 MB)"
        echo "deb $uri $codename main" >"$work/apt/sources.list"
        apt=(-q -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=- -o APT::Sandbox::User=
            -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt")
        # shellcheck disable=SC2086
        if ! { retry apt_get "${apt[@]}" update && cd "$work/apt" &&
            retry apt_get "${apt[@]}" download $ptx_packages; } >&2; then
            rm -rf "$work"
            return 1
        fi
        for package in "$work"/apt/*.deb; do
            dpkg-deb -x "$package" "$work/root" || { rm -rf "$work"; return 1; }
        done
        rm -rf "$work/apt"
        write_script "$work/clang" <<'SCRIPT'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
for lib in "$root"/usr/lib/*-linux-gnu*; do :; done
LD_LIBRARY_PATH=$lib exec "$root/usr/lib/llvm-19/bin/clang" "$@"
SCRIPT
        finish_folder "$work" "$root"
    fi
    echo "$root/clang"
}

# Finds or fetches a browser and a Python with matplotlib, for the tests of pages and figures. Passes them to the tests
# in VKFLASH_TEST_BROWSER and VKFLASH_TEST_PYTHON. Without them the tests are skipped.
ensure_page_tools() {
    if [ -z "${VKFLASH_TEST_BROWSER:-}" ]; then
        VKFLASH_TEST_BROWSER=$(find_browser || fetch_browser) || say "no browser: tests of pages are skipped"
        export VKFLASH_TEST_BROWSER
    fi
    if [ -z "${VKFLASH_TEST_PYTHON:-}" ]; then
        VKFLASH_TEST_PYTHON=$(find_python || { install_matplotlib && find_python; }) ||
            say "no Python with matplotlib (Debian: python3-matplotlib): tests of figures are skipped"
        export VKFLASH_TEST_PYTHON
    fi
}

find_browser() {
    local name
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

find_python() {
    local name
    for name in python3 /usr/bin/python3; do
        if "$name" -c 'import matplotlib' 2>/dev/null; then command -v "$name"; return; fi
    done
    return 1
}

install_matplotlib() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    say "installing python3-matplotlib"
    { apt_get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt_get install -y -qq --no-install-recommends python3-matplotlib; } \
        </dev/null >&2
}

# Prints the path of a script that starts the fetched browser. The browser is of this system's release and uses its C
# library.
fetch_browser() {
    local archive codename root
    archive=$(debian_archive) || return 1
    command -v mmdebstrap >/dev/null || return 1
    codename=${archive#* }
    root=$(cache_folder browser- "$codename $browser_packages")
    fetch_packages "$root" "$codename" "$browser_packages" "a browser (about 150 MB)" add_browser_script || return 1
    echo "$root/browser"
}

add_browser_script() {
    write_script "$1/browser" <<'SCRIPT'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
for lib in "$root"/usr/lib/*-linux-gnu*; do :; done
FONTCONFIG_SYSROOT=$root LD_LIBRARY_PATH=$lib:$lib/pulseaudio \
    exec "$root/usr/lib/chromium/chromium-headless-shell" "$@"
SCRIPT
}

# Finds SwiftShader, the Vulkan driver of Chromium, for the tests on a second driver. Passes its description to the tests
# in VKFLASH_TEST_SWIFTSHADER. Without it these tests are skipped.
ensure_swiftshader() {
    if [ -z "${VKFLASH_TEST_SWIFTSHADER:-}" ]; then
        VKFLASH_TEST_SWIFTSHADER=$(find_swiftshader) || say "no SwiftShader: the tests on a second driver are skipped"
        export VKFLASH_TEST_SWIFTSHADER
    fi
}

find_swiftshader() {
    local file=/usr/lib/chromium/vk_swiftshader_icd.json browser
    if [ ! -r "$file" ]; then
        browser=$(fetch_browser) || return 1
        file=${browser%/*}/root$file
    fi
    [ -r "$file" ] && echo "$file"
}

# Prints the path of a script that starts a program with the fetched RADV: `SCRIPT PROGRAM ARGS...`. The script uses the
# C library of the fetched release.
fetch_radv() {
    local root
    command -v mmdebstrap >/dev/null || return 1
    root=$(cache_folder radv- "$radv_suite $radv_packages")
    fetch_packages "$root" "$radv_suite" "$radv_packages" "AMD's compiler in Mesa (about 100 MB)" add_radv_script ||
        return 1
    echo "$root/with_radv"
}

add_radv_script() {
    [ -e "$1/root/usr/share/vulkan/icd.d/radeon_icd.json" ] || return 1
    # Compile times are true only without the cache of shaders.
    write_script "$1/with_radv" <<'SCRIPT'
#!/bin/sh
usr=$(dirname "$(readlink -f "$0")")/root/usr
for loader in "$usr"/lib/*/ld-linux*.so.*; do :; done
MESA_SHADER_CACHE_DISABLE=true VK_DRIVER_FILES=$usr/share/vulkan/icd.d/radeon_icd.json \
    exec "$loader" --library-path "${loader%/*}" "$@"
SCRIPT
}

# Fetches RADV for the test of AMD's compiler, and passes it to the test in VKFLASH_TEST_RADV. Without it the test is
# skipped.
ensure_radv() {
    if [ -z "${VKFLASH_TEST_RADV:-}" ]; then
        VKFLASH_TEST_RADV=$(fetch_radv) || say "no RADV that describes chips: the test of AMD's compiler is skipped"
        export VKFLASH_TEST_RADV
    fi
}
