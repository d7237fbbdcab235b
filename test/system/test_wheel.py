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

"""A wheel is the complete package: it runs in any folder, without the checkout."""
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "uvms_adaptive_dynamics"
# What setup.py installs beside the package.
BESIDE = ("config", "launch", "layouts", "scripts", "cmake", "include", "resource")
FILES = ("setup.py", "setup.cfg", "package.xml", "LICENSE")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy, since setuptools leaves folders behind."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in (PACKAGE, *BESIDE):
        shutil.copytree(ROOT / folder, source / folder,
                        ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, source)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--no-index", "--wheel-dir", str(built), str(source))
    (found,) = built.glob("*.whl")
    return found


def test_every_file_of_the_package_is_in_the_wheel(wheel):
    """Modules, templates, robots, and the files ROS needs in share."""
    inside = set(ZipFile(wheel).namelist())
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).rglob("*")
             if path.is_file() and "__pycache__" not in path.parts}
    assert files - inside == set()
    data = f"{wheel.name.removesuffix('-py3-none-any.whl')}.data/data"
    shared = {f"{data}/share/{PACKAGE}/{path.relative_to(ROOT).as_posix()}"
              for folder in ("config", "launch", "layouts", "cmake")
              for path in (ROOT / folder).iterdir() if path.is_file()}
    shared |= {f"{data}/include/{path.relative_to(ROOT / 'include').as_posix()}"
               for path in (ROOT / "include").rglob("*.hpp")}
    assert shared - inside == set()


def test_it_runs_from_another_folder(wheel, tmp_path):
    """Simulates, evaluates and reports; nothing is imported from the checkout."""
    site, place = tmp_path / "site", tmp_path / "elsewhere"
    place.mkdir()
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target",
        str(site), str(wheel))
    alone = {**os.environ, "PYTHONPATH": str(site)}
    uvms = (sys.executable, "-m", PACKAGE)
    where = run(sys.executable, "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)", cwd=place,
                env=alone)
    assert Path(where.strip()).is_relative_to(site)
    run(*uvms, "simulate", "--output", "dive", "--duration", "3", cwd=place, env=alone)
    config = site / "share" / PACKAGE / "config/bluerov2_alpha5.yaml"
    run(*uvms, "evaluate", "dive", "--config", str(config), "--output", "out", cwd=place, env=alone)
    assert (place / "out/report.html").is_file()
    run(*uvms, "batch", "dive", "--output", "many", cwd=place, env=alone)
    assert (place / "many/batch.html").is_file()
