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

"""ROS parameters from the settings: types, descriptions, ranges, overrides, and error messages."""
import pytest
import rclpy
from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter
from ros_bus import bus

from uvms_adaptive_dynamics.config import LIVE_BY_NODE, Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.ros.ros_parameters import (
    PARAMETER_TYPES,
    changes_sentence,
    config_from_parameters,
    watch_changes,
)


@pytest.fixture(scope="module")
def context():
    with bus() as made:
        yield made.context


@pytest.fixture
def declared(context):
    """Creates a node with overrides from the text of a parameter file and declares the settings on
    it."""
    nodes = []

    def make(tmp_path=None, text=None, arguments=()):
        if text is not None:
            path = tmp_path / "parameters.yaml"
            path.write_text(text)
            arguments = ["--params-file", str(path), *arguments]  # the last override wins
        node = rclpy.create_node("uvms_estimator", context=context,
                                 cli_args=["--ros-args", *arguments] if arguments else None,
                                 use_global_arguments=False)
        nodes.append(node)
        return node, config_from_parameters(node)

    yield make
    for node in nodes:
        node.destroy_node()


def file_with(*lines):
    return "/**:\n  ros__parameters:\n" + "".join(f"    {line}\n" for line in lines)


def test_without_overrides_the_config_is_the_default(declared):
    """Declaring changes nothing."""
    assert declared()[1] == Config()


def test_every_setting_is_declared_with_its_type_and_words(declared):
    """`ros2 param describe` shows type, description and unit of each; empty lists have their type
    too."""
    node, config = declared()
    for name, entry, value in config.settings():
        described, meta = node.describe_parameter(name), entry.metadata
        assert described.type == PARAMETER_TYPES[meta["kind"]].value, name
        assert described.description.startswith(meta["doc"])
        assert meta["unit"] in described.description
        stored = node.get_parameter(name)
        assert stored.type_ is PARAMETER_TYPES[meta["kind"]], name
        assert (tuple(stored.value) if isinstance(value, tuple) else stored.value) == value
        may = name in LIVE_BY_NODE["estimator"]
        assert ("Fixed at start: " in described.additional_constraints) == (not may)
        assert ("May change" in described.additional_constraints) == may


def test_ranges_are_in_the_descriptors(declared):
    """A scalar has a ROS range; ROS has none for lists, so their range is in the text."""
    node, _ = declared()
    horizon = node.describe_parameter("estimation.horizon").integer_range[0]
    assert (horizon.from_value, horizon.to_value, horizon.step) == (1, 20000, 1)
    alpha = node.describe_parameter("uncertainty.alpha").floating_point_range[0]
    assert (alpha.from_value, alpha.to_value) == (1e-6, 1.0)
    noise = node.describe_parameter("estimation.noise_stddev")
    assert noise.additional_constraints.startswith("Every element at least 1e-06.")
    assert "One of flu, frd." in node.describe_parameter("imu.frame").additional_constraints


def test_whole_numbers_stand_for_floats(declared, tmp_path):
    """`[0, 0, 1]` and `0` arrive as integers, which is how people write them."""
    node, config = declared(tmp_path, file_with("imu:", "  xyz: [0, 0, 1]", "  delay: 0"))
    assert config.imu.xyz == (0.0, 0.0, 1.0)
    assert node.get_parameter("imu.delay").type_ is Parameter.Type.DOUBLE
    assert node.get_parameter("imu.xyz").type_ is Parameter.Type.DOUBLE_ARRAY


def test_empty_lists_are_accepted(declared, tmp_path):
    """`[]` arrives without a type and means an empty list of the setting's type."""
    node, config = declared(tmp_path,
                            file_with("estimation:", "  frozen: []", "  noise_stddev: []",
                                      "robot.joints: []"))
    assert config.robot.joints == () and config.estimation.frozen == ()
    assert node.get_parameter("robot.joints").type_ is Parameter.Type.STRING_ARRAY
    noise = node.get_parameter("estimation.noise_stddev").get_parameter_value()
    assert noise.type == ParameterType.PARAMETER_DOUBLE_ARRAY


def test_the_node_name_and_the_command_line_are_heard(declared, tmp_path):
    """A section of the node's own name overrides /**, and -p overrides the file."""
    text = file_with("filter.period: 0.05", "dvl.delay: 0.1")
    text += "uvms_estimator:\n  ros__parameters:\n    dvl:\n      delay: 0.2\n"
    _, config = declared(tmp_path, text, ["-p", "filter.period:=0.04"])
    assert (config.filter.period, config.dvl.delay) == (0.04, 0.2)


def test_ros_own_parameters_are_not_settings(declared, tmp_path):
    """use_sim_time and QoS overrides may be in the same file."""
    _, config = declared(tmp_path,
                         file_with("use_sim_time: true", "qos_overrides:", "  /imu/data:",
                                   "    subscription:", "      depth: 5"))
    assert config == Config()


