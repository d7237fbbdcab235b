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

"""Design the most informative motion within all limits.

Try random sums of tones, improve the best by a quasi-Newton method (L-BFGS; Nocedal and Wright,
2006) on information minus penalties, then shrink it until no plausible parameters exceed a limit
(docs/excitation.md).
"""
from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from ...config import Config
from ...errors import ParameterError
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ..desired_motion import desired_motion
from ..stage_entry import STAGE_KINDS
from .limits import MotionLimits, moving
from .motion_information import promise_of
from .objective import Objective
from .passive_tilt import passive_tilt
from .prior_knowledge import CREEP, Knowledge
from .rows import regressors
from .search import Search
from .trajectory import VEHICLE_COORDINATES, Trajectory

SEARCH_SHARE = 0.7          # of the time given; fitting and promises take the rest
CHECKS_PER_SECOND = 20      # instants at which a finished motion is checked against its limits
# Factor by which a motion is shrunk until nothing is exceeded, and the smallest size tried.
SHRINK, SMALLEST_MOTION = 0.95, 0.01
HALFWAY = 0.3   # size of the coordinates that cause an excess below which all are shrunk
# Share of the wanted motion's limits within which the robot must hold at its start.
HOLDING_SHARE = 0.9
# Use of the tilt with what is added about axes without thrust.
WHOLE_TILT = "tilt without thrust"
POSTURES = 60       # random postures of the arm; the motion starts in the easiest one to hold


def design(robot: RobotModel, known: ParameterSet, noise: np.ndarray, free: np.ndarray,
           move: tuple[str, ...] | list[str], limits: MotionLimits, duration: float, seed: int,
           seconds: float = math.inf, *, config: Config | None = None, kind: str = "motion",
           posture: np.ndarray | None = None, at_rest: np.ndarray | None = None) -> Trajectory:
    """The motion of `duration` [s] that is most informative about the free parameters.

    known: values, with covariance and information if available, else with the prior's standard
    deviations; noise (C,) of low-passed rows [N, N m]; free (p,) bool; move: patterns of channels
    that move, the others stand still; limits: never to be touched; seconds [s] of processor time
    of this thread after which the best motion so far is taken (by default only the settings'
    iterations limit the search, and the same seed gives the same motion). kind 'tilt': slow enough
    that weight and buoyancy dominate. posture (n,): of the joints that stand still, by default one
    that is easy to hold. at_rest (C,): measured noise of the robot while it holds its position; if
    given, the search weights by it and the promise includes the best case with it.

    About an axis without thrust the vehicle is not moved, only kept within the tilt.

    Raises ParameterError if nothing may move, or if even rest exceeds a limit.
    """
    config = config or Config()
    if kind not in STAGE_KINDS:
        raise ParameterError(f"kind of motion '{kind}'; expected {' or '.join(STAGE_KINDS)}.")
    begun = time.thread_time()
    settings, tightened = config.excitation, limits.with_margins(config, duration)
    moves = moving(robot, move)
    moves[limits.passive] = False
    if not moves.any() or not np.any(free):
        raise ParameterError("no motion to design: no channel moves, or no parameter is free; "
                             "expected patterns of both.")
    band = _band(settings.tilt_band if kind == "tilt" else settings.band, duration)
    knowledge = Knowledge(robot, known, np.asarray(free, bool), config)
    draws = knowledge.draws(limits, config, seed)
    centre, draws = resting_place(robot, tightened, draws, moves, posture, seed)
    least = noise if at_rest is None else np.minimum(at_rest, noise)
    objective = Objective(robot, knowledge, draws, least, tightened, moves, centre, duration, band,
                          config)
    search = Search(objective, tightened, band, settings.harmonics,
                     begun + SEARCH_SHARE * seconds, seed)
    search.start(settings.starts)
    search.improve(settings.iterations)
    trajectory = search.trajectory(robot.joints, duration, settings.ramp)
    trajectory = fitted(trajectory, robot, tightened, draws, centre)
    promise = promise_of(trajectory, robot, noise, config, knowledge)
    if at_rest is not None:
        promise = promise._replace(at_best=promise_of(
            trajectory, robot, least, config, knowledge).promised)
    return replace(
        trajectory, promise=promise, made={
            "kind": kind, "move": list(map(str, move)), "seed": int(seed),
            "gain_nats": search.gain(), "evaluations": search.evaluations,
            "stopped_by_time": search.stopped,
            "noise": dict(zip(robot.channels, np.asarray(noise, float).tolist()))})


