# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One name, one meaning: a constant, a class or a type has its name to itself.

A module that needs another module's constant or class imports it; a different one gets its own
name. Only a section of the settings may be called what it sets (`config.Twin` and `control.Twin`).
"""
import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "uvms_adaptive_dynamics"


def targets(statements: list[ast.stmt]) -> Iterator[ast.expr]:
    """Targets of a module's top-level assignments, including those under `if`, `try` and `with`."""
    for statement in statements:
        if isinstance(statement, ast.Assign):
            yield from statement.targets
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            yield statement.target
        elif isinstance(statement, (ast.If, ast.Try, ast.With, ast.For)):
            for block in ("body", "orelse", "finalbody"):
                yield from targets(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                yield from targets(handler.body)


def assigned(source: str) -> set[str]:
    """Names that a module assigns itself; imported ones do not count."""
    return {name.id for target in targets(ast.parse(source).body) for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}


def constants(source: str) -> set[str]:
    """Names in capitals."""
    return {name for name in assigned(source) if name.isupper()}


def types(source: str) -> set[str]:
    """Public classes and names of types."""
    classes = {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    return {name for name in classes | assigned(source) if name[0].isupper() and not name.isupper()}


def defined_twice(sources: dict[str, str],
                  names: Callable[[str], set[str]] = constants) -> list[str]:
    """A line for each name that several files define, with the files."""
    homes = defaultdict(list)
    for file, source in sources.items():
        for name in names(source):
            homes[name].append(file)
    return [f"{name}: {', '.join(files)}" for name, files in sorted(homes.items())
            if len(files) > 1]


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    found = {path.relative_to(PACKAGE).as_posix(): path.read_text()
             for path in sorted(PACKAGE.rglob("*.py"))}
    assert len(found) > 300
    return found


def test_no_constant_is_defined_in_two_modules(sources):
    found = defined_twice(sources)
    assert not found, ("import the constant from one of the files, or give each its own name:\n"
                       + "\n".join(found))


def test_no_class_is_defined_in_two_modules(sources):
    apart = {file: source for file, source in sources.items() if not file.startswith("config/")}
    found = defined_twice(apart, types)
    assert not found, "name each class by what it is:\n" + "\n".join(found)


def test_a_second_definition_is_found():
    """In a tuple, with an annotation or under a condition; not by an import, nor in a function."""
    sources = {"a.py": "LIMIT, SPAN = 1.0, 2.0\nFEW: int = 3\nKEPT = 4\n",
               "b.py": "from a import KEPT\n\ndef f():\n    SPAN = 5.0\n    KEPT.LIMIT = 1\n",
               "c.py": "try:\n    pass\nexcept OSError:\n    FEW = 1\n",
               "d.py": "(LIMIT, OTHER), C = (0, 1), 2\n"}
    assert defined_twice(sources) == ["FEW: a.py, c.py", "LIMIT: a.py, d.py"]


def test_a_second_class_is_found():
    """Also as the name of a type; not a constant, a private class, or a class within another."""
    sources = {"a.py": "class Row:\n    class Part: ...\nclass _Own: ...\nLIMIT = 1\n",
               "b.py": "Row = tuple[str, ...]\nLIMIT = 2\nclass Part: ...\nclass _Own: ...\n",
               "c.py": "from a import Row\n"}
    assert defined_twice(sources, types) == ["Row: a.py, b.py"]
