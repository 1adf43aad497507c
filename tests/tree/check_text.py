#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads documents and comments, and prints what is hard to read or wrong. `./dev lint` runs it.

    python3 tests/tree/check_text.py [ROOT]

- Sentences of over 40 words, and sentences that open with a word for something before.
- Lines of one or two words inside a paragraph of a comment. A tool that breaks long lines leaves them, and it destroys
  lists and tables in the same way.
- Names in documents and comments that the tree does not have: files, headings, flags, identifiers. A document names an
  identifier in backticks. A comment names it by writing it: a word with an underscore or a capital letter inside.
"""
import pathlib
import posixpath
import re
import subprocess
import sys

MOST_WORDS = 40
WIDTH = 120  # of a line of code, as .clang-format says
COMMENT_LINE = re.compile(r" *(?://|/\*|\*)(?![/*])( *)(.*)$")
BULLET = re.compile(r"([-*+]|\d+\.) ")
OPENINGS = re.compile(r"[(*\"]*(Of|Those|The same|Such|So do|So does)\b|[(*\"]*What .* (is|are) .*[^?]$")
ABBREVIATIONS = ("al.", "cf.", "e.g.", "etc.", "i.e.", "vs.", "...")
SOURCES = (".c", ".h", ".hpp", ".cpp", ".cu", ".glsl", ".comp", ".in")
CODE = SOURCES + (".py", ".sh", ".cmake", ".txt", ".json", ".awk", ".html", "Doxyfile", "dev")
COMMENTED = ("src/", "shaders/", "tools/", "include/", "examples/", "integrations/", "lab/", "tests/", "fuzz/")
PATH = re.compile(r"(?<![\w/.*<-])(?:\w[\w.-]*/)*[a-z]\w*\.(?:hpp|cpp|glsl|comp|cmake|md|py|sh|awk|h)\b(?!\()")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
NAME = re.compile(r"\b[A-Za-z]\w*(?:[a-z][A-Z]|_)\w*\b")
SPAN_NAME = re.compile(r"\b[A-Za-z]{3}\w+\b")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
IN_FILE = re.compile(r"`(\w+)`,? (?:in|of) `([\w.-]+/[\w/.-]+\.\w+)`")
URL = re.compile(r"(https?://|github\.com/)\S+")
CITED = re.compile(r"\b((?:docs|lab)/[\w.-]+\.md), \"([^\"]+)\"")
FOREIGN_PROGRAMS = ("cc ", "cmake ", "ctest ", "git ", "nvdisasm ", "test-backend-ops ", "vcpkg ", "apt-get ", "pip ")
# Names of Vulkan, SPIR-V, GLSL, ggml and systems, and letters with an index, as papers write them: m_i. Single names of
# others stand in foreign_names.txt.
FOREIGN = re.compile(r"(vk(?!f)|Vk(?!f)|VK_|p[A-Z]|PFN_|Op[A-Z]|gl_|GL_|SPV_|GGML_|ggml_|LD_|XDG_|RADV_)|"
                     r"(\w|lse|dq|dk|dv|dout)_(\w|old|dp|ds|delta)$")
FOREIGN_PAGES = ("docs/mapping.md", "docs/portability.md", "integrations/ggml/README.md",
                 "integrations/python/README.md", "lab/log-0.4.md")
HISTORY = ("CHANGELOG.md", "lab/log-0.4.md")  # they name what is gone


def read_tree(root):
    """{name: text} of the tracked text files."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        path.relative_to(root).as_posix() for path in sorted(root.rglob("*"))]
    read = [name for name in names if name.endswith(CODE + (".md",)) and not name.startswith("bench/results/")]
    return {name: (root / name).read_text(errors="replace") if name in read else "" for name in names
            if (root / name).is_file()}


def split_source(text):
    """Code without comments, and the comments as [(line, paragraph)]. Comments of lines in a row are one comment."""
    code, comments, last = [], [], -1
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|//([^\n]*)|/\*(.*?)\*/', re.S)
    line, at = 1, 0
    for found in pattern.finditer(text):
        line += text.count("\n", at, found.start())
        code.append(text[at:found.start()])
        at = found.end()
        body = found[1] if found[1] is not None else found[2]
        if body is None:
            code.append(found[0])
        elif found[1] is not None and last == line - 1 and not code[-1].strip():
            comments[-1][1] += "\n" + body
        else:
            comments.append([line, re.sub(r"\n *\* ?", "\n ", body)])
        if body is not None:
            last = line + found[0].count("\n") if found[1] is not None else -1
        line += found[0].count("\n")
    return "".join(code) + text[at:], comments


def blocks_of(start, text, markdown):
    """[(line, text)] of paragraphs, list items and table cells. Fenced and indented examples are left out."""
    blocks, fenced, fresh = [], False, True
    for number, line in enumerate(text.split("\n"), start):
        bare = line.strip()
        fenced ^= bare.startswith("```")
        is_indented = line.startswith(" " * (4 if markdown else 5))
        if fenced or is_indented or not bare or bare.startswith(("```", "#", "----", "SPDX-")):
            fresh = True
        elif markdown and bare.startswith("|"):
            row = re.sub(r"`[^`]*`", lambda code: code[0].replace("|", "/"), bare)
            blocks += [[number, cell] for cell in row.split("|")]
            fresh = True
        elif fresh or BULLET.match(bare):
            blocks.append([number, re.sub(r"^([-*+]|\d+\.) ", "", bare)])
            fresh = False
        else:
            blocks[-1][1] += " " + bare
    return blocks


