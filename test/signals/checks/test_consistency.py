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

"""Cross-checks of DVL, IMU, joints and thrusters on signals whose truth is known."""
import numpy as np
import pytest
import yaml
from campaign_cases import also, first
from test_thruster_check import findings_on

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    from_rotation_vector,
    from_rpy,
    to_frd,
)
from uvms_adaptive_dynamics.signals.checks.depth_check import check_depth
from uvms_adaptive_dynamics.signals.checks.dvl_check import (
    DELAYS,
    _clear_axes,
    _is_of_world,
    check_velocity,
)
from uvms_adaptive_dynamics.signals.checks.finding import CONSISTENT, UNDECIDED, Harm
from uvms_adaptive_dynamics.signals.checks.imu_check import check_gravity, check_rates
from uvms_adaptive_dynamics.signals.checks.joint_check import check_joints
from uvms_adaptive_dynamics.signals.checks.thruster_check import turned_sensor
from uvms_adaptive_dynamics.signals.checks.velocity_log import dvl_place
from uvms_adaptive_dynamics.signals.checks.velocity_map import AT_IMU, fused, velocity_map

ALLOCATION = np.reshape(Config().thrusters.allocation, (6, 8))
AXES = np.eye(3)
MASS = np.diag([20.0, 25.0, 28.0, 0.5, 0.5, 0.6])


def motion(t, rng, size, count):
    """(k, count) sums of sines of RMS `size`, and their derivative."""
    f, phase = rng.uniform(0.05, 0.4, (4, count)), rng.uniform(0, 6.28, (4, count))
    angle = 2 * np.pi * f * t[:, None, None] + phase
    return (size * np.sin(angle).sum(axis=1) / np.sqrt(2),
            size * (2 * np.pi * f * np.cos(angle)).sum(axis=1) / np.sqrt(2))


def dvl_log(seed, Q=None, rate=10.0, noise=0.01, seconds=60.0, axes=6):
    """Rows of the DVL's log: the IMU's velocity is Q times the DVL's; `axes` of the six move."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, 1 / rate)
    nu, nu_dot = motion(t, rng, 0.15, 6)
    nu[:, axes:] = nu_dot[:, axes:] = 0.0
    C = nu[:, :3] @ (np.eye(3) if Q is None else Q).T + 0.003 * rng.normal(size=(t.size, 3))
    v = nu[:, :3] + noise * rng.normal(size=(t.size, 3))
    R, n3 = np.tile(np.eye(3).ravel(), (t.size, 1)), np.tile([0.0, 0.0, 1.0], (t.size, 1))
    return np.column_stack([t, v, nu[:, 3:], C, R, n3]), nu, nu_dot


@pytest.mark.parametrize("rate", [4.0, 10.0, 30.0])
def test_scale_and_rotation_come_with_their_errors(rate):
    """Over many draws, scale and angle are within 3.3 of their standard errors."""
    for seed in range(12):
        Q = 0.8 * from_rotation_vector(np.radians([3.0, -8.0, 5.0]))
        fit = velocity_map(dvl_log(seed, Q, rate)[0])
        (phi, angle_error), (low, high, scale_error) = fit.rotation(), fit.scale()
        assert abs(np.linalg.norm(phi) - np.radians(np.sqrt(98))) < 3.3 * angle_error
        assert low - 3.3 * scale_error < 0.8 < high + 3.3 * scale_error


@pytest.mark.parametrize("seed", first(2, range(5)))
@pytest.mark.parametrize("mirror", [np.diag([1.0, -1.0, 1.0]), np.diag([-1.0, 1.0, 1.0]),
                                    np.eye(3)[[1, 0, 2]]])
def test_a_mirror_image_is_found_on_a_vehicle_that_turns(mirror, seed):
    """No small corrections of the identity lead to it: the axes to begin with are those whose
    velocities change as the integral's do."""
    log, *_ = dvl_log(seed, mirror)
    phi = 1.2 * np.sin(np.outer(log[:, 0], [0.3, 0.4, 0.25]) + seed)
    R = np.array([from_rotation_vector(one) for one in phi])
    by_body = log[:, 7:10].copy()
    log[:, 7:10], log[:, 10:19] = np.einsum("kij,kj->ki", R, by_body), R.reshape(-1, 9)
    fit = velocity_map(log)
    assert fit.known > 0.9 and np.abs(fit.Q - mirror).max() < 0.15, fit.Q
    (finding,) = check_velocity({"dvl": log}, Config(), False)[0].findings
    assert finding.setting == "dvl.frame" and finding.lasting
    np.testing.assert_array_equal(finding.mend.matrix, mirror)


FAR = Config().with_values({"imu.xyz": (0.0, 0.0, 0.0), "dvl.xyz": (-0.3, 0.1, -0.2)})


def far_log(seed, turn, imu_turn=AXES):
    """Rows of a robot that turns fast, with a DVL far from the IMU: `turn` (3, 3) rotates what it
    measures, and `imu_turn` what the IMU measures."""
    log, nu, _ = dvl_log(seed)
    w, place = 4.0 * nu[:, 3:] @ imu_turn.T, dvl_place(FAR)
    measured = (log[:, 1:4] + np.cross(4.0 * nu[:, 3:], place)) @ turn.T
    log[:, 1:4], log[:, 4:7] = measured - np.cross(w, place), w
    log[:, 7:10], log[:, 19:22] = log[:, 7:10] @ imu_turn.T, log[:, 19:22] @ imu_turn.T
    return log


