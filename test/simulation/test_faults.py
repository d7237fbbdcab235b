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

"""Faults in a message stream, each in the smallest case that shows it."""

import numpy as np
import pinocchio as pin
import pytest
from frame_cases import decoded
from simulated import START_NS

from uvms_adaptive_dynamics.simulation.faults import clocks, delivery, values
from uvms_adaptive_dynamics.simulation.faults.kinds import FAULT_KINDS, Slipping, combined
from uvms_adaptive_dynamics.simulation.faults.outliers import (
    MAX_OUTLIER,
    MIN_OUTLIER,
    corrupt_commands,
    corrupt_efforts,
    corrupt_velocity,
)
from uvms_adaptive_dynamics.simulation.faults.stream import Received, stamp_ns, with_faults
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.sensors import DVL_NOISE, EFFORT_NOISE, GYRO_NOISE


@pytest.fixture(scope="module")
def stream():
    """4 s of messages of the default robot."""
    return [Received(*decoded(m)[:2], m.receive_time, m.receive_time)
            for m in SimulatedRobot(2, 4.0, start_ns=START_NS, truth_period=None)]


def of(found, role):
    return [item for item in found if item.role == role]


def spoiled(stream, *faults):
    return list(with_faults(stream, faults))


def seconds(found, stream):
    return np.array([item.true_ns - stream[0].true_ns for item in found]) * 1e-9


def ahead(found, stream):
    """Timestamps of a role's messages minus those of the stream [s]."""
    return np.array([stamp_ns(a.message) - stamp_ns(b.message)
                     for a, b in zip(found, stream, strict=True)]) * 1e-9


def test_the_same_seed_gives_the_same_faults_and_no_message_is_changed(stream):
    """Another seed gives other faults; the input stream stays unchanged."""
    before = [values.field_of(m.message, "effort").copy() for m in of(stream, "joint_states")]
    efforts = [[values.field_of(m.message, "effort") for m in of(
        with_faults(stream, FAULT_KINDS["outliers"], seed), "joint_states")] for seed in (1, 1, 2)]
    assert np.array_equal(efforts[0], efforts[1]) and not np.array_equal(efforts[0], efforts[2])
    after = [values.field_of(m.message, "effort") for m in of(stream, "joint_states")]
    assert np.array_equal(before, after) and not np.array_equal(before, efforts[0])


def test_outliers_have_the_stated_share_and_size():
    """The stated share of efforts and velocities is off by 10 to 60 standard deviations; exactly
    the returned indices are changed."""
    rng = np.random.default_rng(0)
    efforts = [corrupt_efforts(np.zeros(4), 0.2, rng) for _ in range(1000)]
    errors = np.array([effort for effort, _ in efforts]) / EFFORT_NOISE
    assert np.mean(errors != 0) == pytest.approx(0.2, abs=0.03)
    sizes = np.abs(errors[errors != 0])
    assert sizes.min() >= MIN_OUTLIER and sizes.max() <= MAX_OUTLIER
    velocities = [corrupt_velocity(np.zeros(3), 0.3, rng) for _ in range(1000)]
    assert np.mean([len(places) > 0 for _, places in velocities]) == pytest.approx(0.3, abs=0.05)
    assert {len(places) for _, places in velocities} == {0, 1, 3}
    assert max(np.abs(v).max() for v, _ in velocities) <= MAX_OUTLIER * DVL_NOISE
    true = np.linspace(1200.0, 1800.0, 8)
    for _ in range(200):
        pwm, places = corrupt_commands(true, 0.5, rng)
        assert set(np.flatnonzero(pwm != true)) <= set(places) and len(places) <= 1


def test_faults_act_on_their_role_and_in_their_time_alone(stream):
    """Everything else passes unchanged."""
    found = spoiled(stream, delivery.Lost("depth", 1.0, 2.0),
                    values.altered("velocity", values.filled(np.nan), 1.0, 2.0))
    kept = {id(m) for m in found}
    touched = [m for m in stream if id(m) not in kept]
    gone = seconds(touched, stream)
    assert {m.role for m in touched} == {"depth", "dvl"}
    assert gone.min() >= 1.0 and gone.max() < 2.0


