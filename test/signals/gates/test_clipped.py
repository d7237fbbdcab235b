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

"""Velocities at the end of their sensor's range."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from signal_runs import run

from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.gates.clipped import AT_LIMIT, ClippedVelocities

RNG = np.random.default_rng(1)


def velocities(seconds=120.0, rate=10.0, noise=0.01):
    """(k, 3) [m/s] of a vehicle that goes to and fro, with noise."""
    t = np.arange(0.0, seconds, 1.0 / rate)
    angle = np.outer(t, [0.5, 0.8, 1.1]) + [0.0, 1.0, 2.0]
    return 0.4 * np.sin(angle) + noise * RNG.normal(size=(t.size, 3))


def found(values, axes=np.eye(3)):
    """The gate, and (k,) which of the values (k, 3) in the sensor's axes it finds at a limit."""
    gate = ClippedVelocities(axes.ravel().tolist(), 0.01)
    return gate, np.array([gate.at_limit((axes @ v).tolist()) for v in values])


@pytest.mark.parametrize("axes", [np.eye(3), from_rpy(0.1, 0.2, 0.8)])
def test_clipped_velocities_are_found_in_the_sensors_own_axes(axes):
    """All but the first few at each limit, which prove it, and no others."""
    clipped = np.clip(velocities(), -0.3, 0.25)
    at_limit = np.isin(clipped, [-0.3, 0.25]).any(axis=1)
    gate, seen = found(clipped, axes)
    assert not seen[~at_limit].any() and np.sum(at_limit & ~seen) < 40 < 0.2 * seen.sum()
    (sentence,) = gate.sentences()
    assert all(f"{name} at -0.3 m/s" in sentence and f"{name} at 0.25 m/s" in sentence
               for name in "xyz")


@pytest.mark.parametrize("step, noise", [(1e-9, 0.01), (0.001, 0.01), (0.01, 0.01), (0.05, 0.01),
                                         (0.05, 0.0)])
def test_the_extremes_of_a_sensor_that_is_not_clipped_are_measurements(step, noise):
    """Whatever its resolution, also while the vehicle goes at its largest speed for a while."""
    values = velocities(noise=noise)
    values[600:800] = [0.41, -0.42, 0.0] + noise * RNG.normal(size=(200, 3))
    gate, seen = found(np.round(values / step) * step)
    assert not seen.any() and gate.sentences() == []


def test_a_value_beyond_a_limit_ends_it():
    """A range that was set larger, or values that were no limit."""
    values = velocities()
    values[:600] = np.clip(values[:600], -0.3, 0.3)
    gate, seen = found(values)
    assert seen[:600].sum() > 100 and not seen[620:].any() and gate.sentences() == []


def test_clipped_velocities_are_not_used_and_the_operator_is_told(clean):
    """Of a DVL that measures no more than .1 m/s on each axis."""
    config, robot, _, messages = clean

    def clip(role, message, t):
        if role == "dvl":
            v = message.twist.twist.linear
            linear = Message(**{axis: float(np.clip(getattr(v, axis), -0.1, 0.1))
                                for axis in "xyz"})
            message = Message(**{**vars(message), "twist": Message(
                twist=Message(linear=linear), covariance=message.twist.covariance)})
        return role, message, t

    front, samples = run(config, robot, messages, clip)
    assert front.inputs["dvl"].doubted[AT_LIMIT] > 20
    assert any(text.startswith("dvl: its velocities are clipped") for text in front.warnings)
    assert not all(sample.valid[:6].all() for sample in samples[100:])
