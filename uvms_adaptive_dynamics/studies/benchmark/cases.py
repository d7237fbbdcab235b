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

"""Benchmark cases: settings of horizon, robot, outliers, grouping, frozen parameters and solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from ...config import Config

ARM_FROZEN = ("axis_b.*", "W", "X_*")


class Effort(TypedDict, total=False):
    """Number of ticks of a case (see `TimedCase`)."""

    ticks: int
    compared: int
    each_tick: int


@dataclass(frozen=True)
class TimedCase:
    """One run. group: the figure that it belongs to; joints None: the simulated robot (n = 4),
    else a chain with that many joints.

    ticks: number of ticks timed, after the horizon is full and `settle` more have passed; compared:
    number of them, evenly spread, that CVXPY also solves, for accuracy and, if `timed`, for time;
    each_tick: number of those that CVXPY also compiles again.
    """

    group: str
    horizon: int = 100
    joints: int | None = None
    outliers: float = 0.03
    grouping: str = "sample"
    solver: str = "native"
    arrival: str = "information"
    frozen: tuple[str, ...] = ()
    ticks: int = 400
    compared: int = 12
    each_tick: int = 4
    settle: int = 50
    timed: bool = True

    @property
    def label(self) -> str:
        """Description of the case for people."""
        return (
            f"{'simulated robot' if self.joints is None else f'chain n = {self.joints}'}, horizon "
            f"{self.horizon}, {self.grouping}, outliers {self.outliers:.0%}, {self.solver}"
            + (f", {self.arrival}" if self.arrival != "information" else "")
            + (f", frozen {' '.join(self.frozen)}" if self.frozen else "")
        )

    def config(self) -> Config:
        """The settings of the case; the solver is exchanged after the horizon has filled."""
        return Config().with_values(
            {
                "estimation.horizon": self.horizon,
                "estimation.grouping": self.grouping,
                "estimation.arrival": self.arrival,
                "estimation.frozen": list(self.frozen),
                "estimation.solver": "native",
            }
        )


def default_grid() -> list[TimedCase]:
    """Cases that vary each quantity about the default setting."""
    return ([TimedCase("horizon", horizon=N, **_fewer(N)) for N in (25, 50, 100, 500, 2000)]
            + [TimedCase("joints", joints=n, ticks=300, compared=8, each_tick=2)
               for n in (0, 2, 4, 8, 12)]
            + [TimedCase("outliers", outliers=share) for share in (0.0, 0.01, 0.03, 0.1, 0.2)]
            + [TimedCase("grouping", grouping=g) for g in ("sample", "channel", "horizon")]
            + [TimedCase("grouping", arrival="relative"), TimedCase("grouping", frozen=ARM_FROZEN)]
            + [TimedCase("solver", solver=s, ticks=60 if s.startswith("cvxpy") else 400, compared=8,
                         each_tick=2)
               for s in ("native", "clarabel", "mosek", "cvxpy:CLARABEL", "cvxpy:SCS")])


def quick_grid() -> list[TimedCase]:
    """About a minute: the extremes of the main quantities."""
    short: Effort = {"ticks": 150, "compared": 4, "each_tick": 2}
    return [TimedCase("horizon", horizon=50, **short),
            TimedCase("horizon", horizon=500, ticks=150, compared=1, each_tick=1),
            TimedCase("joints", joints=0, **short), TimedCase("joints", joints=4, **short),
            TimedCase("outliers", outliers=0.2, **short),
            TimedCase("grouping", grouping="horizon", **short),
            TimedCase("solver", **short), TimedCase("solver", solver="mosek", **short)]


def acceptance_cases() -> list[TimedCase]:
    """Exactly the acceptance cases of issue 3 of the list ("A solver that keeps up"); the first is
    its reference setting."""
    brief: Effort = {"ticks": 1000, "compared": 0, "each_tick": 0}
    return ([TimedCase("acceptance", ticks=2000, compared=500, each_tick=25)]
            + [TimedCase("horizon", horizon=N, **brief) for N in (50, 2000)]
            + [TimedCase("joints", joints=n, **brief) for n in (4, 12)])


def comparison_cases() -> list[TimedCase]:
    """500 consecutive ticks against the oracle for every grouping: 3 and 20 % outliers, frozen
    parameters, little data.

    A freshly filled horizon of 10 samples behind a weak prior leaves most directions
    undetermined ('rank deficient').
    """
    every = TimedCase("comparison", ticks=500, compared=500, each_tick=0, settle=0, timed=False)
    return [replace(every, grouping=grouping, **changes)
            for grouping in ("sample", "channel", "horizon")
            for changes in ({}, {"outliers": 0.2}, {"frozen": ARM_FROZEN},
                            {"horizon": 10, "arrival": "relative"})]


def _fewer(horizon: int) -> Effort:
    """CVXPY takes seconds per tick at long horizons."""
    if horizon <= 100:
        return {"compared": 12, "each_tick": 4}
    if horizon <= 500:
        return {"compared": 4, "each_tick": 2}
    return {"compared": 2, "each_tick": 1}
