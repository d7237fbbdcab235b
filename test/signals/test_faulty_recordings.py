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

"""Rejection before smoothing: parameters learnt from a faulty recording predict an unseen clean one
equally well."""

import numpy as np
import pytest
from campaign_cases import also
from clean_recording import SECONDS, clean_recording, front_and_samples, held_out
from frame_cases import recording

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.simulation.faults.clocks import Clock
from uvms_adaptive_dynamics.simulation.faults.delivery import Frozen, Lost
from uvms_adaptive_dynamics.simulation.faults.kinds import FAULT_KINDS, bursts, combined
from uvms_adaptive_dynamics.simulation.faults.values import Drifting, altered, rotated


@pytest.fixture(scope="module")
def setup():
    config = Config()
    return config, RobotModel.from_config(config)


@pytest.mark.campaign
def test_training_on_a_faulty_recording_is_as_good_as_on_the_clean_one(setup):
    """5 % bad efforts and DVL samples, three seconds of DVL garbage, 1 % PWM spikes: R^2 within .03
    on every channel."""
    config, robot = setup
    faults = (*combined(["outliers", "spikes"]), *bursts(10.0, 20.0, 30.0))
    front, faulty = front_and_samples(config, robot, recording(1, SECONDS, faults))
    _, _, test, usual = clean_recording()
    lost = usual - held_out(config, robot, faulty, test)
    assert lost.max() < 0.03, dict(zip(robot.channels, lost.round(3)))
    assert (
        front.inputs["dvl"].doubted.total() > 40
        and front.inputs["thrusters"].doubted["command spike"] > 10
    )
    assert np.mean([s.valid[:6].all() for s in faulty]) > 0.85


def test_false_rejections_are_under_one_percent_and_none_lasts():
    """On clean data, for each role, and never more than a few rejections in a row."""
    counts, samples, _, _ = clean_recording()
    for role, (refused, received) in counts.items():
        assert refused < 0.01 * received, (role, refused)
    masked = "".join("x" if not s.valid[:6].all() else "." for s in samples[100:])
    assert max(map(len, masked.split("."))) < 15


def test_dropouts_frozen_sensors_and_a_clock_jump_are_masked_counted_and_survived(setup):
    """Valid states stay correct, each fault is counted by its name, and samples continue after all
    of them."""
    config, robot = setup
    faults = (Frozen("dvl", 6.0, 9.0), Frozen("joint_states", 11.0, 13.0),
              Frozen("imu", 16.0, 17.0), Lost("dvl", 20.0, 21.0), Lost("joint_states", 25.0, 25.5),
              Lost("thrusters", 28.0, 29.0), Clock(begin=33.0, offset=100.0))
    front, faulty = front_and_samples(config, robot, recording(1, SECONDS, faults))
    _, samples, _, _ = clean_recording()
    right = {round(s.t / config.filter.period): s for s in samples}
    begin, error, counted = samples[0].t, [], 0
    for s in faulty:
        late = s.t - begin > 90
        same = right.get(round((s.t - 100.0 * late) / config.filter.period))
        if (
            same is not None
            and s.valid.all()
            and same.valid.all()
            and not 0 <= s.t - 100.0 * late - begin - 33 < 3
        ):
            counted += 1
            error.append(
                np.abs(
                    np.concatenate(
                        [s.nu - same.nu, 0.1 * (s.nu_dot - same.nu_dot),
                         0.1 * (s.mu_ddot - same.mu_ddot)]
                    )
                )
            )
    rejected = {role: state.rejected["frozen"] for role, state in front.inputs.items()}
    assert rejected["dvl"] > 15 and rejected["joint_states"] > 50 and rejected["imu"] > 50, rejected
    assert front.resets["a clock jumped, or all sensors paused"] == 1
    assert faulty[-1].t - begin > 130 and counted > 533
    # A frozen sensor is known as such after 0.3 to 0.8 s, a sample waits for 0.35 s: a few are
    # wrong before.
    wrong = np.max(error, axis=1) > 0.05
    assert wrong.mean() < 0.03 and np.max(error) < 0.3, (wrong.mean(), np.max(error, axis=0))


