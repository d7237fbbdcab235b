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

"""Settings named in advice to the operator exist."""
import ast
import re
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.config import Config

PACKAGE = Path(__file__).resolve().parents[2] / "uvms_adaptive_dynamics"
SETTINGS = {name for name, _, _ in Config().settings()}
SECTIONS = "|".join(sorted({name.partition(".")[0] for name in SETTINGS}))
NAMED = re.compile(rf"(?<![\w./-])(?:{SECTIONS})\.[a-z]\w*(?![\w(/])")
FILES = re.compile(r"\.(?:yaml|py|urdf|csv|md|json|png)$")


def texts(source):
    """All strings of a module, including those inside f-strings."""
    return [node.value for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def unknown_settings(source):
    named = {name for text in texts(source) for name in NAMED.findall(text)}
    return sorted(name for name in named - SETTINGS if not (FILES.search(name) or module(name)))


def module(name):
    """Whether this is a module of the package, as named in docstrings."""
    return (PACKAGE / f"{name.replace('.', '/')}.py").is_file()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")),
                         ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_setting_that_is_named_exists(path):
    """In messages, finding codes and docstrings alike."""
    assert unknown_settings(path.read_text()) == []


def test_a_setting_that_does_not_exist_is_found():
    """Even in a part of an f-string; file names do not count."""
    assert unknown_settings('f"set depth.colour to {x}, or depth.topic; see prior.yaml"') == [
        "depth.colour"]
