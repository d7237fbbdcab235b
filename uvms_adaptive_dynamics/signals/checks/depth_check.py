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

"""Check of the depth against the DVL's integrated heave."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.jackknife import variance
from ...model.normal import NORMAL_MEDIAN, Z999
from ...model.rotations import FRD_FROM_FLU
from ..decode.decoder import PASCAL, depth_unit
from .finding import (
    CHANGE_WINDOW,
    CONSISTENT,
    MAX_STANDARD_ERROR,
    SCALE_TOLERANCE,
    UNDECIDED,
    CheckResult,
    Harm,
    mismatch,
    outside,
)
from .fits import MIN_TILT, STRETCHES, integral, regression, rows_in
from .velocity_log import dvl_place, turned_dvl
from .velocity_map import VelocityMap, velocity_map

MIN_DEPTH_RMS = 0.03      # [m] RMS change over CHANGE_WINDOW; below it depth is not judged
# Largest share of the heave's power that may be DVL noise: the fitted scale is biased low by about
# this share, by more if the vehicle moves only part of the time.
LARGEST_NOISE = 0.1
MIN_DEPTH_WINDOWS = 100
# [s] Over as long, a dive changes the depth by more than waves do.
SLOW_WINDOW = 10.0
PRESSURE_UNITS = {1 / pascal: unit for unit, pascal in PASCAL.items()}  # size of 1 Pa -> unit


class DepthFit(NamedTuple):
    """Regression of the depth rate on n3 * v.

    by_axis (3,), errors (3,): coefficient of each axis and its standard error; gain, error: the
    same for all axes together, beside a small rotation of the DVL; explained: share of the depth's
    power that this explains. Errors are infinite without heave, or if too much of the heave is DVL
    noise."""

    by_axis: np.ndarray
    errors: np.ndarray
    gain: float
    error: float
    explained: float

    def is_outside(self, bounds: tuple[float, float]) -> bool:
        """Whether the gain is outside `bounds` with 99.9 % certainty. Velocity noise biases the fit
        low, at most by the share that it leaves unexplained."""
        return outside(self.gain, self.gain / max(self.explained, 1e-3), self.error, bounds)

    def is_of_waves(self, slow: DepthFit | None) -> bool:
        """Whether `slow`, the fit over longer windows, shows the right scale instead: under waves
        that the vehicle rides, the pressure changes less than its depth, but only for seconds. A
        vehicle that keeps its depth shows nothing else, so a smaller change may be of waves then.
        """
        if 0.0 < self.gain < 1.0 and (slow is None
                                      or abs(slow.gain - 1.0) < Z999 * slow.error):
            return True
        return slow is not None and slow.error < abs(self.gain - 1.0) and (
            abs(slow.gain - 1.0) < abs(slow.gain - self.gain))

    def blames_dvl(self, of_imu: VelocityMap) -> bool:
        """Whether `of_imu`, the fit of the IMU to the same velocities, shows that these have a
        wrong scale, not the depth: IMU and depth agree with each other."""
        low, high, error = of_imu.scale()
        return outside(low, high, error, (1.0, 1.0)) and not self.contradicts(of_imu)

    def contradicts(self, of_imu: VelocityMap) -> bool:
        """Whether the IMU agrees less with the depth than with the DVL, by the same fit."""
        size = max(self.gain, 1e-3)
        low, high, error = of_imu.scale()
        halfway = math.sqrt(max(size, 1.0 / size))
        return outside(low * self.explained / size, high / size, error / size,
                       (1.0 / halfway, halfway))


def depth_fit(logs: dict[str, np.ndarray], turn: np.ndarray, config: Config,
              window: float = CHANGE_WINDOW, of_means: bool = False) -> DepthFit | None:
    """Fit of the depth's change to the integrated velocity over windows of this length [s]; of
    means: from one window's mean to the next one's, in which waves average out.

    `turn` (3, 3) rotates the DVL's velocity into the IMU's axes; `logs` as in `frames`. None if the
    log is too short.
    """
    dvl, depth = turned_dvl(logs["dvl"], dvl_place(config), turn), logs["depth"]
    t, v, w, n3 = dvl[:, 0], dvl[:, 1:4], dvl[:, 4:7], dvl[:, 19:22]
    lever = FRD_FROM_FLU @ (np.array(config.imu.xyz) - np.array(config.depth.xyz))
    at_depth = v - np.cross(w, lever)
    # A small rotation d between DVL and gravity adds d . (v x n3): mounts are off by a degree or
    # two, and what is level then descends.
    path = integral(t, np.hstack([n3 * at_depth, np.cross(at_depth, n3)]))
    lag = rows_in(t, window)
    moved = np.column_stack([path, np.interp(t, depth[:, 0], depth[:, 1])])
    begin, end, length = t[:-lag], t[lag:], window
    if of_means:
        area = integral(t, moved)
        moved = (area[lag:] - area[:-lag]) / (end - begin)[:, None]
        begin, end, length = t[:-2 * lag], t[2 * lag:], 2 * window
    inside = (begin >= depth[0, 0]) & (end <= depth[-1, 0]) & (end - begin < 1.5 * length)
    if inside.sum() < MIN_DEPTH_WINDOWS:
        return None
    by_velocity, by_turn, change = np.split((moved[lag:] - moved[:-lag])[inside], [3, 6], axis=1)
    change, lag = change[:, 0], rows_in(t, length)
    by_axis, covariance, _ = regression(by_velocity, change, lag)
    # Free, it would stand in for the scale where the vehicle descends on a slope.
    x, stddev = np.column_stack([by_velocity.sum(axis=1), by_turn]), [math.inf, *3 * [MIN_TILT]]
    whole, covariance_of_whole, explained = regression(x, change, lag, stddev)
    # What waves add to a pressure lasts longer than the windows overlap.
    parts = np.array_split(np.arange(len(change)), STRETCHES)
    without = np.array([regression(np.delete(x, part, axis=0), np.delete(change, part), lag,
                                   stddev)[0][0] for part in parts])
    error = math.sqrt(max(covariance_of_whole[0, 0], variance(without)))
    power = float(np.mean(by_velocity[:, 2] ** 2))
    real = power - _noise_of_path(dvl, lag)
    heaved = real > max(MIN_DEPTH_RMS ** 2, (1 - LARGEST_NOISE) * power)
    errors = np.sqrt(np.diagonal(covariance)) if heaved else np.full(3, np.inf)
    return DepthFit(by_axis, errors, float(whole[0]), error if heaved else math.inf, explained)


def _noise_of_path(dvl: np.ndarray, lag: int) -> float:
    """Variance [m^2] of the velocity's integral over `lag` rows due to DVL noise.

    The DVL less the integrated IMU is noise plus slow drift; second differences remove the
    drift."""
    R = dvl[:, 10:19].reshape(-1, 3, 3)
    offset = np.einsum("kij,kj->ki", R, dvl[:, 1:4]) - dvl[:, 7:10]
    curvature = np.median(np.abs(offset[2:] - 2 * offset[1:-1] + offset[:-2])) / NORMAL_MEDIAN
    period = float(np.median(np.diff(dvl[:, 0])))
    # (trapezoidal rule: ends count half)
    return float(curvature ** 2 / 6 * period ** 2 * (lag - 0.5))


def check_depth(logs: dict[str, np.ndarray], config: Config, turn: np.ndarray) -> CheckResult:
    """Check depth against heave, given a correct attitude; `turn` as in `depth_fit`."""
    fit = depth_fit(logs, turn, config)
    if fit is None or fit.errors[2] > MAX_STANDARD_ERROR * max(abs(fit.by_axis[2]), 1.0):
        return UNDECIDED
    by_axis, error = fit.by_axis, fit.errors
    level, gain = float(np.median(logs["depth"][:, 1])), float(by_axis[2])
    seen = f"({gain:.2f} +- {error[2]:.2f} m per metre of descent)"
    is_pressure = config.depth.type.endswith("FluidPressure")
    if gain + Z999 * error[2] < -0.2:
        # (a pressure rises with depth, whatever the sensor's mount)
        if is_pressure and not _heaves_like_imu(logs["dvl"], config):
            return mismatch("dvl.frame", (
                "the DVL's heave velocity has the wrong sign: the pressure rises while it says "
                f"that the vehicle ascends {seen}; check dvl.frame and dvl.rpy, or imu.world"),
                harm=Harm.FOLLOWED)
        return mismatch("depth sign", (
            f"depth decreases while the vehicle descends {seen}; publish depth positive down, or "
            "check dvl.frame, dvl.rpy and imu.world"), harm=Harm.SLIGHT)
    if depth_unit(config, is_pressure) == "Pa" and level < -5.0:
        return _pressure_mismatch(level, gain)
    if abs(gain) + Z999 * error[2] < 0.4:
        return mismatch("depth", (
            f"depth does not follow the heave velocity {seen}; check that the sensor works, its "
            "topic (depth.topic) and its unit (depth.unit)"), harm=Harm.SLIGHT)
    if fit.is_outside(SCALE_TOLERANCE) and not fit.is_of_waves(
            depth_fit(logs, turn, config, SLOW_WINDOW, of_means=True)):
        of_imu = velocity_map(logs["dvl"], dvl_place(config))
        if of_imu is not None and fit.blames_dvl(of_imu):
            return UNDECIDED        # velocities that are wrong themselves judge no depth
        dvl = "" if of_imu is not None and fit.contradicts(of_imu) else (
            "the DVL's scale (speed of sound), since the IMU does not tell which is wrong, and ")
        return mismatch("depth unit", (
            f"depth changes by {fit.gain:.2f} +- {fit.error:.2f} m per metre of the DVL's descent; "
            f"check {dvl}the depth's unit ({_unit_said(fit)})"),
            harm=Harm.SLIGHT)
    reversed_axes = [k for k in range(2) if error[k] < MAX_STANDARD_ERROR
                     and by_axis[k] + Z999 * error[k] < 0]
    if len(reversed_axes) == 1:
        k = reversed_axes[0]
        axis, turn_name = (("surge", "pitch"), ("sway", "roll"))[k]
        return mismatch("imu.frame", (
            f"depth follows heave but changes the wrong way with {axis} on a slope "
            f"({by_axis[k]:.2f} +- {error[k]:.2f} m per metre of descent), so {turn_name} has the "
            "wrong sign; check imu.frame and imu.rpy"))
    return CONSISTENT


def _unit_said(fit: DepthFit) -> str:
    """What is expected of a depth that has another scale."""
    if abs(fit.gain - 1 / 0.3048) < Z999 * fit.error:
        return "probably feet: publish metres, or scale a CSV's column by 0.3048 in its mapping"
    return "metres, or Pa at robot.water_density"


def _heaves_like_imu(dvl: np.ndarray, config: Config) -> bool:
    """Whether the sign of the DVL's heave velocity is certainly the IMU's."""
    of_imu = velocity_map(dvl, dvl_place(config))
    return of_imu is not None and bool(of_imu.Q[2, 2] - Z999 * of_imu.errors[8] > 0.0)


def _pressure_mismatch(level: float, gain: float) -> CheckResult:
    """Result for a pressure sensor whose depth `level` [m] is far above the surface."""
    nearest = min(PRESSURE_UNITS, key=lambda size: abs(math.log(max(abs(gain), 1e-7) / size)))
    if nearest == 1.0:
        return mismatch("robot.surface_pressure", (
            f"depth is {level:.1f} m but follows heave, so the pressure is probably relative to "
            "the surface; set robot.surface_pressure to 0"), {"robot.surface_pressure": 0.0},
            harm=Harm.SLIGHT)
    return mismatch("depth unit", (
        f"depth is {level:.1f} m and changes by {gain:.2g} m per metre of descent, so the "
        f"pressure is probably in {PRESSURE_UNITS[nearest]}; set depth.unit to "
        f"'{PRESSURE_UNITS[nearest]}'"), {"depth.unit": PRESSURE_UNITS[nearest]}, Harm.SLIGHT)
