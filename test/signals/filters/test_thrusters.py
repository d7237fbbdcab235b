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

"""The thruster model."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import AnalyticMotion, dvl_message, imu_message, joint_message
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import reasons

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.config.thrusters import ZONE_CUT, ZONE_SHIFT
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve
from uvms_adaptive_dynamics.signals.filters.command_response import POWER, Response
from uvms_adaptive_dynamics.signals.filters.thrusters import ThrusterModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd


def test_saturated_thruster_masks_the_vehicle():
    """A command at the end of the curve masks the six vehicle rows, with the reason."""
    config = Config()
    robot = RobotModel.from_config(config)
    motion = AnalyticMotion(0, config=config)
    front, samples = SignalFrontEnd(config, robot), []
    for k in range(400):
        s = motion.sample(0.01 * k, robot)
        front.add_message("imu", imu_message(s, config), s.t)
        if k % 10 == 0:
            front.add_message("dvl", dvl_message(s, config), s.t)
        if k % 2 == 0:
            front.add_message("joint_states", joint_message(s), s.t)
            front.add_message(
                "thrusters", Message(data=[1900.0 if 200 < k < 300 else 1600.0] + [1500.0] * 7), s.t
            )
        samples += front.samples()
    assert "thruster saturated" in reasons(front, "surge")
    assert "thruster saturated" not in reasons(front, "axis_e")
    assert any(s.valid[:6].all() for s in samples)


def model(**changed):
    """A thruster model that takes newtons, of the default vehicle."""
    values = {"thrusters.unit": "newton", "thrusters.time_constant": 0.11} | changed
    return ThrusterModel(Config().with_values(values))


@pytest.mark.parametrize("thrust, own, unit, saturated, suspect", [
    (55.0, False, "newton", False, False), (55.0, True, "newton", False, False),
    (65.0, True, "newton", True, True), (1500.0, False, "newton", False, True),
    (55.0, False, "pwm", True, True)])
def test_newtons_are_saturated_only_by_a_curve_of_their_own(tmp_path, thrust, own, unit, saturated,
                                                            suspect):
    """The default curve is that of another thruster: 55 N are more than a T200 gives, and no fault.
    Pulse widths taken for newtons still count as a wrong unit."""
    curve = tmp_path / "strong.csv"
    curve.write_text("pwm_us,thrust_16V_N\n1100,-50\n1500,0\n1900,60\n")
    values = {"thrusters.unit": unit} | ({"thrusters.curve": str(curve)} if own else {})
    seen: list[bool] = []
    thrusters = ThrusterModel(Config().with_values(values),
                              on_command=lambda saturated, changed: seen.append(saturated))
    commanded(thrusters, lambda t: np.full(8, thrust), 2.0)
    assert (thrusters.wrench(1.9).mask_reason == "thruster saturated") == saturated
    assert seen and all(one == suspect for one in seen[20:])


SHARES = np.linspace(-0.4, 1.0, 8)  # of each thruster, so that no axis cancels out


def commanded(thrusters, command_of, seconds, period=0.02):
    """Add commands (8,) command_of(t) at a fixed period, and what the gate still holds."""
    for k in range(round(seconds / period)):
        thrusters.add_command(period * k, list(command_of(period * k)))
    thrusters.flush()


def test_the_wrench_is_what_the_thrusters_add_up_to():
    """Each by its column of the allocation, whatever the state of the commands."""
    thrusters = model()
    thrusters.add_command(0.0, (10 * SHARES).tolist())
    thrusters.flush()
    for t in (0.3, 9.0):                    # the second without a command for long
        found = thrusters.wrench(t)
        np.testing.assert_allclose(found.by_thruster.sum(axis=1), found.wrench)
    np.testing.assert_allclose(found.by_thruster, thrusters.allocation * 10 * SHARES, atol=1e-12)
    assert found.mask_reason == "no thruster command"


def test_the_lag_is_exact_between_commands():
    """After a step the mean of a tick's period follows 1 - exp(-t / T), whatever the ticks."""
    thrusters = model()
    commanded(thrusters, lambda t: 10.0 * SHARES if t >= 1.0 else 0.0 * SHARES, 2.0)
    steady = thrusters.allocation @ (10.0 * SHARES)
    for t in (1.013, 1.1, 1.37, 1.9):
        mean = np.sinh(0.01 / 0.11) / (0.01 / 0.11)     # of an exponential over 0.02 s
        expected = steady * (1 - mean * np.exp(-(t - 1.0) / 0.11))
        np.testing.assert_allclose(thrusters.wrench(t).wrench, expected, atol=1e-9)