@pytest.mark.parametrize("seed", first(1, range(4)))
@pytest.mark.parametrize("rpy, values", [
    ((np.pi, 0.0, 0.0), {"dvl.frame": "flu"}), ((0.0, 0.0, np.pi / 2), {"dvl.rpy": -1.5708}),
    ((0.0, 0.0, np.pi / 4), {"dvl.rpy": -0.7854})])
def test_a_turned_dvl_far_from_the_imu_is_named_although_the_robot_turns_fast(seed, rpy, values):
    """What turning makes of its velocity is seen in its own axes, too: an independent vehicle with
    its DVL upside down was told that depth has the wrong sign."""
    log = far_log(seed, from_rpy(*rpy))
    (finding,) = check_velocity({"dvl": log}, FAR, False)[0].findings
    (setting, value), = values.items()
    found = finding.values[setting]
    assert found == value or found[2] == pytest.approx(value, abs=0.02), finding
    mounted = FAR.with_values({"dvl.rpy": (np.pi, 0.0, 0.0)})       # the setting itself is wrong
    if rpy[0]:
        (finding,) = check_velocity({"dvl": log}, mounted, False)[0].findings
        assert finding.values == {"dvl.rpy": (0.0, 0.0, 0.0)}
    # the depth is judged by velocities in the right axes, at the sensor's own place
    turn = velocity_map(log, dvl_place(FAR)).Q
    descent = np.cumsum(dvl_log(seed)[0][:, 3]) * 0.1
    depth = np.column_stack([log[:, 0], descent])
    assert check_depth({"dvl": log, "depth": depth}, FAR, turn) == CONSISTENT


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_a_place_of_the_dvl_that_is_wrong_by_far_is_measured(seed):
    """What the lever arm makes of fast turns is no error of the integral."""
    log, off = far_log(seed, AXES), np.array([0.8, 0.0, 0.4])
    log[:, 1:4] -= np.cross(log[:, 4:7], FRD_FROM_FLU @ off)
    config = FAR.with_values({"dvl.xyz": (FAR.dvl.xyz + off).tolist()})
    (finding,) = check_velocity({"dvl": log}, config, False)[0].findings
    assert finding.values["dvl.xyz"] == pytest.approx(FAR.dvl.xyz, abs=0.03)


LEVEL = from_rpy(np.pi, 0.0, 0.0), from_rpy(0.0, 0.0, np.pi / 2), from_rpy(0.0, 0.0, -2.3)


@pytest.mark.parametrize("seed", first(1, (0, 2, 3)))
@pytest.mark.parametrize("turn", [AXES, *LEVEL, np.diag([1.0, -1.0, 1.0])])
def test_axes_are_found_at_constant_depth(seed, turn):
    """Two axes tell the third one's rotation. Where they are mirrored, the third one's little
    motion or the depth tells a rotation from a driver's wrong sign, of which only that is said. (Of
    a DVL upside down with seed 1, whose map is skewed, only the sway's sign is told.)"""
    log = far_log(seed, AXES)
    log[:, [3, 9]] *= 0.15
    log[:, 1:4] = log[:, 1:4] @ turn.T
    log[:, 4:7] *= 0.01
    depth = np.column_stack([log[:, 0], np.cumsum(log[:, 9]) * 0.1])
    for logs in {"dvl": log}, {"dvl": log, "depth": depth}:
        found, axes = check_velocity(logs, FAR, False)
        if turn is AXES:
            assert found.findings == [] and not found.complete
            continue
        (finding,) = found.findings
        assert finding.setting in ("dvl.rpy", "dvl.frame")
        if np.linalg.det(turn) < 0.0:
            assert "sway" in finding.sentence and finding.values == {}
            continue
        np.testing.assert_allclose(axes, turn.T, atol=0.05)
        mended = FAR.with_values(finding.values).dvl
        mount = to_frd(mended.frame) @ from_rpy(*mended.rpy)
        np.testing.assert_allclose(mount, turn.T, atol=0.05)


@pytest.mark.parametrize("seed", first(1, range(4)))
@pytest.mark.parametrize("turn", [AXES, from_rpy(0.0, 0.0, np.pi / 2)])
def test_an_imu_upside_down_hides_no_axes_of_a_dvl_and_makes_none_wrong(seed, turn):
    """Both are told at once; of a right DVL nothing is."""
    log = far_log(seed, turn, FRD_FROM_FLU)
    found, axes = check_velocity({"dvl": log}, FAR, True)
    assert [one.setting for one in found.findings] == ([] if turn is AXES else ["dvl.rpy"])
    np.testing.assert_allclose(axes, turn.T, atol=0.05)


