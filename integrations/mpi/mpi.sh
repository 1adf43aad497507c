# SPDX-License-Identifier: MIT
# Part of ./dev: finds or fetches an MPI, and runs the program of this folder over ranks. Changes nothing of the system.

# Packages of the running release: its compiler links them.
readonly mpi_packages=mpich,libmpich-dev

# Sets mpi_launcher to the words that start a program on several ranks, up to their number: the MPI of this machine, or
# what was fetched before. Leaves it empty if there is neither. Sets mpi_options to CMake's options.
find_mpi() {
    local archive
    mpi_launcher=() mpi_options=() mpi_libraries=
    if command -v mpirun >/dev/null && command -v mpicc >/dev/null; then
        mpi_launcher=(mpirun)
        # Open MPI asks to be told that several ranks may share a processor, and that root may start it.
        if [[ $(mpirun --version 2>/dev/null) == *'Open MPI'* ]]; then
            mpi_launcher+=(--oversubscribe)
            [ "$(id -u)" -ne 0 ] || mpi_launcher+=(--allow-run-as-root)
        fi
        mpi_options=(-DVKFLASH_MPI=ON)
        return
    fi
    archive=$(debian_archive) || return 0
    mpi_cache=$(cache_folder mpi- "${archive#* } $mpi_packages")
    if [ -d "$mpi_cache" ]; then
        mpi_libraries=$(echo "$mpi_cache"/root/usr/lib/*-linux-gnu)
        mpi_launcher=(env "LD_LIBRARY_PATH=$mpi_libraries" "$mpi_cache/root/usr/bin/mpiexec.hydra" -launcher fork)
        mpi_options=(-DVKFLASH_MPI=ON "-DVKFLASH_MPI_ROOT=$mpi_cache/root")
    fi
}

# Fetches MPICH if there is no MPI. Fails if it cannot be fetched.
fetch_mpi() {
    local archive
    find_mpi
    [ ${#mpi_options[@]} -eq 0 ] || return 0
    archive=$(debian_archive) || return 1
    fetch_packages "$mpi_cache" "${archive#* }" "$mpi_packages" "MPICH (about 130 MB)" remove_compilers || return 1
    find_mpi
}

# Compilers and documents come along as dependencies.
remove_compilers() { rm -rf "$1/root/usr/lib/gcc" "$1/root/usr/share/doc" "$1/root/usr/lib/llvm"*; }

# mpi -n P ARGS...: runs the program with ARGS on P ranks.
mpi() {
    local ranks=1 prefix
    if [ "${1:-}" = -n ]; then
        [ $# -gt 1 ] || die "mpi -n: is missing the number of ranks"
        ranks=$2
        shift 2
    fi
    ensure_toolchain
    fetch_mpi || die "no MPI: install MPICH or Open MPI"
    build vkflash_mpi_cli
    read -ra prefix <<<"$(mpi_prefix)"
    if [ -t 2 ]; then export VKFLASH_PROGRESS=1; fi
    (cd "$caller_dir" && exec "${mpi_launcher[@]}" -n "$ranks" "${prefix[@]}" "$OLDPWD/$build_dir/bin/vkflash_mpi" "$@")
}

# The words that start a rank: those of run_prefix, with the libraries of the fetched MPI behind those of the driver.
mpi_prefix() {
    local prefix
    prefix=$(run_prefix)
    if [ -n "$mpi_libraries" ]; then
        prefix=$(sed -E "s|(--library-path [^ ]*)|\1:$mpi_libraries|" <<<"$prefix")
    fi
    echo "$prefix"
}