@pytest.mark.parametrize("phase, share", [(0.0, 0.5), (0.005, 0.25), (-0.005, 0.75), (0.01, 0.0)])
def test_a_held_command_counts_for_the_time_that_it_acts(phase, share):
    """Without lag: a step `phase` after a tick acts for a share of that tick's period."""
    thrusters = model(**{"thrusters.time_constant": 0.0})
    for k in range(100):
        thrusters.add_command(0.02 * k + phase, list(10.0 * SHARES if k >= 50 else 0.0 * SHARES))
    thrusters.flush()
    steady = thrusters.allocation @ (10.0 * SHARES)
    found = [thrusters.wrench(0.02 * k).wrench for k in range(1, 60)]
    np.testing.assert_allclose(found[48], 0.0 * steady, atol=1e-9)
    np.testing.assert_allclose(found[49], share * steady, atol=1e-9)
    np.testing.assert_allclose(found[50], steady, atol=1e-9)


def test_thrust_is_unknown_in_a_gap_of_regular_commands_and_until_the_rotors_have_settled():
    """Commands at 50 Hz are missed after 0.04 s, long before thrusters.timeout."""
    thrusters = model()
    for k in range(150):
        if not 50 <= k < 75:
            thrusters.add_command(0.02 * k, list(10.0 * SHARES))
    thrusters.flush()
    reasons = [thrusters.wrench(0.02 * k).mask_reason for k in range(1, 140)]
    assert set(reasons[:50]) == {""} and set(reasons[51:73]) == {"no thruster command"}
    settling = [k for k, r in enumerate(reasons, 1) if r.startswith("rotors settle")]
    assert 0.02 * (max(settling) - 75) == pytest.approx(3 * 0.11, abs=0.021)
    assert set(reasons[max(settling):]) == {""}


def test_a_burst_of_late_commands_does_not_make_later_ones_late():
    """A second of commands at once, as after a network stall; then they come as before."""
    thrusters = model()
    for k in range(300):
        at = 0.02 * k if not 100 <= k < 150 else 3.0 + 1e-4 * (k - 150)
        thrusters.add_command(at, list(10.0 * SHARES))
    thrusters.flush()
    reasons = [thrusters.wrench(0.02 * k).mask_reason for k in range(1, 295)]
    assert "no thruster command" in reasons[100:149] and set(reasons[175:]) == {""}


def test_commands_that_come_only_when_they_change_are_held():
    """Intervals of up to 0.3 s: the last command acts, and nothing is masked."""
    thrusters, rng = model(), np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.02, 0.3, 60))
    for at in t:
        thrusters.add_command(at, list(10.0 * SHARES))
    thrusters.flush()
    reasons = [thrusters.wrench(at).mask_reason for at in np.arange(t[0] + 0.02, t[-1], 0.02)]
    assert set(reasons) == {""}


def test_a_command_that_is_held_acts_at_once():
    """Not only when the next one shows that it was no spike."""
    thrusters = model(**{"thrusters.time_constant": 0.0, "thrusters.timeout": 5.0})
    for at, newtons in ((0.0, 4.0), (1.0, 10.0)):
        thrusters.add_command(at, list(newtons * SHARES))
    for t, newtons in ((0.5, 4.0), (2.0, 10.0)):
        np.testing.assert_allclose(thrusters.wrench(t).wrench,
                                   thrusters.allocation @ (newtons * SHARES), atol=1e-12)


def test_no_thrust_is_known_to_last_after_a_neutral_command():
    """A teleoperation that is silent at rest: nothing is masked for thrusters.timeout, however
    regular its commands were before."""
    thrusters = model(**{"thrusters.timeout": 5.0})
    commanded(thrusters, lambda t: (10.0 if t < 0.8 else 0.0) * SHARES, 1.0)
    found = [thrusters.wrench(0.02 * k) for k in range(50, 400)]
    reasons = [each.mask_reason for each in found]
    assert set(reasons[:240]) == {""} and set(reasons[260:]) == {"no thruster command"}
    assert not np.abs(found[200].wrench).max() > 1e-6


@pytest.mark.parametrize("lag", [0.0, 0.11])
def test_no_thrust_is_known_before_the_first_command(lag):
    """It comes while ticks are running, between two of them: from the first whole period on the
    thrust is the commanded one, and the impulse grows by it."""
    thrusters, steady, at = model(**{"thrusters.time_constant": lag}), 10.0 * SHARES, 0.495
    found, impulse = [], []
    for k in range(1, 50):
        if 0.02 * k + 0.01 > at:
            thrusters.add_command(at + 0.02 * (k - 25), list(steady))
        found.append(thrusters.wrench(0.02 * k))
        impulse.append(thrusters.impulse)
    reasons = [each.mask_reason for each in found]
    assert set(reasons[:24]) == {"no thruster command"} and set(reasons[25:]) == {""}
    assert reasons[24].startswith("rotors settle")          # half of this tick's period is unknown
    for each in found[25:]:
        np.testing.assert_allclose(each.wrench, thrusters.allocation @ steady, atol=1e-9)
    np.testing.assert_allclose(np.diff(impulse[24:], axis=0), [0.02 * steady] * 24, atol=1e-12)


