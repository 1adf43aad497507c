# SPDX-License-Identifier: MIT
# Part of ./dev: finds or fetches Python with what the package of this folder needs, and runs it with the built module.
# Changes nothing of the system.

# Packages of the newer Debian that third_party/toolchain.sh names.
readonly python_packages=python3,python3-dev,python3-numpy,python3-ml-dtypes,nanobind-dev,python3-nanobind,python3-scikit-build-core,python3-pytest

# Sets python_program to a command that starts Python: VKFLASH_PYTHON_PROGRAM, or what was fetched before. Leaves it empty if
# there is neither. Sets python_options to CMake's options for the module.
find_python_program() {
    python_cache=$(cache_folder python- "$vulkan_suite $python_packages"$'\n'"$(cat integrations/python/fetched_python.sh)")
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
    find_python_program
    [ -z "$python_program" ] || return 0
    fetch_packages "$python_cache" "$vulkan_suite" "$python_packages" "Python, NumPy and nanobind (about 60 MB)" \
        add_python_script || return 1
    find_python_program
}

add_python_script() { write_script "$1/python" <integrations/python/fetched_python.sh; }

python() {
    ensure_toolchain
    fetch_python_program || die "Python could not be fetched; set VKFLASH_PYTHON_PROGRAM to one with NumPy and nanobind"
    build vkflash_python
    cd "$caller_dir"
    PYTHONPATH="$OLDPWD/$build_dir/python${PYTHONPATH:+:$PYTHONPATH}" VKFLASH_VULKAN_ROOT=$(software_driver) \
        exec "$python_program" "$@"
}
