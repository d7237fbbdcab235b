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

"""Generates the site's reference from the code, and its copies of pages from outside `docs/`.

`python docs/generate_site.py` writes them into `docs/generated/`; `docs/conf.py` does so at each
build."""
from __future__ import annotations

import inspect
import posixpath
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

import uvms_adaptive_dynamics as package  # noqa: E402
from uvms_adaptive_dynamics.__main__ import COMMANDS, MODULE_PROGRAM  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.options import Parser  # noqa: E402
from uvms_adaptive_dynamics.signals import topics  # noqa: E402

# Pages outside this folder, with their names among the generated ones.
ELSEWHERE = {"README.md": "readme", "CONTRIBUTING.md": "contributing",
             "examples/README.md": "examples"}
LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#|mailto:)([^)\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)\s]+)\)")


def write(folder: Path) -> None:
    """Write every generated page into `folder`. Unchanged pages stay untouched, to keep a second
    build short."""
    folder.mkdir(exist_ok=True)
    pages = {"settings": settings(), "topics": topic_tables(), "commands": commands(),
             "library": library(), **{name: elsewhere(path) for path, name in ELSEWHERE.items()}}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def link(text: str, target: str, page: str) -> str:
    """Markdown of a link from `page` (its name within the site) to a file outside this folder."""
    path, _, anchor = target.partition("#")
    name = ELSEWHERE.get(posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path)))
    if name is None:
        return text if text.startswith("`") else f"{text} (`{path.replace('../', '')}`)"
    up = "../" * page.count("/")
    return f"[{text}]({up}generated/{name}.md{'#' + anchor if anchor else ''})"


# --- settings and topics --------------------------------------------------------------------------

def settings() -> str:
    """Every setting with its default, unit, range and meaning."""
    lines = ["# Settings", "",
             "ROS parameters of the nodes, also read by `--config`: one YAML form for both. "
             "`config/bluerov2_alpha5.yaml` holds all of them with their defaults; copy it and "
             "leave out the settings that you do not change.", ""]
    config = Config()
    for section in fields(config):
        group = getattr(config, section.name)
        lines += [f"## {section.name}", "", inspect.cleandoc(type(group).__doc__ or ""), "",
                  *(line for entry in fields(group)
                    for line in _setting(section.name, entry, getattr(group, entry.name)))]
    return "\n".join(lines)


def _setting(section: str, entry: Any, value: Any) -> Iterator[str]:
    """A setting as a term with its meaning."""
    meta = entry.metadata
    limits = ", ".join(filter(None, (meta["unit"], _range(meta))))
    limits = f" ({_plain(limits)})" if limits else ""
    yield f"`{section}.{entry.name}` = {_default(value)}{limits}"
    yield f": {_plain(meta['doc'])}"
    yield ""


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        numbers = ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in value)
        return f"`[{numbers}]`"
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _range(meta: Any) -> str:
    if meta["choices"]:
        return ", ".join(f"`{choice}`" for choice in meta["choices"] if choice != "")
    low, high = meta["low"], meta["high"]
    if low is None and high is None:
        return ""
    return " .. ".join("" if bound is None else f"{bound:g}" for bound in (low, high)).strip()


def topic_tables() -> str:
    """Inputs and outputs of the nodes, from the table that the nodes use."""
    lines = ["# Topics", "", "Names and types are settings; these are the defaults. Contents, "
             "rates and QoS: [ROS interface](../ros_interface.md).", ""]
    nodes: list[tuple[str, Any, Any]] = [
        ("Estimator", topics.inputs(Config()), topics.OUTPUTS),
        ("Feedforward", topics.feedforward_inputs(Config()), topics.FEEDFORWARD_OUTPUTS),
        ("Identification", topics.identification_inputs(Config()),
         topics.IDENTIFICATION_OUTPUTS)]
    for title, taken, given in nodes:
        lines += [f"## {title}", "",
                  *_table(("input", "type", "role"),
                          ((f"`{each.topic}`", f"`{each.type}`", each.role) for each in taken)), "",
                  *_table(("output", "type", "meaning"),
                          ((f"`~/{each.name}`", f"`{each.type}`", each.meaning)
                           for each in given)), ""]
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in row) + " |"


