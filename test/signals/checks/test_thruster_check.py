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

"""Weak and miswired thrusters, found from thrust and motion alone."""

import numpy as np
import pytest
from campaign_cases import also, first

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.vehicle import load_columns
from uvms_adaptive_dynamics.model.wiring import driven
from uvms_adaptive_dynamics.signals.checks import thruster_check
from uvms_adaptive_dynamics.signals.checks.fits import listed
from uvms_adaptive_dynamics.signals.checks.suite import SensorChecks
from uvms_adaptive_dynamics.signals.checks.thrust_fit import deviation_of, thrust_of_acceleration
from uvms_adaptive_dynamics.signals.checks.thruster_check import thruster_findings
from uvms_adaptive_dynamics.signals.checks.thruster_windows import thrust_windows
from uvms_adaptive_dynamics.signals.checks.velocity_log import dvl_place
from uvms_adaptive_dynamics.signals.checks.weak_thruster import (
    _gain_without_force,
    _gain_without_pull,
)
from uvms_adaptive_dynamics.signals.checks.wirings import OF_PAIR, POINTING, wirings

ALLOCATION = np.reshape(Config().thrusters.allocation, (6, -1))
MASS = np.array([17.0, 24.0, 26.0, 0.3, 0.3, 0.4])
DRAG = np.array([13.0, 15.0, 20.0, 0.5, 0.5, 0.5])
STEP, STRIDE = 0.02, 5


def logs(share, seconds=40.0, seed=0, allocation=ALLOCATION, pull=(), pulled=(15.0, 30.0),
         axes=np.ones(6), low=0.0, noise=0.005, later=(np.inf, 1.0), gain=40.0,
         under_way=0.0):
    """(thrust, dvl) as the frame checks log them, of a level vehicle whose thrusters give these
    shares (N,) of their commands, others from later[0] [s] on, unknown to the controller; pull (6,)
    [N, N m] acts on it from one time to another [s]. It moves by shares of the axes (6,), its
    centre of gravity is `low` [m], the DVL has noise [m/s], and velocity is controlled with a gain
    [1/s], four times too small. Turning is damped by under_way [N s^2] times speed, too."""
    rng = np.random.default_rng(seed)
    mass, stiffness = np.diag(MASS), MASS[0] * 9.81 * low
    mass[[0, 4, 1, 3], [4, 0, 3, 1]] = MASS[0] * low * np.array([1, 1, -1, -1])
    tilt, heading = np.zeros(6), 0.0  # of roll and pitch [rad]; [rad]
    frequency, phase = rng.uniform(0.5, 2.0, (2, 6)), rng.uniform(0.0, 6.0, (2, 6))
    size = np.array([0.3, 0.3, 0.3, 0.15, 0.15, 0.3])
    nu, impulse, thrust, dvl = np.zeros(6), np.zeros(len(share)), [], []
    for k in range(round(seconds / STEP)):
        t = STEP * k
        wanted = 0.5 * axes * size * np.sin(frequency * t + phase).sum(axis=0)
        force = np.linalg.pinv(allocation) @ (gain / 4.0 * MASS * (wanted - nu))
        if k % STRIDE == 0:
            thrust.append([t, *impulse])
            seen = nu + np.repeat([noise, 0.001], 3) * rng.standard_normal(6)
            c, s = np.cos(heading), np.sin(heading)
            dvl.append([t, *seen, *np.zeros(3), c, -s, 0, s, c, 0, 0, 0, 1,
                        -tilt[4], tilt[3], 1.0])
        impulse = impulse + STEP * force
        outer = np.array(pull) if len(pull) and pulled[0] < t < pulled[1] else 0.0
        heading += STEP * nu[5]
        share = later[1] if t > later[0] else share
        acting = allocation @ (share * force) + outer - DRAG * nu - stiffness * tilt
        acting[5] -= under_way * abs(nu[0]) * nu[5]
        nu = nu + STEP * np.linalg.solve(mass, acting)
        tilt[3:5] += STEP * nu[3:5]
    return np.array(thrust), np.array(dvl)


def findings_on(thrust, dvl, allocation):
    return thruster_findings(thrust_windows(thrust, dvl), thrust, dvl, allocation)


