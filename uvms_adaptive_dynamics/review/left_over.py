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

"""Find what explains the efforts that the model leaves (docs/statement.md, "What explains the
rest").

An unpredicted effort is either measured wrongly or caused by something that the model lacks. Each
guess adds columns to the rows and is cross-validated on pieces of the recording, so that neither
many columns nor smooth residuals give it an advantage. Where the effort has few degrees of freedom,
as in a swell, whose one tone any other tone explains, nothing is named.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.normal import chance_of
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..model.term_sets import TERM_SETS
from ..uncertainty.added_direction import RobustFit
from ..uncertainty.channel_answers import GOOD_COVERAGE
from ..uncertainty.evidence import MATTERING_SHARE, ReportedFinding
from ..uncertainty.trust_cause import LEFT
from .arm_check import checked_period
from .fitted_current import FittedCurrent, fitted_current
from .guessed_columns import Columns, guessed_columns

PIECE = 5.0         # [s] length of the cross-validated pieces: a few motions
FEWEST_PIECES = 4
# Chance that arbitrary columns explain as much as a guess, above which it is not named: some
# eighty pairs of guess and channel are judged, so one recording in a hundred gets a false name.
MOST_CHANCE = 1e-4
COMBINED = ("together", "efforts", "ahead")     # guesses of more than one effect
# Sentences on what each guess explains, and what to do about it.
EXPLANATIONS = {
    "estimate": "other parameters of the same model explain {:.0%} of it: the robot or its motion "
                "differs from what was learnt; learn from this recording too",
    "unsettled": "other parameters of the same model explain {:.0%} of it: they are not learnt "
                 "yet; record more and livelier motion",
    "efforts": "efforts of other channels explain {:.0%} of it: check the order, signs and "
               "positions of the thrusters and the order of the joints; otherwise water forces "
               "have a lever arm that the model lacks",
    "tether": "a force that is steady in the world or in the body explains {:.0%} of it (tether, "
              "current or trim); robot.estimate_offsets removes the part fixed in the body",
    **{name: f"{one.meaning} explains {{:.0%}} of it; add {name} to robot.terms, or run the "
             "command terms" for name, one in TERM_SETS.items() if one.expected},
    "together": "no single effect that the model lacks, but several of them together explain "
                "{:.0%} of it; run the command terms",
    "buoyancy": "buoyancy of the links explains {:.0%} of it; set robot.link_volumes and "
                "robot.link_buoyancy_centres",
    "current": "a steady current explains {:.0%} of it; see robot.current_ned",
}


class Explained(NamedTuple):
    """Findings on settings, and channel -> what explains its remaining effort, in words."""

    findings: list[ReportedFinding]
    by_channel: dict[str, str]


class Guess(NamedTuple):
    """(C,) share of each channel's power that a guess leaves; whether chance would leave more."""

    share: np.ndarray
    sure: np.ndarray


def explanations(samples: Sequence[Sample], config: Config, robot: RobotModel,
                 left: np.ndarray, held: np.ndarray, frozen: bool) -> Explained:
    """Explanations for channels that the estimate leaves largely unexplained, and for those whose
    frozen intervals, which no further row widens, do not hold what is left. left (C,): share of
    each channel's power that it leaves; held (C,): share of its rows inside their intervals;
    samples: every CHECKED_EVERY-th of a recording; frozen: whether nothing was learnt from it."""
    poor = (left > MATTERING_SHARE) | (frozen & (held < GOOD_COVERAGE))
    settings = replace(config.filter, period=checked_period(config))
    if not poor.any() or not samples:
        return Explained([], {})
    rows = guessed_columns(samples, config, robot, settings)
    if not len(rows.t) or rows.t[-1] - rows.t[0] < FEWEST_PIECES * PIECE:
        return Explained([], {})
    known, findings = _unseen(rows.own, rows), []
    plain = _left(known, rows)
    least = np.minimum(np.minimum(left, plain), 1.0)
    guesses = {name: _judged(np.concatenate([rows.own, columns], axis=2), columns, rows, known,
                             least) for name, columns in rows.guesses.items()}
    carried = poor[robot.vehicle_rows] & (plain[robot.vehicle_rows] > MATTERING_SHARE)
    current = fitted_current(samples, settings, rows) if (
        carried.any() and "current" not in config.robot.terms) else None
    if current is not None:
        guesses["current"] = found = _judged(current.Y, current.by_component, rows, known, least)
        best = found.share == np.min([one.share for name, one in guesses.items()
                                      if name not in COMBINED], axis=0)
        if (best & found.sure & (found.share < LEFT * plain))[:6][carried].any():
            findings.append(_advice(current, config))
    words = {name: _explanation(left[c], plain[c], {
        guess: Guess(one.share[c], one.sure[c]) for guess, one in guesses.items()},
        "estimate" if frozen else "unsettled") for c, name in enumerate(robot.channels) if poor[c]}
    return Explained(findings, {name: said for name, said in words.items() if said})


