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

"""Digests of everything that results depend on: recordings, settings and their files, code and
libraries."""
from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ... import __version__
from ...config import AUTO, Config
from ...config.files import PATHS
from ...control.stages import FOLDER as SCHEDULES
from ...disk.kinds import reason_of
from ...errors import UvmsError
from ...model.robot import RobotModel
from ...model.thrust_curve import DEFAULT_CURVE
from ...model.urdf_address import resolve_urdf
from ...solvers.choose import choose_solver

# [bytes] read at once; large enough that a disk reads without pauses.
READ_SIZE = 1 << 20
# Results may differ in their last digits between versions. Pinocchio is `pin` on PyPI; installed
# from apt it has no distribution.
LIBRARIES = ("numpy", "scipy", "pin", "clarabel", "mosek", "cvxpy", "rosbags", "pymavlink")


def digest_of(value: Any) -> str:
    """Digest of plain data; equal data have equal digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """Digest of a file's bytes, or of names and bytes of all regular files of a folder; raises
    UvmsError."""
    path = Path(path)
    try:
        if path.is_dir():
            return digest_of([(file.name, file_digest(file)) for file in sorted(path.iterdir())
                              if file.is_file()])
        found = hashlib.sha256()
        with open(path, "rb") as stream:
            while piece := stream.read(READ_SIZE):
                found.update(piece)
        return found.hexdigest()
    except OSError as error:
        raise UvmsError(f"'{path}' cannot be read: {reason_of(error)}.") from None


@cache
def code_digest() -> str:
    """Digest of this package's modules and data, and of the versions of numerical libraries."""
    root = Path(__file__).parents[2]
    modules = [(str(path.relative_to(root)), file_digest(path)) for path in sorted(
        (*root.rglob("*.py"), *(root / "robots").iterdir(), *SCHEDULES.iterdir()))]
    return digest_of([__version__, modules, {name: _version(name) for name in LIBRARIES}])


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def pinned(config: Config) -> Config:
    """The settings with absolute paths and the chosen solver's name, so that they mean the same on
    every machine."""
    changes: dict[str, Any] = {}
    for name in PATHS:
        section, key = name.split(".")
        path = getattr(getattr(config, section), key)
        if path and "://" not in path and Path(path).is_file():
            changes[name] = str(Path(path).resolve())
    if config.estimation.solver == "auto":
        chosen, _ = choose_solver("auto", RobotModel.from_config(config).table)
        changes["estimation.solver"] = chosen.name
    return config.with_values(changes)


def settings_digest(config: Config) -> str:
    """Digest of all settings and of the files that they name."""
    values = {name: value for name, _, value in config.settings()}
    files = [resolve_urdf(config.robot.urdf)]
    files += [config.prior.file] * (config.prior.file not in ("", AUTO))
    files += [config.thrusters.curve] * (config.thrusters.curve != DEFAULT_CURVE)
    # The package's own schedules, given by name, are part of the code digest.
    files += [config.estimation.schedule] * bool(config.estimation.schedule)
    # The task reports a missing file when it runs.
    return digest_of([values, [file_digest(file) if Path(file).is_file() else ""
                               for file in files]])
