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

"""The documentation against the checkout: what pages name and what code cites exists."""
import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "uvms_adaptive_dynamics"
SOURCES = (PACKAGE, *(ROOT / name for name in ("test", "config", "launch", "examples", "docs")))
PAGES = [page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md",
                           *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/*.md")))
         if page.is_file()]
PYTHON = sorted(path for folder in SOURCES for path in folder.rglob("*.py"))
CODE = [path for path in (*PYTHON, *ROOT.glob("config/*.yaml"), *PACKAGE.rglob("*.urdf"))
        if path != Path(__file__).resolve()]

# Paths are relative to the checkout or to the package. Folders that a user creates, such as `out/`,
# are not among these.
TOP = {*SOURCES[1:], ROOT / "requirements", *PACKAGE.iterdir()}
FOLDERS = "|".join(sorted(path.name for path in TOP if path.is_dir() and path.name[0] != "_"))
ENDINGS = "py|md|yaml|csv|urdf|svg|png|txt|rst|toml|sh"
PATH = re.compile(rf"(?<![\w./~-])((?:{FOLDERS})(?:/[\w.-]+)*/[\w.-]*\.(?:{ENDINGS}))\b")
FOLDER = re.compile(rf"`((?:{FOLDERS})/(?:[\w-]+/)*)`")
FILE = re.compile(r"`([\w-]+\.py)`")
TEST = re.compile(r"`(?:(test/[\w/]+\.py)::)?(test_\w+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
CITED = re.compile(r"(docs/[\w/-]+\.(?:md|py|png|svg))(?:#([\w-]+))?")
SECTION = re.compile(r"""(?:,\s*|\s+)(?:and\s+)?(?:sections?\s+)?\(?\\?["“]([^"”\\]+)\\?["”]""")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def plain(heading: str) -> str:
    """A heading in plain words, without marks and number."""
    return re.sub(r"^[\d.]+\s+", "", re.sub(r"[`$*]", "", heading)).strip().rstrip(".").lower()


@cache
def headings(page: Path) -> frozenset[str]:
    """Headings of a page; a `#` in a fenced block is a comment."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return frozenset(plain(heading) for heading in HEADING.findall(text))


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub derives from the headings."""
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings(page)}


