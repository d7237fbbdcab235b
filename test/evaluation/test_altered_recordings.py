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

"""Real recordings with one thing changed: what the findings say, and which rows count."""
import copy
import sys
from pathlib import Path

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import load_config
from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.evaluation.judged import statement_of
from uvms_adaptive_dynamics.evaluation.run import run
from uvms_adaptive_dynamics.evaluation.run_record import metrics_of
from uvms_adaptive_dynamics.signals.topics import inputs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from bag_writer import Message, joint_state, write_bag  # noqa: E402

EPOCH = 1_600_000_000 * 10 ** 9     # [ns]


class Recording:
    """The joint states of UR10's published trajectory: times (k,) [s], positions, velocities and
    efforts (k, 6) of the joints in `names`."""

    def __init__(self, folder):
        self.config = load_config(EXAMPLES / "ur10.yaml").with_values(
            {"robot.urdf": str(folder / "ur10.urdf")})
        messages = [message for _, message, _ in read_messages(
            folder / "ur10_exciting_trajectory.db3", inputs(self.config))]
        self.names = list(messages[0].name)
        stamps = [message.header.stamp for message in messages]
        self.t = np.array([stamp.sec + 1e-9 * stamp.nanosec for stamp in stamps])
        self.t -= self.t[0]
        self.position, self.velocity, self.effort = (
            np.array([getattr(message, what) for message in messages])
            for what in ("position", "velocity", "effort"))

    def joint(self, name):
        """The column index of a joint."""
        return self.names.index(name)

    def messages(self):
        """The messages to write to a bag."""
        for t, *values in zip(self.t, self.position, self.velocity, self.effort):
            ns = EPOCH + round(1e9 * t)
            yield Message(ns, "/joint_states", joint_state(ns, self.names, *values))


@pytest.fixture(scope="module")
def as_it_is(shared):
    """The original recording, not to be changed."""
    folder = shared / "data" / "unisa_acg"
    if not folder.is_dir():
        pytest.skip(f"UR10 is not among the shared material ({folder})")
    return Recording(folder)


@pytest.fixture
def recording(as_it_is):
    """A copy of the recording, to be changed."""
    return copy.deepcopy(as_it_is)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A function that evaluates a recording."""
    def evaluate(recording, messages=None, **settings):
        bag = tmp_path_factory.mktemp("altered") / "bag"
        write_bag(bag, messages or recording.messages(), {})
        values = {name.replace("__", "."): value for name, value in settings.items()}
        return run([bag], recording.config.with_values(values))
    return evaluate


@pytest.fixture(scope="module")
def before(as_it_is, evaluated):
    """The run of the original recording."""
    return evaluated(as_it_is)


def test_nothing_is_found_wrong_with_the_recording_as_it_is(before):
    """So all findings below are due to the change."""
    assert [found.sentence for found in before.findings] == []
    assert statement_of(before).verdict.word == "good"


@pytest.mark.campaign
@pytest.mark.parametrize("factor", [0.01, 50.0])
def test_raw_current_is_told_by_its_scale_not_by_its_noise(factor, recording, evaluated):
    """A recording of 27 s is checked at its end, and no advice says to adapt the noise."""
    recording.effort *= factor
    done = evaluated(recording)
    (found,) = [one for one in done.findings if one.code == "joint_states.effort_scale"]
    scale = 1.0 / factor
    assert f"about [{0.93 * scale:.2g}, " in found.sentence     # this URDF's masses are 7 % short
    assert "adapt_noise" not in " ".join(one.sentence for one in done.findings)
    reasons = " ".join(statement_of(done).verdict.reasons)
    assert found.sentence in reasons and "s of motion" not in reasons


@pytest.mark.campaign
def test_a_velocity_in_degrees_costs_no_row_once_it_is_known(recording, evaluated):
    """Only rows of some seconds are masked, and the joint is named."""
    recording.velocity[:, recording.joint("shoulder_lift_joint")] *= np.degrees(1.0)
    done = evaluated(recording)
    assert "the velocity of shoulder_lift_joint is 57." in done.findings[0].sentence
    assert done.log.rows().valid.mean(axis=0).min() > 0.65
    assert all(sum(reasons.values()) < 450 for reasons in done.masked.values())
    assert {"ok"} == {channel.trust for channel in statement_of(done).channels}


def test_a_position_in_degrees_is_named_and_no_row_counts_once_it_is_known(recording, evaluated):
    """One joint's position affects the load of all, so no row may count, even if the contradiction
    lasts so long that it could pass for the sensor's normal behaviour."""
    recording.position[:, recording.joint("elbow_joint")] *= np.degrees(1.0)
    done = evaluated(recording)
    said = " ".join(found.sentence for found in done.findings)
    assert "the position of elbow_joint changes 57" in said and "publish rad" in said
    rows = done.log.rows()
    assert not rows.valid[rows.t > rows.t[0] + 3.5].any()


