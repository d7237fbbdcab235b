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

"""A drifting attitude is told from a gyro's bias by velocities."""

import numpy as np
import pytest
from scipy.integrate import trapezoid  # numpy's has another name before 2.0

from uvms_adaptive_dynamics.signals.filters.imu_integral import (
    FORCE_C,
    R_GB,
    RAW_C,
    SERIES_COLUMNS,
)
from uvms_adaptive_dynamics.signals.filters.settling import (
    DRIFT_SPAN,
    SettlingAttitude,
    _Lines,
)
from uvms_adaptive_dynamics.signals.filters.velocity_offset import BIAS_STDDEV

GRAVITY = 9.81
PERIOD, STDDEV = 0.1, 0.01


def unbiased(t):
    return (0.0, 0.0, 0.0)


def judged(tilt, seconds=20.0, gyro_is_wrong=False, bias=(0.0, 0.0, 0.0), wobble=0.0,
           learnt=unbiased, upside_down=False, noise=3e-4, seed=2, scale=1.0, pace=1.0,
           walk=0.002, turn=0.1, stray=lambda t: 0.0):
    """(SettlingAttitude, times at which it finds a drift) of velocities with noise. The down vector
    turns about the body's x axis by tilt(t) [rad] relative to the gyro; the vehicle turns at `turn`
    [rad/s] about the vertical; stray(t) [m/s] is an error of the velocities along y; `wobble` [m/s]
    is one at .25 Hz; learnt(t) [m/s^2] is what is taken for the accelerometer's bias;
    `upside_down`: gravity by the attitude points the other way; `noise` [rad] of the attitude in
    each period; `scale` of the velocities; `pace` [rad/s] of the vehicle's motion; `walk` [m/s^2
    per sqrt(s)] of the bias."""
    judge, rng, found = SettlingAttitude(), np.random.default_rng(seed), []
    force_C, raw_C, velocity = np.zeros(3), np.zeros(3), np.zeros(3)
    for t in np.arange(0.0, seconds, PERIOD):
        c, s = np.cos(turn * t), np.sin(turn * t)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        down = np.array([0.0, np.sin(tilt(t)), np.cos(tilt(t))])
        true = down if gyro_is_wrong else np.array([0.0, 0.0, 1.0])
        acceleration = 0.3 * np.array([np.sin(pace * t), np.cos(0.7 * pace * t), 0.0])
        velocity = velocity + PERIOD * acceleration
        force = acceleration - GRAVITY * true + R @ bias
        force_C = force_C + PERIOD * force
        raw_C = raw_C + PERIOD * (force + GRAVITY * ((-down if upside_down else down)
                                            + noise * rng.standard_normal(3)))
        row = np.zeros(SERIES_COLUMNS)
        row[FORCE_C], row[RAW_C], row[R_GB] = force_C, raw_C, R.ravel()
        error = STDDEV * rng.standard_normal(3) + wobble * np.sin(0.5 * np.pi * t)
        error[1] += stray(t)
        judge.add(t, (scale * velocity + error).tolist(), row.tolist(), learnt(t), 1e-4 / (1.0 + t),
                  walk, STDDEV)
        if judge.drifts:
            found.append(t)
    return judge, found


@pytest.mark.parametrize("degrees, tau", [(4.0, 3.0), (5.0, 5.0), (3.0, 2.0)])
def test_a_settling_attitude_is_found_within_three_seconds_until_it_has_settled(degrees, tau):
    """From within 3 s until half a degree is left and the last fit has passed; the angle is right
    to a degree."""
    judge, found = judged(lambda t: np.radians(degrees) * np.exp(-t / tau))
    assert found[0] < 3.0
    assert found[-1] < tau * np.log(degrees / 0.5) + DRIFT_SPAN
    assert np.degrees(judge.angle) == pytest.approx(degrees, abs=1.0)
    assert judge.spans.last == pytest.approx(found[-1])
    sentence, = judge.sentences()
    assert f"to {found[-1]:.0f} s it drifted by {np.degrees(judge.angle):.0f} deg" in sentence


def test_a_linear_drift_is_found_within_four_seconds():
    """3 degrees in 10 s."""
    _, found = judged(lambda t: np.radians(3.0) * max(0.0, 1.0 - t / 10.0))
    assert found[0] < 4.0 and 8.0 < found[-1] < 10.0 + DRIFT_SPAN


@pytest.mark.parametrize("rate", [0.0, 0.003, 0.01, 0.03])
def test_a_bias_of_the_gyro_is_no_drift_of_the_attitude(rate):
    """Gravity turns in the frame that the gyro carries, and the velocities show it."""
    assert not judged(lambda t: rate * t, 60.0, gyro_is_wrong=True)[1]


@pytest.mark.parametrize("walk, drifts", [(0.002, True), (0.03, False)])
def test_an_attitude_that_always_wanders_does_not_settle(walk, drifts):
    """A wave of .7 degrees in 4 s is a drift for an attitude that is known to a tenth of a degree,
    not for one that wanders by .35 degrees within 4 s at any time."""
    assert bool(judged(lambda t: np.radians(0.7) * np.sin(0.4 * t), 60.0, walk=walk)[1]) == drifts


