#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes a manual page for the program vkflash and for each of its commands, from what --help-all says.
#
#   write_man_pages.sh PROGRAM VERSION DATE FOLDER
set -eu
program=$1 version=$2 date=$3 folder=$4
scripts=$(dirname "$0")

# commands WORD...: the sub-commands of a command.
commands() {
    "$program" "$@" --help-all | awk '/^[^ ]/ { inside = $0 == "Commands" } inside && /^  [^ ]/ { print $1 }'
}

# write WORD...: the page of a command, and those of its sub-commands.
write() {
    name=vkflash
    for word in "$@"; do name=$name-$word; done
    also=
    for command in $(commands "$@"); do also="$also, $name-$command(1)"; done
    [ $# -eq 0 ] || also=", vkflash(1)$also"
    "$program" "$@" --help-all |
        awk -v name="$name" -v version="$version" -v date="$date" -v also="${also#, }" -f "$scripts/help_to_man.awk" |
        gzip -9n >"$folder/$name.1.gz"
    for command in $(commands "$@"); do write "$@" "$command"; done
}

rm -rf "$folder"
mkdir -p "$folder"
write