@pytest.mark.parametrize("line, words", [
    ("estimation.horizn: 5",
     ["'estimation.horizn' does not exist", "Did you mean 'estimation.horizon'"]),
    ("estimation.horizon: 0", ["'estimation.horizon' is 0", "from 1 to 20000"]),
    ("estimation.horizon: 2.5", ["'estimation.horizon' is 2.5", "a whole number"]),
    ("estimation.horizon: []", ["'estimation.horizon' is []", "a whole number"]),
    ("imu.enabled: 1", ["'imu.enabled' is 1", "true or false"]),
    ("imu.frame: ned", ["'imu.frame' is 'ned'", "'flu', 'frd'"]),
    ("robot.mount_xyz: [0.0, 0.0]", ["robot.mount_xyz", "3 numbers"]),
    ("imu.delay: .nan", ["'imu.delay' is nan", "a number"]),
    ("robot.joints: [a, a]", ["'robot.joints'", "every joint once"]),
    ("thrusters.signs: [1, 1]", ["'thrusters.signs'", "8 numbers"]),
    ("imu: 3", ["'imu' does not exist"]),
])
def test_what_cannot_be_used_is_refused_with_a_sentence(declared, tmp_path, line, words):
    """The message gives setting, got and expected."""
    with pytest.raises(ConfigError) as caught:
        declared(tmp_path, file_with(line))
    for word in words:
        assert word in str(caught.value)


def test_the_log_says_how_many_settings_differ():
    """With their names, which reveals a file whose settings do not arrive."""
    assert changes_sentence(Config()) == "no setting differs from the defaults"
    one = Config().with_values({"estimation.horizon": 7})
    assert changes_sentence(one) == "1 setting differs from the defaults: estimation.horizon"
    two = one.with_values({"imu.delay": 0.1})
    assert changes_sentence(two) == (
        "2 settings differ from the defaults: imu.delay, estimation.horizon")


def watched(declared):
    """(node, initial settings, [present settings])"""
    node, config = declared()
    held = [config]
    watch_changes(node, lambda: held[0], lambda new: held.__setitem__(0, new))
    return node, config, held


def test_settings_that_may_change_are_checked_and_applied(declared):
    """A good value is applied, a bad one is refused with a message, a fixed one with the reason."""
    node, config, held = watched(declared)
    good, bad, fixed = node.set_parameters([
        Parameter("output.file", value="other.yaml"),
        Parameter("output.diagnostics_period", value=0.0),
        Parameter("estimation.horizon", value=50)])
    assert good.successful and held[0].output.file == "other.yaml"
    assert not bad.successful and "output.diagnostics_period" in bad.reason
    assert not fixed.successful
    for words in ("'estimation.horizon'", "learnt data were weighted with it", "restart"):
        assert words in fixed.reason
    assert held[0].output.diagnostics_period == config.output.diagnostics_period


def test_of_settings_that_are_set_together_all_change_or_none(declared):
    """One bad or fixed setting refuses all others."""
    node, config, held = watched(declared)
    good = Parameter("dvl.timeout", value=0.5)
    for spoilt in (Parameter("joint_states.effort_masked", value=["elbow"]),
                   Parameter("filter.period", value=0.05)):
        answer = node.set_parameters_atomically([good, spoilt])
        assert not answer.successful and spoilt.name in answer.reason
        assert held[0] == config and node.get_parameter("dvl.timeout").value == 0.35
    assert node.set_parameters_atomically([good, Parameter("imu.timeout", value=0.2)]).successful
    assert (held[0].dvl.timeout, held[0].imu.timeout) == (0.5, 0.2)


def test_a_running_node_takes_what_a_file_may_hold(declared):
    """Integers for floats, `[]` without a type, and unchanged fixed settings: a file saved from a
    node can be loaded into it."""
    node, config, held = watched(declared)
    assert node.set_parameters_atomically([
        Parameter("depth.maximum", value=50), Parameter("estimation.horizon", value=100),
        Parameter("robot.mount_rpy", value=list(config.robot.mount_rpy)),
        Parameter("joint_states.effort_masked", value=["axis_b"])]).successful
    assert held[0].depth.maximum == 50.0
    assert node.get_parameter("depth.maximum").type_ is Parameter.Type.DOUBLE
    for empty in (Parameter("joint_states.effort_masked", Parameter.Type.NOT_SET),
                  Parameter("joint_states.effort_masked", Parameter.Type.STRING_ARRAY, [])):
        node.set_parameters([Parameter("joint_states.effort_masked", value=["axis_b"])])
        assert held[0].joint_states.effort_masked == ("axis_b",)
        assert node.set_parameters([empty])[0].successful
        assert held[0].joint_states.effort_masked == ()
    assert not node.set_parameters([Parameter("imu.timeout", Parameter.Type.NOT_SET)])[0].successful
    assert node.set_parameters([Parameter("use_sim_time", value=True)])[0].successful