def test_a_dvl_that_loses_most_of_its_velocities_is_judged_by_the_rest():
    """Hardly a window of a second has all of its rows; of half a second at a time nothing is said.
    """
    Q = 0.8 * from_rotation_vector(np.radians([3.0, -8.0, 5.0]))
    for seed in range(5):
        log, *_ = dvl_log(seed, Q, rate=20.0)
        kept = np.random.default_rng(seed).random(len(log)) < 0.35
        fit = velocity_map(log[kept])
        angle, error = fit.rotation()[0], fit.rotation()[1]
        assert abs(np.linalg.norm(angle) - np.radians(np.sqrt(98))) < 3.3 * error < 0.2
        short = log[np.arange(len(log)) % 60 < 10]
        assert velocity_map(short) is None and fused(short) is short


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_what_the_integral_gathers_while_rows_are_withheld_changes_nothing(seed):
    """Six seconds of an accelerometer that is found wrong, and whose rows are not judged: the
    integral goes on from another velocity. The DVL is .03 s late."""
    log, *_ = dvl_log(seed, rate=6.0, seconds=35.0)
    log[:, 1:4] = np.column_stack([np.interp(log[:, 0] - 0.03, log[:, 0], column)
                                   for column in log[:, 1:4].T])
    withheld = (log[:, 0] > 20.0) & (log[:, 0] < 26.0)
    gathered = log.copy()
    gathered[log[:, 0] > 23.0, 7:10] += [10.0, 0.0, 100.0]
    before, after = (velocity_map(rows[~withheld]) for rows in (log, gathered))
    assert after.lag == pytest.approx(before.lag, abs=1e-3)
    np.testing.assert_allclose(after.Q, before.Q, atol=2e-3)
    assert check_velocity({"dvl": gathered[~withheld]}, Config(), False)[0].findings == []


@pytest.mark.parametrize("seed", first(2, range(10)))
def test_right_sensors_give_no_finding(seed):
    """Sensors that agree up to noise give no finding, even with a slow and noisy DVL."""
    for rate, noise in ((10.0, 0.01), (4.0, 0.05)):
        log, *_ = dvl_log(seed, rate=rate, noise=noise)
        assert check_velocity({"dvl": log}, Config(), False)[0].findings == []


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_a_late_dvl_is_not_told_a_scale_as_well(seed):
    """The remainder of a .3 s lag in a first-order fit makes velocities look too small."""
    log, *_ = dvl_log(seed)
    late = np.column_stack([log[3:, 0], log[:-3, 1:4], log[3:, 4:]])
    found = check_velocity({"dvl": late}, Config(), False)[0].findings
    assert [finding.setting for finding in found] == ["dvl.delay"]


@pytest.mark.parametrize("rate, noise, is_open", [(10.0, 0.01, False), (4.0, 0.1, True)])
def test_a_delay_that_the_velocities_do_not_exclude_stays_open(rate, noise, is_open):
    """That none was found in noise does not say that there was none."""
    result, _ = check_velocity({"dvl": dvl_log(0, rate=rate, noise=noise)[0]}, Config(), False)
    assert result.complete and not result.findings
    assert result.open == (DELAYS if is_open else set())


@pytest.mark.parametrize("rows, before, setting, value", [
    (2, {}, "dvl.delay", 0.2), (-2, {}, "imu.delay", 0.2),
    (-2, {"dvl.delay": 0.25}, "dvl.delay", 0.05), (2, {"imu.delay": 0.2}, "imu.delay", 0.0)])
def test_the_sensor_whose_stamps_are_later_is_the_late_one(rows, before, setting, value):
    """Nothing is measured before it happens, but a delay setting may be too large."""
    log, *_ = dvl_log(0)
    here, there = slice(rows, None) if rows > 0 else slice(None, rows), slice(
        None, -rows) if rows > 0 else slice(-rows, None)
    shifted = np.column_stack([log[here, 0], log[there, 1:4], log[here, 4:]])
    # (the velocities that are shifted are those at the IMU)
    config = Config().with_values({"imu.xyz": Config().dvl.xyz} | before)
    found = check_velocity({"dvl": shifted}, config, False)[0].findings
    assert [finding.setting for finding in found] == [setting]
    assert found[0].values[setting] == pytest.approx(value, abs=0.02)
    # where the DVL's times are guessed, the guess is at fault; there is no negative delay to set
    (guessed,) = check_velocity({"dvl": shifted}, config, False, times_guessed=True)[0].findings
    assert guessed.setting == ("imu.delay" if before.get("imu.delay") else "dvl.delay")
    if setting == "imu.delay" and not before:
        assert "0.20 +- 0.0" in guessed.sentence and "sooner than assumed" in guessed.sentence
        assert not guessed.values and guessed.mend.late == pytest.approx(-0.2, abs=0.02)


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_depth_is_not_judged_by_a_dvls_noise(seed):
    """A vehicle at constant depth with a DVL noise of 8 cm/s tells nothing about the depth sensor.
    A moving one reveals whether it works."""
    log, nu, _ = dvl_log(seed, rate=4.0, noise=0.08)
    rng, still = np.random.default_rng(seed), log.copy()
    still[:, 3] += log[:, 9].mean() - nu[:, 2]
    still[:, 9] = log[:, 9] - nu[:, 2]
    level = 5.0 + np.cumsum(nu[:, 2]) / 4.0

    def said(dvl, depth):
        logs = {"dvl": dvl, "depth": np.column_stack([log[:, 0], depth])}
        return [finding.setting for finding in check_depth(logs, Config(), np.eye(3)).findings]

    noise = 0.002 * rng.normal(size=level.size)
    assert said(still, 5.0 + noise) == [] and said(log, level + noise) == []
    assert said(log, 5.0 + noise) == ["depth"]


