# SPDX-License-Identifier: MIT
#
# Input filter of Doxygen (docs/Doxyfile) for the public headers. They have plain comments, which read well without a
# tool. This script turns them into comments of Doxygen:
#
#   comment                              becomes
#   at the top of the file               the documentation of the file
#   directly above or behind a symbol    the documentation of the symbol
#   above #if                            the documentation of the macro that the branches define
#   above a run of #define or of using,  the documentation of each of them
#   or of overloads of a function
#   above a member that has a comment,   the beginning of that comment and of those of the next members, up to a
#   with a colon at its end              comment above a member
#   ---- Title ----                      a section on the page of the file
#   any other one above an empty line    a part of the documentation of the file; none inside a struct or enum
#
# Lists, `code` and names keep their meaning to Doxygen, all other text is escaped. Blocks that stand four spaces
# further to the right are shown as they are.
#
# The script documents what the headers explain in one place for all structs: structSize and reserved fields. It also
# documents what every class has: default constructor, copy, move and destructor. A member of an enum needs no comment.
# The script drops the members FORCE_INT32.

{ source[NR] = $0 }

END {
    for (at = 1; at <= NR;) {
        if (scope() != "body" && source[at] ~ /^[ \t]*(\/\*|\/\/)/) {
            at = emitCommentAt(at)
        } else {
            at = emitCodeAt(at)
        }
    }
    if (isInSection) { print "/** @} */" }
}

# ---- Scopes. scope() is "file" (also for namespaces), "class" (also for structs), "enum" or "body". ----

function scope() { return depth == 0 ? "file" : kind[depth] }

# Follows the braces of a line of code. `extern "C" {` and its brace stand between #ifdef and #endif.
function followBraces(code,    position, character) {
    gsub(/"[^"]*"/, "", code)
    for (position = 1; position <= length(code); position++) {
        character = substr(code, position, 1)
        if (character == "{") {
            kind[depth + 1] = kindOf(substr(code, 1, position - 1))
            name[depth + 1] = openedName
            depth++
            heading = ""
        } else if (character == "}" && depth > 0) {
            depth--
            heading = ""
        }
    }
}

# What a brace opens behind this code. Sets openedName.
function kindOf(code,    words) {
    openedName = ""
    if (code ~ /\)[^)]*$/ && code !~ /^[ \t]*template/) { return "body" }
    if (code ~ /(^|[ \t])enum /) { return "enum" }
    if (code ~ /(^|[ \t])(namespace|extern) /) { return "file" }
    if (match(code, /(^|[ \t])(class|struct) [A-Za-z_0-9]+/)) {
        split(substr(code, RSTART, RLENGTH), words, " ")
        openedName = words[2]
        return "class"
    }
    return "body"
}

# ---- Code ----