@pytest.mark.parametrize("dead", first(1, [5, 0, 3]))
def test_a_dead_thruster_is_named(dead):
    """By the missing wrench, which lies along its column of the allocation."""
    (finding,) = findings_on(*logs(np.arange(8) != dead), ALLOCATION)
    assert f"thruster {dead + 1} gives little or none" in finding.sentence
    np.testing.assert_array_equal(np.diag(finding.mend.matrix), np.arange(8) != dead)


@pytest.mark.parametrize("ahead, quarters", POINTING.items())
def test_imu_and_dvl_turned_alike_are_named_with_what_else_may_be(ahead, quarters):
    """Both agree, so only thrust tells. A frame that is alike fore and aft may as well have its
    commands exchanged, unless the DVL's place is seen turned too."""
    thrust, dvl = logs(np.ones(8))
    turn = from_rpy(0.0, 0.0, 0.5 * np.pi * quarters)
    for columns in (slice(1, 4), slice(4, 7), slice(7, 10), slice(19, 22)):
        dvl[:, columns] = dvl[:, columns] @ turn
    dvl[:, 10:19] = (dvl[:, 10:19].reshape(-1, 3, 3) @ turn).reshape(-1, 9)
    (finding,) = findings_on(thrust, dvl, ALLOCATION)
    assert finding.setting == OF_PAIR and f"pointed {ahead}" in finding.sentence
    np.testing.assert_allclose(finding.values["imu.rpy"], turn, atol=1e-9)
    assert ("drive thrusters 4, 3, 2, 1, 8, 7, 6, 5" in finding.sentence) == (quarters == 2)

    checks = SensorChecks(Config(), RobotModel.from_config(Config()), list)
    place = dvl_place(Config())
    seen = checks._in_settings(checks._by_place(finding, turn.T @ place))
    assert seen.sentence.endswith(f" and dvl.rpy to {listed(seen.values['dvl.rpy'])}")
    assert abs(abs(seen.values["imu.rpy"][2]) - abs(0.5 * np.pi * quarters)) < 1e-4
    unseen = checks._in_settings(checks._by_place(finding, place))
    assert bool(unseen.values) == (quarters != 2) == ("set imu.rpy" in unseen.sentence)


def test_a_wiring_that_is_hardly_certain_is_named_with_those_that_hardly_are_not(monkeypatch):
    """Commands 1 and 4 exchanged, and yaw hardly moved: reversing both gains a little more, enough
    to be certain, and exchanging them a little less."""
    exchanged = driven(ALLOCATION, np.array([4, 2, 3, 1, 5, 6, 7, 8]))
    thrust, dvl = logs(np.ones(8), allocation=exchanged, axes=np.array([1, 1, 1, 1, 1, 0]),
                       noise=0.01)

    def nearly(allocation, fit):
        return [one._replace(deviation=one.deviation._replace(
            total=one.deviation.total + (1.0 if "swapped" in one.finding.sentence else -1.0)
        )) for one in wirings(allocation, fit)]

    def deviation(allocation, fit, moves=True):
        found = deviation_of(allocation, fit, moves)
        return found if allocation is not ALLOCATION else found._replace(
            total=min(one.deviation.total + one.certain for one in wirings(allocation, fit)))

    monkeypatch.setattr(thruster_check, "wirings", nearly)
    monkeypatch.setattr(thruster_check, "deviation_of", deviation)
    (finding,) = findings_on(thrust, dvl, ALLOCATION)
    assert finding.sentence.startswith(
        "thrusters 1, 4 push backwards, or thrusters 1 and 4 seem to be swapped")
    assert finding.mend is None


def test_waves_that_a_controller_opposes_reverse_no_thruster():
    """They move the vehicle in surge and heave together, and thrust of a tenth of their force
    answers with the opposite sign. A vehicle that thrust moves carries its own mass."""
    thrust, dvl = logs(np.ones(8), axes=np.zeros(6), gain=4.0)
    waves = 0.2 * np.sin(np.outer(dvl[:, 0], [1.0, 1.3]))
    dvl[:, [1, 3]] += waves
    force = np.linalg.pinv(ALLOCATION)[:, [0, 2]] @ (-8.0 * waves.T)
    thrust[:, 1:] += np.cumsum(force.T, axis=0) * STEP * STRIDE
    assert thruster_findings(thrust_windows(thrust, dvl), thrust, dvl, ALLOCATION)
    assert thruster_findings(thrust_windows(thrust, dvl), thrust, dvl, ALLOCATION, 9.0) is None