@pytest.mark.parametrize("seed", first(2, range(5)))
@pytest.mark.parametrize("spoil", [lambda v, k: 3.0 * v if k % 300 >= 200 else v,
                                   lambda v, k: v * (k % 2)], ids=["times three", "two publishers"])
def test_velocities_that_are_wrong_at_times_judge_no_depth(seed, spoil):
    """The depth does not follow such velocities, and the IMU as little: its unit is right."""
    log, nu, _ = dvl_log(seed, rate=20.0)
    level = np.column_stack([log[:, 0], 5.0 + np.cumsum(nu[:, 2]) / 20.0])
    wrong = log.copy()
    wrong[:, 1:4] = [spoil(v, k) for k, v in enumerate(log[:, 1:4])]
    assert check_depth({"dvl": wrong, "depth": level}, Config(), np.eye(3)).findings == []
    level[:, 1] *= 1.1
    found = check_depth({"dvl": log, "depth": level}, Config(), np.eye(3)).findings
    assert [finding.setting for finding in found] == ["depth unit"]
    assert "the DVL's scale" not in found[0].sentence


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_dvl_and_depth_are_both_named_where_the_imu_does_not_tell(seed):
    """The DVL reads 30 % low; the IMU's integral wanders by 1 m/s in a second."""
    log, nu, _ = dvl_log(seed, rate=20.0)
    level = np.column_stack([log[:, 0], 5.0 + np.cumsum(nu[:, 2]) / 20.0])
    log[:, 1:4] *= 0.7
    log[:, 7:10] += np.cumsum(np.random.default_rng(seed).normal(size=(len(log), 3))
                              / np.sqrt(20.0), axis=0)
    found, = check_depth({"dvl": log, "depth": level}, Config(), np.eye(3)).findings
    gain = float(found.sentence.partition("changes by ")[2].split()[0])
    assert gain == pytest.approx(1 / 0.7, abs=0.02) and "check the DVL's scale" in found.sentence


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_a_dvl_that_leans_has_no_wrong_scale(seed):
    """By 1.7 degrees, on a vehicle that goes ahead as it descends and back as it rises: a part of
    what it goes ahead counts as descent."""
    log, nu, _ = dvl_log(seed, rate=20.0)
    level = np.column_stack([log[:, 0], 5.0 + np.cumsum(nu[:, 2]) / 20.0])
    ahead = 5.0 * nu[:, 2]
    log[:, 1] += ahead
    log[:, 7] += np.cumsum(np.gradient(ahead))
    found = check_depth({"dvl": log, "depth": level}, Config(), from_rpy(0.0, 0.03, 0.0)).findings
    assert found == []


@pytest.mark.parametrize("seed", first(2, range(10)))
@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_a_dvl_that_shows_little_but_noise_has_no_wrong_unit(noise, seed):
    """If the robot hardly moves, the fit is far too small and means nothing. If it moves by more
    than the noise, a wrong unit is found despite the same noise."""
    log, *_ = dvl_log(seed, rate=4.0, noise=noise)
    still = log.copy()
    still[:, 1:4] += 0.05 * log[:, 7:10] - log[:, 1:4] + noise * np.random.default_rng(
        seed).normal(size=(len(log), 3))
    still[:, 4:10] *= 0.05
    assert check_velocity({"dvl": still}, Config(), False)[0].findings == []
    log[:, 1:4] *= 1000.0
    found = check_velocity({"dvl": log}, Config(), False)[0].findings
    assert noise > 0.05 or [finding.setting for finding in found] == ["dvl unit"], found


def shaken_log(seed, gain, wander, size=0.5, noise=0.005):
    """`dvl_log` with the motion times `size`, a DVL too fast by `gain`, and an integral with
    noise of `wander` [m/s] that also wanders by a third of that from row to row."""
    log, nu, _ = dvl_log(seed, noise=noise)
    rng = np.random.default_rng(100 + seed)
    log[:, 1:4] = gain * (log[:, 1:4] - (1.0 - size) * nu[:, :3])
    log[:, 4:7] *= size
    by_row, steps = wander * rng.normal(size=(2, len(log), 3))
    log[:, 7:10] += by_row - (1.0 - size) * nu[:, :3] + 0.3 * np.cumsum(steps, axis=0)
    return log


@pytest.mark.parametrize("wander", [also(0.01), 0.03])
@pytest.mark.parametrize("gain", [1.0, also(1.3), also(3.28)])
def test_noise_of_an_imu_makes_no_dvl_wrong(gain, wander):
    """A good DVL on a hull that shakes: taken for exact, the integral makes the map up to fifty
    times too large, and two of three such recordings had a "dvl unit", or velocities in the world's
    axes. The rough fit's scale is right; a DVL that is too fast may be named, and nothing else."""
    scales, errors, named = [], [], set()
    for seed in range(10):
        log = shaken_log(seed, gain, wander)
        fit = velocity_map(log, rough=True)
        scales.append(gain * fit.scale()[1])
        errors.append(gain * fit.scale()[2])
        named |= {one.setting for one in check_velocity({"dvl": log}, Config(), False)[0].findings}
    off = np.subtract(scales, 1.0) / errors
    assert abs(np.mean(off)) < 3.3 / np.sqrt(10) and np.abs(off).max() < 3.3, (scales, errors)
    assert named <= (set() if gain == 1.0 else {"dvl unit"})