@settings(max_examples=10)
@given(st.lists(st.floats(-20, 20), min_size=2, max_size=4), st.sampled_from([0.0, 0.11, 0.4]))
def test_impulse_is_the_integral_of_thrust(steps, lag):
    """The integral of the thrusters' thrust equals a sum over the wrench, up to a constant."""
    thrusters, h = model(**{"thrusters.time_constant": lag}), 0.01
    commanded(thrusters, lambda t: steps[min(int(t + 1e-9), len(steps) - 1)] * SHARES, len(steps))
    wrench, impulse = [], []
    for t in np.arange(0.2, len(steps) - 0.2, h):
        wrench.append(thrusters.wrench(t).wrench)
        impulse.append(thrusters.allocation @ thrusters.impulse)
    wrench, impulse = np.array(wrench), np.array(impulse)
    summed = np.cumsum(0.5 * h * (wrench[1:] + wrench[:-1]), axis=0)
    size = h * np.abs(np.diff(wrench, axis=0)).sum() + 1e-9  # a step falls between two instants
    np.testing.assert_allclose(impulse[1:] - impulse[0], summed, atol=size)


def test_silence_masks_and_signs_and_efficiency_scale():
    """No command for longer than the timeout masks; a reversed, weaker thruster pushes so."""
    thrusters = model(
        **{
            "thrusters.signs": (-1,) + (1,) * 7,
            "thrusters.efficiency": (0.5,) + (1.0,) * 7,
            "thrusters.time_constant": 0.0,
        }
    )
    commanded(thrusters, lambda t: [8.0] * 8, 1.0)
    expected = thrusters.allocation @ np.array([-4.0] + [8.0] * 7)
    np.testing.assert_allclose(thrusters.wrench(0.99).wrench, expected)
    assert thrusters.wrench(0.99).mask_reason == ""
    assert thrusters.wrench(20.0).mask_reason == "no thruster command"


def test_a_thruster_gives_a_share_of_its_thrust_from_a_command_on():
    """Of that which its efficiency leaves."""
    thrusters = model(**{"thrusters.efficiency": (0.5,) + (1.0,) * 7,
                         "thrusters.time_constant": 0.0})
    expected = thrusters.allocation * np.array([4.0] + [8.0] * 7)
    for k, first in enumerate((1.0, 0.5, 1.0)):
        thrusters.use_shares((first, *[1.0] * 7) if first < 1.0 else ())
        for t in k + np.arange(0.0, 1.0, 0.02):
            thrusters.add_command(t, [8.0] * 8)
        thrusters.flush()
        np.testing.assert_allclose(thrusters.wrench(k + 0.9).by_thruster,
                                   expected * np.array([first] + [1.0] * 7))


@pytest.mark.parametrize("unit, command, mirrored",
                         [("pwm", 1800.0, 1200.0), ("normalized", 0.75, -0.75)])
def test_a_motor_that_turns_the_other_way_pushes_as_strongly(unit, command, mirrored):
    """The same force along the allocation for the mirrored command, on either side of the curve,
    which is a quarter stronger forward."""
    def force(sign, value):
        thrusters = model(**{"thrusters.unit": unit, "thrusters.time_constant": 0.0,
                             "thrusters.signs": (sign,) + (1.0,) * 7})
        commanded(thrusters, lambda t: [value] + [0.0 if unit == "normalized" else 1500.0] * 7, 1.0)
        return thrusters.wrench(0.99).wrench

    ahead, astern = force(1.0, command), force(1.0, mirrored)
    np.testing.assert_allclose(force(-1.0, mirrored), ahead)
    np.testing.assert_allclose(force(-1.0, command), astern)
    assert np.linalg.norm(ahead) > 1.15 * np.linalg.norm(astern)


def test_voltage_scales_pwm_thrust():
    """The same PWM pushes more at a higher battery voltage."""
    thrusts = []
    for voltage in (14.0, 16.0):
        thrusters = model(**{"thrusters.unit": "pwm", "thrusters.time_constant": 0.0})
        thrusters.add_voltage(0.0, [voltage])
        commanded(thrusters, lambda t: [1700.0] + [1500.0] * 7, 1.0)
        thrusts.append(np.linalg.norm(thrusters.wrench(0.99).wrench))
    assert thrusts[1] > 1.1 * thrusts[0]