def test_a_boat_that_the_wind_drives_aside_is_not_called_turned():
    """No thrust acts along sway, so nothing tells its sensors' turn from a wind on the beam: a real
    boat's pointed to port for a minute, then to starboard, and half of its rows were masked."""
    boat = np.zeros((6, 2))
    boat[0], boat[5] = 1.0, (-0.285, 0.285)
    pairs = []
    for allocation in (boat, ALLOCATION):
        thrust, dvl = logs(np.ones(allocation.shape[1]), allocation=allocation)
        fit = thrust_of_acceleration(thrust_windows(thrust, dvl), dvl, allocation)
        pairs.append(sum(one.finding.setting == OF_PAIR for one in wirings(allocation, fit)))
    assert pairs == [0, len(POINTING)]


def test_windows_that_the_fit_uses_up_are_no_evidence():
    """28 columns of motion and drag leave nothing of 24 s: one thruster's thrust about neutral,
    where all give less than their curve, was taken for a dead one."""
    assert findings_on(*logs(np.arange(8) != 3, seconds=24.0), ALLOCATION) == []


# Four horizontal thrusters below the origin and two vertical ones beside it: they hardly pitch.
SIX = np.array([
    [.707, .707, -.707, -.707, 0., 0.], [-.707, .707, -.707, .707, 0., 0.],
    [0., 0., 0., 0., -1., -1.], [.042, -.042, .042, -.042, -.12, .12],
    [.042, .042, -.042, -.042, 0., 0.], [-.173, .173, .173, -.173, 0., 0.]])


@pytest.mark.parametrize("allocation", [ALLOCATION, SIX])
def test_a_thrusters_short_lever_makes_no_small_inertia(allocation):
    """The couplings that a mass matrix may have grow with its inertias. Six thrusters of a healthy
    BlueROV2 were reported to push backwards, since an inertia about pitch of a twentieth of the
    true one followed from their lever of 35 mm."""
    thrust, dvl = logs(np.ones(allocation.shape[1]), allocation=allocation)
    fit = thrust_of_acceleration(thrust_windows(thrust, dvl), dvl, allocation)
    radius = np.sqrt(MASS[3:] / MASS[:3].mean())
    np.testing.assert_allclose(fit.levers[3:], radius, rtol=0.3)


def test_damping_that_grows_with_speed_is_no_inertia():
    """A boat with two thrusters that turns the slower the faster it goes: the inertia that its
    thrust shows about yaw came out between a tenth and one and a half of the true one. A real
    one's became negative, as of swapped thrusters."""
    boat = np.zeros((6, 2))
    boat[0], boat[5] = 1.0, [0.285, -0.285]
    for seed in range(4):
        thrust, dvl = logs(np.ones(2), 60.0, seed, allocation=boat,
                           axes=np.array([4.0, 0, 0, 0, 0, 1.0]), under_way=20.0)
        fit = thrust_of_acceleration(thrust_windows(thrust, dvl), dvl, boat)
        mass = boat @ fit.gain @ np.linalg.pinv(fit.directions)
        assert mass[5, 5] == pytest.approx(MASS[5], rel=0.15)


@pytest.mark.parametrize("seed", first(1, range(3)))
@pytest.mark.parametrize("pull", [(18, 8, 0), (5, -20, 0), (0, 0, -15), (10, 10, -10)])
def test_a_tether_that_pulls_is_no_thrusters_fault(pull, seed):
    """It pulls for a third of the time, and the controller pushes against it; without `pulls` the
    second case was taken for two thrusters with the wrong sign."""
    made = logs(np.ones(8), seconds=60.0, seed=seed, pull=(*pull, 0, 0, 0), pulled=(21.0, 41.0))
    assert findings_on(*made, ALLOCATION) == []


def test_a_force_of_the_world_explains_its_wrench_better_than_one_of_the_body():
    """From the middle of the log on, on a vehicle that turns."""
    turning, begins = np.array([1, 1, 1, 1, 1, 6]), 30.0
    thrust, dvl = logs(np.ones(8), seconds=60.0, axes=turning)
    windows = thrust_windows(thrust, dvl)
    R_nb = dvl[:, 10:19].reshape(-1, 3, 3)
    force = load_columns(R_nb) @ np.r_[20.0, np.zeros(4), 4.0, np.zeros(6)]
    noise = np.random.default_rng(0).standard_normal((windows.inside.sum(), 6))
    wrench = windows.change_of(dvl[:, 0], force * (dvl[:, :1] > begins)) + 0.1 * noise
    basis, before = np.zeros((len(wrench), 1)), np.mean(wrench ** 2, axis=0)
    t = dvl[windows.lag:, 0][windows.inside]
    world = _gain_without_force(windows, dvl, basis, wrench, before)
    assert world > 10.0 + _gain_without_pull(t, basis, wrench, before)


