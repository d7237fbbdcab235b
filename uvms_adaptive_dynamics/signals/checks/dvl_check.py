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

"""Check of the DVL against the integrated IMU: unit, signs, axes, lag and lever arm."""
from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from scipy.spatial.transform import Rotation

from ...config import Config
from ...model.normal import Z999, chi_squared
from ...model.rotations import FRD_FROM_FLU
from .depth_check import depth_fit
from .finding import (
    CONSISTENT,
    MAX_STANDARD_ERROR,
    SCALE_TOLERANCE,
    UNDECIDED,
    CheckResult,
    Finding,
    Harm,
    Mend,
    mismatch,
    outside,
)
from .fits import (
    MIN_TILT,
    SIGNED_AXES,
    axis_name,
    degrees,
    is_level,
    listed,
    mounted,
    nearest_axes,
    stretch_means,
    to_rpy,
)
from .imu_check import attitudes
from .planar_axes import planar_axes
from .thruster_check import turned_sensor
from .velocity_log import dvl_place, turned_imu
from .velocity_map import (
    CERTAIN_SIZE,
    KNOWN_ENOUGH,
    LEAST_KNOWN,
    VelocityMap,
    any_map,
    size_of,
    velocity_map,
)

VELOCITY_AXES = ("surge", "sway", "heave")
MIN_VELOCITY_RMS = 0.05   # [m/s] RMS change over CHANGE_WINDOW on a judged axis
DVL_GAIN = 0.6, 1.6       # range of the velocities' gain if their unit is right
AXES_ODDS = 1000.0        # required odds of signed axes, or of world axes, against each alternative
MAX_OFF_AXES = 0.35       # distance from signed axes beyond which the axes are tilted
OF_WORLD, OF_PLACE, OF_UNIT = "dvl velocity", "dvl.xyz", "dvl unit"
CUT_STEP = 5.0            # [s] between times at which the axes may have turned
# [s] Smallest lag worth a finding: at 0.3 m/s^2 its error is a small DVL's noise, 1 cm/s.
MIN_DVL_LAG = 0.03
DELAYS = frozenset(("dvl.delay", "imu.delay"))


def check_velocity(logs: dict[str, np.ndarray], config: Config, upside_down: bool,
                   times_guessed: bool = False) -> tuple[CheckResult, np.ndarray | None]:
    """(result, matrix (3, 3) that rotates the DVL's velocity into the IMU's axes, or None if it
    cannot be told).

    `upside_down`: the IMU has already been found upside down, and counts as if it were turned back;
    times_guessed: the DVL's readings are dated at reception less an assumed delay. `logs` as in
    `frames`.
    A finding must hold whether the noise is the DVL's or the integral's: the rough fit has the same
    one, or a map that is the same within the errors of both.
    """
    dvl, place = logs["dvl"], dvl_place(config)
    if upside_down:
        dvl = turned_imu(dvl, place, FRD_FROM_FLU)
        logs = logs | {"dvl": dvl}
    fit = any_map(dvl, place)
    result, axes = _judgement(fit, velocity_map(dvl, place, of_world=True), logs, config,
                              times_guessed)
    if not result.findings:
        return result, axes
    rough = any_map(dvl, place, rough=True)
    # (the maps of axes that turn with the robot may agree where the world's axes fit better)
    of_world = any(finding.setting == OF_WORLD for finding in result.findings)
    if not of_world and fit is not None and rough is not None and fit.agrees(rough):
        return result, axes
    others, _ = _judgement(rough, velocity_map(dvl, place, of_world=True, rough=True), logs, config,
                           times_guessed)
    confirmed = {finding.setting for finding in others.findings}
    sure = [finding for finding in result.findings if finding.setting in confirmed]
    return (result._replace(findings=sure), axes) if sure else (UNDECIDED, None)


