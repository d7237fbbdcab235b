"""Newton's method on the optimality conditions with a guessed active set: what the previous tick knows, verified.

At the optimum some bounds hold with equality and some matrix inequalities are singular, and from one tick to the next
these are nearly always the same ones. Given them, F_k >= 0 is locally the smooth condition that the Schur complement
of its regular part vanishes, and Newton's method on the Lagrangian converges quadratically (Overton and Womersley,
"Second derivatives for optimizing eigenvalues of symmetric matrices", 1995). The matrix of its equations is factorized
where a guess begins and kept for the steps that follow. Nothing is assumed: multipliers of the wrong sign leave the
set, violated constraints enter it, and an answer is returned only with its certificate, a bound of its cost above the
optimum; else None, and the caller solves from scratch.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cones import SIDE, Cones
from .optimality import Conditions, State
from .robust_cost import RobustCost, optimality_gap

STEPS = 24             # in all
GUESSES = 6            # of the active set, and factorizations
DIVERGING = 4.0        # a step this much longer than the one before: the guess is not near an optimum
LOST = 2e-4            # (scaled) violation after another guess from which Newton's method seldom comes back
WORSE = 30.0           # ratio of a gap to the smallest so far that tells the same
SLOW = 0.3             # a step longer than this share of the one before: the factorization is too old
GAP = 1e-9             # relative bound of suboptimality of an answer
FEASIBLE = 1e-6        # (scaled) violation from which a last step along the constraints alone leads inside, but for rounding
ROUNDING = 1e-10       # (scaled) violation that does not make a constraint active
STALLED = 1e-13        # relative length of a step that changes nothing any more


@dataclass
class ActiveSet:
    """Guess of what is active: bounds (b,) bool with their multipliers (b,); rank (K,) of each inequality's multiplier Z (K, 4, 4)."""

    bounds: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    Z: np.ndarray

    @classmethod
    def near(cls, cones: Cones, x: np.ndarray, tolerance: float = 1e-4) -> "ActiveSet":
        """What holds within `tolerance` (scaled) at x, without knowledge of multipliers."""
        rank = (np.linalg.eigvalsh(cones.matrices(x)) < tolerance).sum(axis=1) if cones.count else np.zeros(0, int)
        bounds = cones.slacks(x) < tolerance
        return cls(bounds, np.zeros(bounds.size), rank, np.zeros((cones.count, SIDE, SIDE)))

    def copy(self) -> "ActiveSet":
        """A set of its own."""
        return ActiveSet(self.bounds.copy(), self.multipliers.copy(), self.rank.copy(), self.Z.copy())


@dataclass(frozen=True)
class Answer:
    """Where a method ended: x (m,), the cost there, the active set with its multipliers, a bound of the relative distance from the
    optimum, and the number of steps."""

    x: np.ndarray
    value: float
    active: ActiveSet
    gap: float
    steps: int


def solve_active_set(cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet) -> Answer | None:
    """The optimum near `start` (m,), or None where the guess does not lead to a certified one."""
    try:
        return _Search(cost, cones, start, active).run()
    except np.linalg.LinAlgError:
        return None


class _Search:
    """The way from a guess to an answer; `run` is called once."""

    def __init__(self, cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet):
        self._cost, self._cones, self._active = cost, cones, active.copy()
        self._slope = cost.slope(start)
        self._steps = self._guesses = 0
        self._best = np.inf

    def run(self) -> Answer | None:
        """Guess after guess, each with a factorization of its own."""
        for _ in range(GUESSES):
            conditions = Conditions.at(self._cones, self._slope.x, self._cost.hessian(self._slope), self._active)
            if conditions is None:
                return None
            self._guesses += 1
            verdict = self._converge(conditions)
            if verdict != "again":
                return verdict
        return None

    def _converge(self, conditions: Conditions) -> Answer | None | str:
        """Steps with one factorization: an answer, None where they diverge, 'again' where the guess changed or is too old."""
        last = np.inf
        state = conditions.state(self._slope)
        while self._steps < STEPS:
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
            # The first step tells most of what is guessed wrong; an answer is looked at closely.
            if (good or (last == np.inf and conditions.doubtful(state, self._active.bounds))) and self._reguess(conditions, state):
                return "again"
            if good:
                if not self._cost.look(state.x):
                    answer = self._restored(conditions, state, gap)
                    if answer is not None:
                        return answer
                    continue
                self._slope = self._cost.slope(state.x)     # with the groups that had been left out
                return "again"
            if length > SLOW * last:
                return "again"
            last = length
        return None

    def _restored(self, conditions: Conditions, state: State, gap: float) -> Answer | None:
        """The answer with its active constraints met and all others kept, if what that may cost leaves it within the bound."""
        slope = self._slope
        x = self._cones.pulled_inside(state.x + conditions.restoring(state))
        dx = x - state.x
        # The cost's Hessian is nowhere above 2 P.
        slide, bend = float(slope.gradient @ dx), float(dx @ self._cost.P @ dx)
        gap += (abs(slide) + bend) / max(abs(slope.value), 1e-12)
        return Answer(x, slope.value + slide + bend, self._active, gap, self._steps) if gap < GAP else None

    def _reguess(self, conditions: Conditions, state: State) -> bool:
        """Multipliers of the wrong sign leave the set and violated constraints enter it; whether there were any."""
        cones, active = self._cones, self._active
        changed = False
        active.multipliers[:] = 0.0
        active.multipliers[conditions.bounds] = state.multipliers[:conditions.bounds.size]
        slacks = state.slacks
        wrong = active.multipliers < 0
        entering = (slacks < -ROUNDING) & ~active.bounds
        if wrong.any() or entering.any():
            active.bounds &= ~wrong
            active.multipliers[wrong] = 0.0
            active.bounds |= entering
            changed = True
        if not cones.count:
            return changed
        active.Z, kept = conditions.multiplier_matrices(state)
        if (kept < active.rank).any():
            active.rank = np.minimum(kept, active.rank)
            changed = True
        negative = (np.linalg.eigvalsh(state.F) < -ROUNDING).sum(axis=1)
        if (negative > active.rank).any():
            active.rank = np.maximum(negative, active.rank)
            changed = True
        return changed

    def _gap(self, conditions: Conditions, state: State, length: float) -> float:
        """Relative bound of the cost above the optimum."""
        r, size = state.residual, max(abs(self._slope.value), 1e-12)
        complementarity = conditions.complementarity(state)
        gap = np.inf
        if self._cost.floor is not None:
            # Strong convexity: the cost's Hessian is nowhere below twice the floor.
            gap = complementarity + 0.25 * float(r @ (r / self._cost.floor))
        if gap >= GAP * size and (self._cost.floor is None or length < STALLED * np.sqrt(state.x @ state.x)):
            gap = complementarity + optimality_gap(r, self._cost.hessian(self._slope, exact=True))
        return gap / size