# Four horizontal thrusters, low in the hull, and a vertical one through its centre.
FIVE = np.array([
    [.707, .707, -.707, -.707, 0.], [-.707, .707, -.707, .707, 0.], [0., 0., 0., 0., -1.],
    [.06, -.06, .06, -.06, 0.], [.06, .06, -.06, -.06, 0.], [-.1888, .1888, .1888, -.1888, 0.]])


@pytest.mark.parametrize("seed", range(3))
def test_a_thruster_that_drives_an_axis_alone_is_not_called_dead(seed):
    """The residual on an axis vanishes with its only thruster; a thruster that shares its axes is
    still named."""
    assert findings_on(*logs(np.ones(5), seed=seed, allocation=FIVE), FIVE) == []
    (finding,) = findings_on(*logs(np.arange(5) != 2, seed=seed, allocation=FIVE), FIVE)
    assert "thruster 3 gives little or none" in finding.sentence


@pytest.mark.parametrize("seed", first(2, [0, 5, 13, 19]))
def test_a_dead_thruster_is_no_order_with_reversals(seed):
    """Among the many orders of all thrusters with any directions, some come near to what it does.
    """
    for dead in range(5):
        made = logs(np.arange(5) != dead, seed=seed, allocation=FIVE)
        for finding in findings_on(*made, FIVE):
            assert not finding.values and f"thruster {dead + 1} gives" in finding.sentence


def wired(thrust, drives):
    """The log of the thrust if the commands drive these thrusters, as in `driven`."""
    return np.column_stack([thrust[:, 0], thrust[:, np.abs(drives)] * np.sign(drives)])


def right_and_wrong(reversing, count, made):
    """[wrong, right] orders proposed for `count` commands that drive each other's thrusters, and
    with `reversing` some of them backwards; made: logs by seed."""
    found = [0, 0]
    for seed in range(3):
        thrust, dvl = made(seed)
        rng = np.random.default_rng(seed)
        for _ in range(4):
            drives = np.arange(1, 9)
            moved = rng.choice(8, count, replace=False)
            drives[moved] = drives[np.roll(moved, 1)]
            if reversing:
                drives[moved] *= rng.choice([-1, 1], count)
            for finding in findings_on(wired(thrust, drives), dvl, ALLOCATION) or ():
                if finding.values:
                    values = {"thrusters.allocation": ALLOCATION, "thrusters.signs": np.ones(8),
                              **finding.values}
                    proposed = (np.reshape(values["thrusters.allocation"], (6, 8))
                                * values["thrusters.signs"])
                    found[np.allclose(proposed, driven(ALLOCATION, drives))] += 1
    return found


@pytest.mark.parametrize("reversing, count, least",
                         [also(False, 8, 10), also(True, 8, 1), (True, 4, 1)])
def test_no_wrong_order_is_proposed(reversing, count, least):
    """Of a vehicle that couples its axes by a low centre of gravity, an order without reversals
    explained the motion just well enough, though one with them explained it e^25 times better."""
    wrong, right = right_and_wrong(
        reversing, count, lambda seed: logs(np.ones(8), seconds=60.0, seed=seed, low=0.05))
    assert not wrong and right >= least


def test_orders_that_the_motion_does_not_tell_apart_are_not_proposed():
    """Of thrusters that differ by up to a half, the likeliest of many orders may be another."""
    wrong, _ = right_and_wrong(True, 4, lambda seed: logs(
        np.random.default_rng(seed).uniform(0.5, 1.5, 8), seed=seed, low=0.05))
    assert not wrong


def test_thrusters_that_explain_it_alike_are_both_named():
    """Two that push along one line cannot be told apart if they get the same commands."""
    twins = ALLOCATION.copy()
    twins[:, 1] = twins[:, 0]
    (finding,) = findings_on(*logs(np.arange(8) != 0, allocation=twins), twins)
    assert "thruster 1 or 2 gives" in finding.sentence


