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

"""Factors on measurements in a saved estimate: read, checked, told."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.scales import LARGEST_CORRECTION, Scales

CHANNELS = ("surge", "sway", "heave")


def test_factors_are_read_and_told():
    """A factor that is not stated is one, and is not told."""
    none = Scales.saved({}, CHANNELS, 2, "file")
    np.testing.assert_array_equal(none.effort, np.ones(3))
    np.testing.assert_array_equal(none.thruster, np.ones(2))
    assert none.velocity == 1.0 and none.words(CHANNELS) == []
    some = Scales.saved({"effort_factor": {"heave": 0.8}, "velocity_factor": 1.25,
                         "thruster_factor": [1, -0.5], "thruster_order": [-2, 1]}, CHANNELS, 2,
                        "file")
    assert some.words(CHANNELS) == ["heave times 0.8", "thruster 2 times -0.5",
                                    "the vehicle's velocity times 1.25",
                                    "commands for thrusters [-2, 1]"]
    assert some.any and not some.none().any
    assert Scales.saved({"thruster_order": [2, 1]}, CHANNELS, 2, "file").any


@pytest.mark.parametrize(("key", "value", "said"), (
    ("effort_factor", "half", "is 'half'; expected a mapping"),
    ("effort_factor", {"surge": float("nan")}, "from 0.001 to 5"),
    ("effort_factor", {"surge": -1.0}, "from 0.001 to 5"),
    ("effort_factor", {"surge": 0.0}, "from 0.001 to 5"),
    ("effort_factor", {"surge": 1e9}, "from 0.001 to 5"),
    ("effort_factor", {"surge": "2"}, "from 0.001 to 5"),
    ("effort_factor", {"surge": True}, "from 0.001 to 5"),
    ("effort_factor", None, "is None; expected a mapping"),
    ("interval_factor", {"surge": float("inf")}, "from 0.001 to 5"),
    ("effort_size", {"surge": 0.0}, "to positive numbers"),
    ("effort_size", {"surge": float("inf")}, "to positive numbers"),
    ("effort_size", [1.0], "to positive numbers"),
    ("velocity_factor", -2.0, "is -2.0; expected a number from 0.001 to 5"),
    ("velocity_factor", [1.0], r"is \[1.0\]; expected a number"),
    ("thruster_order", "half", "is 'half'; expected a list"),
    ("thruster_order", [1, 1], "each thruster's number, from 1, once"),
    ("thruster_order", [0, 1], "each thruster's number, from 1, once"),
    ("thruster_order", [1.0, 2.0], "each thruster's number, from 1, once"),
    ("thruster_factor", "half", "is 'half'; expected a list"),
    ("thruster_factor", [0.5, float("nan")], "of size up to 5"),
    ("thruster_factor", [0.5, -1e9], "of size up to 5"),
))
def test_unusable_factors_are_refused(tmp_path, key, value, said):
    """They would spoil every measurement: the file is refused, naming the entry and what to do,
    and no such file is written."""
    config = Config().with_values({"robot.joints": []})
    prior = prior_from_config(config, RobotModel.from_config(config))
    path = save_parameters(tmp_path / "state.yaml", replace(prior, learned={"rows": 5}))
    path.write_text(path.read_text().replace("rows: 5", f"{key}: {_yaml(value)}"))
    with pytest.raises(ParameterError, match=rf"state.yaml'.*{key} .*{said}.*delete '{key}'"):
        load_parameters(path)
    with pytest.raises(ParameterError, match="not saved"):
        save_parameters(tmp_path / "other.yaml", replace(prior, learned={key: value}))


def test_factors_of_another_robot_are_refused():
    """Channels and thrusters that this robot does not have."""
    with pytest.raises(ParameterError, match="file: effort_factor names 'yaw'; expected channels of"
                                             r" this robot \(surge, sway, heave\)"):
        Scales.saved({"effort_factor": {"yaw": 1.1}}, CHANNELS, 2, "file")
    with pytest.raises(ParameterError, match="thruster_factor has 3 entries, expected one for each "
                                             "of the 2 thrusters"):
        Scales.saved({"thruster_factor": [1.0, 0.0, 1.0]}, CHANNELS, 2, "file")


def test_a_correction_beyond_the_largest_is_not_usable():
    """Its noise would grow as much as the measurement."""
    assert Scales(np.array([1.0, LARGEST_CORRECTION]), 0.2, np.array([0.0, -1.0])).usable
    assert not Scales(np.array([1.0, 1.01 * LARGEST_CORRECTION])).usable
    assert not Scales(np.ones(2), 1.01 * LARGEST_CORRECTION).usable
    assert not Scales(np.ones(2), -1.0).usable
    assert not Scales(np.ones(2), 1.0, np.array([1.01 * LARGEST_CORRECTION])).usable


def _yaml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, str):
        return f"'{value}'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true"}[value]
    return {"nan": ".nan", "inf": ".inf"}.get(str(value), f"{value:.1f}")