def _judgement(fit: VelocityMap | None, world: VelocityMap | None, logs: dict[str, np.ndarray],
               config: Config, times_guessed: bool) -> tuple[CheckResult, np.ndarray | None]:
    """`check_velocity` by the maps of one kind: of velocities in axes that turn with the robot, and
    in the world's axes."""
    if fit is not None and world is not None and _is_of_world(fit, world):
        return CheckResult([_in_world(world, logs.get("imu"))], True), None
    if fit is None or fit.known < LEAST_KNOWN:
        return UNDECIDED, None
    Q, error = fit.Q, fit.errors
    judged = _judged(fit)
    by_two = () if judged.all() else (_by_two_axes(fit, still, logs, config) for still in (2, 0, 1))
    for found in by_two:
        if found is not None:
            return found
    if not judged.any():
        return UNDECIDED, None
    size = np.linalg.norm(Q, axis=0)
    gain, worst = float(np.median(size[judged])), float(error[:9].max())
    if outside(gain * fit.least, gain, worst, DVL_GAIN):
        return mismatch(OF_UNIT, (
            f"DVL velocities are {1 / max(gain, 1e-9):.3g} times those of the integrated IMU; "
            f"publish m/s{_unit_of(gain)}"), harm=Harm.FOLLOWED), np.eye(3)
    clear = _clear_axes(Q, error[:9].reshape(3, 3).T)
    if clear is not None and not judged.all() and (fit.moved > MIN_VELOCITY_RMS).all():
        return _other_axes(logs, config, clear), clear
    if judged.all():
        axes, off_axes = nearest_axes(Q)
        if axes is None or off_axes > MAX_OFF_AXES:
            tilted = _tilted(fit, config, Harm.CONTRADICTS)
            return (tilted if tilted.findings else UNDECIDED), _axes_of(Q)
        if np.array_equal(axes, np.eye(3)):
            small = _small_errors(fit, logs, config, times_guessed)
            return small._replace(complete=bool(
                small.findings or fit.known > KNOWN_ENOUGH)), _axes_of(Q)
        return _other_axes(logs, config, axes), axes
    reversed_axes = [k for k in range(3) if judged[k]
                     and Q[k, k] + Z999 * error[4 * k] < 0]
    findings = [Finding("dvl.frame",
                        f"the DVL's {VELOCITY_AXES[k]} velocity has the wrong sign relative to "
                        f"the IMU (gain {Q[k, k]:.2f} +- {error[4 * k]:.2f}); check dvl.frame "
                        "and dvl.rpy") for k in reversed_axes]
    return CheckResult(findings, False), np.eye(3)


def _by_two_axes(fit: VelocityMap, still: int, logs: dict[str, np.ndarray],
                 config: Config) -> tuple[CheckResult, np.ndarray] | None:
    """(result, axes) as in `_judgement` by motion along all axes but `still`, None if these are
    right or tell nothing. What reflects them is a rotation if the third is reversed, which its
    little motion or the depth may show."""
    found = planar_axes(fit, still)
    both = [k for k in range(3) if k != still]
    if found is None or fit.errors[:9].reshape(3, 3)[np.ix_(both, both)].max() > MAX_STANDARD_ERROR:
        return None
    # (a large angle shows in little motion, too)
    moved = (fit.moved[both] > MIN_VELOCITY_RMS).all()
    if not found.is_beyond(MIN_TILT if moved else MAX_OFF_AXES):
        return None
    axes = found.axes
    if found.mirrored:
        depth = None if axes is None or "depth" not in logs else depth_fit(logs, axes, config)
        by_depth = depth is not None and depth.gain - Z999 * depth.error > 0.0
        by_imu = fit.Q[still, still] + Z999 * fit.errors[4 * still] < 0.0
        if axes is None or not (by_depth or by_imu):
            return None
    if axes is not None:
        return _other_axes(logs, config, axes)._replace(complete=False), axes
    R, axis = found.rotation, VELOCITY_AXES[still]
    turned = _turned(R, config, (
        f"about {axis} by {math.degrees(found.angle):.1f} +- {math.degrees(found.error):.1f} "
        f"degrees (there was too little {axis} to judge the other two angles)"), Harm.CONTRADICTS)
    return turned._replace(complete=False), R


