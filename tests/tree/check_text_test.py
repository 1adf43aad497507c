#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries check_text.py on small trees. `./dev lint` runs it."""
import pathlib
import tempfile
import unittest

import check_text

TREE = {"include/vkflash/a.h": "VkfResult vkfCheckExample(const VkfExample* example);\n#define VKF_EXAMPLE_FIRST 1\n",
        "tools/cli/example.cpp": 'add_option("--first,--other-name", value);\n',
        "CMakeLists.txt": "project(vkflash)\n", "docs/other.md": "# Other page\n\n## A part of it\n"}
WORDS = " ".join(["One"] + ["one"] * 39)


def faults(text, name="docs/page.md"):
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {**TREE, name: text}.items():
            path = pathlib.Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return list(check_text.faults_of(pathlib.Path(folder)))


class CheckText(unittest.TestCase):
    def test_names_that_do_not_exist(self):
        for text in ("`vkfCheckNothing`", "`VkfNothing`", "`VKF_NOTHING_`", "`src/cli/example.cpp`", "none.hpp",
                     "`run --second N`", "`run\n--second`", "[a](absent.md)",
                     "`vkfCheckExample` in `tools/cli/example.cpp`", "[a](other.md#no-part)", "[a](#no-part)"):
            with self.subTest(text):
                self.assertEqual(len(faults(text + "\n")), 1)
        for comment in ("// Calls hasNothing.", "// `a` in none.glsl", "//     calls/none.cpp   an example",
                        '// docs/other.md, "No\n// part"', "/* Takes --second. */"):
            with self.subTest(comment):
                self.assertEqual(len(faults(comment + "\nint a;\n", "src/a.cpp")), 1)
        self.assertEqual(faults("One.\n\nCalls `vkfCheckNothing`.\n"), ["docs/page.md:3: vkfCheckNothing does not exist"])

    def test_names_that_exist(self):
        self.assertEqual(faults("`vkfCheckExample`, `VkfExample`, `VKF_EXAMPLE_`, `cli/example.cpp`, `<vkflash/a.h>`, "
                                "`run --other-name=3`, `cmake --build x`, `vkCmdDraw`, [a](other.md#a-part-of-it), "
                                "[b](https://a.b/none.md#c)\n\n```\nvkfCheckNothing --second\n```\n"), [])
        self.assertEqual(faults('// vkfCheckExample, m_i, docs/other.md, "A part\n// of it"\n', "src/a.cpp"), [])
        self.assertEqual(faults('call("// hasNothing");\n', "src/a.cpp"), [])

    def test_long_sentences(self):
        self.assertEqual(faults(WORDS + ".\n"), [])
        for text in (WORDS + " one.", WORDS + "\none.", "- " + WORDS + " 0.5", "| a | " + WORDS + " e.g. |",
                     WORDS + " [link](other.md)"):
            with self.subTest(text):
                self.assertEqual(len(faults(text + "\n")), 1)
        for text in (WORDS + ". " + WORDS + ".", WORDS + "\n\n" + WORDS, WORDS + "\n- " + WORDS, "# " + WORDS + " one",
                     "```\n" + WORDS + " one\n```", WORDS + " `a b`".replace("one `a b`", "`a b`")[:-6] + ".",
                     "| " + WORDS + " | " + WORDS + " |"):
            with self.subTest(text):
                self.assertEqual(faults(text + "\n"), [])
        self.assertEqual(len(faults("// " + WORDS + "\n// one.\nint a;\n", "src/a.cpp")), 1)
        self.assertEqual(faults("int a; // " + WORDS + "\nint b; // one\n", "src/a.cpp"), [])

    def test_openings(self):
        for text in ("One. Of two, one is new.", "Those are new.", "The same holds.", "Such keys.", "So do keys.",
                     "What a key needs is new.", "(Those are new.)", "- **Such** keys."):
            with self.subTest(text):
                self.assertEqual(len(faults(text + "\n")), 1)
                self.assertEqual(len(faults("/* " + text + " */\n", "include/vkflash/b.h")), 1)
        for text in ("of the elements", "Often.", "So far.", "What the device is.", "What is it?", "What a plan needs."):
            with self.subTest(text):
                self.assertEqual(faults(text + "\n"), [])

    def test_stray_lines(self):
        full = ("One " * 40)[:116].strip()
        self.assertEqual(faults(f"// {full}\n// 8192 rows\n// are one.\nint a;\n", "src/a.cpp"),
                         ["src/a.cpp:2: a short line inside a paragraph: 8192 rows"])
        for text in (f"// {full}\n// one.\n// Two are many.", f"/* {full}\n * one\n * two. */",
                     f"// - {full[:-2]}\n// one.\n//   two", f"// - {full[:-2]}\n//   one\n//   two",
                     f"// - {full[:-2]}\n// one\n// - two"):
            with self.subTest(text):
                self.assertEqual(len(faults(text + "\nint a;\n", "src/a.cpp")), 1)
        for text in (f"// {full}\n// one two three\n// four.", "// One\n// two\n// three.", f"// {full}\n// one.",
                     f"// {full}\n// one.\n//\n// Two.", f"// {full}\n// one:\n// - two",
                     f"// {full}\n// one.\n// - two", f"// - {full[:-2]}\n//   one.\n// - two",
                     f"// {full[:-1]}.\n// Source: a.\n// Two.", f"// {full}\n// one\n//     example",
                     f"// {full}\n// one\n// {'u' * 117}", f"/* {full}\n * one. */\n// Two."):
            with self.subTest(text):
                self.assertEqual(faults(text + "\nint a;\n", "src/a.cpp"), [])


if __name__ == "__main__":
    unittest.main()
