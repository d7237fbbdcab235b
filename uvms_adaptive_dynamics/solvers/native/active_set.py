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

"""Newton's method on the optimality conditions with a guessed active set: what the previous
tick knows, verified (docs/mathematics.md, "Optimality conditions").

At the optimum some bounds hold with equality and some matrix inequalities are singular, and
from one tick to the next these are nearly always the same ones. Given them, F_k >= 0 is locally
the smooth condition that the Schur complement of its regular part vanishes, and Newton's method
on the Lagrangian converges quadratically (Overton and Womersley, "Second derivatives for
optimizing eigenvalues of symmetric matrices", 1995). The matrix of its equations is factorized
where a guess begins and kept for the steps that follow. Nothing is assumed: multipliers of the
wrong sign leave the set, violated constraints enter it, and an answer is returned only with its
certificate, a bound of its cost above the optimum; else where the search stopped.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from .answer import ActiveSet, Answer, Clock, Stopped
from .cones import NEARLY_FEASIBLE, Cones
from .optimality import Conditions, State
from .robust_cost import QUARTER, RobustCost

STEPS = 24  # in all
GUESSES = 6  # of the active set, and factorizations
DIVERGING = 4.0  # a step this much longer than the one before: the factorization is of no use
ASTRAY = 10.0  # a step this much longer than the first of all: the guesses lead nowhere
SLOW_STEP = 0.3  # a step longer than this share of the one before: the factorization is too old
ACTIVE_SET_GAP = 1e-9  # relative bound of suboptimality of an answer
SLACK_ROUNDING = 1e-10  # (scaled) violation that does not make a constraint active
STALLED = 1e-13  # relative length of a step that changes nothing any more


def solve_active_set(
    cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet, clock: Clock = Clock()
) -> Answer | Stopped:
    """The optimum near `start` (m,), or where the guess has led instead."""
    search = _Search(cost, cones, start, active, clock)
    try:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a step that is not finite ends the search
            answer = search.run()
    except np.linalg.LinAlgError:
        answer = None
    return search.stopped() if answer is None else answer


class _Search:
    """The way from a guess to an answer; `run` is called once."""

    def __init__(
        self, cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet, clock: Clock
    ):
        self._cost, self._cones, self._active, self._clock = cost, cones, active.copy(), clock
        self._null = self._active.rank  # directions of each inequality that are null
        self._slope = cost.slope(start)
        self._steps = 0
        # the longest first step of a factorization: that of the one before, with the same active
        # set, and with any
        self._longest = self._astray = np.inf

    def run(self) -> Answer | None:
        """Guess after guess, each with a factorization of its own."""
        for guess in range(GUESSES):
            if guess:
                # Groups may have left the outlier set since: that changes no value.
                self._slope = self._cost.slope(self._slope.x)
            hessian = self._cost.hessian(self._slope)
            conditions = Conditions.at(
                self._cones, self._slope.x, hessian, self._active, self._null
            )
            if conditions is None or self._clock.passed:
                return None
            verdict = self._converge(conditions)
            if not isinstance(verdict, str):
                return verdict
        return None

    def stopped(self) -> Stopped:
        """The last point, and the multipliers of the last guess."""
        return Stopped(self._slope.x, self._active.multipliers, self._active.Z, self._steps)

    def _converge(self, conditions: Conditions) -> Answer | Literal["again"] | None:
        """Steps with one factorization: an answer, None where they diverge, 'again' where the
        guess changed or is too old."""
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
            # The first step shows most of what is guessed wrong; an answer is checked in full.
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

    def _confirmed(
        self, conditions: Conditions, state: State, gap: float
    ) -> Answer | Literal["again"] | None:
        """The answer, 'again' where an outlier had been left out; None where it takes another
        step."""
        revision = self._cost.revision
        self._cost.refresh(state.x)
        if self._cost.revision == revision:
            return self._restored(conditions, state, gap)
        self._slope = self._cost.slope(state.x)
        self._longest = np.inf
        return "again"

    def _restored(self, conditions: Conditions, state: State, gap: float) -> Answer | None:
        """The answer with its active constraints met and all others kept, if what that may cost
        leaves it within the bound."""
        slope = self._slope
        x = self._cones.pulled_inside(state.x + conditions.restoring(state))
        dx = x - state.x
        # The cost's Hessian is nowhere above 2 P.
        first, second = float(slope.gradient @ dx), float(dx @ self._cost.P @ dx)
        gap += (abs(first) + second) / self._cost.size(slope.value)
        return (
            Answer(x, slope.value + first + second, self._active, gap, self._steps)
            if gap < ACTIVE_SET_GAP
            else None
        )

    def _corrected(self, conditions: Conditions, state: State) -> bool:
        """Take what has a multiplier of the wrong sign out of the active set and what is violated
        into it; whether there were any, or the conditions were those of a face."""
        cones, old = self._cones, self._active
        multipliers = self._multipliers(conditions, state)
        violated = (state.slacks < -SLACK_ROUNDING) & ~old.bounds
        bounds = (old.bounds & (multipliers >= 0)) | violated
        wrong = conditions.on_a_face or not np.array_equal(bounds, old.bounds)
        Z, rank = old.Z, old.rank
        if cones.count:
            Z, kept = conditions.multiplier_matrices(state)
            entering = conditions.violated(state, SLACK_ROUNDING)
            wrong |= bool((kept < old.rank).any() or entering.any())
            # What has lost its multiplier is null here, but after a step along the face not there.
            self._null = entering + (kept if conditions.on_a_face else old.rank)
            rank = kept + entering
        self._active = ActiveSet(bounds, np.maximum(multipliers, 0.0), rank, Z)
        if wrong:
            self._longest = np.inf
        return wrong

    def _refreshed(
        self, conditions: Conditions, state: State, first: State
    ) -> Literal["again"]:
        """Another factorization, with the multipliers known by now; first: after the first step.

        What holds Newton's method up is mostly a direction that is about to become null: its Schur
        complement bends the more the nearer it is, so that it is better guessed to be active."""
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

    def _multipliers(self, conditions: Conditions, state: State) -> np.ndarray:
        """(b,) of all bounds."""
        multipliers = np.zeros(self._active.multipliers.size)
        multipliers[conditions.bounds] = state.multipliers[: conditions.bounds.size]
        return multipliers

    def _gap(self, conditions: Conditions, state: State, length: float) -> float:
        """Relative bound of the cost above the optimum."""
        r, size = state.residual, self._cost.size(self._slope.value)
        complementarity, floor = conditions.complementarity(state), self._cost.floor
        # The floor is a cheap bound; the dear one is worth its time only where steps do not help
        # any more.
        if floor is not None and length >= STALLED * math.sqrt(state.x @ state.x):
            return (complementarity + QUARTER * float(r @ (r / floor))) / size
        bound = self._cost.residual_bound(self._slope, r, ACTIVE_SET_GAP * size)
        return (complementarity + bound) / size