def _judged(fit: VelocityMap) -> np.ndarray:
    """(3,) whether the fit is good enough to judge each axis."""
    # Without motion the fit's error can be small too.
    return ((fit.errors[:9].reshape(3, 3).max(axis=1) < MAX_STANDARD_ERROR)
            & (fit.moved > MIN_VELOCITY_RMS))


def _is_of_world(fit: VelocityMap, world: VelocityMap) -> bool:
    """Whether velocities in world axes (map `world`) explain the integrated IMU better, with odds
    of a thousand, than velocities in axes that turn with the robot (`fit`). If the robot keeps its
    heading, or has turned once about it, both explain it equally well."""
    return bool(_judged(world).all()) and (
        fit.misfit - world.misfit
        > 2 * math.log(AXES_ODDS) * max(fit.inflation, world.inflation))


def _in_world(fit: VelocityMap, imu: np.ndarray | None) -> Finding:
    """The finding on velocities in world axes, with their map to the gyro's frame G; `imu` rows as
    in `frames`, which tell the world's axes."""
    finding = Finding(OF_WORLD, (
        "velocities do not turn with the robot, so they are in the world's axes; make the driver "
        "publish them in the body's axes (dvl.frame), or a nav_msgs/msg/Odometry with its twist in "
        "the body's axes. No dvl.rpy is right on two headings"))
    if imu is None:
        return finding
    R_Gb = Rotation.from_matrix(imu[:, 10:19].reshape(-1, 3, 3))
    R_Gn = (R_Gb * attitudes(imu).inv()).mean().as_matrix()
    axes = _axes_of(R_Gn.T @ fit.Q)
    clean, off_axes = nearest_axes(axes)
    if clean is not None and off_axes < CERTAIN_SIZE * float(fit.errors[:9].max()):
        axes = clean
    return finding._replace(mend=Mend("dvl", 0, axes, of_world=True), lasting=True)


def _clear_axes(Q: np.ndarray, error: np.ndarray) -> np.ndarray | None:
    """Signed axes (3, 3) other than the configured ones that Q (3, 3), with standard errors (3, 3),
    fits, with odds of a thousand against all the rest; None if there are none. Q is normalized,
    since DVL noise makes it smaller."""
    size = size_of(Q)
    deviation = [float(np.sum(((Q / size - axes) * size / error) ** 2)) for axes in SIGNED_AXES]
    best, second = np.argsort(deviation)[:2]
    if (np.array_equal(SIGNED_AXES[best], np.eye(3)) or deviation[best] > chi_squared(0.999, Q.size)
            or deviation[second] - deviation[best] < 2 * math.log(AXES_ODDS * len(SIGNED_AXES))):
        return None
    return SIGNED_AXES[best]


def _axes_of(Q: np.ndarray) -> np.ndarray:
    """(3, 3) orthogonal matrix nearest to Q (3, 3); this drops the scale, which DVL noise makes too
    small."""
    U, _, Vt = np.linalg.svd(Q)
    return U @ Vt


def _small_errors(fit: VelocityMap, logs: dict[str, np.ndarray], config: Config,
                  times_guessed: bool) -> CheckResult:
    """The result if the axes are roughly right: lag, tilt, scale, lever arm."""
    late = _late(fit, config, times_guessed)
    # A lag is fitted to first order only; the remainder makes the scale too small.
    found = [*late.findings, *_tilted(fit, config, Harm.FOLLOWED).findings,
             *([] if late.findings else _scaled(fit, logs, config).findings)]
    result = CheckResult(found, True) if found else _lever_arm(fit, logs["dvl"], config)
    return result._replace(open=late.open)


