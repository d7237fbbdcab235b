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

"""The T200's thrust curve, compared with the published table, and its inverse."""

import os
from pathlib import Path

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.thrust_curve import NEUTRAL_PWM_US, ThrustCurve, acting

VOLTAGES = (10.0, 12.0, 14.0, 15.2, 15.73, 16.0, 18.0, 20.0)
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def curve():
    return ThrustCurve.t200()


@pytest.fixture(scope="module")
def published_path():
    path = (
        Path(os.environ.get("UVMS_SHARED", REPOSITORY / ".." / "shared"))
        / "data"
        / "t200"
        / "t200_thrust.csv"
    )
    if not path.is_file():
        pytest.skip(
            f"the published T200 table is not at {path}; set UVMS_SHARED to the folder that holds "
            "data/t200"
        )
    return path


def test_within_005_n_of_the_published_table_everywhere(curve, published_path):
    """At every published PWM and voltage, and between them, the built-in curve is within 0.05 N of
    the published one."""
    published = ThrustCurve.from_csv(published_path)
    pwm, volts = np.meshgrid(np.arange(1100, 1901), np.linspace(10, 20, 41), indexing="ij")
    assert np.max(np.abs(curve.thrust(pwm, volts) - published.thrust(pwm, volts))) <= 0.05


def test_csv_figures_are_reproduced(published_path):
    """A curve read from a file gives exactly the file's figures at the file's PWM and voltages."""
    table = np.loadtxt(published_path, delimiter=",", skiprows=1)
    read = ThrustCurve.from_csv(published_path)
    np.testing.assert_allclose(read.thrust(table[:, :1], np.array([[10, 12, 14, 16, 18, 20]])),
                               table[:, 1:], atol=1e-12)


def test_dead_band_is_the_published_one(curve, published_path):
    """Thrust is exactly zero where the published table is zero, and nowhere else."""
    table = np.loadtxt(published_path, delimiter=",", skiprows=1)
    for column, voltage in enumerate((10, 12, 14, 16, 18, 20), start=1):
        assert np.array_equal(curve.thrust(table[:, 0], voltage) == 0.0, table[:, column] == 0.0)


@pytest.mark.parametrize("voltage", VOLTAGES)
def test_thrust_of_command_is_the_thrust(curve, voltage):
    """Forward of inverse is the identity inside the limits, at every voltage, monotone or not."""
    low, high = curve.limits(voltage)
    wanted = np.linspace(low, high, 2001)
    np.testing.assert_allclose(curve.thrust(curve.command(wanted, voltage), voltage), wanted,
                               atol=1e-9)


@pytest.mark.parametrize("voltage", VOLTAGES)
def test_command_is_the_nearest_to_neutral(curve, voltage):
    """No command closer to neutral reaches the wanted thrust."""
    low, high = curve.limits(voltage)
    for wanted in np.linspace(low, high, 60):
        command = curve.command(wanted, voltage)
        nearer = np.linspace(NEUTRAL_PWM_US, command, 4001)[:-1]
        assert np.all(np.sign(wanted) * curve.thrust(nearer, voltage) < abs(wanted) + 1e-12)


@pytest.mark.parametrize("voltage", VOLTAGES)
def test_command_grows_with_thrust(curve, voltage):
    """The inverse never falls when more thrust is wanted, though the table itself does at some
    voltages."""
    low, high = curve.limits(voltage)
    assert np.all(np.diff(curve.command(np.linspace(1.1 * low, 1.1 * high, 3001), voltage)) >= 0.0)


def test_zero_thrust_is_neutral(curve):
    """Zero thrust is commanded by 1500 us at every voltage, and 1500 us gives zero thrust."""
    assert np.all(curve.command(0.0, np.array(VOLTAGES)) == NEUTRAL_PWM_US)
    assert np.all(curve.thrust(NEUTRAL_PWM_US, np.array(VOLTAGES)) == 0.0)


def test_clamped_beyond_the_table(curve):
    """PWM, voltage and thrust beyond the table act as the nearest that it holds."""
    assert curve.thrust(1000, 16) == curve.thrust(1100, 16)
    assert curve.thrust(2000, 25) == curve.thrust(1900, 20)
    low, high = curve.limits(16)
    assert curve.command(2 * high, 16) == curve.command(high, 16)
    assert curve.command(2 * low, 16) == curve.command(low, 16)