def _explanation(left: float, plain: float, guesses: dict[str, Guess], other: str) -> str:
    """The sentence on a channel: the guess that leaves the smallest share of its power, if it
    halves what is left by more than chance; else ''. left, plain: shares left by the estimate, and
    by the best parameters of the model; guesses: what each leaves of this channel; other: the guess
    that the estimate is not the best."""
    if plain < min(LEFT * left, MATTERING_SHARE):
        return EXPLANATIONS[other].format(1.0 - plain / left)
    least = min(left, plain, 1.0)
    efforts, ahead = guesses.pop("efforts"), guesses.pop("ahead")
    # Efforts are correlated with the motion, so they explain a little of everything.
    others = min(ahead.share, *(one.share for one in guesses.values()))
    if (efforts.sure and efforts.share < LEFT * min(least, others)
            and ahead.share >= LEFT * least):
        return EXPLANATIONS["efforts"].format(1.0 - efforts.share / least)
    together = guesses.pop("together")
    name = min(guesses, key=lambda guess: guesses[guess].share, default="together")
    if name == "together" or together.sure and LEFT * guesses[name].share > together.share:
        name, guesses = "together", {"together": together}
    best = guesses[name]
    if not best.sure or best.share >= LEFT * least:
        return ""
    return EXPLANATIONS[name].format(1.0 - best.share / least)


def _advice(current: FittedCurrent, config: Config) -> ReportedFinding:
    (north, east), known = current.value, config.robot.current_ned
    error = max(one.error for one in current.change)
    if config.imu.orientation == "own":     # its north is that of the start, and drifts
        return ReportedFinding("robot.current_ned", (
            f"robot.current_ned: a steady current of {math.hypot(north, east):.2f} m/s (+- "
            f"{error:.2f}) explains the vehicle's remaining effort; its direction cannot be set "
            "without a heading: use an IMU with an orientation (imu.orientation 'message'), or "
            "recordings in still water"))
    return ReportedFinding("robot.current_ned", (
        f"robot.current_ned: a steady current of {north:+.2f} m/s north and {east:+.2f} m/s east "
        f"(+- {error:.2f}) explains the vehicle's remaining effort; set robot.current_ned to "
        f"[{known[0] + north:.2f}, {known[1] + east:.2f}, {known[2]:.2f}], or add current "
        "to robot.terms if it varies"))


def _unseen(Y: np.ndarray, rows: Columns) -> np.ndarray:
    """(T, C) cross-validated predictions with columns Y (T, C, k)."""
    return RobustFit(Y, rows.tau, rows.valid, rows.t).unseen(PIECE)


def _left(predicted: np.ndarray, rows: Columns) -> np.ndarray:
    """(C,) share of each channel's power that predictions (T, C) leave."""
    residual = rows.tau - predicted
    found = np.full(rows.tau.shape[1], np.nan)
    for c, use in enumerate(rows.valid.T):
        if use.any():
            found[c] = np.mean(residual[use, c] ** 2) / max(np.var(rows.tau[use, c]), 1e-12)
    return found


def _judged(Y: np.ndarray, added: np.ndarray, rows: Columns, known: np.ndarray,
            least: np.ndarray) -> Guess:
    """A guess with columns Y (T, C, p), of which it adds some (T, C, k); known (T, C), least (C,):
    predictions without it, and the shares that they leave.

    What it explains has as many degrees of freedom as its own spectrum or that of the efforts,
    whichever has fewer."""
    predicted = _unseen(Y, rows)
    share = _left(predicted, rows)
    explained = np.where(rows.valid, predicted - known, 0.0)
    freedom = np.minimum(_freedom(explained), _freedom(np.where(rows.valid, rows.tau, 0.0)))
    acting = np.any(added != 0.0, axis=0).sum(axis=1)
    chance = chance_of(1.0 - share / np.maximum(least, 1e-12), acting, freedom)
    return Guess(share, chance < MOST_CHANCE)


def _freedom(signals: np.ndarray) -> np.ndarray:
    """(C,) degrees of freedom of signals (T, C) by their spectra P: 2 sum(P)^2 / sum(P^2), two for
    a single tone."""
    P = np.abs(np.fft.rfft(signals, axis=0)[1:]) ** 2
    return 2.0 * P.sum(axis=0) ** 2 / np.maximum((P ** 2).sum(axis=0), 1e-300)
