"""Faults in a stream of messages."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from simulated import of

from uvms_adaptive_dynamics.simulation.faults import (
    FAULT_KINDS,
    MAX_OUTLIER,
    MIN_OUTLIER,
    Faults,
    combined,
    corrupt_commands,
    corrupt_efforts,
    corrupt_velocity,
    with_faults,
)
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.sensors import DVL_NOISE, EFFORT_NOISE


@pytest.fixture(scope="module")
def messages():
    """4 s of the default robot."""
    return list(SimulatedRobot(2, 4.0, truth_period=None))


def test_no_faults_change_nothing(messages):
    """The default is no fault at all."""
    assert list(with_faults(messages, Faults())) == messages


def test_the_same_seed_gives_the_same_faults(messages):
    """And another seed gives others."""
    faults = Faults(effort_share=0.1, dvl_share=0.1, command_share=0.1)
    first, again, other = (list(with_faults(messages, faults, seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_outliers_have_the_stated_share_and_size():
    """Efforts and velocities are off by 10 to 60 deviations, in the stated share."""
    rng, faults = np.random.default_rng(0), Faults(effort_share=0.2, dvl_share=0.3)
    efforts = [corrupt_efforts(np.zeros(4), faults, rng) for _ in range(1000)]
    errors = np.array([effort for effort, _ in efforts]) / EFFORT_NOISE
    assert np.mean(errors != 0) == pytest.approx(0.2, abs=0.03)
    sizes = np.abs(errors[errors != 0])
    assert sizes.min() >= MIN_OUTLIER and sizes.max() <= MAX_OUTLIER
    velocities = [corrupt_velocity(np.zeros(3), 0.0, faults, rng) for _ in range(1000)]
    assert np.mean([len(places) > 0 for _, places in velocities]) == pytest.approx(0.3, abs=0.05)
    assert {len(places) for _, places in velocities} == {0, 1, 3}
    assert max(np.abs(v).max() for v, _ in velocities) <= MAX_OUTLIER * DVL_NOISE


def test_places_name_what_was_changed():
    """Exactly the values at the returned places differ from the true ones."""
    rng, true = np.random.default_rng(1), np.linspace(1200.0, 1800.0, 8)
    for _ in range(200):
        pwm, places = corrupt_commands(true, Faults(command_share=0.5), rng)
        assert set(np.flatnonzero(pwm != true)) <= set(places) and len(places) <= 1


def test_dropouts_frozen_sensors_and_jumps(messages):
    """Nothing is received in a dropout, a frozen sensor repeats itself with new stamps, and a jump
    moves stamps but no reception."""
    faults = Faults(
        dropouts=(("depth", 1.0, 2.0),), frozen=(("dvl/twist", 1.0, 2.0),), jump=(3.0, 100.0)
    )
    begin, found = messages[0].receive_time, list(with_faults(messages, faults))
    seconds = lambda m: (m.receive_time - begin) * 1e-9
    assert not [m for m in of(found, "depth") if 1.0 <= seconds(m) < 2.0]
    frozen = [m for m in of(found, "dvl/twist") if 1.0 <= seconds(m) < 2.0]
    assert len(frozen) > 5 and len({m.payload["linear"] for m in frozen}) == 1
    assert len({m.stamp for m in frozen}) == len(frozen)
    kept = [m for m in messages if m.topic != "depth" or not 1.0 <= seconds(m) < 2.0]
    steps = {round((a.stamp - b.stamp) * 1e-9) for a, b in zip(found, kept) if seconds(b) >= 3.0}
    assert steps == {100} and all(a.receive_time == b.receive_time for a, b in zip(found, kept))


def test_kinds_are_combined_without_loss():
    """Every field that any kind sets is set in the combination."""
    found = combined(FAULT_KINDS)
    for faults in FAULT_KINDS.values():
        assert (
            replace(found, **{k: v for k, v in vars(faults).items() if v != getattr(Faults(), k)})
            == found
        )
    with pytest.raises(KeyError):
        combined(["leak"])


@pytest.mark.parametrize(("kind", "topic"), [
    ("effort-scale", "joint_states"), ("dvl-scale", "dvl/twist"), ("imu-turned", "imu/data"),
    ("thruster-order", "thruster_commands")])
def test_a_calibration_fault_changes_its_sensor_alone(kind, topic, messages):
    """Every message of that topic says something else, all others the same."""
    pairs = list(zip(messages, with_faults(messages, FAULT_KINDS[kind]), strict=True))
    assert all(a == b for a, b in pairs if a.topic != topic)
    changed = [a != b for a, b in pairs if a.topic == topic]
    assert np.mean(changed) > 0.9


def test_a_turned_imu_sees_the_same_world(messages):
    """Force and gravity in the attitude agree as before, and rates keep their size."""
    (before,) = of(messages, "imu/data")[:1]
    (after,) = of(list(with_faults(messages, FAULT_KINDS["imu-turned"])), "imu/data")[:1]
    world = [pin.Quaternion(np.array(m.payload["orientation"])).matrix()
             @ np.array(m.payload["linear_acceleration"]) for m in (before, after)]
    assert np.allclose(*world) and before.payload["orientation"] != after.payload["orientation"]
    assert np.allclose(*(np.linalg.norm(m.payload["angular_velocity"]) for m in (before, after)))
