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

"""Advice for a person at the joystick: which channel to move, and how, to excite the parameters
of a stage that are not known yet."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..model.sample import VEHICLE_CHANNELS

# letters of efforts (X surge ... N yaw) and velocities (u surge ... r yaw) in parameter names
EFFORT_CHANNEL = dict(zip("XYZKMN", VEHICLE_CHANNELS))
VELOCITY = dict(zip("uvwpqr", VEHICLE_CHANNELS))
FASTER, SLOWER, RANGE = "faster, back and forth", "slowly too", "through its whole range"
TILTED = "tilt it, hold, and tilt it to another angle"
# by joint parameter, without the joint's name
LINK_ADVICE = {"m": RANGE, "fv": "at several speeds", "fs": "slowly, in both directions",
               "Ir": FASTER, "offset": SLOWER}
RESTORING = {"W": ("heave", "roll", "pitch"), "B": ("heave", "roll", "pitch"),
             "xgW_xbB": ("pitch",), "ygW_ybB": ("roll",), "zgW_zbB": ("roll", "pitch")}


def motions_showing(name: str, move: Sequence[str]) -> list[tuple[str, str]]:
    """(channel, how to move it) pairs that excite a parameter, among the channels that a stage
    moves; all of these channels if the name does not tell."""
    found = [(channel, how) for channel, how in _shown_by(name) if channel in move]
    return found or [(channel, "more, differently") for channel in move]


def advice(channel: str, names: Iterable[str], move: Sequence[str]) -> str:
    """'roll: faster, back and forth (Ix_K_dp, K_pp)' for parameters that are not known yet; '' if
    this channel excites none of them."""
    by_motion: dict[str, list[str]] = {}
    for name in names:
        for shown_by, how in motions_showing(name, move):
            if shown_by == channel:
                by_motion.setdefault(how, []).append(name)
    said = [f"{how} ({', '.join(which)})" for how, which in by_motion.items()]
    return f"{channel}: {'; '.join(said)}" if said else ""


def _shown_by(name: str) -> list[tuple[str, str]]:
    joint, dot, own = name.rpartition(".")
    if dot:
        how = LINK_ADVICE.get(own) or (RANGE if own.startswith("ml") else
                                       FASTER if own.startswith("I") else "at several speeds")
        channel = f"joint.{joint}" if joint in VEHICLE_CHANNELS else joint
        return [(channel, how)]
    if name in RESTORING:
        return [(channel, TILTED) for channel in RESTORING[name] if channel != "heave"] + [
            (channel, SLOWER) for channel in RESTORING[name] if channel == "heave"]
    if inertia := re.search(r"_d([uvwpqr])$", name):
        return [(VELOCITY[inertia[1]], FASTER)]
    if damping := re.search(r"^[XYZKMN]_([uvwpqr]+)$", name):
        how = FASTER if len(damping[1]) > 1 else SLOWER
        return [(VELOCITY[letter], how) for letter in dict.fromkeys(damping[1])]
    if further := re.search(r"^(offset|thrust)_([XYZKMN])$", name):
        return [(EFFORT_CHANNEL[further[2]], SLOWER if further[1] == "offset" else FASTER)]
    if name.startswith("current_"):
        return [("surge", SLOWER), ("sway", SLOWER)]
    return []
