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

"""What explains the efforts that a model leaves (docs/statement.md, "What explains the rest").

An effort that is not predicted may be measured wrongly, or something acts that the model lacks.
Each guess adds columns to the rows; it is judged on pieces of the recording that it was not fitted
to, so that many columns gain nothing by their number, nor residuals by being smooth.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..config.estimation import Filter
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.checks.thruster_check import COUPLING
from ..uncertainty.added_direction import MIN_PIECES, Added, RobustFit
from ..uncertainty.arm_evidence import LEAST_COST_GAIN
from ..uncertainty.trust_cause import LEFT
from ..uncertainty.verdict import MATTERING_SHARE, Finding
from .arm_check import CHECKED_EVERY, DRAG, WEIGHT, at_rest
from .arm_exchange import low_passed

PIECE = 5.0         # [s] of the pieces that are predicted by all other ones: some motions
FEWEST_PIECES = 4
# [m/s] at which a current is looked for first; steps of Gauss-Newton from the likeliest.
FIRST_CURRENTS = (0.1, 0.3, 0.9)
CURRENT_STEPS = 4
SEE_TERMS = "set robot.terms to [{0}], or see what the command terms says"
# Words for what each guess explains, and what to do about it.
EXPLANATIONS = {
    "estimate": "other parameters of the same model explain {:.0%} of that; what was learnt is of "
                "another motion or another robot, learn from this one too",
    "efforts": "efforts of other channels explain {:.0%} of that: the order, signs or places of "
               "thrusters, or the order of joints, are not as configured, or forces of the water "
               "have a lever that the model lacks",
    "tether": "a force that is steady in the world or in the body explains {:.0%} of that (a "
              "tether, a current, trim); robot.estimate_offsets takes the body's part",
    "off_axis_damping": "damping across the axes explains {:.0%} of that; "
                        + SEE_TERMS.format("off_axis_damping"),
    "link_drag": "the drag of the links explains {:.0%} of that; "
                 + SEE_TERMS.format("link_drag"),
    "together": "what the model lacks (drag and buoyancy of the links, damping across the axes, a "
                "steady force) explains {:.0%} of that together; see what the command terms says",
    "buoyancy": "the buoyancy of the links explains {:.0%} of that; set robot.link_volumes and "
                "robot.link_buoyancy_centres",
    "current": "a steady current explains {:.0%} of that, see robot.current_ned",
}


class Explained(NamedTuple):
    """Findings of settings, and by channel what explains its effort, in words."""

    findings: list[Finding]
    by_channel: dict[str, str]


class Columns(NamedTuple):
    """Low-passed rows: times (T,), own columns (T, C, p), those of each guess (T, C, k), efforts
    less known loads and valid, both (T, C)."""

    t: np.ndarray
    own: np.ndarray
    guesses: dict[str, np.ndarray]
    tau: np.ndarray
    valid: np.ndarray


def explanations(samples: Sequence[Sample], config: Config, robot: RobotModel,
                 left: np.ndarray) -> Explained:
    """What explains the channels of which the estimate leaves a share of power (C,) that matters;
    samples: every CHECKED_EVERY-th of a recording."""
    poor = left > MATTERING_SHARE
    settings = replace(config.filter, period=CHECKED_EVERY * config.filter.period)
    if not poor.any() or not samples:
        return Explained([], {})
    rows = _columns(samples, config, robot, settings)
    if not len(rows.t) or rows.t[-1] - rows.t[0] < FEWEST_PIECES * PIECE:
        return Explained([], {})
    plain, findings = _left(rows.own, rows), []
    shares = {name: _left(np.concatenate([rows.own, columns], axis=2), rows)
              for name, columns in rows.guesses.items()}
    carried = poor[robot.vehicle_rows] & (plain[robot.vehicle_rows] > MATTERING_SHARE)
    current = _current(samples, settings, rows) if (
        carried.any() and "current" not in config.robot.terms) else None
    if current is not None:
        shares["current"] = _left(current.Y, rows)
        if (shares["current"][:6] < LEFT * plain[:6])[carried].any():
            findings.append(_advice(current, config.robot.current_ned))
    words = {name: _words(left[c], plain[c], {guess: own[c] for guess, own in shares.items()})
             for c, name in enumerate(robot.channels) if poor[c]}
    return Explained(findings, {name: said for name, said in words.items() if said})


def _words(left: float, plain: float, shares: dict[str, float]) -> str:
    """What explains a channel of which `left` is not predicted, and `plain` not by any parameters
    of the model: what leaves least, if that is less than half; '' for nothing."""
    if plain < min(LEFT * left, MATTERING_SHARE):
        return EXPLANATIONS["estimate"].format(1.0 - plain / left)
    least, efforts = min(left, plain), shares.pop("efforts")
    # Efforts go with the motion, so that they explain a little of all that it does.
    if efforts < LEFT * min(least, *shares.values()):
        return EXPLANATIONS["efforts"].format(1.0 - efforts / least)
    together = shares.pop("together")
    name = min(shares, key=lambda guess: shares[guess], default="together")
    if name == "together" or LEFT * shares[name] > together:
        name, shares = "together", {"together": together}
    if shares[name] >= LEFT * least:
        return ""
    return EXPLANATIONS[name].format(1.0 - shares[name] / least)


def _advice(current: Current, known: Sequence[float]) -> Finding:
    north, east = current.value
    error = max(one.error for one in current.change)
    return Finding("robot.current_ned", (
        f"robot.current_ned: a steady current of {north:+.2f} m/s north and {east:+.2f} east (+- "
        f"{error:.2f}) explains what the vehicle's efforts leave; set robot.current_ned to "
        f"[{known[0] + north:.2f}, {known[1] + east:.2f}, {known[2]:.2f}], or robot.terms to "
        "[current] where it changes"))


class Current(NamedTuple):
    """A steady current north and east (2,) [m/s], what more of each the rows ask for, with its
    error, and the rows' columns in it (T, C, p)."""

    value: np.ndarray
    change: list[Added]
    Y: np.ndarray


