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

"""The delay between command and motion: found offline to milliseconds, warned of online."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from campaign_cases import also
from frame_cases import recording

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.delay import (
    SHIFTS,
    DelayMonitor,
    _least,
    _likeliest,
    thruster_delay,
)
from uvms_adaptive_dynamics.signals.checks.fits import STRETCHES
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.health import MENDED


@pytest.fixture(scope="module")
def messages():
    return recording(1, 45.0)


def run(messages, earlier, config):
    """Samples where every command is received `earlier` [s] than it acts."""
    robot = RobotModel.from_config(config)
    front, samples = SignalFrontEnd(config, robot), []
    shifted = sorted(
        ((r, m, t - earlier * (r == "thrusters")) for r, m, t in messages), key=lambda item: item[2]
    )
    for item in shifted:
        front.add_message(*item)
        samples += front.samples()
    return front, samples, robot


@pytest.fixture(scope="module")
def as_it_is(messages):
    """The run without a delay."""
    return run(messages, 0.0, Config())


@pytest.mark.parametrize("true", [*map(also, (0.0, 0.17)), 0.5])
def test_delay_is_found_within_20_ms_and_put_right(true, messages, as_it_is):
    """Offline with the regressor within 20 ms; online within 30 ms, with a sentence that names the
    setting from 0.06 s on, and nothing of it remains."""
    config, late = Config(), true > 0.05
    front, samples, robot = run(messages, true, config) if true else as_it_is
    first = [sample for sample in samples if sample.t < samples[0].t + 29.0]    # as received
    assert abs(thruster_delay(first, robot, config).delay - true) < 0.02
    found = [finding for finding, _ in front.frames.findings]
    assert [finding.setting for finding in found] == ["thrusters.delay"] * late
    assert all(abs(one.values["thrusters.delay"] - true) < 0.03 for one in found)
    assert [MENDED in text for text in front.warnings] == [True] * late
    assert abs(front.delay.found.delay) < 0.03
    # A larger delay than the intervals allow for biases the vehicle's parameters.
    places = {one.places for sample in samples for one in sample.misread}
    assert places == ({tuple(range(6))} if late else set()) and not samples[-1].misread


@pytest.mark.campaign
def test_commands_that_become_late_are_put_right_from_then_on():
    """The likeliest moment is known to half a second, and what was right stays as it is."""
    earlier, begin = 0.2, 33.0
    messages = recording(21, 75.0)
    start = messages[0][2]
    late = sorted(((role, message, t - earlier * (role == "thrusters" and t > start + begin))
                   for role, message, t in messages), key=lambda item: item[2])
    _, samples, _ = run(late, 0.0, Config())
    again = next(sample.again for sample in samples if sample.again)
    changed = [after.t for before, after in again
               if np.abs(before.wrench - after.wrench).max() > 0.5]
    assert abs(changed[0] - start - begin) < 0.5


def test_the_setting_takes_the_delay_away(messages):
    """With thrusters.delay set to the truth, no delay remains and there is no warning."""
    config = Config().with_values({"thrusters.delay": 0.3})
    front, samples, robot = run(messages, 0.3, config)
    assert abs(thruster_delay(samples, robot, config).delay) < 0.02 and not front.warnings


def test_a_robot_at_rest_tells_of_no_delay(as_it_is):
    """A minute after its last command only the end of the rotors' lag is left: a fading 0.04 N, and
    unrelated motion."""
    config = Config()
    _, samples, robot = as_it_is
    begin = samples[0].t
    resting = [replace(s, wrench=0.04 * np.exp(-(s.t - begin)) * np.ones(6)) for s in samples]
    assert thruster_delay(samples, robot, config) is not None
    assert thruster_delay(resting, robot, config) is None


def monitored(delay, seed, seconds=61.0, onset=0.0, shaken=(0.0, 0.0), noise=None,
              in_bursts=bool):
    """The monitor after a while of thrust that moves a vehicle in surge, with `delay` [s] from the
    onset [s] on, while depth control reacts to a tether .3 s late; between the times `shaken` [s]
    noise is all that the IMU measures, or is added with these deviations of velocity and
    acceleration."""
    config, rng = Config(), np.random.default_rng(seed)
    monitor, period = DelayMonitor(config, in_bursts), config.filter.period
    t = period * np.arange(round(seconds / period))
    delay = np.where(t < onset, 0.0, delay)
    frequency, phase = rng.uniform(0.5, 3.0, (2, 4)), rng.uniform(0.0, 6.0, (2, 4))

    def wave(k, t, rate):
        """Motion k and its change with time."""
        angle = frequency[k] * t[:, None] + phase[k]
        return np.sum(np.cos(angle) * frequency[k] if rate else np.sin(angle), axis=1)

    surge, surge_rate = (0.1 * wave(0, t, rate) for rate in (False, True))
    heave, heave_rate = (0.005 * wave(1, t, rate) for rate in (False, True))
    wrench = np.zeros((len(t), 6))
    wrench[:, 0] = 19.0 * 0.1 * wave(0, t + delay, True) + 14.0 * 0.1 * wave(0, t + delay, False)
    behind = t - 0.3 + delay
    wrench[:, 2] = -200.0 * 0.005 * wave(1, behind, False) + rng.normal(0.0, 0.3, len(t))
    wrench[:, 0] += rng.normal(0.0, 0.1, len(t))
    tremor = rng.normal(0.0, 1.0, (2, len(t), 6)) * np.reshape(noise or (0.5, 0.5), (2, 1, 1))
    for k in range(len(t)):
        nu = np.array([surge[k], 0.0, heave[k], 0.0, 0.0, 0.0])
        nu_dot = np.array([surge_rate[k], 0.0, heave_rate[k], 0.0, 0.0, 0.0])
        if shaken[0] < t[k] < shaken[1]:
            nu, nu_dot = tremor[:, k] + (np.array([nu, nu_dot]) if noise else 0.0)
        monitor.add(SimpleNamespace(t=t[k], R_nb=np.eye(3), nu=nu, nu_dot=nu_dot,
                                    wrench=wrench[k], valid=np.ones(10, bool)))
    return monitor


@pytest.mark.parametrize("seed", range(3))
def test_an_axis_that_thrust_does_not_move_tells_of_no_delay(seed):
    """A controller reacts to a tether in heave with a delay of its own; thrust moves only surge."""
    monitor = monitored(0.0, seed)
    assert abs(monitor.found.delay) < 0.02 and not monitor.warning and not monitor.misread
    assert not monitor.result(origin=0.0).findings


@pytest.mark.parametrize("delay", [-0.6, -0.1, 0.1, 0.6])
def test_a_delay_is_found_on_one_axis(delay):
    """Early or late, in the first half minute: commands are recorded up to seconds late."""
    monitor = monitored(delay, 0, seconds=31.0)
    assert abs(monitor.found.delay - delay) < 0.02 and "thrusters.delay" in monitor.warning


def test_commands_in_bursts_are_put_off_by_their_mean_delay_and_no_setting_is_proposed():
    """Without stamps each has another delay; the mean is nearer than none."""
    monitor = monitored(-0.3, 0, in_bursts=lambda: True)
    (finding,) = monitor.result(origin=0.0).findings
    assert "in bursts are dated 0.3" in finding.sentence and "late" in finding.sentence
    assert not finding.values and finding.mend.late == pytest.approx(0.3, abs=0.02)
    assert "set thrusters.delay" not in monitor.warning


def test_a_delay_that_begins_within_the_minute_is_told_with_its_value():
    """The minute as a whole is inconsistent; its newest half determines the delay."""
    monitor = monitored(-0.2, 0, onset=31.0)
    assert abs(monitor.found.delay + 0.2) < 0.03 and "earlier" in monitor.warning
    (finding,) = monitor.result(origin=100.0).findings
    assert abs(finding.since - (31.0 - 100.0)) < 1.5 and finding.mend.role == "thrusters"
    assert finding.mend.late == -monitor.found.delay


@pytest.mark.parametrize("certain, late", [(0.11, True), (0.09, False)])
def test_commands_are_put_off_only_if_that_is_sure_to_help(certain, late):
    """A delay of which half is certain is smaller afterwards, whatever it is."""
    monitor = monitored(0.2, 0, seconds=31.0)
    monitor._certain = certain
    result = monitor.result(origin=0.0)
    assert bool(result.findings) == late and result.complete == late
    if late:
        assert result.findings[0].since is None and result.findings[0].lasting


@pytest.mark.parametrize("begin", [20.0, 35.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_shaken_imu_tells_of_no_delay(seed, begin):
    """Ten seconds of noise have no say beside fifty of motion: the delay is right to 3 ms."""
    monitor = monitored(0.0, seed, shaken=(begin, begin + 10.0))
    assert abs(monitor.found.delay) < 0.003 and not monitor.warning


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_noisy_imu_tells_of_no_delay(seed):
    """Noise of the acceleration hides that surge follows thrust: regressed on motion alone, thrust
    would seem to act before it, as heave's does, which a controller moves."""
    monitor = monitored(0.0, seed, shaken=(0.0, 61.0), noise=(0.0, 1.0))
    assert not monitor.warning and not monitor.misread


@pytest.mark.parametrize("against, told", [(np.full(STRETCHES, 0.1), True),
                                           (np.tile([0.0, 0.4], STRETCHES // 2), False)])
def test_a_delay_that_half_of_the_time_denies_is_not_told(against, told):
    """Each stretch's likelihood has a sharp maximum at .6 s, and a second one at the configured
    delay, which is the larger one in every other stretch."""
    def peak(place):
        return np.exp(-((SHIFTS - place) / 0.1) ** 2)[:, None, None]
    cost = -0.3 * peak(0.6) - against[:, None] * peak(0.0)
    found = _likeliest(np.exp(np.repeat(cost, 2, axis=2) * STRETCHES * 2))
    assert found.delay == pytest.approx(0.6, abs=0.01) and 5.0 * found.stddev < 0.6
    assert bool(_least(found)) == told