def test_noise_of_both_puts_no_velocities_into_the_worlds_axes():
    """Where both fits in the robot's axes agree, the world's axes were believed by one alone."""
    log = shaken_log(12, gain=1.0, wander=0.03, size=1.0, noise=0.03)
    fit, rough = velocity_map(log), velocity_map(log, rough=True)
    assert fit.agrees(rough)
    assert not check_velocity({"dvl": log}, Config(), False)[0].findings


def test_noise_of_a_dvl_makes_velocities_neither_too_small_nor_the_fit_useless():
    """Four velocities a second with as much noise as half of the motion: over many draws, scale and
    lag are unbiased and as accurate as 240 velocities allow."""
    fits = [velocity_map(dvl_log(seed, rate=4.0, noise=0.1)[0]) for seed in range(30)]
    scales = np.array([fit.scale()[1] for fit in fits])
    errors = np.array([fit.scale()[2] for fit in fits])
    lags = np.array([(fit.lag, fit.errors[12]) for fit in fits])
    assert abs(scales.mean() - 1.0) < 3.3 * scales.std() / np.sqrt(30)
    assert 0.02 < np.median(errors) < 0.05 and np.all(np.abs(scales - 1.0) < 4 * errors)
    assert np.median(lags[:, 1]) < 0.03 and np.all(np.abs(lags[:, 0]) < 4 * lags[:, 1])


def test_a_bias_of_the_accelerometer_makes_no_map_uncertain():
    """Its integral is fitted together with the velocities: with .05 m/s^2 the map is the same, and
    its distance from the true one is as large as stated, within 30 % over ten motions: neither more
    nor less."""
    squares = []
    for seed in range(10):
        log, _, _ = dvl_log(seed)
        clean = velocity_map(log)
        log[:, 7:10] += 0.05 * log[:, :1]
        fit = velocity_map(log)
        np.testing.assert_allclose(fit.Q, clean.Q, atol=0.005)
        away = np.concatenate([(fit.Q - np.eye(3)).ravel(order="F"), fit.lever, [fit.lag]])
        squares.append((away / fit.errors) ** 2)
    assert 1.3 ** -2 < np.mean(squares) < 1.3 ** 2


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_an_offset_that_hides_a_wrong_sign_does_not_prove_the_dvl_right(seed):
    """Sway of the later third is reversed, and the integral wanders: either there is a finding, or
    nothing is concluded. With the right sign the same wander proves nothing wrong."""
    log, *_ = dvl_log(seed)
    rng = np.random.default_rng(seed)
    log[:, 7:10] += 0.1 * np.cumsum(np.cumsum(rng.normal(size=(len(log), 3)), axis=0), axis=0) / 1e2
    reversed_late = log.copy()
    reversed_late[400:, 2] *= -1.0
    right, wrong = (check_velocity({"dvl": rows}, Config(), False)[0]
                    for rows in (log, reversed_late))
    assert right.findings == [] and (wrong.findings or not wrong.complete)


def test_a_misfit_of_any_map_does_not_put_the_dvl_in_the_worlds_axes():
    """The axes that turn with the robot fit better, though stretches of time disagree: that weighs
    down the evidence, and does not turn it round."""
    log, nu, _ = dvl_log(0, rate=4.0, noise=0.05)
    R = np.array([from_rpy(0.0, 0.0, 0.5 * np.sin(0.2 * t)) for t in log[:, 0]])
    log[:, 7:10] = np.einsum("kij,kj->ki", R, log[:, 7:10])
    log[:, 10:19] = R.reshape(-1, 9)
    fit = velocity_map(log)
    world = velocity_map(log, of_world=True)
    assert fit.misfit < world.misfit
    assert not _is_of_world(fit._replace(inflation=2.0), world)


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_two_swapped_thrusters_are_named_by_thirty_seconds_of_a_slow_and_noisy_dvl(seed):
    """By the velocity of IMU and DVL together, which has a fifth of the DVL's noise."""
    log, nu, nu_dot = dvl_log(seed, rate=4.0, noise=0.1, seconds=30.0)
    better, swapped = fused(log), ALLOCATION[:, [0, 2, 1, 3, 4, 5, 6, 7]]
    true = nu[np.isin(log[:, 0], better[:, 0]), :3]
    assert np.std(better[:, 1:4] - true) < 0.03 and len(better) > 110
    (found,) = findings_on(thrust_log(nu, nu_dot, log[:, 0], swapped), better, ALLOCATION)
    assert found.sentence.startswith("thrusters 2 and 3 seem to be swapped; set")
    assert findings_on(thrust_log(nu, nu_dot, log[:, 0]), better, ALLOCATION) == []


