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

"""What the nodes share: descriptions of their parameters that come true, and an end that leaves
nothing running."""
from types import SimpleNamespace

import pytest
import rclpy
from rcl_interfaces.msg import Log, ParameterValue
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from ros_bus import bus

from uvms_adaptive_dynamics.config import LIVE, Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.ros import settings_node
from uvms_adaptive_dynamics.ros.estimator_node import EstimatorNode
from uvms_adaptive_dynamics.ros.feedforward_node import FeedforwardNode
from uvms_adaptive_dynamics.ros.identification_node import IdentificationNode
from uvms_adaptive_dynamics.ros.settings_node import SettingsNode
from uvms_adaptive_dynamics.ros.twin_node import TwinNode

SETTINGS = {name: (entry.metadata["kind"], value) for name, entry, value in Config().settings()}
MOVE = "identification.move"
NO_ARM = ("robot.joints", Parameter.Type.STRING_ARRAY, [])     # needs no robot description


@pytest.fixture
def start(ros):
    """Starts a node of a class and returns it."""
    nodes = []

    def make(kind, *arguments, overrides=(), **kwargs):
        made = kind(*arguments, context=ros.context, use_global_arguments=False,
                    parameter_overrides=[Parameter(*each) for each in overrides], **kwargs)
        nodes.append(made)
        return ros.begin(made)

    yield make
    for made in nodes:
        ros.end(made)


class Bare(SettingsNode):
    """A node that notes its starts and changes."""

    def __init__(self, **kwargs):
        super().__init__("bare", **kwargs)
        self.starts, self.changes = [], []

    def _start(self, description):
        self.starts.append(description)

    def _change(self, config):
        self.changes.append(config)
        self.config = config


@pytest.mark.parametrize("kind", [EstimatorNode, FeedforwardNode, IdentificationNode, TwinNode])
def test_settings_change_as_they_are_described(ros, start, tmp_path, kind):
    """`ros2 param describe` and `ros2 param set` agree about each setting of this node."""
    node = start(kind, overrides=[("output.directory", Parameter.Type.STRING, str(tmp_path)),
                                  (MOVE, Parameter.Type.BOOL, True)])
    service = f"/{node.full_name}/"
    names = [name for name, (kind_, _) in SETTINGS.items() if kind_ == "bool" or name in LIVE]
    described = ros.call(DescribeParameters, service + "describe_parameters",
                         DescribeParameters.Request(names=names)).descriptors
    for name, description in zip(names, described):
        kind_, value = SETTINGS[name]
        value = not getattr(*_place(node.config, name)) if kind_ == "bool" else _near(kind_, value)
        if value is None:
            continue
        answer, = ros.call(SetParameters, service + "set_parameters", SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])).results
        says_may = "May change" in description.additional_constraints
        assert answer.successful == says_may, (name, description.additional_constraints)
        assert says_may or description.additional_constraints.split("start: ")[-1].rstrip(".") in (
            answer.reason), name


def test_a_setting_of_another_node_is_refused_with_its_name(ros, start, tmp_path):
    """Rather than accepted without effect; so is a name that does not exist, with the nearest."""
    node = start(EstimatorNode, overrides=[("output.directory", Parameter.Type.STRING,
                                            str(tmp_path))])
    reasons = [result.reason for result in ros.call(
        SetParameters, f"/{node.full_name}/set_parameters", SetParameters.Request(parameters=[
            Parameter(name, value=1.5).to_parameter_msg()
            for name in ("feedforward.timeout", "dvl.time_out")])).results]
    assert reasons == [
        "setting 'feedforward.timeout' cannot change while the node runs, since only the node "
        "feedforward uses it. Change it there.",
        "setting 'dvl.time_out' does not exist. Did you mean 'dvl.timeout'?"]


def _place(config, name):
    section, field = name.split(".")
    return getattr(config, section), field


def _near(kind, value):
    """Another value of a setting that is in its range; None if its kind offers none."""
    return value * 0.99 if kind == "float" and value > 0 else None


def test_identify_describes_its_one_change(ros, start, tmp_path):
    """The permission to move may be withdrawn, not granted; of the rest the reason is its own."""
    node = start(IdentificationNode, overrides=[
        ("output.directory", Parameter.Type.STRING, str(tmp_path))])
    move, other = ros.call(DescribeParameters, f"/{node.full_name}/describe_parameters",
                           DescribeParameters.Request(names=[MOVE, "dvl.timeout"])).descriptors
    assert "May change to false while the node runs." in move.additional_constraints
    assert "Fixed at start: the node identify reads it at start." in other.additional_constraints