def _late(fit: VelocityMap, config: Config, times_guessed: bool) -> CheckResult:
    """The result on DVL stamps that are later or earlier than the IMU's for the same motion.

    Nothing is measured before it happens, so the later sensor is late, unless the other's delay
    setting is larger than its true delay, or the DVL's delay is a guess."""
    lag = abs(fit.lag)
    least = lag - Z999 * fit.errors[12]
    if least < MIN_DVL_LAG:
        excluded = lag + Z999 * fit.errors[12] < 2 * MIN_DVL_LAG
        return CONSISTENT if excluded else CONSISTENT._replace(open=DELAYS)
    dvl, imu = ("DVL", "dvl.delay", config.dvl.delay), ("IMU", "imu.delay", config.imu.delay)
    late, early = (dvl, imu) if fit.lag > 0 else (imu, dvl)
    _, setting, now = early if early[2] > least else late
    sooner = times_guessed and fit.lag < 0 and setting == imu[1]
    # Put right where that is sure to help, also if the lag is off by MIN_DVL_LAG beyond its error.
    mend = Mend("dvl", 0, np.eye(3), late=fit.lag) if (
        (sooner or setting == dvl[1]) and least - Z999 * fit.errors[12] > 2 * MIN_DVL_LAG) else None
    if sooner:
        return mismatch(dvl[1], (
            f"the DVL's readings, dated at reception, are {lag:.2f} +- {fit.errors[12]:.2f} s "
            "earlier than the IMU's for the same motion, so they arrive sooner than assumed; make "
            "its driver stamp each measurement on the common clock"), harm=Harm.FOLLOWED, mend=mend,
            lasting=mend is not None)
    set_to = max(now - lag, 0.0) if setting == early[1] else now + lag
    return mismatch(setting, (
        f"the {late[0]}'s stamps are {lag:.2f} +- {fit.errors[12]:.2f} s later than the "
        f"{early[0]}'s for the same motion; synchronize the clocks of both, or set {setting} to "
        f"{set_to:.2f} (now {now:.2f})"), {setting: round(set_to, 2)}, Harm.FOLLOWED, mend,
        lasting=mend is not None)


def _unit_of(gain: float) -> str:
    """The DVL's probable unit as text, from the size of its unit in m/s."""
    if gain < 0.03:
        return " (the unit is probably mm/s)" if gain < 0.01 else " (the unit is probably cm/s)"
    return " (the unit is probably knots)" if abs(gain - 0.51) < 0.08 else ""


def _tilted(fit: VelocityMap, config: Config, harm: Harm) -> CheckResult:
    """The result on DVL axes that are rotated relative to the IMU's."""
    U, _, Vt = np.linalg.svd(fit.Q)
    if np.linalg.det(U @ Vt) <= 0:
        return mismatch("dvl.rpy", (
            "no rotation takes the DVL's axes to the IMU's; check dvl.rpy, imu.rpy and the "
            "driver's axes"))
    phi, error = fit.rotation()
    angle = float(np.linalg.norm(phi))
    if angle - CERTAIN_SIZE * error < MIN_TILT:
        return CONSISTENT
    return _turned(U @ Vt, config, (
        f"by about {degrees(phi)}, {math.degrees(angle):.1f} +- {math.degrees(error):.1f} degrees "
        "in total"), harm)


def _turned(R: np.ndarray, config: Config, how: str, harm: Harm) -> CheckResult:
    """The result on DVL axes that R (3, 3) rotates to the IMU's; how: axis and angle, in words."""
    by_dvl = mounted(config.dvl.frame, config.dvl.rpy, R)
    by_imu = mounted(config.imu.frame, config.imu.rpy, R.T)
    return mismatch("dvl.rpy", (
        f"the DVL's axes are rotated relative to the IMU's {how}; set dvl.rpy to {listed(by_dvl)} "
        f"if the DVL is turned, or imu.rpy to {listed(by_imu)} if the IMU is"),
        {"dvl.rpy": by_dvl}, harm)