def test_clocks(stream):
    """A clock that is ahead, drifts, has single wrong stamps, counts since boot, or is missing only
    changes timestamps."""
    imu = of(stream, "imu")
    t = seconds(imu, stream)

    def changed(fault):
        found = spoiled(stream, fault)
        assert [m.t_ns for m in found] == [m.t_ns for m in stream]
        return of(found, "imu")
    off = ahead(changed(clocks.Clock("imu", 1.0, offset=0.5, drift=0.1)), imu)
    np.testing.assert_allclose(off, np.where(t < 1.0, 0.0, 0.5 + 0.1 * (t - 1.0)), atol=1e-6)
    single = ahead(changed(clocks.SingleStamps("imu", offset=0.9, every=1.0)), imu)
    assert np.sum(single == pytest.approx(0.9)) == 0 and np.sum(np.abs(single - 0.9) < 1e-6) == 4
    boot = changed(clocks.SinceBoot("imu", uptime=7.0))
    assert stamp_ns(boot[0].message) == 7 * 10**9 and np.ptp(ahead(boot, imu)) < 1e-6
    assert {stamp_ns(m.message) for m in changed(clocks.Unstamped("imu"))} == {0}
    whole = [stamp_ns(m.message) for m in changed(clocks.WholeSeconds("imu"))]
    assert all(stamp % 1_000_000_000 == 0 for stamp in whole) and len(set(whole)) > 1


def test_the_hosts_clock_steps_and_bags_are_looped(stream):
    """Receive times step while the order stays; a loop repeats timestamps while receive times go
    on."""
    found = spoiled(stream, clocks.HostStep("", 2.0, step=-30.0))
    steps = {round((a.t_ns - b.t_ns) * 1e-9) for a, b in zip(found, stream, strict=True)}
    assert steps == {0, -30} and [m.message for m in found] == [m.message for m in stream]
    looped = spoiled(stream, clocks.Looped(begin=3.0))
    stamps = np.diff([stamp_ns(m.message) for m in of(looped, "imu")])
    assert np.sum(stamps < 0) == 1 and np.all(np.diff([m.t_ns for m in looped]) >= 0)


def test_delivery(stream):
    """A stall delivers all at once; messages come late, twice, rarely, or also from another node.
    """
    inside = lambda found: np.sum(np.abs(seconds(found, stream) - 2.0) < 1.0)
    stalled = spoiled(stream, delivery.StalledNetwork("", 1.0, 3.0))
    assert inside(stalled) == 0 and len(stalled) == len(stream)
    late = of(spoiled(stream, delivery.Late("dvl", share=0.3, wait=0.5)), "dvl")
    stamps = np.diff([stamp_ns(m.message) for m in late])
    assert np.any(stamps < 0) and len(late) == len(of(stream, "dvl"))
    assert len(of(spoiled(stream, delivery.Repeated("dvl")), "dvl")) == 2 * len(late)
    assert len(of(spoiled(stream, delivery.Thinned("imu", each=25)), "imu")) == 16
    lagging = of(spoiled(stream, delivery.Lagging("dvl", lag=0.3)), "dvl")
    np.testing.assert_allclose(ahead(lagging, of(stream, "dvl")), 0.3, atol=1e-9)
    np.testing.assert_allclose(seconds(lagging, stream) - seconds(of(stream, "dvl"), stream), 0.3,
                               atol=1e-9)
    two = spoiled(stream, delivery.SecondPublisher("dvl", after=0.02))
    assert len(of(two, "dvl")) == 2 * len(late)
    voltage = spoiled(stream, delivery.Added("battery", make=lambda: 15.0, every=0.5))
    assert len(of(voltage, "battery")) == 9     # at 0, 0.5 .. 4 s


def test_frozen_readings_have_new_stamps(stream):
    found = of(spoiled(stream, delivery.Frozen("dvl", 1.0, 2.0)), "dvl")
    t = seconds(found, stream)
    held = [m for m, at in zip(found, t) if 1.0 <= at < 2.0]
    assert len(held) > 5 and len({tuple(values.field_of(m.message, "velocity"))
                                  for m in held}) == 1
    assert len({stamp_ns(m.message) for m in held}) == len(held)


