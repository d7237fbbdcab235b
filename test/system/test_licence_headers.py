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

"""The header required by `ament_copyright`, as written by scripts/licence_headers.py."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("licence_headers",
                                                  ROOT / "scripts/licence_headers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text, mark", [
    ('"""A module."""\nfrom __future__ import annotations\n', "#"),
    ("#!/usr/bin/env python3\nprint()\n", "#"), ("# A comment of its own.\nx = 1\n", "#"),
    ("#pragma once\n// What it is.\n", "//")])
def test_a_header_stands_on_top_once(script, text, mark):
    """After the shebang and followed by a blank line; nothing else changes."""
    whole = script.with_header(text, mark)
    assert script.has_header(whole, mark) and not script.has_header(text, mark)
    assert script.with_header(whole, mark) == whole
    assert whole.replace(script.commented(mark) + "\n", "") == text
    if text.startswith("#!"):
        assert whole.splitlines()[0] == text.splitlines()[0]


def test_checking_writes_nothing_and_writing_is_enough(script, tmp_path, capsys):
    """Hidden folders and empty files are skipped, as by ament_copyright."""
    for name, text in {"a.py": "x = 1\n", "b.cpp": "int x;\n", "empty.py": "", "c.txt": "text\n",
                       ".venv/d.py": "x = 1\n", "_e/f.py": "x = 1\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert script.main(["--check"], tmp_path) == 1
    assert before == {path: path.read_text() for path in before}
    assert capsys.readouterr().out.split()[:2] == ["a.py", "b.cpp"]
    assert script.main([], tmp_path) == 0 and script.main(["--check"], tmp_path) == 0
    assert [path.name for path, text in before.items() if path.read_text() != text] in (
        ["a.py", "b.cpp"], ["b.cpp", "a.py"])


def test_the_licence_is_the_packages(script):
    """Header, LICENSE and package.xml state the same licence."""
    licence = " ".join((ROOT / "LICENSE").read_text().split())
    assert " ".join(script.HEADER.partition("\n\n")[2].split()) in licence
    assert '<license file="LICENSE">Apache-2.0</license>' in (ROOT / "package.xml").read_text()


def test_every_source_file_has_it(script, capsys):
    """Otherwise run scripts/licence_headers.py, for example after a merge."""
    assert script.main(["--check"]) == 0, capsys.readouterr().out
