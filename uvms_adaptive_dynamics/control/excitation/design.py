"""The motion that tells most of what is not known yet, within all limits.

Random sums of tones are tried, the best is improved by a quasi-Newton method (L-BFGS; Nocedal and
Wright, 2006) on information less penalties, and the result is made smaller until no limit is
exceeded for any of the parameters that may be the truth (docs/excitation.md).
"""
from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from ...config import Config
from ...errors import ParameterError
from ...model.kernel import gaussian_kernel
from ...model.parameter_file import ParameterSet
from ...model.robot import RobotModel
from ..desired_motion import desired_motion
from ..stage_entry import KINDS
from .knowledge import CREEP, Knowledge
from .limits import MotionLimits, moving
from .objective import Objective, Tones
from .rows import regressors
from .trajectory import VEHICLE_COORDINATES, Trajectory

SEARCH_SHARE = 0.7          # of the time given; fitting and promises take the rest
CHECKS_PER_SECOND = 20      # instants at which a finished motion is held against its limits
# Share by which a motion is made smaller until nothing is exceeded, and the least that is tried.
SHRINK, SMALLEST = 0.95, 0.01
HALFWAY = 0.3   # size of the coordinates that cause an excess, from which all are made smaller
HELD = 0.9      # of the limits of the wanted motion, within which the robot is held at its start
FIRST_SIZE = 0.5            # of the limits that a random motion starts with
POSTURES = 60       # of the arm, of which the one that is easiest to hold is where it starts


class _TimeIsUp(Exception):
    """The search has used its seconds."""


def design(robot: RobotModel, known: ParameterSet, noise: np.ndarray, free: np.ndarray,
           move: tuple[str, ...] | list[str], limits: MotionLimits, duration: float, seed: int,
           seconds: float = math.inf, *, config: Config | None = None, kind: str = "motion",
           posture: np.ndarray | None = None) -> Trajectory:
    """A motion of `duration` [s] that tells most of the free parameters.

    known: values, with covariance and information where there are any, else of the prior's
    deviations; noise (C,) of low-passed rows [N, N m]; free (p,) bool; move: patterns of channels
    that move, the others stand still; limits: those that are never touched; seconds [s] of
    processor time of this thread, after which the best so far is taken (by default the settings'
    iterations alone decide, and the same seed gives the same motion). kind 'tilt': slowly enough
    for weight and buoyancy alone. posture (n,): of the joints that stand still, by default one that
    is easy to hold.

    Raises ParameterError where nothing may move, or where even rest exceeds a limit.
    """
    config = config or Config()
    if kind not in KINDS:
        raise ParameterError(f"kind of motion '{kind}'; expected {' or '.join(KINDS)}.")
    begun = time.thread_time()
    settings, tightened = config.excitation, limits.with_margins(config, duration)
    moves = moving(robot, move)
    if not moves.any() or not np.any(free):
        raise ParameterError("no motion to design: no channel moves, or no parameter is free; "
                             "expected patterns of both.")
    band = _band(settings.tilt_band if kind == "tilt" else settings.band, duration)
    knowledge = Knowledge(robot, known, np.asarray(free, bool), config)
    draws = knowledge.draws(limits, config, seed)
    centre, draws = _resting_place(robot, tightened, draws, moves, posture, seed)
    objective = Objective(robot, knowledge, draws, noise, tightened, moves, centre, duration, band,
                          config)
    search = _Search(objective, tightened, band, settings.harmonics,
                     begun + SEARCH_SHARE * seconds, seed)
    search.start(settings.starts)
    search.improve(settings.iterations)
    trajectory = search.trajectory(robot.joints, duration, settings.ramp)
    trajectory = fitted(trajectory, robot, tightened, draws, centre)
    A, B = information(trajectory, robot, noise, config, knowledge)
    return replace(trajectory, promise=knowledge.promise(A, B), made={
        "kind": kind, "move": list(map(str, move)), "seed": int(seed), "gain_nats": search.gain(),
        "evaluations": search.evaluations, "stopped_by_time": search.stopped})


def _band(band: tuple[float, ...], duration: float) -> tuple[float, float]:
    """Lowest and highest frequency [Hz]; at least one period fits."""
    low = max(band[0], 1 / duration)
    return low, max(band[1], low)


