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

"""Judges a run with a fault against the clean run: figures, and checks against the limits."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...model.robot import RobotModel
from ...simulation.faults.values import FIELD_PATHS
from ..held_out import HeldOut
from .case import COUNT_ERROR, TOUCHES_ALL, TOUCHES_ARM, TOUCHES_VEHICLE, UNLIMITED, Case, Expected
from .runner import POLL, Ran

# A valid row is wrong if its error exceeds this many RMS errors of the channel in the clean run,
# which has one such row in some thousands.
WRONG_BEYOND = 6.0
RECOVERY_WINDOW = 15.0  # [s] after the fault in which RMSEs are compared
BACK_SECONDS, BACK_SHARE = 0.5, 0.9  # rows are back with this share of the clean rows for so long


class Check(NamedTuple):
    """One requirement: its name, the figure found, the limit in words, and whether it is met."""

    what: str
    found: str
    asked: str
    ok: bool


@dataclass(frozen=True)
class CaseResult:
    """A case's figures. detected: [s] from the onset to the required sentence, None if it never
    came; recovered [s] after the end; samples, vehicle, arm: shares of the clean run's; loss (C,)
    of held-out R^2."""

    case: Case
    sentence: str
    detected: float | None
    advice: tuple[str, ...]
    samples: float
    vehicle: float
    arm: float
    wrong: float
    recovered: float | None
    rmse: float
    loss: np.ndarray
    checks: tuple[Check, ...]
    trouble: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if all requirements are met."""
        return all(check.ok for check in self.checks)


def judged(case: Case, ran: Ran, clean: Ran, test: HeldOut, robot: RobotModel,
           wrong_numbers: int = 0) -> CaseResult:
    """Judge a run against the clean run; wrong_numbers: in the counted field."""
    asked, advice = _sentences(case, ran, clean)
    r2 = test.r2(clean.pi)
    end = min(case.end, _length(clean))
    vehicle, arm = robot.vehicle_rows, robot.arm_rows
    figures: dict[str, Any] = {
        "detected": None if asked is None else max(0.0, asked[1] - case.begin),
        "samples": len(ran.sample_t) / len(clean.sample_t),
        "vehicle": _share(ran, clean, vehicle), "arm": _share(ran, clean, arm),
        "wrong": wrong_share(ran, clean),
        "recovered": recovered(ran, clean, end) if end < _length(clean) else None,
        "rmse": rmse_ratio(ran, clean, end),
        "loss": np.where(np.isfinite(r2), r2 - test.r2(ran.pi), 0.0)}
    return CaseResult(case, "" if asked is None else asked[0], advice=advice,
                      checks=(*_checks(case, figures, advice, ran.trouble, robot),
                              *_counts_truly(case, ran, clean, wrong_numbers)),
                      trouble=ran.trouble, **figures)


# --- figures --------------------------------------------------------------------------------------

def _sentences(case: Case, ran: Ran, clean: Ran) -> tuple[tuple[str, float] | None,
                                                          tuple[str, ...]]:
    """(the required sentence with the time when it first came, all other sentences that are neither
    right nor said in the clean run). Sentences before the onset do not count."""
    onset = case.begin - POLL

    def of(wanted: Expected) -> dict[str, float]:
        """Kind of sentence -> when it first came, without those that the clean run has as well."""
        times = {kind: min((t for text, t in said.wordings.items()
                            if t > onset and wanted.matches(text)), default=math.inf)
                 for kind, said in ran.said.items()
                 if kind not in clean.said or not any(map(wanted.matches,
                                                          clean.said[kind].wordings))}
        return {kind: t for kind, t in times.items() if t < math.inf}
    found = of(case.said) if case.said else {}
    right = set(found).union(*map(of, case.others))
    other = tuple(said.last for kind, said in ran.said.items()
                  if kind not in clean.said and said.begin > onset and kind not in right
                  and not _harmless(said.last, case))
    if not found:
        return None, other
    first = min(found, key=lambda kind: found[kind])
    return (ran.said[first].last, found[first]), other


def _harmless(sentence: str, case: Case) -> bool:
    """True for a sentence that misleads nobody: about the faulty role, or about consequences if the
    fault touches all channels."""
    roles = {fault.role for fault in case.faults}
    if "" in roles and sentence.startswith(("input ", "reset")):
        return True
    if case.touches == TOUCHES_ALL and sentence.startswith(("trust", "change")):
        return True
    return any(role and Expected(role).matches(sentence) for role in roles)


def _share(ran: Ran, clean: Ran, rows: slice) -> float:
    """Valid rows of the channels as a share of the clean run's."""
    count = clean.valid[:, rows].sum()
    return float(ran.valid[:, rows].sum() / count) if count else 1.0


def scale(clean: Ran) -> np.ndarray:
    """(C,) RMS error of the clean run's valid rows, 0 if there are none."""
    squares = np.where(clean.valid, clean.error, 0.0) ** 2
    return np.sqrt(squares.sum(axis=0) / np.maximum(clean.valid.sum(axis=0), 1))


