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

"""Layouts for RViz, PlotJuggler, Foxglove and the diagnostic aggregator: each parses and uses only
existing topics, fields and statuses."""
import ast
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.config import NODE_NAME, Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.topics import OUTPUTS, inputs

ROOT = Path(__file__).resolve().parents[2]
LAYOUTS = ROOT / "layouts"
TYPES = {f"/{NODE_NAME}/{output.name}": output.type for output in OUTPUTS}
TYPES |= {f"/{each.topic}": each.type for each in inputs(Config())}
ROBOT = RobotModel.from_config(Config())
STORE = get_typestore(Stores.ROS2_JAZZY)
# Position of the status name among the arguments of each constructor.
PLACES = {"Status": 1, "InputStatus": 1, "_status": 0}


def has_field(kind, path):
    """Whether a message type has the field of this path, ignoring indices."""
    for name in path:
        fields = dict(STORE.fielddefs[kind][1])
        if name not in fields:
            return False
        code, detail = fields[name]
        while isinstance(detail, tuple) and not isinstance(detail[0], str):
            code, detail = detail[0]
        kind = detail if isinstance(detail, str) else detail[0]
    return True


def split_topic(name):
    """Split a path that begins with a topic into (topic, rest)."""
    topic = max((t for t in TYPES if name == t or name[len(t):len(t) + 1] in "/." and
                 name.startswith(t)), key=len, default=None)
    assert topic is not None, f"{name}: no such topic"
    return topic, name[len(topic):]


def curve_exists(name):
    """Whether a PlotJuggler series exists: a field, or <name>/position and the like of a joint
    state."""
    topic, rest = split_topic(name)
    parts = rest.strip("/").split("/")
    if TYPES[topic] == "sensor_msgs/msg/JointState":
        names = ROBOT.table.names if "parameters" in topic else ROBOT.joints
        return len(parts) == 2 and parts[0] in names and parts[1] in ("position", "effort")
    return has_field(TYPES[topic], parts)


def test_every_curve_of_plotjuggler_exists():
    """Every topic is also subscribed to."""
    root = ElementTree.parse(LAYOUTS / "plotjuggler.xml").getroot()
    curves = [curve.get("name") for curve in root.iter("curve")]
    chosen = {topic.get("name") for topic in root.iter("topic")}
    assert len(curves) > 40 and all(map(curve_exists, curves))
    assert chosen == {split_topic(curve)[0] for curve in curves}
    for splitter in root.iter("DockSplitter"):
        assert len(list(splitter)) == int(splitter.get("count")) == len(
            splitter.get("sizes").split(";"))
    assert {f"measured_{what}" for what in ("wrench", "joint_states")} <= {
        topic.rsplit("/", 1)[1] for topic in chosen}


def test_a_curve_that_does_not_exist_would_be_found():
    """The check itself can fail."""
    assert curve_exists("/uvms_estimator/predicted_wrench/wrench/force/x")
    assert not curve_exists("/uvms_estimator/predicted_wrench/wrench/force/w")
    assert not curve_exists("/uvms_estimator/parameters/m_of_nothing/position")
    with pytest.raises(AssertionError, match="no such topic"):
        curve_exists("/uvms_estimator/prediction/wrench")


def test_every_path_of_foxglove_exists():
    """Paths are fields of topics; every panel is in the layout once."""
    content = json.loads((LAYOUTS / "foxglove.json").read_text())
    paths = [path["value"] for panel in content["configById"].values()
             for path in panel.get("paths", [])]
    paths += [panel["topicPath"] for panel in content["configById"].values()
              if "topicPath" in panel]
    assert len(paths) == 6 * 2 + 4 * 2 + 2
    for path in paths:
        topic, rest = split_topic(path)
        assert has_field(TYPES[topic], re.sub(r"\[\d+\]", "", rest).split(".")[1:]), path

    def panels(node):
        return [node] if isinstance(node, str) else panels(node["first"]) + panels(node["second"])
    assert sorted(panels(content["layout"])) == sorted(content["configById"])


def test_every_topic_of_rviz_exists_with_its_display():
    """Wrench displays show wrench topics, and the frame is the node's."""
    content = yaml.safe_load((LAYOUTS / "view.rviz").read_text())["Visualization Manager"]
    shown = [display for display in content["Displays"] if "Topic" in display]
    assert len(shown) == 2
    for display in shown:
        assert display["Class"] == "rviz_default_plugins/Wrench"
        assert TYPES[display["Topic"]["Value"]] == "geometry_msgs/msg/WrenchStamped"
    assert content["Global Options"]["Fixed Frame"] == Config().output.base_frame


def test_every_status_is_in_one_group_of_the_aggregator():
    """Status names as in the node's source code."""
    sources = [ROOT / "uvms_adaptive_dynamics" / name for name in (
        "ros/diagnostics.py", "ros/unused_data.py", "signals/health.py")]
    names = {"input imu"}
    for source in sources:
        for call in ast.walk(ast.parse(source.read_text())):
            place = PLACES.get(getattr(getattr(call, "func", None), "id", ""))
            if place is not None:
                names |= {argument.value for argument in call.args[place:place + 1]
                          if isinstance(argument, ast.Constant)}
    assert {"overall", "solver", "frames", "refused messages"} <= names
    groups = yaml.safe_load((LAYOUTS / "diagnostics.yaml").read_text())["analyzers"][
        "ros__parameters"]["estimator"]["analyzers"]
    starts = [start for group in groups.values() for start in group["startswith"]]
    for name in names:
        matching = [s for s in starts if f"{NODE_NAME}: {name}".startswith(s)]
        assert len(matching) == 1, name
    for start in starts:
        assert any(f"{NODE_NAME}: {name}".startswith(start) or name in ("recorder", "memory")
                   for name in names), start
