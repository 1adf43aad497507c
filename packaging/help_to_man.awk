# SPDX-License-Identifier: MIT
# Makes a manual page of the text of --help-all. write_man_pages.sh starts it.
#
#   awk -v name=vkflash-run -v version=0.5.0 -v date=2026-01-31 -v also="vkflash(1)" -f help_to_man.awk
#
# The text has a summary, the lines "Usage:" and "Example:", and groups. A group is a title and its entries: a name
# after 2 spaces, and its text after 28 spaces, or behind the name.

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

# whatis wants "name - what it does", in one line.
function title(text) {
    sub(/\. .*/, "", text)
    sub(/\.$/, "", text)
    return tolower(substr(text, 1, 1)) substr(text, 2)
}

BEGIN { state = "summary" }

state == "summary" && /^$/ {
    printf ".TH %s 1 \"%s\" \"vkflash %s\" \"vkflash\"\n", escaped(toupper(name)), date, version
    printf ".SH NAME\n%s \\- %s\n", escaped(name), escaped(title(summary))
    state = "usage"
    next
}
state == "summary" { summary = summary (summary == "" ? "" : " ") $0; next }

/^Usage: / { sub(/^Usage: */, ""); printf ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n%s\n", escaped($0), escaped(summary); next }
/^Example: / { sub(/^Example: */, ""); example = $0; next }
/^$/ { next }
# The last line points to other helps; "SEE ALSO" does it here.
/ COMMAND --help explains a command\.$/ { next }
/^  [^ ]/ {
    entry = substr($0, 3)
    text = ""
    # Two spaces end a name that leaves room for its text.
    if (match(entry, /  +/)) {
        text = substr(entry, RSTART + RLENGTH)
        entry = substr(entry, 1, RSTART - 1)
    }
    printf ".TP\n\\fB%s\\fR\n", escaped(entry)
    if (text != "") print escaped(text)
    next
}
/^ / { sub(/^ +/, ""); print escaped($0); next }
{ printf ".SH %s\n", escaped(toupper($0)) }

END {
    if (example != "") printf ".SH EXAMPLE\n.nf\n%s\n.fi\n", escaped(example)
    printf ".SH SEE ALSO\n%s\n", escaped(also)
}