def wrong_share(ran: Ran, clean: Ran) -> float:
    """Wrong valid rows in excess of the clean run's, as a share of the clean run's valid rows; at
    least 0."""
    def count(run: Ran) -> int:
        return int((run.valid & ~(np.abs(run.error) <= WRONG_BEYOND * scale(clean))).sum())
    return max(0, count(ran) - count(clean)) / max(int(clean.valid.sum()), 1)


def recovered(ran: Ran, clean: Ran, end: float) -> float:
    """[s] after the fault until each channel counts again, from the time at which it counts in the
    clean run (a joint may rest until then); infinity if one never does."""
    last = _length(clean) - BACK_SECONDS
    begins = np.arange(end, last, 0.1)
    worst = 0.0
    for c in range(clean.valid.shape[1]):
        now, then = (_counts(run.sample_t, run.sample_valid[:, c], begins)
                     for run in (ran, clean))
        back = np.flatnonzero((now >= BACK_SHARE * then) & (then > 0))
        if back.size:
            worst = max(worst, float(begins[back[0]] - begins[np.argmax(then > 0)]))
        elif (then > 0).any():
            return math.inf
    return worst


def _counts(t: np.ndarray, valid: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Number of valid ticks in the BACK_SECONDS after each of the times."""
    times = np.sort(t[valid]) if t.size else t
    return np.searchsorted(times, begins + BACK_SECONDS) - np.searchsorted(times, begins)


def rmse_ratio(ran: Ran, clean: Ran, end: float) -> float:
    """Largest ratio over channels of the prequential RMSE after the fault to the clean run's."""
    def rmse(run: Ran) -> np.ndarray:
        inside = (run.t >= end) & (run.t < end + RECOVERY_WINDOW)
        squares = np.where(run.valid[inside], run.residual[inside], np.nan) ** 2
        counted = np.isfinite(squares).sum(axis=0)
        return np.sqrt(np.nansum(squares, axis=0) / np.where(counted > 0, counted, np.nan))
    ratio = rmse(ran) / rmse(clean)
    return float(np.nanmax(ratio)) if np.isfinite(ratio).any() else math.nan


def _length(clean: Ran) -> float:
    return float(clean.sample_t[-1])


# --- limits ---------------------------------------------------------------------------------------

def _checks(case: Case, figures: dict[str, Any], advice: Sequence[str], trouble: Sequence[str],
            robot: RobotModel) -> list[Check]:
    limits, found = case.limits, [Check("trouble", text, "none", False) for text in trouble]
    detected = figures["detected"]
    late = math.inf if limits.detect is None else limits.detect
    in_time = detected is not None and detected <= late + 1e-9
    if case.or_said and in_time:
        limits = replace(UNLIMITED, wrong=limits.wrong)

    def least(what: str, value: float, limit: float | None) -> None:
        if limit is not None:
            found.append(Check(what, f"{value:.3f}", f">= {limit:g}", value >= limit))

    def most(what: str, value: float, limit: float | None) -> None:
        # NaN, i.e. nothing valid to judge, counts as a failure.
        if limit is not None:
            found.append(Check(what, f"{value:.3g}", f"<= {limit:g}", value <= limit))
    least("samples", figures["samples"], limits.samples)
    least("vehicle rows", figures["vehicle"], limits.vehicle)
    least("arm rows", figures["arm"], limits.arm)
    most("wrong rows", figures["wrong"], limits.wrong)
    if figures["recovered"] is not None:
        most("recovery [s]", figures["recovered"], limits.recover)
    most("RMSE ratio after", figures["rmse"], limits.rmse)
    untouched = _untouched(case.touches, robot)
    if untouched.any():
        most("held-out loss", float(np.max(figures["loss"][untouched])), limits.loss)
    if case.said is not None and not case.or_said:
        found.append(Check("said after [s]", "never" if detected is None else f"{detected:.1f}",
                           f"<= {late:g}: {case.said}", in_time))
    if advice:
        found.append(Check("other advice", "; ".join(advice), "none", False))
    return found


def _counts_truly(case: Case, ran: Ran, clean: Ran, wrong: int) -> Iterator[Check]:
    """Check that as many more numbers were rejected than in the clean run as are wrong."""
    if case.counted:
        role = FIELD_PATHS[case.counted][0]
        found = sum(count - clean.counters.get(reason, 0)
                    for reason, count in ran.counters.items() if reason.startswith(f"{role}: "))
        yield Check("rejected", f"{found}", f"{wrong} +- {100 * COUNT_ERROR:g} %",
                    abs(found - wrong) <= COUNT_ERROR * wrong)


def _untouched(touches: str, robot: RobotModel) -> np.ndarray:
    """(C,) bool: channels whose held-out loss is judged."""
    found = np.ones(len(robot.channels), bool)
    if touches in (TOUCHES_VEHICLE, TOUCHES_ALL):
        found[robot.vehicle_rows] = False
    if touches in (TOUCHES_ARM, TOUCHES_ALL):
        found[robot.arm_rows] = False
    return found
