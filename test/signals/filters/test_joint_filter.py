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

"""Motion of the joints, and masks of their rows."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion
from campaign_cases import first
from signal_runs import reasons, run


def test_joint_at_rest_and_at_its_stop_are_masked(clean):
    """Coulomb friction is set-valued at rest, and a stop carries load: those rows are masked."""
    config, robot, _, messages = clean

    def corrupt(role, message, t):
        if role == "joint_states":
            position, velocity = message.position.copy(), message.velocity.copy()
            position[0], velocity[0] = robot.arm.limits_high[0], 0.04
            position[1], velocity[1] = 2.0, 0.0
            message = Message(**{**vars(message), "position": position, "velocity": velocity})
        return role, message, t

    front, samples = run(config, robot, messages, corrupt)
    assert not any(s.valid[6] or s.valid[7] for s in samples)
    assert "joint at its stop" in reasons(front, "axis_e")
    assert "joint at rest" in reasons(front, "axis_d")


def test_message_without_effort_masks_the_joints_only(clean):
    """JointState may leave effort empty."""
    config, robot, _, messages = clean
    change = lambda r, m, t: (
        r,
        Message(**{**vars(m), "effort": []}) if r == "joint_states" else m,
        t,
    )  # noqa: E731
    front, samples = run(config, robot, messages, change)
    assert (
        "no effort" in reasons(front, "axis_e")
        and not any(s.valid[6:].any() for s in samples)
        and samples[200].valid[:6].all()
    )


def test_an_effort_that_stands_still_is_none_from_its_first_copy_on(clean):
    """It takes some copies to prove it: of a real Panda at 30 Hz, as many zeros counted as that
    takes, the worst of which was off by 260 times the noise."""
    config, robot, _, messages = clean
    begin = messages[0][2] + 10.0

    def freeze(role, message, t):
        if role == "joint_states" and t > begin:
            message = Message(**{**vars(message), "effort": np.r_[0.0, message.effort[1:]]})
        return role, message, t

    _, right = run(config, robot, messages)
    _, samples = run(config, robot, messages, freeze)
    effort = {one.t: one.joint_torque[0] for one in right}
    error = [abs(one.joint_torque[0] - effort[one.t]) for one in samples if one.valid[6]]
    assert len(error) > 200 and max(error) < 0.05
    assert not any(one.valid[6] for one in samples if one.t > samples[0].t + 12.0)


@pytest.mark.parametrize("nth", first(1, [3, 2]))
def test_efforts_in_some_messages_are_enough(nth, clean):
    """Efforts of every second or third message are interpolated: as many rows count as with all,
    except at the ends, and their efforts are correct."""
    config, robot, _, messages = clean
    seen = []

    def change(role, message, t):
        if role == "joint_states":
            seen.append(t)
            if len(seen) % nth:
                message = Message(**{**vars(message), "effort": []})
        return role, message, t

    _, every = run(config, robot, messages)
    _, some = run(config, robot, messages, change)
    pairs = [(a, b) for a, b in zip(every, some, strict=True) if a.valid[6:].all()]
    valid = [(a, b) for a, b in pairs if b.valid[6:].all()]
    assert len(valid) >= len(pairs) - 2 * nth
    error = [np.abs(a.joint_torque - b.joint_torque).max() for a, b in valid]
    assert max(error) < 0.05 * max(np.abs(a.joint_torque).max() for a, _ in valid)


def test_joint_positions_alone_give_the_motion(clean):
    """JointState may leave velocity empty: velocity and acceleration then come from positions."""
    config, robot, _, messages = clean
    change = lambda r, m, t: (
        r,
        Message(**{**vars(m), "velocity": []}) if r == "joint_states" else m,
        t,
    )  # noqa: E731
    motion = AnalyticMotion(0, config=config)
    _, samples = run(config, robot, messages, change)
    error = [s.mu_dot - motion.sample(s.t - START, robot).mu_dot for s in samples[100:-50]]
    assert np.sqrt(np.mean(np.square(error))) < 5e-3


@pytest.mark.parametrize("nth", [3, 5])
def test_slow_joint_positions_alone_give_the_motion_or_are_masked(nth, clean):
    """17 and 10 Hz without velocities: all valid rows are correct."""
    config, robot, _, messages = clean
    count = iter(range(10**6))

    def change(r, m, t):
        if r == "joint_states":
            return None if next(count) % nth else (r, Message(**{**vars(m), "velocity": []}), t)
        return r, m, t

    motion = AnalyticMotion(0, config=config)
    _, samples = run(config, robot, messages, change)
    error = [s.mu_dot - motion.sample(s.t - START, robot).mu_dot
             for s in samples[100:-50] if s.valid[6:].any()]
    assert len(error) > 100 and np.sqrt(np.mean(np.square(error))) < 0.05


@pytest.mark.parametrize("effort, stalled", [(0.97, True), (0.7, False)])
def test_joint_that_pushes_and_does_not_move_is_stalled(clean, effort, stalled):
    """At rest under its largest effort it is masked as stalled; with less it holds a load, and
    there is nothing to free."""
    config, robot, _, messages = clean

    def stall(role, message, t):
        if role == "joint_states" and t > START + 5:
            message = Message(**vars(message))
            message.position, message.velocity, message.effort = (
                x.copy() for x in (message.position, message.velocity, message.effort)
            )
            message.position[2], message.velocity[2], message.effort[2] = 2.0, 0.0, effort
        return role, message, t

    front, samples = run(config, robot, messages, stall)
    assert ("joint stalled" in reasons(front, "axis_c")) == stalled
    assert not any(s.valid[8] for s in samples if s.t > START + 6)


@pytest.mark.parametrize("seam", first(1, [2.0, np.pi]))
def test_an_encoder_that_wraps_costs_no_row(seam, clean):
    """Positions that begin again after a whole turn, at half a turn or in the middle of axis_d's
    way, give the motion and the rows of those that do not, wherever the limits are."""
    config, robot, _, messages = clean

    def wrap(role, message, t):
        if role == "joint_states":
            position = (np.array(message.position) - seam) % (2 * np.pi) + seam - 2 * np.pi
            message = Message(**{**vars(message), "position": position})
        return role, message, t

    usual, wrapped = run(config, robot, messages), run(config, robot, messages, wrap)
    for a, b in zip(usual[1], wrapped[1], strict=True):
        np.testing.assert_array_equal(a.valid, b.valid)
        np.testing.assert_allclose(np.exp(1j * b.mu), np.exp(1j * a.mu), atol=1e-6)
        np.testing.assert_allclose(b.mu_ddot, a.mu_ddot, atol=1e-5)