# Column of the comment in a line of code. 0 if there is none.
function commentColumn(line,    column) {
    while (match(line, /"[^"]*"/)) {
        column = RSTART
        line = substr(line, 1, RSTART - 1) "'" substr("                                        ", 1, RLENGTH - 2) "'" \
            substr(line, RSTART + RLENGTH)
    }
    return match(line, /\/\*|\/\//) ? RSTART : 0
}

function codeOf(line,    column) {
    column = commentColumn(line)
    return column == 0 ? line : substr(line, 1, column - 1)
}

# Prints the line, with its comment and the lines on which it goes on. Returns the number of the next line.
function emitCodeAt(at,    line, code, next_, isRun) {
    line = source[at]
    code = codeOf(line)
    next_ = at + 1
    if (line == "") { overload = "" }
    if (scope() == "body") {
        print line
    } else if (code ~ /_FORCE_INT32 =/) {
        print ""
    } else if (code != line) {
        next_ = takeComment(at, length(code) + 1)
        if (code ~ /[{}][ \t]*$/ || code ~ /^[ \t]*class [A-Za-z_0-9]+;/) {
            print code
        } else {
            printComment(code "/**< " heading)
        }
    } else if (shared != "" && code ~ /^(#define|using) /) {
        print code " /**< " shared " */"
    } else {
        print isDocumented ? code : withDefault(code)
    }
    if (code !~ /^(#define|using) /) { shared = "" }
    if (code !~ /^#/) { followBraces(code) }
    # A declaration may take several lines.
    if (code ~ /[;{}]/) { isDocumented = 0 }
    return next_
}

# A declaration without a comment, with the comment that this script has for it.
function withDefault(code,    class, start) {
    if (code ~ /^[ \t]*size_t structSize;/) { return code " /**< sizeof(" name[depth] ") */" }
    if (code ~ /^[ \t]*[a-z0-9_]+ reserved[0-9]*(\[[0-9]+\])?;/) { return code " /**< Room for later versions: 0. */" }
    if (overload != "" && functionOf(code) == overload) { return "/** " overloadText " */ " code }
    # Doxygen leaves members of an enum that have no comment out of its table.
    if (scope() == "enum" && code ~ /^[ \t]*[A-Z_0-9]+( = .*)?,?$/) { return code " /**< &nbsp; */" }
    if (scope() != "class") { return code }
    class = name[depth]
    start = code
    sub(/^[ \t]*/, "", start)
    if (index(start, class "()") == 1) { return "/** Default constructor. */ " code }
    if (index(start, class "(const " class "&") == 1) { return "/** Copy constructor. */ " code }
    if (index(start, class "(" class "&&") == 1) { return "/** Move constructor. */ " code }
    if (index(start, class "& operator=(const " class "&") == 1) { return "/** Copy assignment. */ " code }
    if (index(start, class "& operator=(" class "&&") == 1) { return "/** Move assignment. */ " code }
    if (index(start, "~" class "()") == 1) { return "/** Destructor. */ " code }
    return code
}

# The name before the first parenthesis of a declaration.
function functionOf(code) { return match(code, /[A-Za-z_0-9]+\(/) ? substr(code, RSTART, RLENGTH - 1) : "" }

# ---- Comments ----

# Prints the comment that begins at that line, for the symbol below it. Returns the number of the next line.
function emitCommentAt(at,    first, behind, macro) {
    first = at
    at = takeComment(at, index(source[at], "/"))
    behind = source[at]
    if (first == 1) {
        sub(/^SPDX.*/, "", note[1])
        match(note[3], /[A-Za-z_0-9.\/]+:/)
        file = substr(note[3], 1, RLENGTH - 1)
        note[3] = toupper(substr(note[3], RLENGTH + 2, 1)) substr(note[3], RLENGTH + 3)
        printComment("/** @file " file)
    } else if (note[1] ~ /^---- .* -*$/) {
        gsub(/^-+ | -+$/, "", note[1])
        printComment((isInSection ? "/** @} */ " : "") "/** @name ")
        print "/** @{ */"
        isInSection = 1
        return at + 1 # the line in place of the empty one
    } else if (behind ~ /^[ \t]*$/ || behind ~ /^[ \t]*(}|public:|private:|protected:)/) {
        if (scope() == "file") {
            print "/** @file " file
            printComment("@details ")
            return at + 1
        }
        printPlain(first, at)
        heading = ""
    } else if (behind ~ /^#if/) {
        for (macro = at; source[macro] !~ /^#define/; macro++) { }
        split(source[macro], word, " ")
        print "/** @def " word[2]
        printComment("")
    } else if (behind ~ /^(#define|using) /) {
        printComment("/** ")
        shared = joined()
        print behind
        return at + 1
    } else if (note[notes] ~ /:$/ && commentColumn(behind) != 0) {
        printPlain(first, at)
        heading = joined() " "
        return at
    } else {
        printComment("/** ")
        isDocumented = 1
        heading = ""
        overload = functionOf(behind)
        overloadText = joined()
    }
    return at
}

# Puts the comment that begins in that column into note[1..notes], without its marks and its margin. Returns the number
# of the line behind it.
function takeComment(at, column,    line, isBehindCode) {
    isBehindCode = substr(source[at], 1, column - 1) ~ /[^ \t]/
    line = substr(source[at], column)
    notes = 0
    if (line ~ /^\/\//) {
        do {
            sub(/^[ \t]*\/\/ ?/, "", line)
            note[++notes] = line
            line = source[++at]
        } while (line ~ /^[ \t]*\/\// && index(line, "//") == column)
        return at
    }
    sub(/^\/\* ?/, "", line)
    while (line !~ /\*\//) {
        note[++notes] = line
        line = source[++at]
        if (isBehindCode) {
            sub(/^[ \t]*/, "", line)
        } else if (line !~ /^[ \t]*\*\//) {
            sub(/^[ \t]*\* ?/, "", line)
        }
    }
    sub(/[ \t]*\*\/.*$/, "", line)
    note[++notes] = line
    return at + 1
}

# Prints lines that are not documentation.
function printPlain(first, end) {
    for (; first < end; first++) { print source[first] }
}

# Prints the taken comment behind `opening`.
function printComment(opening,    number, line, isRaw, lead) {
    isInCode = 0
    lead = opening
    for (number = 1; number <= notes; number++) {
        line = note[number]
        if (isRaw && line !~ /^    / && (line != "" || note[number + 1] !~ /^    /)) {
            isRaw = 0
            line = "@endverbatim " escaped(line)
        } else if (!isRaw && line == "" && number < notes && note[number + 1] ~ /^    /) {
            isRaw = 1
            line = "@verbatim"
        } else if (line ~ /^[A-Z][A-Z ]+$/ && note[number + 1] == "") {
            line = "<b>" line "</b>"
        } else {
            line = isRaw ? substr(line, 5) : escaped(line)
        }
        print lead line (number < notes ? "" : (isRaw ? " @endverbatim" : "") " */")
        lead = ""
    }
}

# The taken comment in one line.
function joined(    number, text) {
    isInCode = 0
    text = escaped(note[1])
    for (number = 2; number <= notes; number++) { text = text " " escaped(note[number]) }
    return text
}

# Makes functions and values into links. A name that no header has is an error of Doxygen then.
function linked(line,    text, symbol) {
    text = ""
    while (match(line, /vkf[A-Z][A-Za-z0-9]*|VKF_[A-Z0-9_]+/)) {
        symbol = substr(line, RSTART, RLENGTH)
        text = text substr(line, 1, RSTART - 1) (definedElsewhere(symbol) ? "" : "#") symbol
        line = substr(line, RSTART + RLENGTH)
    }
    return text line
}

# Macros that the build defines, and beginnings of names ("VKF_TYPE_...").
function definedElsewhere(symbol) { return symbol == "VKF_SHARED" || symbol == "VKF_BUILDING" || symbol ~ /_$/ }

# Keeps Doxygen and Markdown from taking the text for commands. Code between backticks may go on in the next line.
function escaped(line,    position, character, text, plain) {
    text = ""
    plain = ""
    for (position = 1; position <= length(line); position++) {
        character = substr(line, position, 1)
        if (character == "`") {
            text = text linked(plain) "`"
            plain = ""
            isInCode = !isInCode
        } else if (isInCode) {
            text = text character
        } else if (substr(line, position, 2) == "--") {
            plain = plain "\\--"
            position++
        } else if (substr(line, position, 2) == ". " && substr(line, 1, position) ~ /( |et al)\.$/) {
            plain = plain ".&nbsp;" # does not end the summary of a symbol
            position++
        } else {
            plain = plain (index("\\@&<>#%$*[]", character) ? "\\" : "") character
        }
    }
    return text linked(plain)
}
