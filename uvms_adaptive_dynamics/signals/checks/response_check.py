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

"""Check of how thrust follows the commands near neutral: a dead zone that the curve lacks.

The change of velocity over one second is regressed on the thrusters' impulse and on slow effects,
once for each response that is tried. The velocities stay the same, so the likelihoods of the
responses compare. All thrusters respond alike: what differs between them is found elsewhere.
Between two dead zones that are tried, their thrust is interpolated.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...config.thrusters import ZONE_CUT, ZONE_SHIFT, Thrusters
from ...model.jackknife import student_quantile, variance
from ...model.normal import CERTAIN
from ..filters.command_response import POWER, Response
from .finding import Finding, Harm
from .fits import STRETCHES, orthonormal, unexplained
from .thruster_windows import MIN_VELOCITY_STDDEV, Windows, at_times
from .wirings import certain_gain

ZONE_STEP, WIDEST_ZONE = 0.02, 0.2      # [share of full command]
ZONES = np.arange(1, round(WIDEST_ZONE / ZONE_STEP) + 1) * ZONE_STEP
# Exponents by which a wrong curve may resemble a dead zone: a half where thrust grows linearly and
# a quadratic curve is set, two where it is the other way round.
EXPONENTS = (0.5, 0.6, 0.75, 1.33, 1.6, 2.0)
TRIED_RESPONSES = (Response(ZONE_SHIFT, 0.0),
                   *(Response(kind, zone) for kind in (ZONE_SHIFT, ZONE_CUT)
                     for zone in ZONES.tolist()),
                   *(Response(POWER, exponent) for exponent in EXPONENTS))
# [N^1/2 s/m] Tried losses of thrust to the speed of advance, over that speed and the root of the
# thrust. By momentum theory it is about sqrt(2 rho A), in proportion to the diameter: 3 of a T200.
LOSSES = (0.0, 1.5, 3.0, 6.0, 12.0)
FINER = 4               # interpolated steps from one response that is tried to the next
BEYOND = {ZONE_CUT: "beyond it commands act in full",
          ZONE_SHIFT: "beyond it commands act by what exceeds it"}


class _Fitted(NamedTuple):
    """The best value of one kind of response, with its standard error and -2 log likelihood;
    without (S,): the latter without each stretch of time."""

    kind: str
    value: float
    stddev: float
    cost: float
    without: np.ndarray


def response_findings(windows: Windows, tried: np.ndarray, dvl: np.ndarray,
                      allocation: np.ndarray, settings: Thrusters) -> list[Finding]:
    """The finding on a dead zone, or on another law of thrust, that explains the motion better with
    certainty.

    windows: of the configured response; tried (k, 1 + K N): time and integrated thrust [N s] of
    TRIED_RESPONSES; dvl as in `frames`; allocation (6, N).
    """
    if (dvl[:, 1:7].std(axis=0) < MIN_VELOCITY_STDDEV).any():
        return []               # on an axis at rest, thrust works against a tether
    change, wrenches, lost = _cleaned(windows, tried, dvl, allocation)
    count = len(change) / windows.lag       # of independent windows
    # Full thrust comes with full speed, at which some of it is lost, so that loss would look like
    # another law: it is taken as the settings explain the motion best.
    whole, without = _costs(wrenches[0] - np.multiply.outer(LOSSES, lost), change, count)
    k = int(np.argmin(whole))
    as_set, as_set_without, wrenches = whole[k], without[k], wrenches - LOSSES[k] * lost
    fitted = sorted((_fitted(kind, wrenches, change, count)
                     for kind in (ZONE_CUT, ZONE_SHIFT, POWER)), key=lambda one: one.cost)
    best, certain = fitted[0], certain_gain(len(TRIED_RESPONSES))
    # The odds hold if one of the responses is the true one. None is exactly, so their gain must
    # also exceed what it varies by from one stretch of time to another (Vuong 1989).
    doubt = student_quantile(CERTAIN, STRETCHES) * math.sqrt(
        float(variance(as_set_without - best.without)))
    if as_set - best.cost < certain + doubt:
        return []
    likely = [one for one in fitted if as_set - one.cost > certain
              and one.cost - best.cost < certain_gain(1)]
    return [_finding(likely, settings)] if all(_matters(one, settings) for one in likely) else []


def _matters(fitted: _Fitted, settings: Thrusters) -> bool:
    """Whether the response differs from the configured one with 99.9 % certainty, and a dead zone
    by more than an unknown voltage changes a curve's own."""
    known, least = (1.0, 0.0) if fitted.kind == POWER else (settings.dead_zone, ZONE_STEP)
    return (abs(fitted.value - known)
            > least + student_quantile(CERTAIN, STRETCHES) * fitted.stddev)