def test_scalars_and_arrays_agree(curve):
    """A scalar gives a scalar, and arrays broadcast element by element; not-a-number stays
    not-a-number."""
    assert np.ndim(curve.thrust(1700, 16)) == 0 and np.ndim(curve.command(5.0, 16)) == 0
    pwm, volts = np.array([1200.0, 1500.0, 1800.0]), np.array([[12.0], [15.5]])
    expected = [[curve.thrust(p, v) for p in pwm] for v in volts[:, 0]]
    np.testing.assert_array_equal(curve.thrust(pwm, volts), expected)
    assert np.isnan(curve.thrust(np.nan, 16)) and np.isnan(curve.command(np.nan, 16))


def test_one_voltage_is_a_curve_too():
    """A table with a single voltage column holds at every voltage."""
    curve = ThrustCurve([1100, 1480, 1520, 1900], [16], [[-40], [0], [0], [50]])
    assert curve.thrust(1710, 12) == pytest.approx(25.0)
    assert curve.command(25.0, 20) == pytest.approx(1710)


@pytest.mark.parametrize(
    "text, reason",
    [("pwm,thrust\n1100,1\n", "header"),
     ("pwm_us,thrust_16V_N\n1100,-1\n1500,0\n1900,x\n", "numbers"),
     ("pwm_us,thrust_16V_N\n1900,1\n1500,0\n1100,-1\n", "increasing"),
     ("pwm_us,thrust_16V_N\n1100,-1\n1500,3\n1900,1\n", "neutral"), ("", "header"),
     ("pwm_us,thrust_nanV_N\n1100,-1\n1500,0\n1900,1\n", "voltage values"),
     ("pwm_us,thrust_16V_N\n1100,-1\n1500,0\n1900,1e300\n", "beyond 1e\\+07 N"),
     ("pwm_us,thrust_16V_N\n1100,0\n1500,0\n1900,0\n", "0 at every PWM"),
     ("pwm_us,thrust_16V_N\n" + "1500,0\n" * 200_000, "longer than 1 MB")],
)
def test_unusable_table_is_refused_with_the_reason(tmp_path, text, reason):
    """A file that is no thrust table is refused with a message that says what was expected."""
    path = tmp_path / "curve.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=reason) as caught:
        ThrustCurve.from_csv(path)
    assert str(path) in str(caught.value)


def test_a_path_that_never_ends_is_refused(tmp_path):
    """A device and a FIFO, at once."""
    os.mkfifo(tmp_path / "curve.csv")
    for path in (tmp_path / "curve.csv", "/dev/zero"):
        with pytest.raises(ConfigError, match="cannot be read: it is a .*expected a CSV file"):
            ThrustCurve.from_csv(path)


@pytest.mark.parametrize("voltage", VOLTAGES)
@pytest.mark.parametrize("kind", ["cut", "shift"])
def test_a_dead_zone_is_part_of_the_curve_that_controllers_invert(curve, kind, voltage):
    """Thrust as the thruster model sees it, and commands that reach it."""
    settings = Config().with_values({"thrusters.dead_zone": 0.15,
                                     "thrusters.dead_zone_kind": kind}).thrusters
    dead, u = ThrustCurve.of_settings(settings), np.linspace(-400.0, 400.0, 1601)
    expected = curve.thrust(NEUTRAL_PWM_US + acting(u, 60.0, kind), voltage)
    np.testing.assert_allclose(dead.thrust(NEUTRAL_PWM_US + u, voltage), expected, atol=1e-9)
    wanted = np.linspace(*dead.limits(voltage), 501)
    wanted = wanted[np.abs(wanted) > 3.0]       # more than where a cut sets in
    np.testing.assert_allclose(dead.thrust(dead.command(wanted, voltage), voltage), wanted,
                               atol=1e-6)
    assert ThrustCurve.of_settings(Config().thrusters).pwm_us.tolist() == curve.pwm_us.tolist()