@pytest.mark.parametrize("axes", [np.eye(3)[[1, 0, 2]], np.diag([1.0, -1.0, -1.0])])
def test_other_axes_are_clear_where_errors_are_large(axes):
    """After a few seconds of motion, an estimate not accurate to a tenth may still be clear
    evidence; right axes give no finding."""
    rng = np.random.default_rng(0)
    error = np.full((3, 3), 0.15)
    for _ in range(50):
        noise = error * rng.standard_normal((3, 3))
        assert np.array_equal(_clear_axes(0.9 * axes + noise, error), axes)
        assert _clear_axes(0.9 * np.eye(3) + noise, error) is None


def joints_log(seed, sign=1.0, friction=0.5, lowering=False):
    """One joint against gravity of 3 N m, with friction; `lowering`: mostly downwards."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.02)
    mu, speed = (x[:, 0] for x in motion(t, rng, 0.3, 1))
    if lowering:
        speed = 0.06 + 0.01 * np.sin(t)
        mu = -1.8 + np.cumsum(speed) * 0.02
    effort = sign * (3.0 * np.cos(mu) * (-1 if lowering else 1) + friction * speed)
    return np.column_stack([t, mu, speed, effort + 0.05 * rng.normal(size=t.size)])


def test_zeros_of_a_driver_that_starts_are_no_wrong_velocity():
    """Silent for 3 s, then a second of zeros: neither the jumps nor the gap are motion."""
    log = joints_log(0)
    log[:, 1] += 3.0
    t = log[:, 0]
    log[(t >= 33.0) & (t < 34.0), 1:] = 0.0
    assert not said(log[(t < 30.0) | (t >= 33.0)])


def said(log):
    wide = np.array([10.0])
    return check_joints(log, ["joint"], -wide, wide, wide).findings


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_a_reversed_effort_is_found_and_a_load_that_sinks_is_none(seed):
    """A motor that lowers a heavy arm absorbs power all the time: that is no wrong sign."""
    assert "wrong sign" in said(joints_log(seed, sign=-1.0))[0].sentence
    assert said(joints_log(seed)) == [] == said(joints_log(seed, lowering=True))


def test_efforts_that_are_missing_now_and_then_are_judged_by_the_others():
    """One in twenty is missing."""
    log = joints_log(0, sign=-1.0)
    log[::20, 3] = np.nan
    assert "wrong sign" in said(log)[0].sentence
    log[:, 3] = np.nan
    assert said(log) == []


@pytest.mark.parametrize("seed", [0, 3])
def test_noise_of_velocities_makes_no_effort_late(seed):
    """Interpolated between two readings the noise is halved, so shifts by half a period seemed to
    fit best: a TIAGo's efforts were reported .3 s late. A lag is still found despite such noise."""
    log, rng = joints_log(seed), np.random.default_rng(seed)
    speed = np.gradient(log[:, 1], log[:, 0])
    log[:, 2] += 0.5 * rng.normal(size=len(log))
    log[:, 3] = 0.5 * np.sign(speed) + 0.05 * rng.normal(size=len(log))
    assert said(log[::3]) == []
    late = np.column_stack([log[10:, :3], log[:-10, 3]])[::3]
    assert "late" in said(late)[0].sentence


def test_a_velocity_that_is_always_zero_is_said_and_efforts_are_judged_without_it():
    """They are judged by the speed of the positions, as for drivers that leave velocities out."""
    log = joints_log(0, sign=-1.0)
    for none in (0.0, np.nan):
        log[:, 2] = none
        found = [finding.sentence for finding in said(log)]
        assert any("stays the same" in sentence for sentence in found) == (none == 0.0)
        assert "wrong sign" in found[-1]


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_efforts_without_a_sign_are_named_and_a_load_of_one_sign_is_not(seed):
    """A driver that publishes a current's magnitude; gravity that keeps the effort away from zero.
    """
    log = joints_log(seed)
    log[:, 3] -= 3.0 * np.cos(log[:, 1])
    loaded = log.copy()
    loaded[:, 3] += 10.0
    log[:, 3] = np.abs(log[:, 3])
    assert "without its sign" in said(log)[0].sentence
    assert not any("without its sign" in found.sentence for found in said(loaded))


def test_an_effort_that_hovers_at_zero_has_a_sign():
    """Its driver rounds it to zero for seconds while a slow joint sinks; one crossing is no proof.
    """
    log = joints_log(0)
    log[:, 3] = -np.abs(log[:, 3] - 3.0 * np.cos(log[:, 1])) - 0.5
    sinks = (log[:, 0] > 20.0) & (log[:, 0] < 23.0)
    hovering = -0.004 * np.random.default_rng(1).random(sinks.sum())
    for step in (0.01, 1e-9):
        log[sinks, 3] = np.round(hovering / step) * step
        assert not any("without its sign" in found.sentence for found in said(log))


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_efforts_that_come_late_are_named_with_their_seconds(seed):
    """0.14 s late, found to 0.03 s; the finding is silent at 0.02 s, and where they come early."""
    def late(readings):
        log = joints_log(seed)
        log[:, 3] = np.roll(log[:, 3], readings)
        return said(log[20:-20])
    found = late(7)
    assert len(found) == 1 and "late" in found[0].sentence
    assert abs(float(found[0].sentence.split("efforts are ")[1].split()[0]) - 0.14) < 0.03
    assert late(1) == [] == late(-7)