@pytest.mark.parametrize("seed", range(2))
def test_thrusters_that_do_as_they_are_told_are_not(seed):
    """Nor are thrusters that all give a tenth less, as with a weak battery."""
    for share in (1.0, 0.9):
        assert findings_on(*logs(np.full(8, share), seed=seed), ALLOCATION) == []


def test_other_axes_of_the_motion_are_thought_of():
    """Velocities forward, left, up although forward, right, down is set; an order of the thrusters
    that is no reflection gives no finding on axes."""
    thrust, dvl = logs(np.ones(8))
    dvl[:, 1:7] *= [1, -1, -1, 1, -1, -1]
    (finding,) = findings_on(thrust, dvl, ALLOCATION)
    assert finding.setting == "imu.frame and dvl.frame"
    assert "in forward, left, up axes although forward, right, down" in finding.sentence
    order = [1, 2, 0, 3, 5, 4, 7, 6]
    (finding,) = findings_on(*logs(np.ones(8)), ALLOCATION[:, order])
    assert finding.setting == "thrusters.allocation" and "frame" not in finding.sentence


ONE_AXIS = {
    "surge": [1, 0, 0, 0, 0, 0],
    "sway": [0, 1, 0, 0, 0, 0],
    "heave": [0, 0, 1, 0, 0, 0],
    "yaw": [0, 0, 0, 0, 0, 1],
    "surge and yaw": [1, 0, 0, 0, 0, 1],
}


def one_axis(axes, seed=0, low=0.0):
    """The logs of a vehicle that moves on few axes; with its low centre of gravity it tilts as it
    accelerates, so given pitch, the DVL shows only noise in surge."""
    return logs(np.ones(8), 45.0, seed, axes=np.array(axes), low=low, noise=0.012)


@pytest.mark.parametrize("axes", first(1, ONE_AXIS.values()), ids=ONE_AXIS)
def test_motion_on_one_axis_is_no_other_wiring(axes):
    """Surge and the pitch that goes with it are one direction; nothing is known of the others."""
    for low in (0.0, 0.03):
        for seed in range(3):
            assert not findings_on(*one_axis(axes, seed, low), ALLOCATION)


@pytest.mark.parametrize("name", ["surge", "sway", "surge and yaw"])
def test_a_reversed_thruster_is_found_on_one_axis(name):
    """It would push the vehicle sideways and turn it, which does not happen. That another thruster
    may also be reversed, which the motion does not show, is no reason to withhold the finding."""
    allocation = ALLOCATION * np.where(np.arange(8) == 2, -1.0, 1.0)
    (finding,) = findings_on(*one_axis(ONE_AXIS[name]), allocation)
    assert finding.sentence.startswith("thruster 3 pushes backwards; change its sign")
    assert finding.values == {"thrusters.signs": (1, 1, -1, 1, 1, 1, 1, 1)}


def test_wirings_that_look_alike_on_one_axis_are_both_named():
    """In surge alone, two swapped thrusters look like the two reversed; no value is proposed."""
    allocation = ALLOCATION[:, [0, 2, 1, 3, 4, 5, 6, 7]]
    (finding,) = findings_on(*one_axis(ONE_AXIS["surge"]), allocation)
    assert "swapped" in finding.sentence and "thrusters 2, 3 push" in finding.sentence
    assert "move on more axes" in finding.sentence and not finding.values


@pytest.mark.parametrize("seed", first(3, range(10)))
def test_motion_that_thrust_has_nothing_to_do_with_is_no_other_wiring(seed):
    """A hand turns the vehicle while the pilot drives it ahead: with some wiring, the thrusts
    cancel."""
    thrust, _ = logs(np.ones(8), seed=seed, axes=np.array([1, 1, 1, 0, 0, 0]))
    _, dvl = logs(np.ones(8), seed=100 + seed, axes=np.array([0, 0, 0, 0, 1, 1]))
    assert findings_on(thrust, dvl, ALLOCATION) is None


@pytest.mark.parametrize("delay", first(1, [0.5, 0.3, -0.3]))
def test_a_delay_is_no_other_wiring(delay):
    """The wiring is judged at the delay at which the motion explains the thrust best."""
    for seed in range(3):
        thrust, dvl = logs(np.ones(8), seed=seed)
        thrust[:, 0] -= delay
        assert not findings_on(thrust, dvl, ALLOCATION)
