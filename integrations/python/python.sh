# SPDX-License-Identifier: MIT
# Part of ./dev: finds or fetches Python with what the package of this folder needs, and runs it with the built module.
# Changes nothing of the system.

# Packages of the newer Debian that third_party/toolchain.sh names.
readonly python_packages=python3,python3-dev,python3-numpy,python3-ml-dtypes,nanobind-dev,python3-nanobind,python3-scikit-build-core,python3-pytest

# Sets python_program to a command that starts Python: VKFLASH_PYTHON_PROGRAM, or what was fetched before. Leaves it empty if
# there is neither. Sets python_options to CMake's options for the module.
find_python_program() {
    local hash
    hash=$({ echo "$vulkan_suite $python_packages"; cat integrations/python/fetched_python.sh; } | sha256sum | cut -c1-12)
    python_cache="${XDG_CACHE_HOME:-$HOME/.cache}/vkflash/python-$hash"
    python_program=${VKFLASH_PYTHON_PROGRAM:-}
    python_options=()
    if [ -n "$python_program" ]; then
        python_options=(-DVKFLASH_PYTHON=ON "-DPython_EXECUTABLE=$python_program")
    elif [ -d "$python_cache" ]; then
        python_program=$python_cache/python
        python_options=(-DVKFLASH_PYTHON=ON "-DVKFLASH_PYTHON_ROOT=$python_cache/root/usr")
    fi
}

# Fetches Python if there is none. Fails if it cannot be fetched.
fetch_python_program() {
    local archive uri codename work
    find_python_program
    [ -z "$python_program" ] || return 0
    archive=$(debian_archive) || return 1
    read -r uri codename <<<"$archive"
    (need_programs mmdebstrap:mmdebstrap) || return 1
    mkdir -p "${python_cache%/*}"
    work=$(mktemp -d "$python_cache.XXXXXX")
    chmod 755 "$work"
    say "fetching Python, NumPy and nanobind of Debian $vulkan_suite (about 60 MB)"
    unpack "$work/root" "$python_packages" "$vulkan_suite" "deb $uri $vulkan_suite main" >&2 || { rm -rf "$work"; return 1; }
    cp integrations/python/fetched_python.sh "$work/python"
    chmod 755 "$work/python"
    mv -T "$work" "$python_cache" 2>/dev/null || rm -rf "$work" # another run may have been faster
    find_python_program
}

python() {
    ensure_toolchain
    fetch_python_program || die "Python could not be fetched; set VKFLASH_PYTHON_PROGRAM to one with NumPy and nanobind"
    build vkflash_python
    cd "$caller_dir"
    PYTHONPATH="$OLDPWD/$build_dir/python${PYTHONPATH:+:$PYTHONPATH}" VKFLASH_VULKAN_ROOT=$(software_driver) \
        exec "$python_program" "$@"
}