def sentence_faults(block):
    words = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "_"), LINK.sub("]", block)).split()
    sentence = []
    for index, word in enumerate(words):
        sentence.append(word)
        end = word.rstrip(")]\"'*¹²³⁴⁵")
        if index + 1 < len(words) and (end[-1:] not in ".!?" or len(end) < 2 or end.lstrip("(").endswith(ABBREVIATIONS)):
            continue
        text = " ".join(sentence)
        if sum(any(c.isalnum() for c in word) for word in sentence) > MOST_WORDS:
            yield "a sentence of over 40 words", text
        if OPENINGS.match(text):
            yield "opens with a word for something before", text
        sentence = []


def is_stray(before, here, after):
    """Whether `here` is a line of one or two words between lines of its paragraph. All are COMMENT_LINE or None."""
    if not (before and here and after):
        return False
    words, following = here[2].split(), after[2].replace("*/", "").split()
    if not 1 <= len(words) <= 2 or here[2].endswith((":", "*/")) or not following or len(after[1]) > 4:
        return False
    is_broken = len(before[0]) + len(words[0]) >= WIDTH > len(here[0]) + len(following[0])
    is_sentence = before[2].endswith(".") and here[2].endswith(".")
    if BULLET.match(after[2]):  # an item that begins after another one, or after a paragraph
        return is_broken and len(here[1]) <= len(after[1]) and bool(BULLET.match(before[2]))
    return is_broken and not is_sentence


def stray_lines(text):
    """[(line, text)] of the stray lines of comments that have lines of their own."""
    lines = [COMMENT_LINE.match(line) for line in text.split("\n")]
    return [(number, here[2]) for number, (before, here, after) in enumerate(zip(lines, lines[1:], lines[2:]), 2)
            if is_stray(before, here, after)]


def slugs_of(text):
    """The anchors of a document's headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title.lower().strip()).replace(" ", "-") for title in titles}


class Names:
    def __init__(self, tree):
        self.tree = tree
        code = "\n".join(split_source(text)[0] if name.endswith(SOURCES) else text for name, text in tree.items()
                         if name.endswith(CODE) and not name.startswith("tests/tree/"))
        self.foreign = {line.split(" ")[0] for line in tree.get("tests/tree/foreign_names.txt", "").split("\n")}
        self.words = set(re.findall(r"\w+", code)) | self.foreign
        self.flags = set(FLAG.findall(code))

    def has_file(self, path):
        """A document may leave out leading folders."""
        return path in self.foreign or any(("/" + file).endswith("/" + path) for file in self.tree)

    def has_name(self, word, is_beginning):
        """`LSE` stands for VKF_USE_LSE, and VKF_USE_ for all names that begin so."""
        return word in self.words or FOREIGN.match(word) or any(
            name.endswith("_" + word) or is_beginning and name.startswith(word) for name in self.words)

    def missing(self, name, text, is_document):
        """What a paragraph or a line of a comment names and the tree does not have."""
        text = URL.sub("", LINK.sub("]", text))
        yield from (path for path in PATH.findall(text) if not self.has_file(path))
        for word, path in IN_FILE.findall(text):
            files = [file for file in self.tree if ("/" + file).endswith("/" + path)]
            if not any(re.search(rf"\b{word}\b", self.tree[file]) for file in files):
                yield f"{word} in {path}"
        for span in re.findall(r"`([^`]*)`", text) if is_document else [text]:
            if span.startswith(FOREIGN_PROGRAMS):
                continue
            yield from (flag for flag in FLAG.findall(span) if flag not in self.flags)
            for word in (SPAN_NAME if is_document else NAME).findall(FLAG.sub("", PATH.sub("", span))):
                is_ours = name not in FOREIGN_PAGES or word.lower().startswith("vkf")
                if is_ours and not self.has_name(word, word.endswith("_") or word + "..." in span):
                    yield word

    def broken_links(self, name, text):
        for target, anchor in LINK.findall(text):
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
            if file not in self.tree and not any(other.startswith(file + "/") for other in self.tree):
                yield target
            elif anchor and anchor not in slugs_of(self.tree[file]):
                yield f"{target}#{anchor}"


def faults_of(root):
    tree = read_tree(root)
    names = Names(tree)
    for name, text in tree.items():
        is_document = name.endswith(".md")
        if is_document and name not in HISTORY:
            parts = [[1, text]]
            yield from (f"{name}: {link} does not exist" for link in names.broken_links(name, text))
        elif name.endswith(SOURCES) and name.startswith(COMMENTED):
            parts = split_source(text)[1]
            strays = stray_lines(text)
            yield from (f"{name}:{line}: a short line inside a paragraph: {stray}" for line, stray in strays)
        else:
            continue
        for start, part in parts:
            blocks = blocks_of(start, part, is_document)
            for line, block in blocks:
                yield from (f"{name}:{line}: {fault}: {sentence}" for fault, sentence in sentence_faults(block))
            for line, block in blocks if is_document else enumerate(part.split("\n"), start):
                yield from (f"{name}:{line}: {word} does not exist" for word in names.missing(name, block, is_document))
            for page, quoted in CITED.findall(re.sub(r"\s+", " ", part)):
                if quoted not in re.sub(r"\s+", " ", tree.get(page, "")):
                    yield f'{name}:{start}: {page} has no "{quoted}"'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    faults = list(faults_of(root))
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