def _resting_place(robot: RobotModel, limits: MotionLimits, draws: np.ndarray, moves: np.ndarray,
                   posture: np.ndarray | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(place (d,), draws (k, p)): zeros, and the joints where the worst of draws needs least effort
    to hold and to move them slowly, the best of random postures in the inner half of their ranges.

    It is seen before the motion that the robot holds there: draws that would not are nearer to
    what is believed, the first of them.
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
    uses = limits.effort_uses(np.array(efforts))                    # (2, T, K, a)
    best = int(uses.max(axis=(0, 2, 3)).argmin())
    chosen = np.array(efforts)[:, best]
    shares = np.linspace(1.0, 0.0, 21)
    mixed = chosen[:, :1] + shares[:, None, None, None] * (chosen - chosen[:, :1])  # (s, 2, K, C)
    held = limits.effort_uses(mixed).max(axis=(1, 3)) <= HELD
    nearer = shares[np.where(held.any(axis=0), held.argmax(axis=0), -1)]
    draws = draws[0] + nearer[:, None] * (draws - draws[0])
    return places[best], draws


class _Search:
    """The best tones found so far."""

    def __init__(self, objective: Objective, limits: MotionLimits, band: tuple[float, float],
                 harmonics: int, until: float, seed: int):
        self._objective, self._limits, self._band = objective, limits, band
        self._harmonics, self._until, self._seed = harmonics, until, seed
        self._best: tuple[float, np.ndarray, Tones] | None = None
        self.evaluations, self.stopped = 0, False

    def start(self, count: int) -> None:
        """Try random motions."""
        for k in range(count):
            rng = np.random.default_rng([self._seed, 3, k])
            tones = self._tones(rng)
            self._objective.use(tones)
            amplitudes, centres = self._objective.size()
            size = FIRST_SIZE / math.sqrt(self._harmonics)
            x = np.concatenate([size * rng.standard_normal(amplitudes), np.zeros(centres)])
            try:
                self._value(x, tones)
            except _TimeIsUp:
                return

    def improve(self, iterations: int) -> None:
        """Improve the best."""
        assert self._best is not None
        _, x, tones = self._best
        if self.stopped or not iterations:
            return
        self._objective.use(tones)
        try:
            minimize(self._value, x, args=(tones,), jac=True, method="L-BFGS-B",
                     options={"maxiter": iterations, "maxfun": 2 * iterations})
        except _TimeIsUp:
            return

    def gain(self) -> float:
        """Of the best, before it was fitted into its limits [nats]."""
        assert self._best is not None
        return -self._best[0]

    def trajectory(self, joints: tuple[str, ...], duration: float, ramp: float) -> Trajectory:
        """The best as a trajectory."""
        assert self._best is not None
        _, x, tones = self._best
        self._objective.use(tones)
        centre, amplitudes = self._objective.motion(x)
        amplitudes = amplitudes * np.concatenate([tones.unit, tones.unit], axis=1)
        h = tones.unit.shape[1]
        return Trajectory(joints, duration, ramp, centre, tones.frequencies, amplitudes[:, :h],
                          amplitudes[:, h:])

    def _value(self, x: np.ndarray, tones: Tones) -> tuple[float, np.ndarray]:
        value, slope = self._objective.value(x)
        self.evaluations += 1
        if self._best is None or value < self._best[0]:
            self._best = value, x.copy(), tones
        if time.thread_time() > self._until:
            self.stopped = True
            raise _TimeIsUp
        return value, slope

    def _tones(self, rng: np.random.Generator) -> Tones:
        """Frequencies, even on the logarithm, no two coordinates alike; a tone's unit is what its
        speed and its room allow."""
        limits, d, h = self._limits, self._limits.low.size, self._harmonics
        slots = np.tile((np.arange(d) + rng.uniform(0.2, 0.8)) / d, (h, 1))
        place = (np.arange(h) + rng.permuted(slots, axis=1).T) / h
        frequencies = self._band[0] * (self._band[1] / self._band[0]) ** place
        unit = np.minimum(limits.fastest[:, None] / (2 * np.pi * frequencies),
                          limits.reach[:, None])
        return Tones(frequencies, unit)


def fitted(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits, draws: np.ndarray,
           place: np.ndarray) -> Trajectory:
    """The motion made smaller, about a centre that is nearer to `place` (6 + n,), until it exceeds
    no limit for any parameters of draws (k, p).

    Raises ParameterError where even rest exceeds one.
    """
    size = np.ones(len(trajectory.centre))
    while True:
        smaller = replace(trajectory, sine=size[:, None] * trajectory.sine,
                          cosine=size[:, None] * trajectory.cosine,
                          centre=place + size * (trajectory.centre - place))
        uses = largest_uses(smaller, robot, limits, draws)
        beyond = {name: use for name, use in uses.items() if use > 1.0}
        if not beyond:
            return smaller
        name = max(beyond, key=lambda each: beyond[each])
        if size.min() < SMALLEST:
            raise ParameterError(
                f"no motion keeps the limit of '{name}': {100 * uses[name]:.0f} % of what is "
                "allowed are needed at rest already, for parameters that may be true; expected a "
                "robot that is believed to hold still. Check the parameters that are known, and "
                "excitation.thrust_share, .torque_share and .rest_force.")
        for name, use in beyond.items():
            causes = _causes(name, trajectory)
            # What is not cured by its causes alone is by all.
            causes = causes if size[causes].min() > HALFWAY else np.arange(size.size)
            size[causes] *= SHRINK if use < 1.3 else SHRINK ** 4


def _causes(name: str, trajectory: Trajectory) -> np.ndarray:
    """Places of the coordinates that use a limit."""
    names, joints = trajectory.coordinates, trajectory.joints
    groups = {"tilt": [3, 4], "speed": [0, 1, 2], "rate": [3, 4, 5]}
    if name in groups:
        return np.array(groups[name])
    if name.startswith("thruster "):
        return np.arange(6)
    if name.endswith(" effort"):
        return np.array([3, 4, *range(6, len(names))])
    if name.endswith(" speed"):
        return np.array([6 + joints.index(name.removesuffix(" speed"))])
    return np.array([names.index(name)])


def largest_uses(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits,
                 parameters: np.ndarray) -> dict[str, float]:
    """Largest share of each limit that a motion uses, with the worst of parameters (k, p)."""
    t = np.arange(0.0, trajectory.duration, 1 / CHECKS_PER_SECOND)
    coordinates = np.array(trajectory.coordinates_at(t))
    motion = desired_motion(*coordinates)
    found = {name: float(uses.max()) for name, uses in
             limits.motion_uses(coordinates[0], motion).items()
             if robot.vehicle or name not in (*VEHICLE_COORDINATES, "tilt", "speed", "rate")}
    Y, known = regressors(robot, motion)
    efforts = np.einsum("tcp,kp->tkc", Y, parameters, optimize=True) + known[:, None]
    return found | dict(zip(limits.effort_names,
                            limits.effort_uses(efforts).max(axis=(0, 1)).tolist()))


def information(trajectory: Trajectory, robot: RobotModel, noise: np.ndarray, config: Config,
                knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, p), B (p, p)) of the rows that the estimator would make of it: information in its
    cost, forgetting included, and their part of the gradient's covariance.

    noise (C,) of low-passed rows, white before the low-pass but for the colour that residuals have
    shown so far (`Knowledge.correlation`).
    """
    period, kernel = config.filter.period, gaussian_kernel(config.filter)
    t = np.arange(0.0, trajectory.duration, period)
    motion = trajectory.motions(t)
    Y, _ = regressors(robot, motion)
    valid = np.ones(Y.shape[:2])
    valid[:, robot.arm_rows] = np.abs(motion.mu_dot) >= config.joint_states.rest_velocity
    half = len(kernel) // 2
    share = np.zeros_like(valid)
    rows = np.zeros_like(Y)
    for k, h in enumerate(kernel):
        a, b = max(0, k - half), min(len(t), len(t) + k - half)
        part, there = slice(a - (k - half), b - (k - half)), slice(a, b)
        share[part] += h * valid[there]
        rows[part] += (h * valid[there])[:, :, None] * Y[there]
    counts = (share >= config.filter.minimum_share) & (valid > 0)
    rows *= (counts / np.maximum(share, 1e-12))[:, :, None] / noise[:, None]
    decay = config.estimation.forgetting ** np.arange(len(t))[::-1]
    def summed(weights: np.ndarray) -> np.ndarray:
        weighted = (np.sqrt(weights)[:, None, None] * rows).reshape(-1, rows.shape[2])
        return weighted.T @ weighted
    return summed(decay), knowledge.overlap * knowledge.correlation * summed(decay ** 2)
