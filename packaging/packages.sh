# SPDX-License-Identifier: MIT
# Part of ./dev: makes the packages of this folder, and tests them.

# Sets debian_python_options to CMake's options for the module of the system's own Python. Leaves it empty if Python's
# headers or nanobind are not there.
find_debian_python() {
    debian_python_options=()
    (need_programs python3-dev:/usr/bin/python3-config) || return 1
    fetch_python_program || return 1
    debian_python_options=(-DVKFLASH_PYTHON=ON -DPython_EXECUTABLE=/usr/bin/python3)
    if [ -d "$python_cache/root" ]; then
        debian_python_options+=("-DVKFLASH_NANOBIND=$python_cache/root/usr/share/nanobind")
    fi
}

# NumPy of the system's own Python, for the test of the module.
install_numpy() {
    ! /usr/bin/python3 -c 'import numpy' 2>/dev/null || return 0
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    say "installing python3-numpy"
    { apt_get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt_get install -y -qq --no-install-recommends python3-numpy; } </dev/null >&2
}

package() {
    local prefix
    need_programs dpkg-dev:dpkg-shlibdeps file:file pkg-config:pkg-config
    (need_programs lintian:lintian) || say "no lintian: it does not look at the packages"
    ensure_toolchain
    find_debian_python || say "no Python with its headers and nanobind: python3-vkflash is left out"
    install_numpy || say "no NumPy: python3-vkflash is not run"
    # The packages have the date of the last commit.
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
    rm -rf build/package/dev_stamp build/packages
    configure build/package shared -DVKFLASH_PACKAGES=ON -DCMAKE_INSTALL_PREFIX=/usr -DVKFLASH_BUILD_EXAMPLES=OFF \
        -DVKFLASH_GGML_LAYER=OFF "${debian_python_options[@]}" "$@"
    ninja -C build/package | show_build >&2
    cpack --config build/package/CPackConfig.cmake -B build/packages >build/package/cpack.log 2>&1 ||
        { cat build/package/cpack.log >&2; die "cpack failed"; }
    rm -rf build/packages/_CPack_Packages
    read -ra prefix <<<"$(run_prefix)"
    tests/packages/check_packages.sh build/packages build/package/check \
        "$(sed -n 's/^VKF_VULKAN_INCLUDE_DIR:[A-Z]*=//p' build/package/CMakeCache.txt)" "${prefix[@]}"
    say "the packages are in build/packages:"
    (cd build/packages && ls -1)
}
