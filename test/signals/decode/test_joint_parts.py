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

"""Joint states in parts."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.signals.decode.joint_parts import JointParts, LatestJoints

NAMES = ("torso", "shoulder", "elbow")


def state(t, joints):
    """Positions, velocities and efforts of some of three joints at t."""
    k = np.arange(3.0)
    values = np.array([np.sin(t + k), np.cos(t + k), 2.0 * t + k])
    values[:, [j for j in range(3) if j not in joints]] = np.nan
    return values.ravel().tolist()


def made(parts, messages):
    return [whole for t, joints in messages for whole in parts.add(t, state(t, joints))]


def test_each_joint_is_where_it_is_at_the_stamps_of_the_larger_part():
    """Arm at 100 Hz, torso at 20 Hz and later stamps: cubics between its own."""
    arm = [(0.01 * k, (1, 2)) for k in range(1, 300)]
    torso = [(0.05 * k + 0.003, (0,)) for k in range(60)]
    whole = made(JointParts(NAMES, 0.2), sorted(arm + torso))
    times = [t for t, _ in whole]
    assert times == [t for t, _ in arm][:len(times)] and len(times) > 290
    for t, values in whole:
        assert np.allclose(values, state(t, (0, 1, 2)), atol=1e-3)
        assert np.allclose(values[0], np.sin(t), atol=1e-6)


def test_whole_messages_pass_as_they_are():
    """They pass at once; a part among them lacks a joint and is refused."""
    parts = JointParts(NAMES, 0.2)
    assert parts.add(1.0, state(1.0, (0, 1, 2))) == [(1.0, state(1.0, (0, 1, 2)))]
    with pytest.raises(MessageError, match="joint 'torso' is missing"):
        parts.add(1.01, state(1.01, (1, 2)))
    with pytest.raises(MessageError, match="not later"):
        parts.add(1.0, state(1.0, (0, 1, 2)))


def test_nothing_is_made_while_a_part_is_silent():
    """Nor between the readings on either side of the pause; after a second the part is named."""
    messages = [(0.01 * k, (1, 2)) for k in range(1, 600)]
    messages += [(0.02 * k + 0.003, (0,)) for k in range(300) if not 100 <= k < 170]
    parts, found, said = JointParts(NAMES, 0.2), [], set()
    for t, joints in sorted(messages):
        try:
            found += parts.add(t, state(t, joints))
        except MessageError as error:
            said.add(str(error).partition(",")[0])
    times = np.array([t for t, _ in found])
    assert not ((times > 2.0) & (times < 3.4)).any() and (times > 3.5).sum() > 230
    assert said == {"joint 'torso' is silent"}


def test_joints_that_come_in_other_groups_go_on():
    """A driver restarted with another list of joints: a part that no longer comes leads no more."""
    parts = JointParts(NAMES, 0.2)
    before = [(0.01 * k + 0.001 * late, joints) for k in range(1, 300)
              for late, joints in enumerate([(0, 1), (2,)])]
    after = [(3.0 + 0.01 * k + 0.001 * late, joints) for k in range(300)
             for late, joints in enumerate([(0,), (1, 2)])]
    assert len(made(parts, before)) > 290
    assert len(made(parts, after)) > 150


def test_a_joint_that_never_comes_is_named():
    """After a second of the others."""
    parts = JointParts(NAMES, 0.2)
    assert made(parts, [(0.01 * k, (1, 2)) for k in range(1, 90)]) == []
    with pytest.raises(MessageError, match="joint 'torso' is missing; .* shoulder, elbow"):
        parts.add(1.5, state(1.5, (1, 2)))


def test_the_newest_state_is_as_old_as_its_oldest_joint():
    """For a controller, which does not wait."""
    joints = LatestJoints(NAMES)
    assert joints.add(0.0, state(0.0, (1, 2))) is None
    t, values = joints.add(0.02, state(0.02, (0,)))
    assert t == 0.0 and values[0] == state(0.02, (0,))[0] and values[1] == state(0.0, (1,))[1]
    assert joints.add(0.05, state(0.05, (1, 2)))[0] == 0.02
    with pytest.raises(MessageError, match="'torso' is missing"):
        joints.reset()
        for t in (0.0, 0.5, 1.2):
            joints.add(t, state(t, (1, 2)))
