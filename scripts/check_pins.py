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

"""Check that every pinned version installs on every Python that the README promises, and that
nothing they need is missing in this environment.

    .venv/bin/python scripts/check_pins.py

Compares the Python versions that each pin requires, from the package index, with the first release
of each minor version: distributions stay at an early release (Debian 12 at 3.11.2, Ubuntu 24.04 at
3.12.3), and an installation on a later one does not show what they refuse.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bootstrap import NEWEST, OLDEST  # noqa: E402

PYTHONS = [f"{OLDEST[0]}.{minor}.0" for minor in range(OLDEST[1], NEWEST[1] + 1)]


def pins() -> list[Requirement]:
    """Every `name==version` in requirements/."""
    lines = [line.split("#")[0].strip() for file in sorted((ROOT / "requirements").glob("*.txt"))
             for line in file.read_text().splitlines()]
    return [Requirement(line) for line in lines if line]


def files_of(pin: Requirement, index: str) -> list[dict]:
    """Files of the pinned version on the index."""
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{canonicalize_name(pin.name)}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = json.load(answer)["files"]
    return [file for file in found if pin.specifier.contains(_version(file["filename"]))]


def _version(filename: str) -> str:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return "0"      # an obsolete installer format that pip does not use


def refused(pin: Requirement, files: list[dict]) -> list[str]:
    """One message for each Python that requires the pin but has no compatible file of it."""
    if not files:
        return [f"{pin}: the index does not have it"]
    said = []
    for python in PYTHONS:
        environment = {"python_version": python.rpartition(".")[0], "python_full_version": python}
        asked = pin.marker is None or pin.marker.evaluate(environment)
        needs = {file.get("requires-python") or "" for file in files}
        if asked and not any(SpecifierSet(need).contains(python) for need in needs):
            said.append(f"{pin}: needs Python {' or '.join(sorted(needs))}, not {python}")
    return said


def main() -> int:
    """Print the conflicts; returns 1 if there are any, 0 if none or if the index does not
    answer."""
    incomplete = subprocess.call([sys.executable, "-m", "pip", "check"])
    index = os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
    everything = pins()
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda pin: files_of(pin, index), everything))
    except (urllib.error.URLError, json.JSONDecodeError, TimeoutError) as error:
        print(f"check_pins: not checked, {index} does not answer ({error})", file=sys.stderr)
        return incomplete
    said = [line for pin, files in zip(everything, found) for line in refused(pin, files)]
    print("\n".join(said) or f"{len(everything)} pins fit Python {PYTHONS[0]} to {PYTHONS[-1]}")
    return 1 if said else incomplete


if __name__ == "__main__":
    sys.exit(main())