def _current(samples: Sequence[Sample], settings: Filter, rows: Columns) -> Current | None:
    """The current that explains most; None where none explains anything. It is looked for along
    the steady force that the vehicle needs, then by steps of Gauss-Newton."""
    vehicle = RobotModel(Config().with_values({"robot.joints": (), "robot.terms": ("current",)}),
                         None)
    bare = [replace(sample, joint_torque=np.zeros(0), valid=sample.valid[:6])
            for sample in samples]
    own, place = vehicle.table.paper_slice, vehicle.table.term_slices["current"]

    def at(current: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows' columns in a current, and their change with it, of parameters `of`."""
        pi = np.concatenate([of[own], current])
        _, Y, _, _ = low_passed(bare, settings, lambda sample: vehicle.raw_rows(sample, pi))
        carried, change = rows.own.copy(), np.zeros((*rows.tau.shape, 2))
        carried[:, :6, own], change[:, :6] = Y[:, :, own], Y[:, :, place]
        return carried, change

    def fit(Y: np.ndarray) -> RobustFit:
        return RobustFit(Y, rows.tau, rows.valid, rows.t)

    still = fit(rows.own)
    force = still.beside(rows.guesses["tether"][:, :, :2]).solution[-2:]
    way = -force / max(float(np.linalg.norm(force)), 1e-12)
    fits = [(size * way, fit(at(size * way, still.solution)[0])) for size in FIRST_CURRENTS]
    value, best = min(fits, key=lambda one: one[1].cost)
    for _ in range(CURRENT_STEPS):
        Y, change = at(value, best.solution)
        new = value + best.beside(change).solution[-2:]
        found = fit(at(new, best.solution)[0])
        if found.cost >= best.cost:
            break
        value, best = new, found
    Y, change = at(value, best.solution)
    error = [best.beside(change[:, :, 1 - k:2 - k]).added(change[:, :, k:k + 1])[0]
             for k in range(2)]
    sure = (best.cost < still.cost - LEAST_COST_GAIN and error[0].clusters >= MIN_PIECES
            and np.linalg.norm(value) > max(one.error for one in error))
    return Current(value, error, Y) if sure else None


def _left(Y: np.ndarray, rows: Columns) -> np.ndarray:
    """(C,) share of each channel's power that columns Y (T, C, k) leave of pieces that they were
    not fitted to."""
    residual = rows.tau - RobustFit(Y, rows.tau, rows.valid, rows.t).unseen(PIECE)
    found = np.full(rows.tau.shape[1], np.nan)
    for c, use in enumerate(rows.valid.T):
        if use.any():
            found[c] = np.mean(residual[use, c] ** 2) / max(np.var(rows.tau[use, c]), 1e-12)
    return found


def _columns(samples: Sequence[Sample], config: Config, robot: RobotModel, settings: Filter
             ) -> Columns:
    """The rows' own columns and those of all guesses but the current."""
    sets: tuple[str, ...] = ()
    if robot.vehicle:       # an arm alone may stand in air
        sets = ("off_axis_damping", *((DRAG,) if robot.joints else ()))
    terms = tuple(dict.fromkeys((*config.robot.terms, *sets)))
    whole = RobotModel(config.with_values({"robot.terms": terms}), robot.arm)
    places = {name: np.r_[whole.table.term_slices[name]] for name in sets
              if name not in config.robot.terms}
    floats = robot.vehicle and robot.joints and not robot.knows_buoyancy
    weights = whole.table.places(f"{joint}.{name}" for joint in robot.joints for name in WEIGHT)

    def columns(sample: Sample) -> dict[str, np.ndarray]:
        Y = whole.raw_rows(sample).Y
        parts = {"own": robot.raw_rows(sample).Y, **{name: Y[:, at] for name, at in places.items()}}
        if floats:
            parts["buoyancy"] = whole.raw_rows(at_rest(sample)).Y[:, weights]
        if robot.vehicle:
            parts["tether"] = np.zeros((len(Y), 8))
            parts["tether"][:3, :2] = sample.R_nb.T[:, :2]
            parts["tether"][:6, 2:] = np.eye(6)
        return parts

    widths = {name: part.shape[1] for name, part in columns(samples[0]).items()}
    t, Y, tau, valid = low_passed(samples, settings, lambda sample: robot.raw_rows(
        sample)._replace(Y=np.concatenate(list(columns(sample).values()), axis=1)))
    guesses = dict(zip(widths, np.split(Y, np.cumsum(list(widths.values()))[:-1], axis=2)))
    own = guesses.pop("own")
    together = np.concatenate([np.zeros((*tau.shape, 0)), *guesses.values()], axis=2)
    levers = np.ones(tau.shape[1])
    if robot.vehicle:
        allocation = np.reshape(config.thrusters.allocation, (6, -1))
        levers[:6] = np.maximum(np.linalg.norm(allocation, axis=1), 1e-9)
    others = _of_others(tau, levers, robot)
    return Columns(t, own, guesses | {"together": together, "efforts": others}, tau, valid)


def _of_others(tau: np.ndarray, levers: np.ndarray, robot: RobotModel) -> np.ndarray:
    """(T, C, k) efforts of the other channels of vehicle or arm, a column for each pair but those
    of which one has so little beside the other that no wiring explains it. levers (C,): effort of
    each channel that a thruster, or a joint, makes with its thrust or effort."""
    size = np.std(tau, axis=0) / levers
    pairs = [(c, d) for part in (robot.vehicle_rows, robot.arm_rows)
             for c in range(part.start, part.stop) for d in range(part.start, part.stop)
             if c != d and size[c] > COUPLING * size[d]]
    found = np.zeros((*tau.shape, len(pairs)))
    for k, (c, d) in enumerate(pairs):
        found[:, c, k] = tau[:, d]
    return found