def turned_since(dvl: np.ndarray, place: np.ndarray) -> Generator[None, None, float | None]:
    """The time [s] at which the DVL's axes turned relative to the IMU's, with 99.9 % certainty;
    None if they may have been turned all along. Found in steps. `dvl` rows as in `frames`; place
    (3,): as `dvl_place`."""
    t, found = dvl[:, 0], [(0.0, 0.0)]
    for cut in np.arange(t[0] + CUT_STEP, t[-1], CUT_STEP).tolist():
        found.append((_turn_at(dvl[t <= cut], dvl[t > cut], place), cut))
        yield
    deviations, cut = max(found)
    return cut if deviations > CERTAIN_SIZE else None


def of_turn(dvl: np.ndarray, place: np.ndarray, at: float) -> tuple[str, Mend] | None:
    """(role of the sensor that turned at about `at` [s], IMU or DVL, what puts it right); None if
    gravity does not tell. `dvl` rows as in `frames`; place (3,): as `dvl_place`.

    The vehicle's mean tilt by the IMU turns with the IMU, but not with the DVL."""
    t = dvl[:, 0]
    before, after = dvl[t < at - CUT_STEP], dvl[t > at + CUT_STEP]
    fit = velocity_map(after, place) if len(after) > 1 else None
    if fit is None or len(before) == 0 or np.linalg.det(fit.Q) <= 0:
        return None
    Q = _axes_of(fit.Q)
    then, now = (stretch_means(rows[:, 0], rows[:, 19:22], CUT_STEP) for rows in (before, after))
    if min(len(then), len(now)) < 2:
        return None
    count, scatter = len(then) + len(now), sum(
        float(np.sum((means - means.mean(axis=0)) ** 2)) for means in (then, now))
    weight = len(then) * len(now) / count
    # -2 log likelihood of the two components of a tilt; one mean is fitted
    left = {role: 2.0 * (count - 1) * math.log(1e-12 + scatter + weight * float(np.sum(
        (now.mean(axis=0) @ turn - then.mean(axis=0)) ** 2)))
        for role, turn in (("imu", Q), ("dvl", np.eye(3)))}
    turned, other = sorted(left, key=lambda role: left[role])
    if left[other] - left[turned] < 2.0 * math.log(AXES_ODDS):
        return None
    mend = (Mend("imu", 0, Q.T, turn=True) if turned == "imu" else Mend("dvl", 0, Q))
    return turned, mend._replace(out_until=at + CUT_STEP)


def _turn_at(before: np.ndarray, after: np.ndarray, place: np.ndarray) -> float:
    """Turn of the axes from one log to the next, in standard errors."""
    fits = [velocity_map(rows, place) if len(rows) > 1 else None for rows in (before, after)]
    turns = [fit.rotation() for fit in fits if fit is not None and np.linalg.det(fit.Q) > 0]
    if len(turns) < 2:
        return 0.0
    (phi, error), (other, other_error) = turns
    return float(np.linalg.norm(other - phi)) / math.hypot(error, other_error)


def _scaled(fit: VelocityMap, logs: dict[str, np.ndarray], config: Config) -> CheckResult:
    """The result on the scale of velocities: of IMU, DVL and depth, the one that fits neither of
    the others is wrong. A mismatch of depth and DVL alone is left to `check_depth`."""
    low, high, error = fit.scale()
    depth = depth_fit(logs, np.eye(3), config) if "depth" in logs else None
    imu_differs = outside(low, high, error, SCALE_TOLERANCE)
    depth_differs = depth is not None and depth.is_outside(SCALE_TOLERANCE)
    seen = (f"DVL velocities are {2 / (low + high):.2f} +- {4 * error / (low + high) ** 2:.2f} "
            "times those of the integrated IMU")
    margin = math.inf if depth is None else Z999 * depth.error
    if (depth is not None and imu_differs
            and SCALE_TOLERANCE[0] + margin < depth.gain < SCALE_TOLERANCE[1] - margin):
        return mismatch("imu linear acceleration", (
            f"{seen}, but the depth agrees with the DVL ({depth.gain:.2f} +- {depth.error:.2f}); "
            "the accelerometer's scale is probably wrong: calibrate it"), harm=Harm.FOLLOWED)
    if depth is not None and depth_differs:
        if not depth.blames_dvl(fit):
            return CONSISTENT
        size = max(depth.gain, 1e-3)
        seen += f", and {1 / size:.2f} +- {depth.error / size ** 2:.2f} times those of the depth"
    elif not imu_differs:
        return CONSISTENT
    return mismatch(OF_UNIT, (
        f"{seen}; check the DVL's unit and the speed of sound that it is set to"),
        harm=Harm.FOLLOWED)