UNITS = {"pwm": (1500.0, 400.0), "normalized": (0.0, 1.0),
         "newton": (0.0, ThrustCurve.t200().limits(16.0)[1])}     # neutral, full command


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind, acts", [(ZONE_CUT, 0.3), (ZONE_SHIFT, 0.2)])
def test_commands_within_the_dead_zone_give_no_thrust(unit, kind, acts):
    """Beyond it they act in full, or by what exceeds it, in every unit and for reversed motors."""
    neutral, full = UNITS[unit]

    def force(command, **changed):
        thrusters = model(**{"thrusters.unit": unit, "thrusters.time_constant": 0.0,
                             "thrusters.signs": (-1.0,) + (1.0,) * 7} | changed)
        commanded(thrusters, lambda t: neutral + full * command, 1.0)
        return thrusters.wrench(0.99).by_thruster

    zone = {"thrusters.dead_zone": 0.1, "thrusters.dead_zone_kind": kind}
    command = np.array([0.3, -0.3, 0.3, -0.3, 0.09, -0.09, 0.0, 0.0])
    found = force(command, **zone)
    np.testing.assert_allclose(found, force(np.r_[np.sign(command[:4]) * acts, np.zeros(4)]))
    assert np.abs(found[:, :4]).max() > 1.0 and not found[:, 4:].any()


@pytest.mark.parametrize("spike", [False, True])
def test_tried_responses_are_those_of_models_configured_so(spike):
    """Dead zones in place of the configured one; exponents on the configured thrust. Spikes are
    removed from all."""
    tried = (Response(ZONE_SHIFT, 0.0), Response(ZONE_CUT, 0.12), Response(ZONE_SHIFT, 0.05))
    config = Config().with_values({"thrusters.dead_zone": 0.03})
    one = ThrusterModel(config, tried=(*tried, Response(POWER, 1.0), Response(POWER, 2.0)))
    others = [ThrusterModel(config.with_values({
        "thrusters.dead_zone": value, "thrusters.dead_zone_kind": kind})) for kind, value in tried]
    for k in range(150):
        command = 1500.0 + 100.0 * np.sin(0.06 * k + np.arange(8))
        if spike and k == 70:
            command[2] = 1900.0
        for each in (one, *others):
            each.add_command(0.02 * k, command.tolist())
            each.wrench(0.02 * k - 0.3)
    one.log_tried()
    (row,) = one.tried_log()
    assert row[0] == one.time
    impulses = row[1:].reshape(5, 8)
    np.testing.assert_allclose(impulses[:3], [each.impulse for each in others],
                               atol=1e-9 + 0.02 * spike)
    np.testing.assert_allclose(impulses[3], one.impulse, atol=1e-9 + 0.02 * spike)
    assert np.abs(impulses[4]).max() > 1.5 * np.abs(one.impulse).max()


@pytest.mark.parametrize("lag", [0.0, 0.11])
def test_tried_responses_are_the_same_however_rarely_they_are_asked_for(lag):
    """At every tick, or once for all."""
    config = Config().with_values({"thrusters.time_constant": lag})
    often, once = (ThrusterModel(config, tried=(Response(ZONE_CUT, 0.1), Response(POWER, 2.0)))
                   for _ in range(2))
    rows = []
    for k in range(100):
        command = (1500.0 + 100.0 * np.sin(0.06 * k + np.arange(8))).tolist()
        for each in (often, once):
            each.add_command(0.02 * k, command)
            each.wrench(0.02 * k - 0.3)
            if k > 30:
                each.log_tried()
        rows += often.tried_log()
    assert np.abs(rows[-1][1:]).max() > 1.0 and not often.tried_log()
    np.testing.assert_allclose(rows, once.tried_log(), rtol=1e-9, atol=1e-12)


def test_without_a_command_tried_responses_leave_no_backlog():
    """A robot may wait on deck for hours: the log is given out as it grows, and a first command
    finds nothing left to simulate."""
    model = ThrusterModel(Config(), tried=(Response(ZONE_CUT, 0.1),))
    for k in range(10):
        model.wrench(0.02 * k)
        model.log_tried()
        (row,) = model.tried_log()
        assert row[0] == model.time and not row[1:].any()
    model.add_command(0.2, [1700.0] * 8)
    model.wrench(0.6)
    model.log_tried()
    (row,) = model.tried_log()
    assert row[1:].all()
