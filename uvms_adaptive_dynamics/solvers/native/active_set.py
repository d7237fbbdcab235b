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

"""Newton's method on the optimality conditions, from a guessed active set (docs/mathematics.md,
"Optimality conditions").

At the optimum some bounds hold with equality and some matrix inequalities are singular, nearly
always the same ones from tick to tick. Given these, F_k >= 0 is locally the smooth condition that
the Schur complement of its regular part vanishes, and Newton's method on the Lagrangian converges
quadratically (Overton and Womersley, "Second derivatives for optimizing eigenvalues of symmetric
matrices", 1995). Its matrix is factorized once per guess and kept for the steps that follow. The
guess is corrected: multipliers of the wrong sign leave the active set, violated constraints enter
it. An answer always has a certificate, a bound on its cost above the optimum; without one the
search returns where it stopped.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from .answer import ActiveSet, Certified, SolveClock, Stopped
from .cones import NEARLY_FEASIBLE, Cones
from .optimality import Conditions, Iterate
from .robust_cost import QUARTER, RobustCost

STEPS = 24  # at most, over all guesses
GUESSES = 6  # of the active set at most, each with a factorization
DIVERGING = 4.0  # ratio to the previous step's length above which the factorization is useless
ASTRAY = 10.0  # ratio to the very first step's length above which the search is given up
SLOW_STEP = 0.3  # ratio to the previous step's length above which the factorization is too old
ACTIVE_SET_GAP = 1e-9  # relative gap of an answer
SLACK_ROUNDING = 1e-10  # (scaled) violation attributed to rounding
STALLED = 1e-13  # relative length of a step below which steps no longer help


def solve_active_set(cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet,
                     clock: SolveClock = SolveClock()) -> Certified | Stopped:
    """The optimum near `start` (m,), from the guess `active`; `Stopped` if it leads elsewhere."""
    search = _Search(cost, cones, start, active, clock)
    try:
        # a step that is not finite ends the search
        with np.errstate(over="ignore", invalid="ignore"):
            answer = search.run()
    except np.linalg.LinAlgError:
        answer = None
    return search.stopped() if answer is None else answer


class _Search:
    """The search from a guess to an answer; call `run` once."""

    def __init__(self, cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet,
                 clock: SolveClock):
        self._cost, self._cones, self._active, self._clock = cost, cones, active.copy(), clock
        self._null = self._active.rank  # number of null directions of each inequality
        self._slope = cost.slope(start)
        self._steps = 0
        # longest acceptable first step of a factorization: the first step of the previous one with
        # the same active set; ASTRAY times the very first step
        self._longest = self._astray = np.inf

    def run(self) -> Certified | None:
        """Try guesses, each with its own factorization, until one leads to an answer."""
        for guess in range(GUESSES):
            if guess:
                # Groups may have left the outlier set, which changes its arrays but no value.
                self._slope = self._cost.slope(self._slope.x)
            hessian = self._cost.hessian(self._slope)
            conditions = Conditions.at(self._cones, self._slope.x, hessian, self._active,
                                       self._null)
            if conditions is None or self._clock.passed:
                return None
            verdict = self._converge(conditions)
            if not isinstance(verdict, str):
                return verdict
        return None

    def stopped(self) -> Stopped:
        """The last point, and the multipliers of the last guess."""
        return Stopped(self._slope.x, self._active.multipliers, self._active.Z, self._steps)

    def _converge(self, conditions: Conditions) -> Certified | Literal["again"] | None:
        """Steps with one factorization: an answer, None if they diverge, 'again' if the guess has
        changed or the factorization is too old."""
        last = np.inf
        state = first = conditions.state(self._slope)
        while self._steps < STEPS and not self._clock.passed:
            self._steps += 1
            is_first = last == np.inf
            dx, change = conditions.step(state)
            length = math.sqrt(dx @ dx)
            longest = min(self._longest, self._astray) if is_first else math.inf
            if not math.isfinite(length) or length > longest:
                return None
            if length > DIVERGING * last:
                return self._refreshed(conditions, state, first)
            if is_first:
                self._longest = length
            if self._steps == 1:
                self._astray = ASTRAY * length
            self._slope = self._cost.slope(state.x + dx)
            state = conditions.state(self._slope, state.multipliers + change)
            gap = self._gap(conditions, state, length)
            good = gap < ACTIVE_SET_GAP and conditions.violation(state) < NEARLY_FEASIBLE
            # The first step reveals most wrong guesses; an answer is always checked in full.
            doubtful = is_first and conditions.doubtful(state, self._active.bounds)
            if (good or conditions.on_a_face or doubtful) and self._corrected(conditions, state):
                return "again"
            if good:
                answer = self._confirmed(conditions, state, gap)
                if answer is not None:
                    return answer
            elif length > SLOW_STEP * last:
                return self._refreshed(conditions, state, first)
            last = length
            first = state if is_first else first
        return None

    def _confirmed(self, conditions: Conditions, state: Iterate,
                   gap: float) -> Certified | Literal["again"] | None:
        """The answer; 'again' if the cost lacked an outlier; None if another step is needed."""
        revision = self._cost.revision
        self._cost.refresh(state.x)
        if self._cost.revision == revision:
            return self._restored(conditions, state, gap)
        self._slope = self._cost.slope(state.x)
        self._longest = np.inf
        return "again"

    def _restored(self, conditions: Conditions, state: Iterate, gap: float) -> Certified | None:
        """The answer moved onto its active constraints and inside all others; None if that costs
        more than the gap allows."""
        slope = self._slope
        x = self._cones.pulled_inside(state.x + conditions.restoring(state))
        dx = x - state.x
        # The cost's Hessian is nowhere above 2 P.
        first, second = float(slope.gradient @ dx), float(dx @ self._cost.P @ dx)
        gap += (abs(first) + second) / self._cost.size(slope.value)
        return (Certified(x, slope.value + first + second, self._active, gap, self._steps)
                if gap < ACTIVE_SET_GAP else None)

    def _corrected(self, conditions: Conditions, state: Iterate) -> bool:
        """Remove constraints with multipliers of the wrong sign from the active set, and add the
        violated ones. True if there were any, or if the step was along a face."""
        cones, old = self._cones, self._active
        multipliers = self._multipliers(conditions, state)
        violated = (state.slacks < -SLACK_ROUNDING) & ~old.bounds
        bounds = (old.bounds & (multipliers >= 0)) | violated
        wrong = conditions.on_a_face or bool((bounds != old.bounds).any())
        Z, rank = old.Z, old.rank
        if cones.count:
            Z, kept = conditions.multiplier_matrices(state)
            entering = conditions.violated(state, SLACK_ROUNDING)
            wrong |= bool((kept < old.rank).any() or entering.any())
            # A direction that loses its multiplier is null, unless this was a step along its face.
            self._null = entering + (kept if conditions.on_a_face else old.rank)
            rank = kept + entering
        self._active = ActiveSet(bounds, np.maximum(multipliers, 0.0), rank, Z)
        if wrong:
            self._longest = np.inf
        return wrong

    def _refreshed(self, conditions: Conditions, state: Iterate,
                   first: Iterate) -> Literal["again"]:
        """Ask for another factorization with the present multipliers; first: state after the first
        step.

        Newton's method is mostly slowed down by a direction about to become null: the closer it is,
        the more its Schur complement curves, so it is better guessed to be active."""
        old, cones = self._active, self._cones
        Z, rank = old.Z, old.rank
        if cones.count:
            Z, _ = conditions.multiplier_matrices(state)
            approached = np.maximum(conditions.approached(first), conditions.approached(state))
            rank = rank + approached
            if approached.any():
                self._longest = np.inf
        self._active = ActiveSet(old.bounds, self._multipliers(conditions, state), rank, Z)
        self._null = rank
        return "again"

    def _multipliers(self, conditions: Conditions, state: Iterate) -> np.ndarray:
        """(b,) multipliers of all bounds, zero where inactive."""
        multipliers = np.zeros(self._active.multipliers.size)
        multipliers[conditions.bounds] = state.multipliers[:conditions.bounds.size]
        return multipliers

    def _gap(self, conditions: Conditions, state: Iterate, length: float) -> float:
        """Bound on the relative gap after a step of this length."""
        r, size = state.residual, self._cost.size(self._slope.value)
        complementarity, floor = conditions.complementarity(state), self._cost.floor
        # The floor gives a cheap bound; the expensive one is worth its time only when steps no
        # longer help.
        if floor is not None and length >= STALLED * math.sqrt(state.x @ state.x):
            return (complementarity + QUARTER * float(r @ (r / floor))) / size
        bound = self._cost.residual_bound(self._slope, r, ACTIVE_SET_GAP * size)
        return (complementarity + bound) / size