def imu_log(seed, late=0.0, bias=0.0):
    """Rows of the IMU's log: a vehicle that rolls, pitches and yaws, its orientation `late` [s] and
    the roll rate off by `bias` [rad/s]."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.1)
    f, phase = rng.uniform(0.05, 0.3, (3, 3)), rng.uniform(0.0, 6.28, (3, 3))
    R_nb, R_late = ([from_rpy(*(0.1 * np.sin(6.28 * f * at + phase).sum(axis=1))) for at in times]
                    for times in (t, t - late))
    rows, gyro = [], np.eye(3)
    for k, seen in enumerate(R_late):
        if k:
            gyro = gyro @ R_nb[k - 1].T @ R_nb[k] @ from_rotation_vector(
                np.array([0.1 * bias, 0.0, 0.0]))
        seen = seen @ from_rotation_vector(0.0035 * rng.standard_normal(3))
        rows.append([t[k], *seen[2], *np.full(3, 0.1), 0.0, 0.0, -9.81, *gyro.ravel(),
                     np.arctan2(seen[1, 0], seen[0, 0])])
    return np.array(rows)


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_a_wrong_lever_arm_of_the_dvl_is_measured_and_one_of_centimetres_is_not_told(seed):
    """The DVL is .2 m ahead of where it is set, .1 m to its left and .15 m higher."""
    log, nu, _ = dvl_log(seed)
    ahead = np.array([0.2, -0.1, -0.15])        # FRD
    off, near = log.copy(), log.copy()
    off[:, 1:4] += np.cross(nu[:, 3:], ahead)
    near[:, 1:4] += np.cross(nu[:, 3:], 0.15 * ahead)
    config = Config()
    (found,) = check_velocity({"dvl": off}, config, False)[0].findings
    assert found.setting == "dvl.xyz" and found.harm is Harm.FOLLOWED
    right = np.add(config.dvl.xyz, [0.2, 0.1, 0.15])
    np.testing.assert_allclose(found.values["dvl.xyz"], right, atol=0.03)
    assert "imu.xyz" in found.sentence
    assert check_velocity({"dvl": near}, config, False)[0].findings == []


def test_a_wrong_lever_arm_matters_by_what_it_makes_of_the_velocities():
    """.27 m at .2 rad/s are more than the noise of 1 cm/s, and less than one of .5 m/s."""
    log, nu, _ = dvl_log(0)
    log[:, 1:4] += np.cross(nu[:, 3:], [0.2, -0.1, -0.15])
    for stddev, harm in ((0.01, Harm.FOLLOWED), (0.5, Harm.SLIGHT)):
        config = Config().with_values({"dvl.stddev": stddev})
        (found,) = check_velocity({"dvl": log}, config, False)[0].findings
        assert found.harm is harm


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_a_late_orientation_and_a_constant_error_of_rates_are_named(seed):
    """Each is reported alone and with its size; noise of 0.2 degrees and a lag of 0.02 s give no
    finding."""
    late = check_rates(imu_log(seed, late=0.15)).findings
    assert [finding.setting for finding in late] == ["imu orientation"], late
    assert "0.15 " in late[0].sentence or "0.14 " in late[0].sentence, late
    # (rates and force are older than the orientation; of a late gyro the rates alone)
    assert late[0].mend.late == pytest.approx(-0.15, abs=0.02) and len(late[0].mend.matrix) == 6
    (gyro,) = check_rates(imu_log(seed, late=-0.15)).findings
    assert gyro.mend.late == pytest.approx(0.15, abs=0.02) and len(gyro.mend.matrix) == 3
    off = check_rates(imu_log(seed, bias=0.05)).findings
    assert [finding.setting for finding in off] == ["imu angular velocity"] and "0.05" in str(off)
    assert check_rates(imu_log(seed, late=0.02)).findings == []


@pytest.mark.parametrize("force", [0.0, -9.81])
def test_a_force_that_never_changes_is_named_as_not_measured(force):
    """Zeros are not a force without gravity, and a constant gravity is none that turns with the
    vehicle; a vehicle that does not turn shows the latter all the time."""
    log = imu_log(0)
    log[:, 9] = force
    (found,) = check_gravity({"imu": log}, Config()).findings
    assert "not measured" in found.sentence and f"{force:.3g}]" in found.sentence
    assert "gravity;" not in found.sentence
    log[:, 9] += 0.1 * np.sin(log[:, 0])
    assert not any("not measured" in one.sentence
                   for one in check_gravity({"imu": log}, Config()).findings)
    log[:, 1:4], log[:, 9] = (0.0, 0.0, 1.0), -9.81
    assert check_gravity({"imu": log}, Config()).findings == []


@pytest.mark.parametrize("left", [0, 3])
def test_rates_are_not_judged_by_a_few_intervals(left):
    """An IMU at 1 Hz leaves none that are short enough, and a fit to a few of them is exact."""
    log = imu_log(0)
    log[:, 0] = np.concatenate([np.arange(len(log) - left), len(log) + 0.1 * np.arange(left)])
    log[:, 0] *= 10.0 if left == 0 else 1.0
    log[:, 10:19] = log[::-1, 10:19]
    assert check_rates(log) == UNDECIDED


def thrust_log(nu, nu_dot, t, used=ALLOCATION):
    """Integrated thrust of the motion [N s] by the thrusters of `used` (6, 8), in that order."""
    wrench = nu_dot @ MASS + nu @ np.diag([20, 25, 30, 1.0, 1.0, 1.0])
    thrust = wrench @ np.linalg.pinv(used).T
    return np.column_stack([t, np.cumsum(thrust, axis=0) * np.diff(t).mean()])


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_wiring_is_named_and_a_right_one_is_not(seed):
    """One reversed thruster, two swapped ones, none."""
    log, nu, nu_dot = dvl_log(seed)
    signs, swapped = np.ones(8), [0, 2, 1, 3, 4, 5, 6, 7]
    signs[5] = -1.0
    assert findings_on(thrust_log(nu, nu_dot, log[:, 0]), log, ALLOCATION) == []
    found = findings_on(thrust_log(nu, nu_dot, log[:, 0], ALLOCATION * signs), log,
                        ALLOCATION)
    assert "thruster 6 pushes" in found[0].sentence
    found = findings_on(thrust_log(nu, nu_dot, log[:, 0], ALLOCATION[:, swapped]), log,
                        ALLOCATION)
    assert "thrusters 2 and 3" in found[0].sentence


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_while_commands_are_missing_thrusters_are_not_judged(seed):
    """Twenty seconds with unknown thrust, after which its integral has another constant."""
    log, nu, nu_dot = dvl_log(seed)
    thrust = thrust_log(nu, nu_dot, log[:, 0])
    thrust[thrust[:, 0] > 40.0, 1:] += 100.0 * np.arange(8)
    silent = (thrust[:, 0] > 20.0) & (thrust[:, 0] < 40.0)
    assert findings_on(thrust[~silent], log, ALLOCATION) == []


@pytest.mark.parametrize("order", [
    [1, 2, 0, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3], [7, 6, 5, 4, 3, 2, 1, 0],
    [2, 7, 4, 1, 6, 3, 0, 5], [0, 1, 2, 3, 5, 6, 7, 4]])
def test_a_whole_order_of_thrusters_is_found_at_once_ready_to_paste(order):
    """Command k drives thruster order[k]: one finding, whose allocation is the right one."""
    for seed in range(3):
        log, nu, nu_dot = dvl_log(seed)
        found = findings_on(thrust_log(nu, nu_dot, log[:, 0], ALLOCATION[:, order]), log,
                            ALLOCATION)
        assert len(found) == 1 and found[0].setting == "thrusters.allocation"
        assert f"drive thrusters {', '.join(str(k + 1) for k in order)}" in found[0].sentence
        pasted = found[0].sentence.partition("set thrusters.allocation to ")[2]
        right = Config().with_values({"thrusters.allocation": yaml.safe_load(pasted)})
        assert np.array_equal(right.thrusters.allocation, ALLOCATION[:, order].ravel())


@pytest.mark.parametrize("order, signs", [
    ([3, 1, 5, 2, 7, 0, 6, 4], [1, -1, -1, 1, 1, 1, 1, 1]),
    ([3, 1, 5, 2, 7, 0, 6, 4], [-1, 1, 1, 1, -1, 1, 1, -1]),
    ([2, 7, 4, 1, 6, 3, 0, 5], [-1, 1, 1, 1, -1, 1, 1, -1])])
def test_thrusters_in_another_order_and_reversed_are_found_at_once(order, signs):
    """Both settings together reproduce the wiring; the reversed thrusters are named by number."""
    wired = ALLOCATION[:, order] * signs
    backwards = sorted(thruster + 1 for thruster, sign in zip(order, signs) if sign < 0)
    for seed in range(3):
        log, nu, nu_dot = dvl_log(seed)
        (found,) = findings_on(thrust_log(nu, nu_dot, log[:, 0], wired), log, ALLOCATION)
        assert f"of which {', '.join(map(str, backwards))} push backwards" in found.sentence
        right = np.reshape(found.values["thrusters.allocation"], (6, 8))
        assert np.array_equal(right * found.values["thrusters.signs"], wired)


def test_without_thrust_that_fits_the_dvl_is_turned_and_not_the_imu():
    """Thrusters in another order fit a turned IMU by chance better than a turned DVL."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    said = set()
    for seed in range(8):
        log, nu, nu_dot = dvl_log(seed)
        order = np.random.default_rng(seed).permutation(8)
        thrust = thrust_log(nu, nu_dot, log[:, 0], ALLOCATION[:, order])
        log[:, 1:4] = log[:, 1:4] @ turn
        said.add(turned_sensor(thrust, log, AT_IMU, ALLOCATION, turn))
    assert said == {"dvl"}


@pytest.mark.parametrize("seed", first(2, range(6)))
def test_axes_that_do_not_move_prove_nothing(seed):
    """Roll, pitch and yaw at rest, thrust that also fights a wandering current: no finding."""
    log, nu, nu_dot = dvl_log(seed, axes=3)
    thrust, rng = thrust_log(nu, nu_dot, log[:, 0]), np.random.default_rng(seed)
    wander = np.cumsum(rng.normal(size=(len(log), 8)), axis=0)
    thrust[:, 1:] += np.cumsum(wander, axis=0) * 0.1 * 0.2
    assert not findings_on(thrust, log, ALLOCATION)