@cache
def functions(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    return frozenset(re.findall(r"^\s*def (\w+)", path.read_text(), re.MULTILINE))


def lost_in_page(text: str, page: Path) -> list[str]:
    """Names in a page that do not exist: paths, modules, tests, relative links."""
    lost = {name for name in PATH.findall(text) + FOLDER.findall(text)
            if not any((base / name).exists() for base in (ROOT, PACKAGE))}
    known = {path.name for path in (*PYTHON, *ROOT.glob("*.py"))}
    lost |= {name for name in FILE.findall(text) if name not in known}
    for file, name in TEST.findall(text):
        if not any(name in functions(path) for path in ([ROOT / file] if file else PYTHON)):
            lost.add(f"{file}::{name}" if file else name)
    for link in LINK.findall(text):
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if "://" not in link and not (file.exists() and (not anchor or anchor in anchors(file))):
            lost.add(link)
    return sorted(lost)


def lost_in_code(text: str) -> list[str]:
    """Cited pages and sections that do not exist; a citation may be split across lines."""
    text, lost = re.sub(r"\s*\n[\s#]*", " ", text), []
    for found in CITED.finditer(text):
        page = ROOT / found[1]
        if not page.is_file():
            lost.append(found[1])
        elif page.suffix == ".md":
            if found[2] and found[2] not in anchors(page):
                lost.append(f"{found[1]}#{found[2]}")
            at = found.end()
            while section := SECTION.match(text, at):
                if plain(section[1]) not in headings(page):
                    lost.append(f'{found[1]}, "{section[1]}"')
                at = section.end()
    return lost


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_what_a_page_names_exists(page):
    """Paths, bare module names in code marks, tests and relative links of every page."""
    assert lost_in_page(page.read_text(), page) == []


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_what_code_cites_exists(path):
    """`docs/page.md`, `docs/page.md#anchor` and `docs/page.md, "Heading"`, also in settings."""
    assert lost_in_code(path.read_text()) == []


@pytest.mark.parametrize("text", [
    "see `model/vehicles.py`", "`python docs/measure_nothing.py`", "test/system/test_none.py",
    "`studies/nothing/`", "`vehicles.py`", "`test_that_nobody_wrote`",
    "`test/system/test_docs.py::test_that_nobody_wrote`", "[x](nowhere.md)",
    "[x](README.md#no-such-part)"])
def test_a_lost_name_in_a_page_is_found(text):
    assert len(lost_in_page(text, ROOT / "README.md")) == 1


@pytest.mark.parametrize("text", [
    "see docs/nothing.md", "docs/uncertainty.md#no-such-part", 'docs/uncertainty.md, "No part"',
    'docs/uncertainty.md, "Flags" and\n    # "No such part"',
    'say(f"docs/uncertainty.md, \\"No such part\\"")'])
def test_a_lost_citation_in_code_is_found(text):
    assert len(lost_in_code(text)) == 1


def test_names_that_exist_are_not_lost():
    """Each form once; files that users create are ignored."""
    text = ("`model/vehicle.py` test/system/test_docs.py `signals/` `vehicle.py` out/x.yaml "
            "`test_names_that_exist_are_not_lost` [x](docs/uncertainty.md#flags) "
            "[x](https://a.org/b.md#c)")
    assert lost_in_page(text, ROOT / "README.md") == []
    code = 'docs/uncertainty.md, "Flags" and "In short"; docs/uncertainty.md#flags'
    assert lost_in_code(code) == []


def test_code_cites_no_page_that_a_reader_does_not_have():
    """The design page is not part of the repository."""
    assert [relative(path) for path in CODE if re.search(r"\bDESIGN\b", path.read_text())] == []


def test_every_page_is_reached_from_the_readme():
    """Readers do not find a page without links to it."""
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".md" and page.is_file():
            seen.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve()
                        for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [relative(page) for page in PAGES if page not in seen] == []


def equations() -> list[list[str]]:
    """Cells of the table that maps an equation to its file and tests."""
    table = (ROOT / "docs/mathematics.md").read_text().partition("## Equation, file, test")[2]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_every_displayed_equation_has_a_number_and_a_row():
    """Numbered in order from 1, each with a file and a test in its folder; a row without a number
    has a link."""
    text = (ROOT / "docs/mathematics.md").read_text()
    tags = [int(tag) for tag in re.findall(r"^\\tag\{(\d+)\}$", text, re.MULTILINE)]
    assert tags == list(range(1, len(tags) + 1)) and text.count("\n$$\n") == 2 * len(tags)
    # The site sets equations with \\ in an environment that refuses a number; \cr does the same.
    assert [block for block in re.findall(r"^\$\$\n(.*?)^\$\$$", text, re.MULTILINE | re.DOTALL)
            if r"\\" in block] == []
    numbers = [{int(found) for found in re.findall(r"\((\d+)\)", row[0])} for row in equations()]
    assert set().union(*numbers) == set(tags)
    assert all(len(row) == 4 for row in equations())
    assert [row[0] for row, found in zip(equations(), numbers) if not found and "](" not in row[0]
            ] == []
    tests = [name for row in equations() for name in re.findall(r"`([^`]*test_\w+\.py)`", row[3])]
    assert tests and [name for name in tests if not (ROOT / name).is_file()] == []


SYMBOLS = re.compile(r"((?:`[\w.]+`(?:,? and |, )?)+) (?:of|in) `([\w/]+\.py)`")


def test_what_a_page_places_in_a_file_is_defined_there():
    """As in "`InformationState.forget` of `estimation/information.py`"."""
    named = [(page, name, file) for page in PAGES
             for names, file in SYMBOLS.findall(page.read_text().replace("\n", " "))
             for name in re.findall(r"[\w.]+", names) if name != "and"]
    wrong = []
    for page, name, file in named:
        homes = [path for path in PYTHON if path.as_posix().endswith(f"/{file}")]
        if not any(all(re.search(rf"\b(def|class) {part}\b|^ *(self\.)?{part}\b.*[:=]", text,
                                 re.MULTILINE) for part in name.split("."))
                   for text in map(Path.read_text, homes)):
            wrong.append(f"{relative(page)}: {name} of {file}")
    assert len(named) > 20 and not wrong, "\n".join(wrong)


def test_files_of_equations_name_the_page():
    """Each file links back to the equation."""
    files = {name for row in equations() for name in re.findall(r"`([\w/]+\.py)`", row[2])}
    silent = [name for name in sorted(files) if "docs/" not in
              (ast.get_docstring(ast.parse((PACKAGE / name).read_text())) or "")]
    assert files and silent == []


def test_what_the_readme_says_of_the_paper_is_what_was_measured():
    """Its rows and shares are those of docs/paper.md, which has the command that prints them."""
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/paper.md"))
    rows = re.findall(r"^\| the (?:paper's cost|letter), .*$", readme, re.MULTILINE)
    shares = re.findall(r"[\d.]+-[\d.]+ %(?= at|, at)", readme)
    assert len(rows) == 4 and shares
    assert [one for one in rows + shares if one not in page] == []
