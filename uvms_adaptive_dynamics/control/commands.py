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

"""Commands over a forecast horizon, as input to the twin: efforts and the arm's planned motion."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from ..errors import ParameterError
from ..model.sample import Sample

# [s] time constant with which a joint commanded to hold comes to rest: a position servo of
# 40 N m/rad against friction of 2.4 N m s/rad takes 0.06 s, and its ramp as long again.
STOP_TIME = 0.1

Plan = Callable[[float], tuple[np.ndarray, np.ndarray]]


class Commands(NamedTuple):
    """efforts(t) (C,) [N, N m] at t [s] from the start: thruster wrench in body FRD and joints.

    arm: the joints' planned motion (mu (n,), mu_dot (n,)) at t if servos follow it; joint efforts
    are then ignored. measured: the joint efforts are readings, with sensor noise.
    """

    efforts: Callable[[float], np.ndarray]
    arm: Plan | None = None
    measured: bool = False


def held(efforts: np.ndarray) -> Callable[[float], np.ndarray]:
    """The same efforts (C,) at every time."""
    return lambda t: efforts


def tabulated(t: np.ndarray, values: np.ndarray) -> Callable[[float], np.ndarray]:
    """Linear interpolation of values (k, C) at times t (k,) [s], constant beyond both ends.

    Raises ParameterError if the table is empty, not finite, or its times do not increase.
    """
    t, values = np.asarray(t, float), np.asarray(values, float)
    is_table = t.ndim == 1 and values.ndim == 2 and len(t) == len(values) > 0
    if not (is_table and np.isfinite(t).all() and np.isfinite(values).all()
            and (np.diff(t) > 0).all()):
        raise ParameterError(f"planned commands: got times of shape {t.shape} and values of shape "
                             f"{values.shape}; expected finite rows at increasing times.")
    if len(t) == 1:
        return held(values[0])

    def at(when: float) -> np.ndarray:
        k = min(max(int(np.searchsorted(t, when, "right")) - 1, 0), len(t) - 2)
        share = min(max((when - t[k]) / (t[k + 1] - t[k]), 0.0), 1.0)
        return values[k] + share * (values[k + 1] - values[k])
    return at


def holding(mu: np.ndarray, mu_dot: np.ndarray) -> Plan:
    """A plan that brings the joints from mu, mu_dot (n,) to rest."""
    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        left = np.exp(-t / STOP_TIME)
        return mu + STOP_TIME * (1 - left) * mu_dot, left * mu_dot
    return at


def through(mu: np.ndarray, t: np.ndarray, positions: np.ndarray) -> Plan:
    """A plan from mu (n,) through positions (k, n) at times t (k,) > 0 [s], holding the last one;
    smooth and without overshoot."""
    curve = PchipInterpolator(np.concatenate([[0.0], t]), np.vstack([mu, positions]))
    return _bounded(curve, float(t[-1]))


def recorded(samples: Sequence[Sample], vehicle: bool, arm: str,
             effort_factor: np.ndarray | float = 1.0) -> Commands:
    """The commands of a piece of a recording, from its first sample on.

    arm: 'efforts' (measured joint efforts) or 'positions' (the arm's recorded motion). The wrench
    is that of the thruster commands. effort_factor (C,): the estimator's effort scale.
    """
    t = np.array([s.t for s in samples]) - samples[0].t
    tau = np.array([np.concatenate([s.wrench, s.joint_torque]) if vehicle else s.joint_torque
                    for s in samples])
    efforts = tabulated(t, tau * effort_factor)
    if arm == "efforts" or not samples[0].mu.size:
        return Commands(efforts, measured=True)
    curve = CubicHermiteSpline(t, np.array([s.mu for s in samples]),
                               np.array([s.mu_dot for s in samples]))
    return Commands(efforts, _bounded(curve, float(t[-1])))


def _bounded(curve: PchipInterpolator | CubicHermiteSpline, end: float) -> Plan:
    slope = curve.derivative()

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        if t > end:
            return curve(end), np.zeros_like(curve(end))
        return curve(t), slope(t)
    return at
