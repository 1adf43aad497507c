#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts the Python in the folder root/ beside this script, which has a C library and a dynamic loader of its own.
#
#   VKFLASH_VULKAN_ROOT   folder with lib/ and share/ of a Vulkan loader and a software driver; "" = those of this
#                         machine
# The variable VKFLASH_PYTHON_COMMAND tells programs how to start another Python.
export VKFLASH_PYTHON_COMMAND="$(readlink -f "$0")"
usr=$(dirname "$VKFLASH_PYTHON_COMMAND")/root/usr
newest=0 path=
for root in ${VKFLASH_VULKAN_ROOT:+"$VKFLASH_VULKAN_ROOT"} "$usr"; do
    for candidate in "$root"/lib/*/ld-linux*.so.*; do
        # The newest of the C libraries runs programs that were built for an older one.
        version=$("$candidate" --version | sed -nE '1s/.*GLIBC ([0-9.]+).*/\1/p')
        if [ "$(printf '%s\n' "$newest" "$version" | sort -V | tail -n 1)" != "$newest" ]; then
            newest=$version path=${candidate%/*}:$path loader=$candidate
        else
            path=$path${candidate%/*}:
        fi
    done
done
if [ -n "${VKFLASH_VULKAN_ROOT:-}" ]; then
    export VK_DRIVER_FILES="$VKFLASH_VULKAN_ROOT/share/vulkan/icd.d/lvp_icd.json"
    export VK_LAYER_PATH="$VKFLASH_VULKAN_ROOT/share/vulkan/explicit_layer.d"
fi
PYTHONHOME=$usr PYTHONDONTWRITEBYTECODE=1 exec "$loader" --library-path "${path%:}" "$usr/bin/python3" "$@"