def _cleaned(windows: Windows, tried: np.ndarray, dvl: np.ndarray, allocation: np.ndarray
             ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(change of velocity (k, 6), wrench's impulse (1 + K, k, 6) of the configured response and of
    those tried, impulse (k, 6) lost to the speed of advance per unit of LOSSES), all after
    regression on slow effects and drag."""
    basis = orthonormal(windows.effects(dvl))
    impulses = np.concatenate([windows.impulse[None],
                               windows.impulses(tried, dvl[:, 0], allocation.shape[1])])
    change, wrenches = windows.slow[:, :6], impulses @ allocation.T
    lost = windows.change_of(dvl[:, 0], _lost_to_advance(tried, dvl, allocation))
    return unexplained(basis, change), unexplained(basis, wrenches), unexplained(basis, lost)


def _lost_to_advance(tried: np.ndarray, dvl: np.ndarray, allocation: np.ndarray) -> np.ndarray:
    """(m, 6) wrench lost to the speed of advance at the rows of dvl, per unit of LOSSES.

    At a speed of rotation n a propeller's thrust is about a n^2 - b n times the speed of the water
    along its axis (Fossen 2011, section 9.1, the bilinear model)."""
    t, count = dvl[:, 0], allocation.shape[1]
    impulse = at_times(t, tried[:, :1 + count])
    # (two rows may have the same time)
    thrust = np.gradient(impulse, axis=0) / np.maximum(np.gradient(t), 1e-9)[:, None]
    return np.asarray((np.sqrt(np.abs(thrust)) * (dvl[:, 1:7] @ allocation)) @ allocation.T)


def _costs(wrenches: np.ndarray, change: np.ndarray, count: float
           ) -> tuple[np.ndarray, np.ndarray]:
    """-2 log likelihoods (m,) of change (k, 6) given wrenches (m, k, 6), and (m, S) of the same
    without each stretch of time; count: of independent windows."""
    parts = []
    for wrench in wrenches:
        own = np.linalg.qr(wrench / np.maximum(np.linalg.norm(wrench, axis=0), 1e-9))[0]
        left = (change - own @ (own.T @ change)) ** 2
        parts.append([part.sum(axis=0) for part in np.array_split(left, STRETCHES)])
    left = np.maximum(np.array(parts), 1e-300)
    whole = left.sum(axis=1, keepdims=True)
    return (count * np.log(whole[:, 0]).sum(axis=1), count * np.log(whole - left).sum(axis=2))


def _fitted(kind: str, wrenches: np.ndarray, change: np.ndarray, count: float) -> _Fitted:
    """The likeliest response of this kind, other arguments as in `_costs`."""
    # An exponent of one is the configured response; no dead zone is the first of those tried.
    first = (1.0, 0) if kind == POWER else (0.0, 1)
    knots = sorted([first, *((one.value, k) for k, one in enumerate(TRIED_RESPONSES, 1)
                             if one.kind == kind and one.value > 0.0)])
    at = np.arange((len(knots) - 1) * FINER + 1) / FINER
    below = np.minimum(at.astype(int), len(knots) - 2)
    share = at - below
    values = np.interp(at, range(len(knots)), [value for value, _ in knots])
    grid = wrenches[[place for _, place in knots]]
    whole, without = _costs((1.0 - share)[:, None, None] * grid[below]
                            + share[:, None, None] * grid[below + 1], change, count)
    best = np.array([_vertex(values, costs) for costs in without.T])
    k = int(np.argmin(whole))
    # Thrust may set in anywhere in an interpolated step.
    rounding = (values[k] - values[k - 1] if k else values[1] - values[0]) / math.sqrt(12.0)
    return _Fitted(kind, _vertex(values, whole), math.hypot(math.sqrt(float(variance(best))),
                                                            rounding), float(whole[k]), without[k])


def _vertex(values: np.ndarray, cost: np.ndarray) -> float:
    """The value (m,) of the smallest cost (m,), by the parabola through it and its neighbours."""
    k = int(np.argmin(cost))
    if k in (0, len(values) - 1):
        return float(values[k])
    a, b, _ = np.polyfit(values[k - 1:k + 2] - values[k], cost[k - 1:k + 2], 2)
    return float(np.clip(values[k] - 0.5 * b / max(a, 1e-12), values[k - 1], values[k + 1]))


def _finding(likely: Sequence[_Fitted], settings: Thrusters) -> Finding:
    """The finding on the likeliest response. If others are as likely, it names them too and
    proposes no values."""
    best = likely[0]
    values: Mapping[str, Any] = {}
    if best.kind != POWER and len(likely) == 1:
        values = {"thrusters.dead_zone": round(best.value, 3),
                  "thrusters.dead_zone_kind": best.kind}
    setting = "thrusters.curve" if best.kind == POWER else "thrusters.dead_zone"
    advice = ("; set " + " and ".join(f"{name} to {value}" for name, value in values.items())
              if values else "")
    return Finding(setting, (
        ", or ".join(_sentence(one) for one in likely) + advice
        + f" (now {settings.dead_zone:g}, {settings.dead_zone_kind})" * bool(values)),
        values, Harm.FOLLOWED)


def _sentence(one: _Fitted) -> str:
    error = f"{one.value:.3f} +- {one.stddev:.3f}"
    if one.kind == POWER:
        return (f"thrust goes with the power {error} of what the curve says: check "
                "thrusters.curve, thrusters.unit and the controller's own curve")
    return (f"the thrusters give no thrust within {error} of the full command about neutral, which "
            f"the curve does not contain; {BEYOND[one.kind]}")
