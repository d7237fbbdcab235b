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

"""What a finding says puts the readings of a sensor right does so."""
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.wiring import driven
from uvms_adaptive_dynamics.signals.checks.dvl_check import check_velocity
from uvms_adaptive_dynamics.signals.checks.fits import SIGNED_AXES
from uvms_adaptive_dynamics.signals.checks.imu_check import check_rates
from uvms_adaptive_dynamics.signals.checks.joint_effort_check import check_efforts
from uvms_adaptive_dynamics.signals.checks.joint_velocity_check import check_velocities
from uvms_adaptive_dynamics.signals.checks.suite import SensorChecks
from uvms_adaptive_dynamics.signals.checks.wirings import _reordered
from uvms_adaptive_dynamics.signals.filters.thrusters import ThrusterModel

RNG = np.random.default_rng(0)
T = np.arange(0.0, 60.0, 0.1)


def moved(columns, low=0.5, high=0.9):
    """(k, columns) sines of different frequencies."""
    return np.sin(np.outer(T, np.linspace(low, high, columns)) + np.arange(columns))


@pytest.mark.parametrize("axes", [SIGNED_AXES[k] for k in range(0, len(SIGNED_AXES), 5)])
def test_velocities_in_other_axes(axes):
    """Without thrusters to tell, a turned DVL is to blame."""
    if np.array_equal(axes, np.eye(3)):
        return
    v, level = 0.3 * moved(3), np.tile([0.0, 0.0, 1.0], (len(T), 1))
    R = np.tile(np.eye(3).ravel(), (len(T), 1))
    measured = v @ axes.T
    noise = 0.01 * RNG.normal(size=v.shape)
    logs = {"dvl": np.column_stack([T, measured + noise, np.zeros_like(v), v, R, level])}
    (finding,) = check_velocity(logs, Config(), upside_down=False)[0].findings
    np.testing.assert_allclose([finding.mend.mended([*row]) for row in measured], v, atol=1e-12)


@pytest.mark.parametrize("unit", ["pwm", "normalized"])
@pytest.mark.parametrize("drives", [[2, 1, 3, 4, 5, 6, 7, 8], [-1, 2, 3, 4, 5, 6, 7, 8],
                                    [3, -1, 2, 4, 5, 8, 6, -7]])
def test_commands_that_drive_other_thrusters(drives, unit):
    """The model gives the wrench of the thrusters that the commands really drive."""
    config = Config().with_values({
        "thrusters.unit": unit, "thrusters.signs": [1.0, -1.0] * 4,
        "thrusters.time_constant": 0.0, "filter.gates": False})
    allocation = np.reshape(config.thrusters.allocation, (6, -1))
    checks = SensorChecks(config, RobotModel.from_config(config), tuple)
    mend = checks._of_commands(_reordered(allocation, drives, "").mend)
    effort = RNG.uniform(0.2, 0.5, 8) * RNG.choice([-1.0, 1.0], 8)
    commands = 1500.0 + 400.0 * effort if unit == "pwm" else effort

    def wrench(commands, config=config):
        model = ThrusterModel(config)
        for t in np.arange(0.0, 2.0, 0.1):
            model.add_command(t, commands)
        return model.wrench(1.5).wrench
    wired = config.with_values({
        "thrusters.allocation": driven(allocation, np.abs(drives)).ravel().tolist(),
        "thrusters.signs": (np.array([1.0, -1.0] * 4) * np.sign(drives)).tolist()})
    true = wrench(commands, wired)
    assert np.abs(wrench(commands) - true).max() > 1.0
    np.testing.assert_allclose(wrench(mend.mended([*commands])), true, atol=1e-9)


def integrated(rates):
    """(k, 3, 3) attitudes of rates (k, 3) in body axes."""
    found = [np.eye(3)]
    for turn in Rotation.from_rotvec(rates[:-1] * (T[1] - T[0])):
        found.append(found[-1] @ turn.as_matrix())
    return np.array(found)


@pytest.mark.parametrize("axes", [np.diag([1.0, -1.0, -1.0]), np.eye(3)[[1, 0, 2]]])
def test_rates_in_other_axes(axes):
    """The orientation shows which."""
    rates = 0.24 * np.cos(np.outer(T, [0.8, 0.6, 0.7]) + [0, 1, 2])
    by_orientation, by_gyro = (integrated(turns) for turns in (rates, rates @ axes.T))
    logs = np.zeros((len(T), 20))
    logs[:, 0], logs[:, 4:7] = T, rates @ axes.T
    logs[:, 1:4] = by_orientation[:, 2]
    logs[:, 19] = np.arctan2(by_orientation[:, 1, 0], by_orientation[:, 0, 0])
    logs[:, 10:19] = by_gyro.reshape(-1, 9)
    (finding,) = check_rates(logs).findings
    given = [0.0, 0.0, 1.0, *(axes @ rates[5]), 0.0, 0.0, -9.8, 0.3]
    np.testing.assert_allclose(finding.mend.mended(given)[3:6], rates[5])


def test_velocities_of_joints_in_another_order_and_one_with_another_sign():
    """A velocity with the wrong sign is left out, since the positions remain."""
    names, mu = ["a", "b", "c", "d"], moved(4)
    speed = np.gradient(mu, T, axis=0)
    (finding,), _ = check_velocities(names, T, mu, speed[:, [1, 2, 3, 0]], [None] * 4)
    reading = [*mu[7], *speed[7, [1, 2, 3, 0]], *np.zeros(4)]
    np.testing.assert_allclose(finding.mend.mended(reading), [*mu[7], *speed[7], *np.zeros(4)])
    (finding,), _ = check_velocities(names, T, mu, speed * [1.0, 1.0, -1.0, 1.0], [None] * 4)
    left = finding.mend.mended([*mu[7], *speed[7], *np.zeros(4)])
    assert np.flatnonzero(np.isnan(left)).tolist() == [4 + 2]


def test_efforts_in_another_order_are_not_put_right(monkeypatch):
    """Of a mixture of rows before and after, the order may not be the true one: half of the arm's
    R^2 was lost by one."""
    monkeypatch.setattr("uvms_adaptive_dynamics.signals.checks.joint_effort_check._Owners.order",
                        lambda owners: ([1, 2, 3, 0], math.inf))
    mu = moved(4)
    speed = np.gradient(mu, T, axis=0)
    (finding,), _ = check_efforts(["a", "b", "c", "d"], T, mu, speed, speed)
    assert finding.mend is None and "[b, c, d, a]" in finding.sentence