def _plain(text: str) -> str:
    """Text with all Markdown escaped except code marks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]$#])", r"\\\1", part)
                   for part in parts)


# --- command line ---------------------------------------------------------------------------------

def parsers() -> Iterator[tuple[str, str, Parser]]:
    """(command, its meaning, its parser) of every command."""
    for name, (module, meaning) in COMMANDS.items():
        parser = Parser(prog=f"{MODULE_PROGRAM} {name}")
        import_module(f"{package.__name__}.{module}").add_arguments(parser)
        yield name, meaning, parser


def commands() -> str:
    """The help of every command."""
    lines = ["# Command line", "", f"`{MODULE_PROGRAM} COMMAND`, with one of these commands.", ""]
    for name, meaning, parser in parsers():
        lines += [f"## {name}", "", f"{_plain(meaning[0].upper() + meaning[1:])}.", "", "```text",
                  _help(parser), "```", ""]
    return "\n".join(lines)


def _help(parser: Parser) -> str:
    """The help at 90 columns, whatever the terminal's width."""
    formatter = parser.formatter_class
    parser.formatter_class = lambda prog: formatter(prog, width=90)     # type: ignore[assignment]
    return parser.format_help().rstrip()


# --- library --------------------------------------------------------------------------------------

def library() -> str:
    """Signature and docstring of every public name."""
    lines = ["# Library", "", "```python", f"from {package.__name__} import Estimator, load_config",
             "```", "", "These names are stable. SI units; body FRD, world NED "
             "([conventions](../conventions.md)).", ""]
    for name in package.__all__:
        found = getattr(package, name)
        if callable(found):
            lines += [f"## {name}", "", *_described(name, found)]
            if inspect.isclass(found):
                for method, function in _methods(found):
                    lines += [f"### {name}.{method}", "", *_described(method, function)]
    return "\n".join(lines)


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods that a class documents itself."""
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        if isinstance(member, property) and member.fget is not None:
            function = member.fget
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield name, function


def _described(name: str, found: Any) -> Iterator[str]:
    signature = "" if inspect.isclass(found) and is_dataclass(found) else _signature(found)
    if signature:
        yield from ("```python", f"{name}{signature}", "```", "")
    yield from ("```text", inspect.cleandoc(found.__doc__ or ""), "```", "")
    begin = getattr(found, "__init__", None) if inspect.isclass(found) else None
    if begin is not None and begin.__doc__ and begin.__qualname__ == f"{found.__name__}.__init__":
        yield from ("```text", inspect.cleandoc(begin.__doc__), "```", "")


def _signature(found: Any) -> str:
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    kept = [each.replace(annotation=inspect.Parameter.empty)
            for each in signature.parameters.values() if each.name != "self"]
    text = str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    return text if len(text) < 80 else "(\n    " + "\n    ".join(
        textwrap.wrap(text[1:-1], 84)) + ")"


# --- pages from outside docs ----------------------------------------------------------------------

def elsewhere(path: str) -> str:
    """A page of the checkout with its links adapted to `generated/`."""
    folder = posixpath.dirname(path)

    def moved(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        whole = posixpath.normpath(posixpath.join(folder, target))
        anchor = f"#{anchor}" if anchor else ""
        if whole in ELSEWHERE:
            return f"[{found[1]}]({ELSEWHERE[whole]}.md{anchor})"
        if whole.startswith("docs/") and whole.endswith(".md"):
            return f"[{found[1]}](../{whole.removeprefix('docs/')}{anchor})"
        return found[1]

    text = IMAGE.sub(lambda found: f"![{found[1]}](../{posixpath.relpath(found[2], 'docs')})",
                     (ROOT / path).read_text())
    pictures = re.split(r"(!\[[^\]]*\]\([^)]*\))", text)
    return "".join(part if part.startswith("![") else LINK.sub(moved, part) for part in pictures)


if __name__ == "__main__":
    write(DOCS / "generated")