def _lever_arm(fit: VelocityMap, dvl: np.ndarray, config: Config) -> CheckResult:
    """The result on the lever arm from IMU to DVL, if all else is right. Rows follow it where it
    makes more of the velocities, at the rates of this motion, than the DVL's noise."""
    size, stddev = float(np.linalg.norm(fit.lever)), fit.errors[9:12]
    if not fit.is_elsewhere:
        return CONSISTENT
    of_velocity = size * math.sqrt(np.mean(np.sum(dvl[:, 4:7] ** 2, axis=1)))
    wrong = FRD_FROM_FLU @ fit.lever
    by_dvl, by_imu = ((place.round(3) + 0.0).tolist()      # (+ 0.0: no "-0.00")
                      for place in (config.dvl.xyz - wrong, config.imu.xyz + wrong))
    return mismatch(OF_PLACE, (
        "by velocities in turns, the DVL's place relative to the IMU is off by "
        f"{listed(wrong.round(2) + 0.0)} +- {listed(stddev)} m (FLU); set dvl.xyz to "
        f"{listed(by_dvl)} if the DVL's is wrong, or imu.xyz to {listed(by_imu)} if the IMU's is"
    ), {OF_PLACE: tuple(by_dvl)}, Harm.FOLLOWED if of_velocity > config.dvl.stddev
        else Harm.SLIGHT)


def _other_axes(logs: dict[str, np.ndarray], config: Config, axes: np.ndarray) -> CheckResult:
    """The result if the DVL's axes are the signed axes `axes` (3, 3) of the IMU."""
    mend = Mend("dvl", 0, axes)
    if np.array_equal(axes, FRD_FROM_FLU) and not is_level(
            mounted(config.dvl.frame, config.dvl.rpy, axes)):
        other = "flu" if config.dvl.frame == "frd" else "frd"
        return mismatch("dvl.frame", (
            "sway and heave velocity have the wrong sign relative to the IMU; set dvl.frame to "
            f"'{other}'"), {"dvl.frame": other}, mend=mend)
    if np.linalg.det(axes) < 0:
        signs = [VELOCITY_AXES[k] for k in range(3) if axes[k, k] < 0]
        seen = (f"the DVL's {' and '.join(signs)} velocity has the wrong sign" if signs
                else "the DVL's axes are swapped")
        return mismatch("dvl.frame", (
            f"{seen}, a mirror image that no rotation of the sensor produces; check the driver's "
            "axes and dvl.frame"), mend=mend, lasting=True)
    turned = "dvl"
    if "thrust" in logs:
        allocation = np.reshape(config.thrusters.allocation, (6, -1))
        turned = turned_sensor(logs["thrust"], logs["dvl"], dvl_place(config), allocation, axes)
    rotation = axes if turned == "dvl" else axes.T
    sensor, other = (config.dvl, "imu") if turned == "dvl" else (config.imu, "dvl")
    seen = ", ".join(f"{VELOCITY_AXES[k]} is its {axis_name(rotation[k])}" for k in range(3))
    return mismatch(f"{turned}.rpy", (
        f"the {turned.upper()}'s axes are rotated ({seen}) by about "
        f"{degrees(to_rpy(rotation))}; check {turned}.rpy, or {other}.rpy"),
        {f"{turned}.rpy": mounted(sensor.frame, sensor.rpy, rotation)},
        mend=mend if turned == "dvl" else None)
