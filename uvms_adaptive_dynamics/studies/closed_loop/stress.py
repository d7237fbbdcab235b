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

"""Stress test of the feedforward: the estimate is withheld, stale, not a number, or jumps within
P."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...config import Config
from ...control.feedforward import Feedforward
from ...control.motion_controller import Gains
from ...errors import ParameterError
from ...model.parameter_set import ParameterSet
from ...model.physical_set import PhysicalSet
from ...model.robot import RobotModel
from ...simulation.faults.stream import Received
from .loop import CONTROL_PERIOD, TrackingErrors, run_loop
from .truth import wrong_prior

SPELL_KINDS = ("good", "withheld", "stale", "not a number", "jumping")
UPDATE_PERIOD = 0.02        # [s] the estimator's
LONGEST_SPELL = 150         # updates of one kind in a row: 3 s, more than the timeout
STALE_BY = 30.0             # [s]
# The estimate jumps among parameter sets wrong by this factor, up or down, and convex combinations
# of two of them, which are within P since P is convex.
CORNERS, CORNER_FACTOR = 24, 4.0
STRESS_SEED = 7
QUIET_LENGTH = 60.0  # [s] longest reference run with constant true parameters
STRESS_SETTLED = 10.0  # [s] from which errors count


class Jumps:
    """Random physically consistent parameters."""

    def __init__(self, config: Config, model: RobotModel, true: ParameterSet,
                 rng: np.random.Generator):
        self._rng = rng
        self._corners = np.array([
            wrong_prior(true, model, config, CORNER_FACTOR, int(seed)).values
            for seed in rng.integers(2 ** 31, size=CORNERS)])

    def draw(self) -> np.ndarray:
        """(p,) a random set."""
        a, b = self._corners[self._rng.integers(CORNERS, size=2)]
        share = self._rng.random()
        return share * a + (1.0 - share) * b


class Trouble:
    """Disturbs the feedforward in spells of random length and kind."""

    def __init__(self, kinds: tuple[str, ...], good: np.ndarray, jumps: Jumps,
                 rng: np.random.Generator):
        self._kinds, self._good, self._jumps, self._rng = kinds, good, jumps, rng
        self._left, self._kind, self._due = 0, kinds[0], 0.0
        self.counts = dict.fromkeys(kinds, 0)
        self.updates: list[str] = []    # kind of each call, '' if no update was due

    def add_message(self, message: Received) -> None:
        """Nothing is learnt."""

    def update_feedforward(self, t: float, feedforward: Feedforward) -> None:
        """Update the feedforward at time t [s], if an update is due."""
        if t < self._due - 1e-6:
            self.updates.append("")
            return
        self._due = t + UPDATE_PERIOD
        if self._left == 0:
            self._left = int(self._rng.integers(1, LONGEST_SPELL + 1))
            self._kind = str(self._rng.choice(self._kinds))
        self._left -= 1
        self.counts[self._kind] += 1
        self.updates.append(self._kind)
        try:
            if self._kind == "good":
                feedforward.update(self._good, None, t, True)
            elif self._kind == "stale":
                feedforward.update(self._good, None, t - STALE_BY, True)
            elif self._kind == "not a number":
                feedforward.update(np.full(self._good.size, np.nan), None, t, True)
            elif self._kind == "jumping":
                feedforward.update(self._jumps.draw(), None, t, True)
        except ParameterError:
            pass    # the refusal is what is tested


def stress(config: Config, model: RobotModel, true: ParameterSet, gains: Gains, updates: int,
           kinds: tuple[str, ...] = SPELL_KINDS, seed: int = STRESS_SEED) -> dict[str, Any]:
    """Figures of a run with `updates` updates:

    counts of each kind; steps_share: largest step of the feedforward between periods by channel,
    including steps due to the wanted motion, as a share of the channel's limit; quiet_steps_share:
    the same with constant true parameters; errors_max of position [m], attitude and joints [rad]
    from STRESS_SETTLED on, and quiet_errors_max; late_fallbacks: calls after a bad update that
    still reported 'trusted'; beyond_limits: calls with an effort beyond its limit; outside: largest
    violation of P among the jumps.
    """
    rng = np.random.default_rng(seed)
    jumps = Jumps(config, model, true, rng)
    trouble = Trouble(kinds, true.values, jumps, rng)
    duration = updates * UPDATE_PERIOD
    feedforward = Feedforward(model, wrong_prior(true, model, config, 2.0, seed), config)
    track = run_loop(config, model, seed, duration, gains, feedforward, trouble)
    quiet = run_loop(config, model, seed, min(duration, QUIET_LENGTH), gains,
                     Feedforward(model, true, config))
    limits = feedforward.limits
    late = sum(update in ("stale", "not a number") and source == "trusted"
               for update, source in zip(trouble.updates, track.source))
    physical = PhysicalSet(model.table, config.estimation)
    return {"updates": updates, "counts": trouble.counts,
            "steps_share": _steps(track.feedforward, limits),
            "quiet_steps_share": _steps(quiet.feedforward, limits),
            "errors_max": _largest(track), "quiet_errors_max": _largest(quiet),
            "late_fallbacks": int(late),
            "beyond_limits": int(np.sum(np.any(np.abs(track.feedforward) > limits + 1e-9, 1))),
            "outside": max(physical.violation(jumps.draw()) for _ in range(100)),
            "period_s": CONTROL_PERIOD}


def _steps(tau: np.ndarray, limits: np.ndarray) -> list[float]:
    return (np.abs(np.diff(tau, axis=0)).max(axis=0) / limits).tolist()


def _largest(track: TrackingErrors) -> dict[str, float]:
    late = track.t > min(STRESS_SETTLED, 0.5 * track.t[-1])
    return {kind: float(values[late].max()) for kind, values in track.norms().items()
            if kind != "true position"}


def stress_table(found: dict[str, Any], channels: tuple[str, ...]) -> str:
    """The figures as markdown."""
    counts = ", ".join(f"{kind} {count}" for kind, count in found["counts"].items())
    lines = [f"{found['updates']} updates: {counts}. Calls still 'trusted' after a bad update: "
             f"{found['late_fallbacks']}. Efforts beyond a limit: "
             f"{found['beyond_limits']}. Largest violation of P: {found['outside']:.1e}.", "",
             "| largest step of one period, share of the limit | " + " | ".join(channels) + " |",
             "|---|" + "---|" * len(channels)]
    for key, name in (("steps_share", "under stress"), ("quiet_steps_share", "motion alone")):
        lines.append(f"| {name} | " + " | ".join(f"{x:.1%}" for x in found[key]) + " |")
    lines += ["", "| largest error | position [mm] | attitude [mrad] | joints [mrad] |",
              "|---|---|---|---|"]
    for key, name in (("errors_max", "under stress"),
                      ("quiet_errors_max", "true parameters, untouched")):
        lines.append(f"| {name} | "
                     + " | ".join(f"{1e3 * x:.1f}" for x in found[key].values()) + " |")
    return "\n".join(lines) + "\n"