def test_an_attitude_that_settles_while_recording_does_not_lock_the_dvl_out(setup):
    """An IMU's filter starts 10 degrees off and takes seconds to settle, which looks like a bias of
    the accelerometer. Such a bias is not kept: the DVL, which would contradict it, is believed."""
    config, robot = setup

    def settling(orientation, seconds):
        change = rotated(np.radians(10.0) * np.exp(-seconds / 5.0), (1, 0, 0))
        return change(orientation, np.random.default_rng(0))

    fault = Drifting("imu", field="orientation", change=settling)
    front, found = front_and_samples(config, robot, recording(1, SECONDS, [fault]))
    right = {round(s.t / config.filter.period): s for s in clean_recording()[1]}
    late = [s for s in found if s.t > found[0].t + 25.0]
    assert np.mean([s.valid[:6].all() for s in late]) > 0.95
    error = [np.abs(s.nu - right[round(s.t / config.filter.period)].nu)[:3].max() for s in late
             if s.valid[:6].all()]
    assert np.sqrt(np.mean(np.square(error))) < 0.02
    assert any("still settling" in warning for warning in front.warnings)


@pytest.mark.parametrize("begin, lost", [(0.0, ()), also(20.0, (Lost("imu", 17.0, 20.0),))])
def test_an_attitude_that_settles_by_a_few_degrees_is_masked_and_named(setup, begin, lost):
    """4 degrees in the first seconds of a recording, or after an outage of the IMU: while it is off
    by more than a degree, no row counts beyond the first two seconds; then rows are right."""
    config, robot = setup

    def settling(orientation, seconds):
        change = rotated(np.radians(4.0) * np.exp(-seconds / 3.0), (1, 0, 0))
        return change(orientation, np.random.default_rng(0))

    fault = Drifting("imu", field="orientation", change=settling, begin=begin)
    front, found = front_and_samples(config, robot, recording(1, SECONDS, [*lost, fault]))
    right = {round(s.t / config.filter.period): s for s in clean_recording()[1]}
    tilt = [(s.t - found[0].t, np.linalg.norm(s.R_nb[2] - right[round(s.t / config.filter.period)]
                                              .R_nb[2])) for s in found if s.valid[:6].all()]
    off = [t for t, angle in tilt if angle > np.radians(1.0)]
    assert len(off) * config.filter.period < 2.0 and max(off, default=0.0) < begin + 2.0
    late = [s for s in found if s.t > found[0].t + begin + 10.0]
    assert np.mean([s.valid[:6].all() for s in late]) > 0.95
    sentences = [w for w in front.warnings if w.startswith("imu orientation: from")]
    assert len(sentences) == 1 and "still settling" in sentences[0]
    assert not any(w.startswith("dvl: ") for w in front.warnings)


def test_a_noisy_attitude_is_not_taken_for_one_that_still_settles(setup):
    """.02 rad in each message, six times the usual: over the seconds of a settling filter the
    tilt is known to a degree only."""
    config, robot = setup

    def noisy(orientation, rng):
        turn = 0.02 * rng.standard_normal(3)
        return rotated(np.linalg.norm(turn), turn / np.linalg.norm(turn))(orientation, rng)

    front, found = front_and_samples(config, robot,
                                     recording(1, 15.0, [altered("orientation", noisy)]))
    assert not any("still settling" in warning for warning in front.warnings)
    assert np.mean([s.valid[:6].all() for s in found]) > 0.95


def test_the_command_writes_faults_into_a_bag(tmp_path):
    """`simulate --faults` gives the same recording as the library's injector: changed efforts,
    unchanged positions."""
    from uvms_adaptive_dynamics.__main__ import main
    from uvms_adaptive_dynamics.evaluation.bags import read_messages
    from uvms_adaptive_dynamics.signals.topics import inputs

    common = ["simulate", "--duration", "3", "--seed", "5", "--output"]
    assert main([*common, str(tmp_path / "clean")]) == 0
    assert main([*common, str(tmp_path / "faulty"), "--faults", *FAULT_KINDS]) == 0
    found = [
        [
            m
            for role, m, _ in read_messages(tmp_path / name, inputs(Config()))
            if role == "joint_states"
        ]
        for name in ("clean", "faulty")
    ]
    efforts, positions = (
        np.array([[getattr(m, field) for m in bag] for bag in found])
        for field in ("effort", "position")
    )
    scaled = 2.0 * efforts[0]
    assert np.array_equal(*positions) and 0.01 < np.mean(scaled != efforts[1]) < 0.12
