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

"""SDF for Gazebo Harmonic: tags, signs, and the total wrench of plugin, added mass, weight and
volume."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from export_cases import (
    CONFIG,
    FLIP,
    added_wrench,
    close,
    estimate,
    held_wrench,
    motions,
    rigid_wrench,
    wrench_of,
)

from uvms_adaptive_dynamics.export import gazebo

WORLD = CONFIG.robot


def model_of(identified):
    return ET.fromstring(gazebo.write(identified).text).find("model")


def position(parent):
    return np.array(parent.find("pose").text.split()[:3], float)


def their_wrench(model, down, nu, nu_dot):
    """Wrench in FLU: the physics engine's body with its fluid, less the forces of both plugins."""
    inertial, collision = model.find("link/inertial"), model.find("link/collision")
    mass, centre = float(inertial.find("mass").text), position(inertial)
    inertia = np.diag([float(inertial.find(f"inertia/i{a}{a}").text) for a in "xyz"])
    added = np.zeros((6, 6))
    for entry in inertial.find("fluid_added_mass"):
        i, j = ("xyzpqr".index(letter) for letter in entry.tag)
        added[i, j] = added[j, i] = float(entry.text)
    plugin = {entry.tag: entry.text for entry in model.find("plugin")}
    pushed = np.zeros(6)
    for i, force in enumerate("xyzkmn"):
        for j, speed in enumerate("UVWPQR"):
            pushed[i] += float(plugin[force + speed]) * nu[j]
            for k, other in enumerate("UVWPQR"):
                pushed[i] += float(plugin.get(f"{force}{speed}abs{other}", 0)) * abs(nu[k]) * nu[j]
    volume = np.prod([float(side) for side in collision.find("geometry/box/size").text.split()])
    lift = -WORLD.water_density * WORLD.gravity * volume * down
    return (rigid_wrench(mass, centre, inertia, nu, nu_dot) + added_wrench(added, nu, nu_dot)
            - pushed + held_wrench(mass * WORLD.gravity * down, centre)
            + held_wrench(lift, position(collision)))


@pytest.mark.parametrize("seed", range(4))
def test_gazebo_needs_the_same_wrench(seed):
    """Holds for any estimate, couplings included, to 1e-9."""
    identified = estimate(seed)
    model = model_of(identified)
    for _, R, nu, nu_dot in motions(seed):
        theirs = their_wrench(model, FLIP[:3] * R[2], FLIP * nu, FLIP * nu_dot)
        assert close(FLIP * theirs, wrench_of(identified, R, nu, nu_dot))


def test_every_coefficient_is_written_and_added_mass_once():
    """There are 36 linear and 36 quadratic coefficients, none positive; added mass is only in the
    link."""
    model = model_of(estimate(1))
    tags = [entry.tag for entry in model.find("plugin")]
    numbers = {entry.tag: float(entry.text) for entry in model.find("plugin")
               if entry.tag[0] in "xyzkmn"}
    assert len(tags) == len(set(tags)) and len(numbers) == 72
    assert {"xU", "yV", "zW", "kP", "mQ", "nR", "xUabsU", "nRabsR"} <= set(numbers)
    assert all(value <= 0 for value in numbers.values())
    assert not any("Dot" in tag for tag in tags)
    added = model.find("link/inertial/fluid_added_mass")
    assert len(added) == 21
    assert all(float(added.find(tag).text) > 0 for tag in ("xx", "yy", "zz", "pp", "qq", "rr"))


def test_it_is_read_back():
    """All 27 parameters are read back, also in another world."""
    config = CONFIG.with_values({"robot.water_density": 1025.0, "robot.gravity": 9.81})
    identified = estimate(2, config)
    found = gazebo.read(gazebo.write(identified).text, config)
    for name in set(found) - {"W", "B"}:
        assert abs(found[name] - identified.pick([name])[0]) < 1e-9, name
    assert close(found["W"] - found["B"], -np.diff(identified.pick(("W", "B")))[0])