def test_a_start_and_a_change(ros, start):
    """A node without an arm starts at once; a change of a fixed setting does not reach it."""
    node = start(Bare, overrides=[NO_ARM])
    assert node.starts == [None] and node.full_name == "bare" and node.now() > 0
    node.set_parameters([Parameter("dvl.timeout", value=0.5)])
    node.set_parameters([Parameter("filter.period", value=0.5)])
    assert [config.dvl.timeout for config in node.changes] == [0.5]


def test_unusable_settings_end_the_start(ros):
    with pytest.raises(ConfigError, match="filter.period"):
        Bare(context=ros.context, use_global_arguments=False,
             parameter_overrides=[Parameter("filter.period", value=-1.0)])


def test_the_end_runs_in_reverse_and_whatever_fails(ros):
    """The node leaves the graph last, also if a thread cannot be joined."""
    node, ended = Bare(context=ros.context, use_global_arguments=False), []
    node._at_end.callback(ended.append, "first made")
    node._at_end.callback(SimpleNamespace().__getattribute__, "fails")
    node._at_end.callback(ended.append, "last made")
    with pytest.raises(AttributeError):
        node.close()
    assert ended == ["last made", "first made"]
    ros.until(lambda: "bare" not in ros.operator.get_node_names(), what="the end of the node")


def test_an_error_of_a_thread_is_in_the_log(ros, start):
    """With what failed and which error."""
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    node = start(Bare, overrides=[NO_ARM])
    ros.until(lambda: node.count_subscribers("/rosout"), what="the listener")
    node._report_failed("a look")(ValueError("of glass"))
    ros.until(lambda: any(line.msg == "a look failed (ValueError: of glass)" for line in log),
              what="the error")


def test_an_error_while_the_node_shuts_down_is_not_logged(ros, start, monkeypatch):
    """Publishing is no longer possible then, not even the log."""
    node = start(Bare, overrides=[NO_ARM])
    said = []
    monkeypatch.setattr(node, "get_logger", lambda: SimpleNamespace(
        error=lambda message, **_: said.append(message)))
    for ok in (True, False):
        monkeypatch.setattr(node.context, "ok", lambda ok=ok: ok)
        node._report_failed("a look")(ValueError("of glass"))
    assert said == ["a look failed (ValueError: of glass)"]
    monkeypatch.undo()


@pytest.mark.parametrize("service", [SetParameters, SetParametersAtomically])
def test_a_request_with_an_unknown_type_does_not_end_the_node(ros, start, service):
    """rclpy raises in the executor; the next request is answered as ever."""
    node = start(Bare, overrides=[NO_ARM])
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    ros.until(lambda: node.count_subscribers("/rosout"), what="the listener")
    name = f"/bare/set_parameters{'_atomically' if service is SetParametersAtomically else ''}"
    bad = ParameterMessage(name="dvl.timeout", value=ParameterValue(type=77))
    ros.call(service, name, service.Request(parameters=[bad]))
    ros.until(lambda: any("77 is not a valid Parameter.Type" in line.msg for line in log),
              what="the refusal")
    ros.call(service, name, service.Request(
        parameters=[Parameter("dvl.timeout", value=0.5).to_parameter_msg()]))
    assert node.config.dvl.timeout == 0.5


def test_a_second_node_of_the_name_is_reported_and_its_end(ros, start, monkeypatch):
    """ROS accepts it, and subscribers receive both; a node of another namespace is no matter."""
    monkeypatch.setattr(settings_node, "NAMESAKES_S", 0.05)
    node, said, looked = start(Bare, overrides=[NO_ARM]), [], []
    # A node's end takes the log of its namesakes in the same process off /rosout.
    monkeypatch.setattr(node, "get_logger", lambda: SimpleNamespace(warning=said.append,
                                                                    info=said.append))
    monkeypatch.setattr(node, "get_name", lambda: looked.append(0) or "bare")
    with bus(name="others") as others:
        elsewhere = rclpy.create_node("bare", context=others.context, namespace="/elsewhere")
        ros.until(lambda: node.get_node_names().count("bare") == 2, what="the node elsewhere")
        looked.clear()
        ros.until(lambda: len(looked) > 2, what="looks")
        assert said == []
        namesake = rclpy.create_node("bare", context=others.context)
        ros.until(lambda: node.namesakes, what="the warning")
        for each in (elsewhere, namesake):
            each.destroy_node()
    ros.until(lambda: not node.namesakes, what="the end of the warning")
    assert [text[:36] for text in said] == ["2 nodes are called '/bare', so what ",
                                            "no other node is called '/bare' any "]
