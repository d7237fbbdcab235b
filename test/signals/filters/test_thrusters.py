"""The thruster model."""

from types import SimpleNamespace as Message

import numpy as np
from analytic import AnalyticMotion, dvl_message, imu_message, joint_message
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import reasons

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
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


SHARES = np.linspace(-0.4, 1.0, 8)  # of each thruster, so that no axis cancels out


def commanded(thrusters, command_of, seconds, period=0.02):
    """Add commands (8,) command_of(t) at a fixed period, and what the gate still holds."""
    for k in range(round(seconds / period)):
        thrusters.add_command(period * k, list(command_of(period * k)))
    thrusters.flush()


def test_the_lag_is_exact_between_commands():
    """After a step the thrust follows 1 - exp(-t / T) at any instant, whatever the ticks."""
    thrusters = model()
    commanded(thrusters, lambda t: 10.0 * SHARES if t >= 1.0 else 0.0 * SHARES, 2.0)
    steady = thrusters.allocation @ (10.0 * SHARES)
    for t in (1.013, 1.1, 1.37, 1.9):
        expected = steady * (1 - np.exp(-(t - 1.0) / 0.11))
        np.testing.assert_allclose(thrusters.wrench(t).wrench, expected, atol=1e-9)


@settings(max_examples=10)
@given(st.lists(st.floats(-20, 20), min_size=2, max_size=4), st.sampled_from([0.0, 0.11, 0.4]))
def test_impulse_is_the_integral_of_thrust(steps, lag):
    """The integral of the thrusters' thrust, against a sum over the wrench, but for a constant."""
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


def test_voltage_scales_pwm_thrust():
    """The same PWM pushes more at a higher battery voltage."""
    thrusts = []
    for voltage in (14.0, 16.0):
        thrusters = model(**{"thrusters.unit": "pwm", "thrusters.time_constant": 0.0})
        thrusters.add_voltage(0.0, [voltage])
        commanded(thrusters, lambda t: [1700.0] + [1500.0] * 7, 1.0)
        thrusts.append(np.linalg.norm(thrusters.wrench(0.99).wrench))
    assert thrusts[1] > 1.1 * thrusts[0]
