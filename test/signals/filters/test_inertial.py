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

"""Motion of the body origin from IMU and DVL."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion, stream
from signal_runs import make, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.sensor_clock import SensorClock
from uvms_adaptive_dynamics.signals.filters.inertial import InertialFilter


@pytest.mark.parametrize("source", ["fused", "dvl", "imu"])
def test_state_equals_the_true_motion(source, clean):
    """Velocity and acceleration of the body origin and of the joints match the motion, for each
    source of acceleration."""
    _, _, pi, messages = clean
    config, robot, _ = make(filter__linear_acceleration=source)
    motion = AnalyticMotion(0, config=config)
    _, samples = run(config, robot, messages)
    error = []
    for s in samples[100:-50]:
        truth = motion.sample(s.t - START, robot)
        error.append(
            np.concatenate(
                [s.nu - truth.nu, s.nu_dot - truth.nu_dot, s.mu - truth.mu,
                 s.mu_ddot - truth.mu_ddot]
            )
        )
    rms = np.sqrt(np.mean(np.square(error), axis=0))
    linear = 0.12 if source == "dvl" else 0.03
    assert (
        rms[:6].max() < 0.02
        and rms[6:9].max() < linear
        and rms[9:12].max() < 0.02
        and rms[12:16].max() < 0.001
        and rms[16:].max() < 0.03
    )


def test_known_current_is_taken_off(clean):
    """With a known current the model sees velocity through water and its derivative in the rotating
    body."""
    _, _, pi, messages = clean
    current = (0.3, -0.2, 0.05)
    config, robot, _ = make(robot__current_ned=current)
    plain = make()
    a, b = run(plain[0], plain[1], messages)[1], run(config, robot, messages)[1]
    k = 200
    drift = a[k].R_nb.T @ current
    np.testing.assert_allclose(b[k].nu[:3], a[k].nu[:3] - drift, atol=1e-9)
    h = 0.02
    slope = (a[k + 1].R_nb.T @ current - a[k - 1].R_nb.T @ current) / (2 * h)
    np.testing.assert_allclose(b[k].nu_dot[:3], a[k].nu_dot[:3] - slope, atol=5e-3)


def test_the_accelerometers_bias_is_learnt_and_its_drift_taken_off():
    """0.05 m/s^2 of bias, DVL noise of 1 cm/s and attitude noise of 0.2 degrees: after 20 s the
    linear acceleration is accurate to 6 mm/s^2, its mean to 2."""
    config, robot, pi = make()
    rng, motion, bias = (np.random.default_rng(4), AnalyticMotion(5, config=config),
                         np.array([0.05, -0.03, 0.04]))

    def corrupt(role, message, t):
        if role == "imu":
            f, q = message.linear_acceleration, message.orientation
            noise = rng.normal(0, 0.0017, 3)
            turned = np.array([q.x, q.y, q.z]) + q.w * noise + np.cross([q.x, q.y, q.z], noise)
            w = q.w - noise @ [q.x, q.y, q.z]
            new = np.append(turned, w) / np.linalg.norm(np.append(turned, w))
            message = Message(
                **{
                    **vars(message),
                    "linear_acceleration": Message(x=f.x + bias[0], y=f.y + bias[1],
                                                   z=f.z + bias[2]),
                    "orientation": Message(**dict(zip("xyzw", new))),
                }
            )
        elif role == "dvl":
            v, n = message.twist.twist.linear, rng.normal(0, 0.01, 3)
            moved = Message(linear=Message(x=v.x + n[0], y=v.y + n[1], z=v.z + n[2]))
            message = Message(header=message.header,
                              twist=Message(twist=moved, covariance=message.twist.covariance))
        return role, message, t

    _, samples = run(config, robot, stream(motion, robot, pi, 40.0), corrupt)
    error = np.array(
        [s.nu_dot[:3] - motion.sample(s.t - START, robot).nu_dot[:3] for s in samples[1000:-50]]
    )
    assert np.abs(error.mean(axis=0)).max() < 0.002 and error.std(axis=0).max() < 0.006, (
        error.mean(axis=0), error.std(axis=0))


def test_a_velocity_that_comes_after_a_gap_of_the_imu_is_not_used_if_measured_before_its_end():
    """In the gap the integral is a straight line, and an offset before it is another one."""
    config, logged = Config(), []
    inertial = InertialFilter(config, SensorClock(), SensorClock(),
                              log=lambda name, t, *values: logged.append((name, t)))
    rng = np.random.default_rng(1)
    for t in np.arange(0.0, 4.0, 0.01):
        if not 1.0 < t < 3.0:
            noise = 1e-3 * rng.standard_normal(9)
            noise[2] += 1.0
            noise[8] -= config.robot.gravity
            inertial.add_imu(t, [*noise, 0.0])
    for t in (0.7, 2.9, 3.5):
        inertial.add_dvl(t, [0.01 * t, 0.0, 0.0])
    times = [t for name, t in logged if name in ("dvl", "doubted")]
    assert times == [3.5]


def test_rows_of_an_accelerometer_that_has_just_jumped_are_masked():
    """By .3 m/s^2 upward at 20 s, which the DVL's gate may follow: of the rows that count, only
    those of the first .2 s are wrong by more than a third of that, and all count after 3 s."""
    config, rng = Config(), np.random.default_rng(2)
    inertial, counted = InertialFilter(config, SensorClock(), SensorClock()), []
    for k, t in enumerate(np.arange(0.0, 30.0, 0.01)):
        noise = np.r_[1e-3 * rng.standard_normal(6), 0.02 * rng.standard_normal(3)]
        force = -config.robot.gravity - (0.3 if t >= 20.0 else 0.0)
        inertial.add_imu(t, [*(noise + [0, 0, 1, 0, 0, 0, 0, 0, force]), 0.0])
        if k % 10 == 0:
            inertial.add_dvl(t, (0.015 * rng.standard_normal(3)).tolist())
        if k % 2 == 0 and t > 10.0:
            motion = inertial.motion(t - 0.5)
            if not motion.mask_reason:
                counted.append((t - 0.5, abs(motion.nu_dot[2])))
    t, error = np.array(counted).T
    wrong = t[error > 0.1]
    assert wrong.size and wrong.max() < 20.2
    assert np.sum(t > 23.0) == np.sum((t > 12.0) & (t < 12.0 + t[-1] - 23.0))