@pytest.mark.campaign
def test_a_joint_that_a_setting_leaves_out_is_shown_so_and_nobody_advises_about_it(recording,
                                                                                   evaluated):
    """It has its own trust state, and no finding or reason mentions it."""
    left_out = "wrist_3_joint"
    done = evaluated(recording, joint_states__effort_masked=(left_out,))
    said = statement_of(done)
    assert [found.sentence for found in done.findings] == [] == list(said.verdict.reasons)
    trust = {channel.channel: channel.trust for channel in said.channels}
    assert trust.pop(left_out) == "effort masked by setting" and set(trust.values()) == {"ok"}
    figures = metrics_of(done)["channels"][left_out]
    assert figures["trust"] == "effort masked by setting"
    assert set(figures["trust_share"].values()) == {0.0}


def in_two_parts(recording, first, without=None):
    """Messages of two drivers on one topic: one for the joints in `first`, one for the others
    (except `without`), three milliseconds later and at half the rate; also a gripper's."""
    def message(k, t, joints):
        values = (column[k][joints] for column in (recording.position, recording.velocity,
                                                   recording.effort))
        ns = EPOCH + round(1e9 * t)
        return Message(ns, "/joint_states", joint_state(ns, [recording.names[j] for j in joints],
                                                        *values))
    first = [recording.joint(name) for name in first]
    second = [j for j, name in enumerate(recording.names) if j not in first and name != without]
    between = [[np.interp(recording.t + 0.003, recording.t, column) for column in array.T]
               for array in (recording.position, recording.velocity, recording.effort)]
    for array, columns in zip((recording.position, recording.velocity, recording.effort), between):
        array[:, second] = np.column_stack(columns)[:, second]
    for k, t in enumerate(recording.t):
        yield message(k, t, first)
        if k % 2 == 0:
            yield message(k, t + 0.003, second)
            ns = EPOCH + round(1e9 * (t + 0.004))
            one = np.zeros(1)
            yield Message(ns, "/joint_states", joint_state(ns, ["gripper"], one, one, one))


@pytest.mark.campaign
def test_joints_of_two_drivers_on_one_topic_are_put_together(before, recording, evaluated):
    """All rows except the first ones count, and the fit is as good."""
    done = evaluated(recording, in_two_parts(recording, recording.names[:3]))
    assert [found.sentence for found in done.findings] == []
    r2, split = ([metrics_of(one)["channels"][name]["r2"] for name in done.robot.channels]
                 for one in (before, done))
    assert np.allclose(r2, split, atol=0.005)
    assert np.isclose(len(done.log), len(before.log), atol=10)
    assert all(sum(reasons.values()) < 200 for reasons in done.masked.values())


def test_a_joint_that_no_driver_publishes_is_named(recording, evaluated):
    """Two drivers publish parts of the joints, and one joint is missing."""
    without = recording.names[-1]
    with pytest.raises(BagError) as error:
        evaluated(recording, in_two_parts(recording, recording.names[:3], without))
    assert f"joint '{without}' is missing" in str(error.value)


@pytest.mark.campaign
def test_late_velocities_are_named_with_their_delay_and_left_out(recording, evaluated):
    """No row is masked as contradictory."""
    late = [np.interp(recording.t - 0.2, recording.t, column) for column in recording.velocity.T]
    recording.velocity = np.column_stack(late)
    done = evaluated(recording)
    assert "comes 0.20 +- " in done.findings[0].sentence
    assert not any("contradict" in reason for counts in done.masked.values() for reason in counts)
