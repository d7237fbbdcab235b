"""Newton's method on the optimality conditions with a guessed active set: what the previous
tick knows, verified.

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

from typing import Literal

import numpy as np

from .answer import ActiveSet, Answer, Clock, Stopped
from .cones import Cones
from .optimality import Conditions, State
from .robust_cost import QUARTER, RobustCost

STEPS = 24  # in all
GUESSES = 6  # of the active set, and factorizations
DIVERGING = 4.0  # a step this much longer than the one before: the guess is not near an optimum
LOST = 2e-4  # (scaled) violation after another guess from which Newton's method seldom comes back
WORSE = 30.0  # ratio of a gap to the smallest so far that tells the same
SLOW = 0.3  # a step longer than this share of the one before: the factorization is too old
GAP = 1e-9  # relative bound of suboptimality of an answer
# (scaled) violation from which a last step along the constraints alone leads inside, but for
# rounding
FEASIBLE = 1e-6
ROUNDING = 1e-10  # (scaled) violation that does not make a constraint active
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
        self._slope = cost.slope(start)
        self._steps = self._guesses = 0
        self._best = np.inf

    def run(self) -> Answer | None:
        """Guess after guess, each with a factorization of its own."""
        for _ in range(GUESSES):
            conditions = Conditions.at(
                self._cones, self._slope.x, self._cost.hessian(self._slope), self._active
            )
            if conditions is None or self._clock.passed:
                return None
            self._guesses += 1
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
        state = conditions.state(self._slope)
        while self._steps < STEPS and not self._clock.passed:
            self._steps += 1
            dx, change = conditions.step(state)
            length = float(np.sqrt(dx @ dx))
            if not np.isfinite(length) or (self._steps > 2 and length > DIVERGING * last):
                return None
            self._slope = self._cost.slope(state.x + dx)
            state = conditions.state(self._slope, state.multipliers + change)
            gap, violation = self._gap(conditions, state, length), conditions.violation(state)
            if self._guesses > 1 and (violation > LOST or gap > WORSE * self._best):
                return None
            self._best = min(self._best, gap)
            good = gap < GAP and violation < FEASIBLE
            # The first step shows most of what is guessed wrong; an answer is checked in full.
            if good or (last == np.inf and conditions.doubtful(state, self._active.bounds)):
                self._active, wrong = self._corrected(conditions, state)
                if wrong:
                    return "again"
            if good:
                revision = self._cost.revision
                self._slope = self._cost.at(state.x)
                if self._cost.revision != revision:  # an outlier had been left out
                    return "again"
                answer = self._restored(conditions, state, gap)
                if answer is not None:
                    return answer
                continue
            if length > SLOW * last:
                return "again"
            last = length
        return None

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
            if gap < GAP
            else None
        )

    def _corrected(self, conditions: Conditions, state: State) -> tuple[ActiveSet, bool]:
        """(the active set without multipliers of the wrong sign and with the violated
        constraints, whether there were any)."""
        cones, old = self._cones, self._active
        multipliers = np.zeros(old.multipliers.size)
        multipliers[conditions.bounds] = state.multipliers[: conditions.bounds.size]
        bounds = (old.bounds & (multipliers >= 0)) | ((state.slacks < -ROUNDING) & ~old.bounds)
        wrong = bool((multipliers < 0).any() or (bounds & ~old.bounds).any())
        multipliers = np.maximum(multipliers, 0.0)
        if not cones.count:
            return ActiveSet(bounds, multipliers, old.rank, old.Z), wrong
        Z, kept = conditions.multiplier_matrices(state)
        negative = (np.linalg.eigvalsh(state.F) < -ROUNDING).sum(axis=1)
        rank = np.minimum(kept, old.rank)
        # A matrix may lose a multiplier and have a negative eigenvalue: its rank stays, and the
        # guess was wrong all the same.
        wrong |= bool((kept < old.rank).any() or (negative > rank).any())
        return ActiveSet(bounds, multipliers, np.maximum(rank, negative), Z), wrong

    def _gap(self, conditions: Conditions, state: State, length: float) -> float:
        """Relative bound of the cost above the optimum."""
        r, size = state.residual, self._cost.size(self._slope.value)
        complementarity, floor = conditions.complementarity(state), self._cost.floor
        # The floor is a cheap bound; the dear one is worth its time only where steps do not help
        # any more.
        if floor is not None and length >= STALLED * np.sqrt(state.x @ state.x):
            return (complementarity + QUARTER * float(r @ (r / floor))) / size
        return (complementarity + self._cost.residual_bound(self._slope, r, GAP * size)) / size