def test_a_bias_of_the_gyro_that_has_shown_before_is_no_drift():
    """For 4 s of two minutes the velocities are wrong as if the gyro were right all of a sudden: a
    right attitude of a quiet vehicle had "drifted by 1 degree"."""
    rate = 0.004

    def stray(t):
        within = np.clip(t - 40.0, 0.0, 4.0)
        return -GRAVITY * rate * within * (0.5 * within + max(t - 44.0, 0.0))
    assert not judged(lambda t: rate * t, 60.0, gyro_is_wrong=True, turn=0.0, stray=stray)[1]


def test_a_bias_of_the_accelerometer_is_no_drift():
    """.1 m/s^2, with a gyro's bias of .003 rad/s."""
    assert not judged(lambda t: 0.003 * t, 60.0, gyro_is_wrong=True, bias=(0.1, 0.0, 0.0))[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_attitude_does_not_settle(seed):
    """With .01 rad of noise in each tenth of a second the turn of the down vector in 4 s is known
    to .4 degrees, so what it adds to the velocities is uncertain too."""
    assert not judged(lambda t: 0.005 * t, 75.0, gyro_is_wrong=True, noise=0.01, seed=seed)[1]


@pytest.mark.parametrize("degrees, wobble", [(1.0, 0.3), (3.0, 0.08)])
def test_nothing_is_concluded_from_velocities_that_fit_neither(degrees, wobble):
    """They have an error of .3 or .08 m/s that neither explains."""
    assert not judged(lambda t: np.radians(degrees) * min(t / 4.0, 1.0), wobble=wobble)[1]


@pytest.mark.parametrize("wobble", [0.02, 0.05, 0.1])
def test_nothing_is_concluded_from_velocities_of_the_wrong_sign(wobble):
    """The attitude turns away by 8 degrees; it is worse than the gyro, but by less than what both
    leave."""
    assert not judged(lambda t: np.radians(8.0) * (1.0 - np.exp(-t / 2.0)), 10.0, wobble=wobble,
                      scale=-1.0)[1]


@pytest.mark.parametrize("seed", range(4))
def test_velocities_of_another_scale_do_not_blame_the_attitude(seed):
    """A fifth of the velocity bends like a turn of gravity; the gyro has a bias of .005 rad/s."""
    assert not judged(lambda t: -0.005 * t, 75.0, gyro_is_wrong=True, scale=0.8, pace=1.5,
                      seed=seed)[1]


def test_an_attitude_that_settles_is_found_by_velocities_of_another_scale():
    """From within 3 s, as with the right scale."""
    assert judged(lambda t: np.radians(4.0) * np.exp(-t / 3.0), scale=0.87)[1][0] < 3.0


def test_an_attitude_that_is_upside_down_does_not_settle():
    """Its axes are set wrong, which the checks of frames tell."""
    assert not judged(lambda t: np.radians(4.0) * np.exp(-t / 3.0), upside_down=True)[1]


def test_a_bias_that_is_learnt_from_the_drift_does_not_end_it():
    """A tilt of 5 degrees is learnt as .85 m/s^2 of the accelerometer meanwhile."""
    _, found = judged(lambda t: np.radians(5.0) * np.exp(-t / 5.0), learnt=lambda t: (
        0.0, GRAVITY * np.radians(5.0) * (1.0 - np.exp(-t / 3.0)), 0.0))
    assert found[0] < 3.0 and found[-1] > 5.0 * np.log(5.0 / 0.5)


def test_the_bias_before_a_drift_is_as_certain_as_it_was_then():
    """The drift begins at 10 s, in the window of velocities by which it is found."""
    judge, _ = judged(lambda t: np.radians(4.0) * min(1.0, np.exp((10.0 - t) / 3.0)))
    assert 10.0 - DRIFT_SPAN < judge.begin < 10.0
    assert judge.bias_variance == pytest.approx(1e-4 / (1.0 + judge.begin), rel=1e-6)


@pytest.mark.parametrize("turns", [False, True])
def test_what_lines_leave_is_that_of_least_squares(turns):
    """One system with a line for each axis, bias, scale and, if gravity turns, the error of its
    slope; priors are rows of it."""
    rng = np.random.default_rng(4)
    n, bias, slope, slope_stddev = 12, rng.normal(size=3), rng.normal(size=3), 0.3
    scaled = rng.normal(size=(n, 3))
    t, velocity = np.sort(rng.uniform(0.0, 4.0, n)), rng.normal(size=(n, 3))
    R, curve = rng.normal(size=(n, 3, 3)), rng.normal(size=n)
    turned = np.array([trapezoid(R[:k + 1], t[:k + 1], axis=0) for k in range(n)])
    known = velocity + turned @ bias - turns * np.outer(curve, slope)
    columns = [np.kron(np.ones((n, 1)), np.eye(3)), np.kron(t[:, None], np.eye(3)),
               BIAS_STDDEV * turned.reshape(-1, 3), scaled.reshape(-1, 1)]
    if turns:
        columns.append(slope_stddev * np.kron(curve[:, None], np.eye(3)))
    else:
        slope, slope_stddev = np.zeros(3), 0.0
    A = np.hstack(columns) / STDDEV
    priors = np.eye(A.shape[1])[6:]
    y = np.r_[known.ravel() / STDDEV, np.zeros(len(priors))]
    expected = np.linalg.lstsq(np.vstack([A, priors]), y, rcond=None)[1]
    lines = _Lines(t, R, bias, scaled, STDDEV)
    found = lines.left_with_turn(velocity, curve, slope, slope_stddev)
    assert found == pytest.approx(expected.item(), rel=1e-9)
