"""Vehicle and arm apart: the parts of a problem that no row and no norm has in common.

Without coupling, and with rows that are judged one by one, the cost is a sum of a vehicle's and an arm's cost, and no constraint
has parameters of both. What the whole needs to be solved anew then is mostly the trouble of one part.
"""
from __future__ import annotations

import numpy as np

from .active_set import ActiveSet, Answer
from .cones import SIDE, Cones
from .robust_cost import Point, RobustCost, Slope


class Part:
    """Some of the variables of P's cones, with every constraint that has one of them and none that has another.

    variables (m,) bool, bounds (b,) bool and inequalities (K,) bool of the whole; cones: theirs alone.
    """

    def __init__(self, whole: Cones, cones: Cones):
        self.cones = cones
        self.variables = np.isin(whole.coordinates.keep, cones.coordinates.keep)
        self.bounds = self.variables[whole.places]
        self.inequalities = self.variables[whole.variables[:, 0]]
        self._block = np.ix_(self.variables, self.variables)

    def block(self, matrix: np.ndarray) -> np.ndarray:
        """The part of an (m, m) matrix."""
        return matrix[self._block]


class PartOfCost:
    """The robust cost of a part's variables x (k,), the others held where they are; as `RobustCost`."""

    def __init__(self, cost: RobustCost, part: Part, held: np.ndarray):
        self._cost, self._part, self._held = cost, part, held
        self.P = part.block(cost.P)
        self.floor = None if cost.floor is None else cost.floor[part.variables]

    def _with(self, x: np.ndarray) -> np.ndarray:
        whole = self._held.copy()
        whole[self._part.variables] = x
        return whole

    def look(self, x: np.ndarray) -> bool:
        """See `RobustCost.look`."""
        return self._cost.look(self._with(x))

    def slope(self, x: np.ndarray) -> Slope:
        """See `RobustCost.slope`."""
        slope = self._cost.slope(self._with(x))
        return Slope(x, slope.value, slope.gradient[self._part.variables], slope.beyond)

    def hessian(self, slope: Slope, exact: bool = False) -> np.ndarray:
        """See `RobustCost.hessian`."""
        return self._part.block(self._cost.hessian(slope, exact))

    def at(self, x: np.ndarray) -> Point:
        """See `RobustCost.at`."""
        point = self._cost.at(self._with(x))
        return Point(x, point.value, point.gradient[self._part.variables], self._part.block(point.hessian), point.pulls[:, self._part.variables])


def joined(parts: list[Part], answers: list[Answer], x: np.ndarray) -> Answer:
    """The answer of the whole, x (m,), from those of all parts, found one after the other: the last one's value is the whole's, and
    the gaps, each relative to the value while its part was solved, are relative to that one."""
    first = parts[0]
    active = ActiveSet(np.zeros(first.bounds.size, bool), np.zeros(first.bounds.size), np.zeros(first.inequalities.size, int),
                       np.zeros((first.inequalities.size, SIDE, SIDE)))
    for part, answer in zip(parts, answers):
        active.bounds[part.bounds], active.multipliers[part.bounds] = answer.active.bounds, answer.active.multipliers
        active.rank[part.inequalities], active.Z[part.inequalities] = answer.active.rank, answer.active.Z
    value = answers[-1].value
    gap = sum(answer.gap * abs(answer.value) for answer in answers) / max(abs(value), 1e-12)
    return Answer(x, value, active, gap, sum(answer.steps for answer in answers))