def _band(band: tuple[float, ...], duration: float) -> tuple[float, float]:
    """Lowest and highest frequency [Hz], such that at least one period fits."""
    low = max(band[0], 1 / duration)
    return low, max(band[1], low)


def resting_place(robot: RobotModel, limits: MotionLimits, draws: np.ndarray, moves: np.ndarray,
                  posture: np.ndarray | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(place (d,), draws (k, p)): zeros for the vehicle and, of random postures in the inner half
    of the joints' ranges, the one with least effort to hold and to move slowly, for the worst draw.

    The robot is seen to hold there before the motion begins, so draws with which it could not are
    moved towards the mean, draws[0].
    """
    rng, d = np.random.default_rng([seed, 4]), moves.size
    places, rates = np.zeros((2, POSTURES, d))
    places[:, 6:] = limits.middle[6:] + 0.5 * limits.reach[6:] * rng.uniform(
        -1, 1, (POSTURES, d - 6))
    if posture is not None:
        places[:, 6:] = np.where(moves[6:], places[:, 6:], posture)
    rates[:, 6:] = np.where(moves[6:], CREEP * limits.joint_speed, 0.0)
    efforts = []
    for direction in (1, -1):
        Y, known = regressors(robot, desired_motion(places, direction * rates, 0 * places))
        efforts.append(np.einsum("tcp,kp->tkc", Y, draws) + known[:, None])
    uses = limits.effort_uses(np.array(efforts)).max(axis=(0, 2, 3))      # of (2, T, K, a)
    if limits.passive.size:
        hanging = [passive_tilt(robot, limits, place, draws[:1]).resting[0] for place in places]
        uses = np.maximum(uses, np.array(hanging) / limits.tilt)
    best = int(uses.argmin())
    chosen = np.array(efforts)[:, best]
    shares = np.linspace(1.0, 0.0, 21)
    mixed = chosen[:, :1] + shares[:, None, None, None] * (chosen - chosen[:, :1])  # (s, 2, K, C)
    held = limits.effort_uses(mixed).max(axis=(1, 3)) <= HOLDING_SHARE
    if limits.passive.size:
        held &= np.array([passive_tilt(robot, limits, places[best], draws[0] + share * (
            draws - draws[0])).resting <= HOLDING_SHARE * limits.tilt for share in shares])
    nearer = shares[np.where(held.any(axis=0), held.argmax(axis=0), -1)]
    draws = draws[0] + nearer[:, None] * (draws - draws[0])
    return places[best], draws


def fitted(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits, draws: np.ndarray,
           place: np.ndarray) -> Trajectory:
    """The motion shrunk, with its centre moved towards `place` (6 + n,), until it exceeds no limit
    for any parameters in draws (k, p).

    Raises ParameterError if even rest exceeds one.
    """
    size, every = np.ones(len(trajectory.centre)), _checked(trajectory)
    beyond = np.zeros(every.size, bool)
    while True:
        # First only at instants that exceeded a limit so far, which is quick; then everywhere.
        while beyond.any():
            uses = _largest(uses_at(_smaller(trajectory, size, place), robot, limits, draws,
                                    every[beyond]))
            if not _shrink(size, uses, trajectory):
                break
        smaller = _smaller(trajectory, size, place)
        exceeded = np.any([each > 1.0 for each in uses_at(smaller, robot, limits, draws,
                                                          every).values()], axis=0)
        if not exceeded.any():
            return smaller
        beyond |= exceeded


def _smaller(trajectory: Trajectory, size: np.ndarray, place: np.ndarray) -> Trajectory:
    """The motion with each coordinate scaled by size (6 + n,) about `place` (6 + n,)."""
    return replace(trajectory, sine=size[:, None] * trajectory.sine,
                   cosine=size[:, None] * trajectory.cosine,
                   centre=place + size * (trajectory.centre - place))


def _shrink(size: np.ndarray, uses: dict[str, float], trajectory: Trajectory) -> bool:
    """Reduce the size (6 + n,) of coordinates that exceed a limit, in place; returns False if none
    does. Raises ParameterError if nothing is left to reduce."""
    beyond = {name: use for name, use in uses.items() if use > 1.0}
    if beyond and size.max() < SMALLEST_MOTION:
        name = max(beyond, key=lambda each: beyond[each])
        raise ParameterError(
            f"no motion keeps the limit of '{name}': plausible parameters need "
            f"{100 * uses[name]:.0f} % of it at rest already; expected a robot that can hold "
            "still. Check the known parameters, and excitation.thrust_share, .torque_share, "
            ".rest_force and .tilt." + (
                " About an axis without thrust only the restoring moment holds the vehicle level, "
                "which the built-in prior leaves open: learn it first from a recording of gentle "
                "motion (evaluate ... --save-parameters learnt.yaml) and start from that "
                "(prior.file: learnt.yaml)." if name == WHOLE_TILT else ""))
    for name, use in beyond.items():
        causes = _causes(name, trajectory)
        # If shrinking the causes does not suffice, shrink everything.
        causes = causes if size[causes].min() > HALFWAY else np.arange(size.size)
        size[causes] *= SHRINK if use < 1.3 else SHRINK ** 4
    return bool(beyond)


def _causes(name: str, trajectory: Trajectory) -> np.ndarray:
    """Indices of the coordinates that use a limit."""
    names, joints = trajectory.coordinates, trajectory.joints
    groups = {"tilt": [3, 4], "speed": [0, 1, 2], "rate": [3, 4, 5],
              WHOLE_TILT: list(range(len(names)))}
    if name in groups:
        return np.array(groups[name])
    if name.startswith("thruster "):
        return np.arange(6)
    if name.endswith(" effort"):
        return np.array([3, 4, *range(6, len(names))])
    for limit in (" speed", " range"):
        if name.endswith(limit):
            return np.array([6 + joints.index(name.removesuffix(limit))])
    return np.array([names.index(name)])


def largest_uses(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits,
                 parameters: np.ndarray) -> dict[str, float]:
    """Largest share of each limit that a motion uses, for the worst of parameters (k, p)."""
    return _largest(uses_at(trajectory, robot, limits, parameters, _checked(trajectory)))


def uses_at(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits,
            parameters: np.ndarray, t: np.ndarray) -> dict[str, np.ndarray]:
    """Share (T,) of each limit that a motion uses at times t (T,) [s], for the worst of parameters
    (k, p)."""
    coordinates = np.array(trajectory.coordinates_at(t))
    motion = desired_motion(*coordinates)
    found = {name: uses for name, uses in limits.motion_uses(coordinates[0], motion).items()
             if robot.vehicle or name not in (*VEHICLE_COORDINATES, "tilt", "speed", "rate")}
    Y, known = regressors(robot, motion)
    efforts = np.einsum("tcp,kp->tkc", Y, parameters, optimize=True) + known[:, None]
    if limits.passive.size:
        hanging = passive_tilt(robot, limits, trajectory.centre, parameters)
        found[WHOLE_TILT] = found["tilt"] + hanging.most(efforts) / limits.tilt
    return found | dict(zip(limits.effort_names, limits.effort_uses(efforts).max(axis=1).T))


def _checked(trajectory: Trajectory) -> np.ndarray:
    """Times [s] at which a motion is checked against its limits."""
    return np.arange(0.0, trajectory.duration, 1 / CHECKS_PER_SECOND)


def _largest(uses: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: float(share.max()) for name, share in uses.items()}
