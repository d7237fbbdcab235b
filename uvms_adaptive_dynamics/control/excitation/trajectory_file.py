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

"""Trajectories on disk: one YAML file with tones and promised standard deviations."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...disk.reading import read_text
from ...disk.writing import write_file
from ...disk.yaml_text import parse_yaml
from ...errors import ParameterError, brief
from .trajectory import VEHICLE_COORDINATES, Promise, Trajectory

TRAJECTORY_SCHEMA = 1
# [bytes] 36 coordinates with 50 tones each and 400 parameters take 250 kB.
LARGEST_TRAJECTORY_FILE = 1_000_000
# Bound on seconds, metres, radians, hertz and deviations that keeps the motion finite.
LARGEST_TRAJECTORY_VALUE = 1e6
TRAJECTORY_ADVICE = "Correct it, or design it again with the command excite."


def save_trajectory(path: str | Path, trajectory: Trajectory) -> Path:
    """Write a trajectory atomically; raises UvmsError if the file cannot be written."""
    document: dict[str, Any] = {
        "schema": TRAJECTORY_SCHEMA, "trajectory": dict(trajectory.made),
        "duration": float(trajectory.duration), "ramp": float(trajectory.ramp),
        "coordinates": {}}
    rows = zip(trajectory.coordinates, trajectory.centre, trajectory.frequencies, trajectory.sine,
               trajectory.cosine)
    for name, centre, frequency, sine, cosine in rows:
        entry: dict[str, Any] = {"centre": float(centre)}
        if sine.any() or cosine.any():
            entry |= {"frequency": frequency.tolist(), "sine": sine.tolist(),
                      "cosine": cosine.tolist()}
        document["coordinates"][name] = entry
    if trajectory.promise is not None:
        promise = trajectory.promise
        document["promise"] = {
            name: {"unit": unit, "free": bool(free), "present": float(present),
                   "promised": float(promised)}
            for name, unit, free, present, promised in zip(*promise[:5])}
        if promise.at_best is not None:
            for name, best in zip(promise.names, promise.at_best):
                document["promise"][name]["at_best"] = float(best)
    return write_file(path, yaml.safe_dump(document, sort_keys=False, default_flow_style=None,
                                           width=110))


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a file written by `save_trajectory`; raises ParameterError for an unusable file."""
    what = f"trajectory '{path}'"
    text = read_text(Path(path), what, LARGEST_TRAJECTORY_FILE, ParameterError,
                     "a trajectory written by the command excite")
    document = parse_yaml(text, what, ParameterError, TRAJECTORY_ADVICE)
    if not isinstance(document, dict) or not isinstance(document.get("coordinates"), dict):
        raise ParameterError(f"{what} holds no mapping 'coordinates'; expected a trajectory "
                             f"written by the command excite. {TRAJECTORY_ADVICE}")
    if document.get("schema") != TRAJECTORY_SCHEMA:
        raise ParameterError(f"{what} has schema {brief(document.get('schema'))}; expected "
                             f"{TRAJECTORY_SCHEMA}. Design it again with this version.")
    coordinates = document["coordinates"]
    names = tuple(map(str, coordinates))
    if names[:6] != VEHICLE_COORDINATES:
        raise ParameterError(f"{what} has the coordinates {', '.join(names[:6]) or 'none'}; "
                             f"expected {', '.join(VEHICLE_COORDINATES)}, then joints. "
                             f"{TRAJECTORY_ADVICE}")
    duration, ramp = (_number(document.get(key), f"{what}: '{key}'", above=0.0)
                      for key in ("duration", "ramp"))
    if 2 * ramp > duration:
        raise ParameterError(f"{what}: 'ramp' is {ramp:g} s; expected at most half of the "
                             f"duration of {duration:g} s. {TRAJECTORY_ADVICE}")
    entries = [_entry(entry, f"{what}: '{name}'") for name, entry in coordinates.items()]
    most = max(1, *(len(frequency) for _, frequency, _, _ in entries))
    # Pad coordinates that have fewer tones with 1 Hz tones of zero amplitude.
    padded = [[np.pad(row, (0, most - len(row)), constant_values=fill)
               for row, fill in zip(entry[1:], (1.0, 0.0, 0.0))] for entry in entries]
    frequencies, sine, cosine = (np.array(rows) for rows in zip(*padded))
    made = document.get("trajectory")
    return Trajectory(names[6:], duration, ramp, np.array([entry[0] for entry in entries]),
                      frequencies, sine, cosine, _promise(document.get("promise"), what),
                      made if isinstance(made, dict) else {})


def _entry(entry: Any, what: str) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """(centre, frequencies, sine, cosine) of a coordinate."""
    if not isinstance(entry, dict):
        raise ParameterError(f"{what} is {brief(entry)}; expected a mapping with 'centre'. "
                             f"{TRAJECTORY_ADVICE}")
    centre = _number(entry.get("centre"), f"{what}: 'centre'")
    lists = []
    for key in ("frequency", "sine", "cosine"):
        found = entry.get(key, [])
        if not isinstance(found, list):
            raise ParameterError(f"{what}: '{key}' is {brief(found)}; expected a list of numbers. "
                                 f"{TRAJECTORY_ADVICE}")
        lists.append(np.array([_number(value, f"{what}: '{key}'") for value in found]))
    if len({len(each) for each in lists}) != 1:
        raise ParameterError(f"{what} has {len(lists[0])} frequencies, {len(lists[1])} sines and "
                             f"{len(lists[2])} cosines; expected the same number of each. "
                             f"{TRAJECTORY_ADVICE}")
    return centre, lists[0], lists[1], lists[2]


def _promise(found: Any, what: str) -> Promise | None:
    if found is None:
        return None
    keys: tuple[str, ...] = ("present", "promised")
    if not isinstance(found, dict) or not all(
            isinstance(entry, dict) and {*keys, "free", "unit"} <= set(entry)
            for entry in found.values()):
        raise ParameterError(f"{what}: 'promise' is {brief(found)}; expected unit, free, present "
                             f"and promised for each parameter. {TRAJECTORY_ADVICE}")
    if found and all("at_best" in entry for entry in found.values()):
        keys += ("at_best",)
    figures = (np.array([_number(entry[key], f"{what}: '{key}' of a promise")
                         for entry in found.values()]) for key in keys)
    return Promise(tuple(map(str, found)), tuple(str(e["unit"]) for e in found.values()),
                   np.array([bool(e["free"]) for e in found.values()]), *figures)


def _number(value: Any, what: str, above: float = -LARGEST_TRAJECTORY_VALUE) -> float:
    # NaN fails the comparison.
    if (isinstance(value, (int, float)) and not isinstance(value, bool)
            and above < value <= LARGEST_TRAJECTORY_VALUE):
        return float(value)
    raise ParameterError(f"{what} is {brief(value)}; expected a number above {above:g} and at most "
                         f"{LARGEST_TRAJECTORY_VALUE:g}. {TRAJECTORY_ADVICE}")
