#!/usr/bin/env python3
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

"""Add the licence header to every source file that lacks it, as `ament_copyright` requires.

python scripts/licence_headers.py            # writes; run again after every merge
python scripts/licence_headers.py --check    # writes nothing, lists files without, returns 1
"""
from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPYRIGHT = "Copyright 2026 uvms_adaptive_dynamics developers"
# The short form of Apache-2.0 that ament_copyright accepts; an SPDX line is not enough.
HEADER = f"""\
{COPYRIGHT}

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License."""
COMMENTS = {".py": "#", ".cmake": "#", ".hpp": "//", ".cpp": "//"}
# Folders without source of this package, besides those that begin with '.' or '_'.
OTHERS = ("build", "install", "log")


def sources(root: Path) -> Iterator[Path]:
    """The files that ament_copyright checks."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders
                            if name[0] not in "._" and name not in OTHERS)
        yield from (path for path in (Path(folder, name) for name in sorted(files))
                    if path.suffix in COMMENTS and path.stat().st_size)


def commented(mark: str) -> str:
    """The header as a comment."""
    return "\n".join(f"{mark} {line}".rstrip() for line in HEADER.splitlines()) + "\n"


def has_header(text: str, mark: str) -> bool:
    """Whether the header is at the top, after an optional shebang."""
    return re.sub(r"\A#!.*\n", "", text).startswith(commented(mark))


def with_header(text: str, mark: str) -> str:
    """The text with the header and a blank line at the top, after an optional shebang."""
    if has_header(text, mark):
        return text
    first, rest = re.fullmatch(r"(#![^\n]*\n)?(.*)", text, re.DOTALL).groups()
    return (first or "") + commented(mark) + "\n" + rest


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write or check; returns 1 if --check finds a file without a header."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing, list the files without a header")
    check, found = parser.parse_args(arguments).check, 0
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        whole = with_header(text, COMMENTS[path.suffix])
        if whole != text:
            found += 1
            print(path.relative_to(root))
            if not check:
                path.write_text(whole, encoding="utf-8")
    print(f"{found} files {'have no' if check else 'got a'} header")
    return int(check and found > 0)


if __name__ == "__main__":
    raise SystemExit(main())
