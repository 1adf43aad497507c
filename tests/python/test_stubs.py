# SPDX-License-Identifier: MIT
"""The type stubs name what the module has, and all of it."""

import ast
import pathlib

import vkflash
from vkflash import _core


def stub_names():
    """{name: members of a class} of the stubs."""
    tree = ast.parse((pathlib.Path(vkflash.__file__).parent / "_core.pyi").read_text())
    names = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields = {x.target.id for x in node.body if isinstance(x, ast.AnnAssign)}
            names[node.name] = fields | {x.name for x in node.body if isinstance(x, ast.FunctionDef)} - {"__init__"}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = set()
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = set()
    return names


def test_stubs_name_what_there_is():
    names = stub_names()
    assert set(names) == {name for name in dir(_core) if not name.startswith("__")}
    for name, members in names.items():
        if members:
            found = {member for member in vars(getattr(_core, name)) if not member.startswith("__")}
            assert found == members, name


def test_the_package_is_typed():
    assert (pathlib.Path(vkflash.__file__).parent / "py.typed").exists()


def test_every_public_name_has_a_docstring():
    for name in vkflash.__all__:
        assert getattr(vkflash, name).__doc__, name
