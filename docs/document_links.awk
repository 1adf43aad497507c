# SPDX-License-Identifier: MIT
#
# Input filter of Doxygen (docs/Doxyfile) for the documents. Their links are those of a file in the repository. This
# script turns them into links of the pages that Doxygen makes:
#
#   link                               becomes a link to
#   document.md#part, #part            the heading. Each heading gets the name DOCUMENT_PART for that.
#   ../include/vkflash/header.h        the page of the header
#   a picture of docs/figures          the copy that Doxygen makes
#   another file outside of docs       that file, seen from build/docs
#   document.md, https://...           what it is: Doxygen follows these itself

FNR == 1 { document = documentOf(FILENAME) }

/^```/ { isCode = !isCode }

isCode { print; next }

# The first heading is the title of the page, which the list of pages shows.
/^# / { gsub(/`/, "") }

/^##+ / { $0 = $0 " {#" document "_" partOf($0) "}" }

{
    text = ""
    line = $0
    while (match(line, /\]\([^)]*\)/)) {
        text = text substr(line, 1, RSTART + 1) target(substr(line, RSTART + 2, RLENGTH - 3)) ")"
        line = substr(line, RSTART + RLENGTH)
    }
    print text line
}

# docs/paths.md: paths
function documentOf(path) {
    sub(/.*\//, "", path)
    sub(/\.md$/, "", path)
    return path
}

# "## The `page`, now": the_page_now. A link has dashes instead of underscores.
function partOf(heading) {
    sub(/^#+ */, "", heading)
    heading = tolower(heading)
    gsub(/[ -]/, "_", heading)
    gsub(/[^a-z0-9_]/, "", heading)
    return heading
}

function target(link,    hash) {
    hash = index(link, "#")
    if (link ~ /^https?:/) { return link }
    if (hash == 1) { return "#" document "_" partOf(link) }
    if (hash > 1) { return "#" documentOf(substr(link, 1, hash - 1)) "_" partOf(substr(link, hash)) }
    # Doxygen takes each link to .md for a page of its own. The log of designs is none, nor are the README.md of other
    # folders. %2E is a dot.
    if (link ~ /(^|\/)lab\/|\/README\.md$/) { sub(/^\.\.\//, "", link); sub(/\.md$/, "%2Emd", link); return "../../" link }
    if (link ~ /\.md$/) { return link }
    if (link ~ /(^|\/)include\/vkflash\//) { return "@ref " nameOf(link) }
    if (link ~ /(^|\/)figures\//) { return nameOf(link) }
    sub(/^\.\.\//, "", link)
    return "../../" link
}

function nameOf(path) {
    sub(/.*\//, "", path)
    return path
}