def test_a_denser_sensor_sees_the_same_motion(stream):
    """There are four times as many messages, including the old ones, with unit quaternions in
    between."""
    imu, found = of(stream, "imu"), of(spoiled(stream, delivery.Densified("imu", factor=4)), "imu")
    assert len(found) == 4 * len(imu) - 3 and found[::4] == imu
    length = [np.linalg.norm(values.field_of(m.message, "orientation")) for m in found]
    np.testing.assert_allclose(length, 1.0, atol=1e-6)
    gyro = np.array([values.field_of(m.message, "gyro") for m in found])
    off = gyro[2:-2:4] - 0.5 * (gyro[:-4:4] + gyro[4::4])
    assert np.std(off) == pytest.approx(GYRO_NOISE, rel=0.1)


def test_a_driver_that_reads_in_batches_stamps_them_on_arrival(stream):
    imu, found = of(stream, "imu"), of(spoiled(stream, delivery.Batched("imu", size=5)), "imu")
    whole = len(imu) // 5 * 5
    assert len(found) == whole
    for k, (before, after) in enumerate(zip(imu, found)):
        last, spaced = imu[k // 5 * 5 + 4], 1e5 * (k % 5)
        assert after.t_ns == pytest.approx(last.t_ns + spaced, abs=1e3)
        assert stamp_ns(after.message) == pytest.approx(stamp_ns(last.message) + spaced, abs=1e3)
        assert after.message.angular_velocity == before.message.angular_velocity


def test_a_republished_measurement_has_a_new_stamp(stream):
    dvl, found = of(stream, "dvl"), of(spoiled(stream, delivery.Republished("dvl", each=4)), "dvl")
    for k, (before, after) in enumerate(zip(dvl, found)):
        assert stamp_ns(after.message) == stamp_ns(before.message)
        measured = values.field_of(dvl[k // 4 * 4].message, "velocity")
        assert values.field_of(after.message, "velocity").tolist() == measured.tolist()


def test_changes_of_numbers(stream):
    """Rotating a quaternion gives a rotation; changing one number leaves the others alone."""
    rng, (first, *_) = np.random.default_rng(0), of(stream, "imu")
    before = values.field_of(first.message, "orientation")
    after = values.rotated(np.radians(30.0), (1.0, 2.0, 0.0))(before, rng)
    angle = 2 * np.arccos(abs(before @ after))
    assert np.degrees(angle) == pytest.approx(30.0, abs=0.1)
    one = values.one_of(2, values.filled(np.nan))(np.zeros(4), rng)
    assert np.isnan(one).tolist() == [False, False, True, False]
    some = values.at_times(0.3, values.plus(1.0))(np.zeros(1000), rng)
    assert set(some) == {0.0, 1.0} and np.mean(some) == pytest.approx(0.3, abs=0.05)
    three = np.array([3.0, 4.0, 5.0])
    assert values.reordered(1, 0, 2)(three.copy(), rng).tolist() == [4.0, 3.0, 5.0]
    assert values.swapped(1, 2)(three.copy(), rng).tolist() == [3.0, 5.0, 4.0]
    assert values.rolled(1)(three.copy(), rng).tolist() == [5.0, 3.0, 4.0]


def test_what_drivers_do_at_sea(stream):
    """Covers jittering timestamps, commands published on change, a DVL that coasts or reports world
    axes, a slipping mount measured by its gyro, a limit, and wholly wrong readings."""
    imu, dvl, t = of(stream, "imu"), of(stream, "dvl"), seconds(of(stream, "dvl"), stream)
    jitter = ahead(of(spoiled(stream, clocks.JitteringStamps("imu", most=0.005)), "imu"), imu)
    assert 0.004 < np.ptp(jitter) / 2 < 0.005 and abs(jitter.mean()) < 1e-3
    commands = of(spoiled(stream, delivery.OnChange("thrusters", field="commands", step=4.0)),
                  "thrusters")
    steps = np.abs(np.diff([m.message.data for m in commands], axis=0)).max(axis=1)
    assert 1 < len(commands) < len(of(stream, "thrusters")) and steps.min() > 4.0
    velocity = lambda found: np.array([values.field_of(m.message, "velocity")
                                       for m in of(found, "dvl")])
    coasting = velocity(spoiled(stream, values.Coasting("dvl", 1.0, field="velocity", time=0.5)))
    late, first = t > 1.0, np.flatnonzero(t > 1.0)[0]
    np.testing.assert_allclose(coasting[late], velocity(dvl)[first] * np.exp((1.0 - t[late]) / 0.5)
                               [:, None], atol=1e-9)
    world = velocity(spoiled(stream, values.InWorld("dvl", change=lambda v, R: R @ v)))
    np.testing.assert_allclose(np.linalg.norm(world, axis=1),
                               np.linalg.norm(velocity(dvl), axis=1), atol=1e-6)
    assert not np.allclose(world, velocity(dvl))
    slipped = of(spoiled(stream, Slipping("imu", 1.0, roll=0.2, within=0.5)), "imu")
    roll = [np.array([values.field_of(m.message, "gyro")[0] for m in found])
            for found in (slipped, imu)]
    assert 0.01 * np.sum(roll[0] - roll[1]) == pytest.approx(0.2, abs=0.02)
    rng = np.random.default_rng(0)
    assert values.clipped(1.0)(np.array([-3.0, 0.5, 2.0]), rng).tolist() == [-1.0, 0.5, 1.0]
    some = [values.sometimes(0.3, values.filled(0.0))(np.ones(3), rng) for _ in range(300)]
    assert {tuple(each) for each in some} == {(0.0,) * 3, (1.0,) * 3}


def test_commands_may_have_a_header(stream):
    """mavros_msgs/RCOut holds the same commands as std_msgs/Float64MultiArray, and its clock can be
    wrong."""
    plain = of(stream, "thrusters")
    found = of(spoiled(stream, clocks.HeaderAdded("thrusters"),
                       clocks.Clock("thrusters", offset=3.0)), "thrusters")
    assert np.allclose([m.message.channels for m in found], [m.message.data for m in plain],
                       atol=0.5)
    assert stamp_ns(found[0].message) - plain[0].t_ns == pytest.approx(3e9, abs=1e6)


def test_kinds_are_combined_without_loss():
    """The combination has all faults of all kinds in order."""
    assert combined(FAULT_KINDS) == tuple(f for faults in FAULT_KINDS.values() for f in faults)
    with pytest.raises(KeyError):
        combined(["leak"])


@pytest.mark.parametrize(("kind", "role", "field"), [
    ("effort-scale", "joint_states", "effort"), ("dvl-scale", "dvl", "velocity"),
    ("imu-turned", "imu", "gyro"), ("thruster-order", "thrusters", "commands")])
def test_a_calibration_fault_changes_its_sensor_alone(kind, role, field, stream):
    """Every message of that role changes, and no other."""
    pairs = list(zip(stream, spoiled(stream, *FAULT_KINDS[kind]), strict=True))
    assert all(a == b for a, b in pairs if a.role != role)
    changed = [not np.array_equal(values.field_of(a.message, field),
                                  values.field_of(b.message, field))
               for a, b in pairs if a.role == role]
    assert np.mean(changed) > 0.9


def test_a_turned_imu_sees_the_same_world(stream):
    """The force still agrees with gravity in the reported attitude, and rates keep their size."""
    (before, *_) = of(stream, "imu")
    (after, *_) = of(spoiled(stream, *FAULT_KINDS["imu-turned"]), "imu")
    said = [{name: values.field_of(m.message, name) for name in
             ("orientation", "accelerometer", "gyro")} for m in (before, after)]
    world = [pin.Quaternion(m["orientation"]).matrix() @ m["accelerometer"] for m in said]
    assert np.allclose(*world) and not np.allclose(said[0]["orientation"], said[1]["orientation"])
    assert np.allclose(*(np.linalg.norm(m["gyro"]) for m in said))
