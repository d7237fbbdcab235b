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

"""Metadata of a saved estimate (`ParameterSet.learned`): the amount of data behind it, the settings
it depends on, factors that correct measurements, and channels that contradict it. Missing or
malformed counts and channels count as absent; factors are checked (`model/scales.py`)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import Config
from ..model.parameter_set import ParameterSet
from ..model.scales import EFFORT_SIZE, Scales, stated_efforts, stated_factors
from ..uncertainty.parameter_flags import MEASURED_SHARE
from .learned_spans import LearnedSpans

# Settings that convert measurements to motion and efforts in SI, or say what the parameters mean:
# with other values, the same robot gets other parameters. The robot itself is identified by its
# folder (`robot_identity`). Current, gravity and density of the water belong to the place, where
# the same robot has the same parameters; the depth only masks rows.
MEASURING = (
    "estimation.coupling", "estimation.base_motion",
    "robot.link_volumes", "robot.link_buoyancy_centres", "robot.link_diameters",
    "robot.rotor_inertia", "robot.dead_band_speed",
    "thrusters.source", "thrusters.wrench_frame", "thrusters.channels", "thrusters.unit",
    "thrusters.signs", "thrusters.time_constant", "thrusters.delay",
    "thrusters.allocation", "thrusters.curve", "thrusters.efficiency", "thrusters.voltage",
    "thrusters.dead_zone", "thrusters.dead_zone_kind",
    "battery.enabled",
    "joint_states.names", "joint_states.unit", "joint_states.delay",
    "joint_states.effort_scale", "joint_states.effort_scale_negative",
    "joint_states.effort_offset", "joint_states.position_offset",
    "imu.frame", "imu.world", "imu.orientation", "imu.xyz", "imu.rpy", "imu.delay",
    "dvl.frame", "dvl.xyz", "dvl.rpy", "dvl.delay")


def measuring_settings(config: Config) -> dict[str, Any]:
    """The settings that an estimate depends on, in plain types, by dotted name."""
    values = {name: value for name, _, value in config.settings()}
    return {name: list(values[name]) if isinstance(values[name], tuple) else values[name]
            for name in MEASURING}


def learned_entries(rows: int, directions: int, config: Config, spans: LearnedSpans,
                    channels: Sequence[str], wrong: np.ndarray, scales: Scales,
                    effort: np.ndarray, interval_factor: np.ndarray | None) -> dict[str, object]:
    """`ParameterSet.learned` of an estimate.

    rows, directions: learnt from and determined by its data; config, spans: settings and time
    spans of the data; wrong (C,) bool: channels that contradict the estimate; scales: factors on
    measurements; effort (C,): scale of the efforts [N, N m] at which the noise was learnt;
    interval_factor (C,): factors on intervals, None if these do not adapt."""
    where_any = {
        "wrong": [channel for channel, is_wrong in zip(channels, wrong) if is_wrong],
        "interval_factor": ({} if interval_factor is None
                            else dict(zip(channels, interval_factor.round(4).tolist()))),
        EFFORT_SIZE: dict(zip(channels, effort.tolist())),
        **scales.stated(channels)}
    return {"rows": rows, "directions": directions, "settings": measuring_settings(config),
            "spans": spans.lists(), "marks": spans.mark_lists(),
            **{key: value for key, value in where_any.items() if value}}


def known_rows(parameters: ParameterSet) -> int:
    """Number of rows behind a set of parameters; 0 if not stated."""
    return saved_count(parameters, "rows")


def known_directions(covariance: np.ndarray, stddev: np.ndarray) -> int:
    """Number of independent directions known to within MEASURED_SHARE of the prior's deviations
    stddev (p,), from a covariance (p, p); frozen and tied directions count, equally in every state.
    """
    scaled = np.asarray(covariance) / np.outer(stddev, stddev)
    return int(np.sum(np.linalg.eigvalsh(scaled) < MEASURED_SHARE ** 2))


def interval_factors(parameters: ParameterSet, channels: Sequence[str]) -> np.ndarray:
    """(C,) factors of an estimate's adapting intervals; 1 if not stated."""
    stated = stated_factors(parameters.learned, "interval_factor", parameters.source)
    return np.array([stated.get(channel, 1.0) for channel in channels])


def effort_sizes(parameters: ParameterSet, channels: Sequence[str]) -> np.ndarray | None:
    """(C,) scale of the efforts [N, N m] at which the noise was learnt; None if not stated for
    each channel."""
    stated = stated_efforts(parameters.learned, parameters.source)
    if not set(channels) <= set(stated):
        return None
    return np.array([stated[channel] for channel in channels])


def wrong_channels(parameters: ParameterSet) -> list[str]:
    """Channels whose data contradicted the estimate when it was saved."""
    found = parameters.learned.get("wrong")
    return [str(channel) for channel in found] if isinstance(found, list) else []


def saved_count(parameters: ParameterSet, key: str) -> int:
    """A stored count; 0 if not stated."""
    found = parameters.learned.get(key)
    return found if type(found) is int and found >= 0 else 0
