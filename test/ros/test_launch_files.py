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

"""The launch files, run against a recorder in place of `launch` and `launch_ros`, which are not on
pip.

Arguments and started nodes are checked against the package's names; `test_real_launch.py` runs the
files where `ros2 launch` is installed.
"""
import ast
import functools
import importlib.util
import sys
import types
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.config import NODE_NAME, Config, load_config
from uvms_adaptive_dynamics.ros.feedforward_node import FEEDFORWARD_NODE
from uvms_adaptive_dynamics.signals.topics import FEEDFORWARD_OUTPUTS

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ROOT / "launch"
ESTIMATOR_ARGUMENTS = {"params_file", "namespace", "name", "use_sim_time", "solver", "prior",
                       "directory", "record", "respawn", "respawn_delay", "log_level"}

# Names that the files import, by module.
MODULES = {
    "launch": ("LaunchDescription",),
    "launch.actions": ("DeclareLaunchArgument", "GroupAction", "IncludeLaunchDescription",
                       "OpaqueFunction", "RegisterEventHandler", "Shutdown"),
    "launch.conditions": ("IfCondition", "UnlessCondition"),
    "launch.event_handlers": ("OnProcessExit",),
    "launch.launch_description_sources": ("PythonLaunchDescriptionSource",),
    "launch.substitutions": ("LaunchConfiguration", "PathJoinSubstitution"),
    "launch_ros": (),
    "launch_ros.actions": ("Node", "SetRemap"),
    "launch_ros.parameter_descriptions": ("ParameterValue",),
    "launch_ros.substitutions": ("FindPackageShare",),
}


class Recorded:
    """An action or substitution that records its arguments."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def perform(self, context):
        return context.launch_configurations.get(self.args[0], "")


class Context:
    """Launch context with the values of the arguments."""

    def __init__(self, **values):
        self.launch_configurations = values


@pytest.fixture
def launch_file(monkeypatch):
    """Imports a launch file with the recorder in place and returns its module."""
    for name, members in MODULES.items():
        module = types.ModuleType(name)
        for member in members:
            setattr(module, member, type(member, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, name, module)

    def load(name):
        spec = importlib.util.spec_from_file_location("launch_file_under_test", LAUNCH / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return load


def actions(description, kind):
    return [action for action in description.args[0] if type(action).__name__ == kind]


def arguments(description):
    return {action.args[0]: action.kwargs
            for action in actions(description, "DeclareLaunchArgument")}


def started(load, file, params_file=__file__, **values):
    """Nodes and handlers that a launch file starts, including those of its includes, in order."""
    values = {"params_file": str(params_file), **values}
    description = load(file).generate_launch_description()
    declared = {name: kwargs["default_value"] for name, kwargs in arguments(description).items()
                if isinstance(kwargs["default_value"], str)}
    return list(performed(load, description.args[0], Context(**{**declared, **values})))


def performed(load, made, context):
    for action in made:
        kind = type(action).__name__
        if kind == "OpaqueFunction":
            yield from performed(load, action.kwargs["function"](context), context)
        elif kind == "GroupAction":
            yield from performed(load, action.args[0], context)
        elif kind == "IncludeLaunchDescription":
            given = {name: value.perform(context) if isinstance(value, Recorded) else value
                     for name, value in action.kwargs["launch_arguments"]}
            pushed = {"ros_namespace": context.launch_configurations.get("ros_namespace", "")}
            yield from started(load, included_file(action), **{**pushed, **given})
        elif kind != "DeclareLaunchArgument":
            yield action


def included_file(action):
    """Name of an included launch file, which must exist in the package."""
    path = Path(*action.args[0].args[0].args[0][1:])
    assert (ROOT / path).is_file()
    return path.name


def node_of(load, file, params_file=__file__, **values):
    """The last node that a launch file starts."""
    return [action for action in started(load, file, params_file, **values)
            if type(action).__name__ == "Node"][-1]


def executables():
    """Names of the console scripts in setup.py."""
    text = (ROOT / "setup.py").read_text()
    return {line.split('"')[1].split("=")[0].strip()
            for line in text.splitlines() if "{package_name}.programs:" in line}


@pytest.mark.parametrize("file",
                         sorted(path.name for path in LAUNCH.iterdir() if path.suffix == ".py"))
def test_only_the_launch_api_is_imported(file):
    """A launch file must load on a station without this package's Python dependencies."""
    for statement in ast.walk(ast.parse((LAUNCH / file).read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.module != "pathlib":
            assert statement.module in MODULES
            assert {alias.name for alias in statement.names} <= set(MODULES[statement.module])
        # launch_ros itself reads parameter files with it.
        assert (not isinstance(statement, ast.Import)
                or [alias.name for alias in statement.names] == ["yaml"])


def test_the_estimator_has_its_arguments(launch_file):
    """Each argument has a default and a description."""
    declared = arguments(launch_file("estimator.launch.py").generate_launch_description())
    assert set(declared) == ESTIMATOR_ARGUMENTS
    assert all("default_value" in kwargs and kwargs["description"] for kwargs in declared.values())


def test_the_estimator_node_is_the_package_s(launch_file):
    """Executable and node name match setup.py and config; the parameter file comes first, so that
    arguments override it."""
    node = node_of(launch_file, "estimator.launch.py")
    assert node.kwargs["executable"] in executables() and node.kwargs["name"] == NODE_NAME
    file, overrides = node.kwargs["parameters"]
    assert file == __file__
    assert set(overrides) == {"use_sim_time"}


def test_a_missing_parameter_file_is_refused(launch_file):
    """launch_ros would only warn and start the node with the defaults."""
    with pytest.raises(RuntimeError, match="'/nowhere.yaml', which is not a file"):
        node_of(launch_file, "estimator.launch.py", params_file="/nowhere.yaml")


def test_arguments_become_settings_that_exist(launch_file):
    """solver, prior, directory and record override settings of the config, as strings."""
    overrides = node_of(launch_file, "estimator.launch.py", solver="clarabel",
                               prior="built-in", directory="/data",
                               record="/tmp/bag").kwargs["parameters"][1]
    overrides.pop("use_sim_time")
    assert {name: value.args[0] for name, value in overrides.items()} == {
        "estimation.solver": "clarabel", "prior.file": "", "output.directory": "/data",
        "output.record": "/tmp/bag"}
    assert set(overrides) <= {name for name, _, _ in Config().settings()}
    assert all(value.kwargs == {"value_type": str} for value in overrides.values())


@pytest.mark.parametrize("record, expected", [
    ("/data/dive", "/data/dive_{time}"), ("auto", "auto"), ("/data/{time}", "/data/{time}"),
    ("none", "")])
def test_a_node_that_is_started_again_never_finds_its_recording_there(launch_file, record,
                                                                      expected):
    """With respawn, every name contains the time."""
    node = node_of(launch_file, "estimator.launch.py", respawn="true", respawn_delay="3.5",
                          record=record)
    assert node.kwargs["parameters"][1]["output.record"].args[0] == expected
    assert node.kwargs["respawn"] is True and node.kwargs["respawn_delay"] == 3.5


@pytest.mark.parametrize("namespace, pushed, name, logger", [
    ("", "", "", "uvms_estimator"), ("boat", "", "", "boat.uvms_estimator"),
    ("/fleet/boat", "/other", "", "fleet.boat.uvms_estimator"),
    ("boat", "/fleet", "two", "fleet.boat.two")])
def test_the_log_level_is_that_of_the_node_s_logger(launch_file, namespace, pushed, name, logger):
    """The logger name includes the namespace and that of an enclosing group."""
    node = node_of(launch_file, "estimator.launch.py", namespace=namespace, name=name,
                          ros_namespace=pushed, log_level="debug")
    assert node.kwargs["arguments"][-1] == f"{logger}:=debug"


@pytest.mark.parametrize("file", ["feedforward", "twin"])
@pytest.mark.parametrize("namespace, pushed, before", [
    ("", "", ""), ("boat", "/fleet", "fleet.boat."), ("/boat", "/other", "boat.")])
def test_so_are_those_of_feedforward_and_twin(launch_file, file, namespace, pushed, before):
    """In any namespace."""
    node = node_of(launch_file, f"{file}.launch.py", namespace=namespace,
                          ros_namespace=pushed, log_level="debug")
    assert node.kwargs["arguments"][-1] == f"{before}uvms_{file}:=debug"


def test_the_identification_is_the_package_s_and_brings_its_estimator(launch_file):
    """Executable and name match setup.py; the estimator gets the same settings."""
    estimator, node = (action for action in started(launch_file, "identify.launch.py")
                       if type(action).__name__ == "Node")
    assert (estimator.kwargs["name"], node.kwargs["name"]) == (NODE_NAME, "uvms_identification")
    assert node.kwargs["executable"] in executables()
    assert estimator.kwargs["parameters"][0] == node.kwargs["parameters"][0] == __file__
    with pytest.raises(RuntimeError, match="is not a file"):
        started(launch_file, "identify.launch.py", params_file="/nowhere.yaml")


@pytest.mark.parametrize("file, name", [
    ("estimator", NODE_NAME), ("feedforward", FEEDFORWARD_NODE), ("twin", "uvms_twin"),
    ("identify", "uvms_identification")])
def test_a_node_that_fails_fails_the_launch(launch_file, file, name):
    """Except during shutdown."""
    *_, handler, node = (action for action in started(launch_file, f"{file}.launch.py")
                         if type(action).__name__ != "SetRemap")
    assert handler.args[0].kwargs["target_action"] is node
    ended, running = types.SimpleNamespace, types.SimpleNamespace(is_shutdown=False)
    on_exit = handler.args[0].kwargs["on_exit"]
    on_exit(ended(returncode=0), running)
    on_exit(ended(returncode=1), types.SimpleNamespace(is_shutdown=True))
    with pytest.raises(RuntimeError, match=f"{name} ended with status 1"):
        on_exit(ended(returncode=1), running)


def test_a_node_that_is_started_again_does_not(launch_file):
    """With respawn there is no such handler."""
    assert len(started(launch_file, "estimator.launch.py", respawn="true")) == 1


def test_the_default_parameter_file_is_in_the_package(launch_file):
    """setup.py installs the default file from config/."""
    declared = arguments(launch_file("estimator.launch.py").generate_launch_description())
    default = declared["params_file"]["default_value"]
    assert (ROOT / Path(*default.args[0][1:])).is_file()


def test_the_feedforward_node_is_the_package_s_and_its_outputs_have_other_names(launch_file):
    """Executable, node name and outputs match setup.py and the topic table."""
    *remaps, _, node = started(launch_file, "feedforward.launch.py")
    assert node.kwargs["executable"] in executables() and node.kwargs["name"] == FEEDFORWARD_NODE
    outputs = {f"~/{output.name}" for output in FEEDFORWARD_OUTPUTS}
    declared = arguments(launch_file("feedforward.launch.py").generate_launch_description())
    assert remaps and {remap.args[0] for remap in remaps} <= outputs
    assert all(declared[remap.args[0][2:]]["default_value"] == remap.args[0]
               and remap.args[1].args == (remap.args[0][2:],) for remap in remaps)


@pytest.mark.parametrize("file", ["bluerov2_mavros", "demo", "estimator", "identify"])
def test_no_recording_has_a_word(launch_file, file):
    """`ros2 launch` refuses `record:=`, an empty value, as malformed."""
    declared = arguments(launch_file(f"{file}.launch.py").generate_launch_description())
    assert "none" in declared["record"]["description"]


def test_the_demo_starts_both_and_ends_with_the_robot(launch_file):
    """It includes the estimator's launch file of the package and ends when the robot ends."""
    description = launch_file("demo.launch.py").generate_launch_description()
    assert {"seed", "duration", "record", "namespace", "use_sim_time"} <= set(
        arguments(description))
    robot, = actions(description, "Node")
    assert robot.kwargs["executable"] in executables()
    assert set(robot.kwargs["parameters"][0]) == {"seed", "duration", "publish_clock"}
    assert robot.kwargs["namespace"].args == ("namespace",)
    included, = actions(description, "IncludeLaunchDescription")
    assert included_file(included) == "estimator.launch.py"
    assert set(dict(included.kwargs["launch_arguments"])) <= ESTIMATOR_ARGUMENTS
    handler, = actions(description, "RegisterEventHandler")
    assert handler.args[0].kwargs["target_action"] is robot


def test_the_closed_loop_ends_with_its_controller(launch_file):
    """Starts robot, estimator and controller; every argument is a declared parameter of one of
    them."""
    description = launch_file("closed_loop.launch.py").generate_launch_description()
    assert set(arguments(description)) == {"seed", "duration", "feedforward", "pick_up_at",
                                           "drop_at"}
    robot, controller = actions(description, "Node")
    assert {robot.kwargs["executable"], controller.kwargs["executable"]} <= executables()
    for node, file in ((robot, "simulated_robot"), (controller, "controller")):
        source = (ROOT / f"uvms_adaptive_dynamics/ros/demo/{file}.py").read_text()
        assert all(f'_declare("{name}"' in source for name in node.kwargs["parameters"][0])
    handlers = actions(description, "RegisterEventHandler")
    assert [handler.args[0].kwargs["target_action"] for handler in handlers] == [robot, controller]


@pytest.mark.parametrize("file", ["demo", "closed_loop"])
def test_a_demonstration_that_fails_fails_the_launch(launch_file, file):
    """One that ends well ends it, and so does one that is stopped."""
    end = launch_file(f"{file}.launch.py").end
    ended = functools.partial(types.SimpleNamespace, action=types.SimpleNamespace(name="robot-1"))
    running = types.SimpleNamespace(is_shutdown=False)
    for event, context in ((ended(returncode=0), running),
                           (ended(returncode=-2), types.SimpleNamespace(is_shutdown=True))):
        assert [type(action).__name__ for action in end(event, context)] == ["Shutdown"]
    with pytest.raises(RuntimeError, match="ended with status 1"):
        end(ended(returncode=1), running)


def test_the_twin_takes_the_estimator_s_file(launch_file):
    """The executable belongs to the package; the parameter file comes first."""
    declared = arguments(launch_file("twin.launch.py").generate_launch_description())
    assert set(declared) == {"params_file", "namespace", "use_sim_time", "log_level"}
    node = node_of(launch_file, "twin.launch.py")
    assert node.kwargs["executable"] in executables() and node.kwargs["name"] == "uvms_twin"
    assert node.kwargs["parameters"][0] == __file__


@pytest.mark.parametrize("text, prior", [
    ("/**:\n  ros__parameters:\n    prior:\n      file: ''\n", "auto"),
    ("/**:\n  ros__parameters:\n    robot.urdf: a\n", "auto"),
    ("rov1:\n  uvms_estimator:\n    ros__parameters:\n      robot.urdf: a\n", "auto"),
    ("/**:\n  ros__parameters:\n    robot.urdf: a\nfoo:\n  ros__parameters:\n", "auto"),
    ("rov1:\n  uvms_estimator:\n    ros__parameters:\n      prior.file: mine.yaml\n", None),
    ("a:\n  ros__parameters:\n    prior.file: mine.yaml\n", None),
    ("/**:\n  ros__parameters:\n    prior: {file: mine.yaml}\n", None), ("[", None)])
def test_a_launch_starts_from_the_saved_state_where_the_file_says_nothing(launch_file, tmp_path,
                                                                          text, prior):
    """One launch file for the first dive and all later ones; a given prior is kept."""
    (tmp_path / "p.yaml").write_text(text)
    node = node_of(launch_file, "estimator.launch.py", params_file=str(tmp_path / "p.yaml"))
    found = node.kwargs["parameters"][1].get("prior.file")
    assert (found and found.args[0]) == prior


def test_a_demonstration_leaves_real_robots_alone(launch_file):
    """It starts from the built-in prior and saves in its own folder."""
    declared = arguments(launch_file("demo.launch.py").generate_launch_description())
    assert declared["prior"]["default_value"] == "built-in"
    assert declared["directory"]["default_value"] != Config().output.directory
    included, = actions(launch_file("closed_loop.launch.py").generate_launch_description(),
                        "IncludeLaunchDescription")
    assert dict(included.kwargs["launch_arguments"]) == {
        name: declared[name]["default_value"] for name in ("prior", "directory")}


@pytest.mark.parametrize("file", ["two_vehicles.launch.py", "bluerov2_mavros.launch.py",
                                  "identify.launch.py", "feedforward.launch.py", "twin.launch.py"])
def test_what_others_include_exists_and_takes_what_it_is_given(launch_file, file):
    """Included files, their arguments and parameter files exist in the package."""
    module = launch_file(file)
    description = module.generate_launch_description()
    included = actions(description, "IncludeLaunchDescription") + [
        action for group in actions(description, "GroupAction") for action in group.args[0]
        if type(action).__name__ == "IncludeLaunchDescription"]
    assert included
    for action in included:
        taken = arguments(launch_file(included_file(action)).generate_launch_description())
        assert set(dict(action.kwargs["launch_arguments"])) <= set(taken)
    for kwargs in arguments(description).values():
        if not isinstance(kwargs["default_value"], str):
            assert (ROOT / Path(*kwargs["default_value"].args[0][1:])).is_file()


def test_settings_of_mavros_are_settings():
    """The file loads, with types that the decoder supports."""
    config = load_config(ROOT / "config" / "bluerov2_mavros.yaml")
    assert config.thrusters.type == "mavros_msgs/msg/RCOut" and len(config.thrusters.signs) == 8
    assert config.changed()["dvl.type"] == "marine_acoustic_msgs/msg/Dvl"


def test_the_view_knows_where_the_arm_is_mounted(launch_file, tmp_path):
    """The mount comes from the parameter file; layouts are files of the package; tools other than
    RViz start only on request."""
    module = launch_file("view.launch.py")
    description = module.generate_launch_description()
    declared = arguments(description)
    function, = actions(description, "OpaqueFunction")
    values = {"params_file": str(ROOT / "config/bluerov2_alpha5.yaml"), "root": "arm_base",
              "urdf": str(ROOT / "uvms_adaptive_dynamics/robots/alpha5.urdf")}
    mount, publisher = function.kwargs["function"](Context(**values))
    given = mount.kwargs["arguments"]
    numbers = [float(given[given.index(f"--{name}") + 1])
               for name in ("x", "y", "z", "roll", "pitch", "yaw")]
    robot = Config().robot
    assert numbers == pytest.approx([*robot.mount_xyz, *robot.mount_rpy])
    assert given[-4:] == ["--frame-id", "base_link", "--child-frame-id", "arm_base"]
    assert "<robot" in publisher.kwargs["parameters"][0]["robot_description"]
    (tmp_path / "n.yaml").write_text(
        "rov1:\n  uvms_estimator:\n    ros__parameters:\n      robot:\n"
        "        mount_xyz: [1.0, 0.0, 0.0]\n        mount_rpy: [0.0, 0.0, 0.0]\n")
    mount, _ = function.kwargs["function"](Context(**{**values,
                                                      "params_file": str(tmp_path / "n.yaml")}))
    assert mount.kwargs["arguments"][:2] == ["--x", "1.0"]
    with pytest.raises(RuntimeError, match="urdf is '/nowhere', which is not a file"):
        function.kwargs["function"](Context(**{**values, "urdf": "/nowhere"}))
    (tmp_path / "p.yaml").write_text("/**:\n  ros__parameters:\n    robot.mount_xyz: [0, 0, 0]\n")
    with pytest.raises(RuntimeError, match="lacks robot.mount_rpy; expected"):
        function.kwargs["function"](Context(**{**values, "params_file": str(tmp_path / "p.yaml")}))
    assert [declared[name]["default_value"] for name in ("rviz", "plotjuggler", "diagnostics")] == [
        "true", "false", "false"]
    used = [part for node in actions(description, "Node")
            for part in (*node.kwargs.get("arguments", ()), *node.kwargs.get("parameters", ()))
            if isinstance(part, Recorded)]
    files = [ROOT.joinpath(*part.args[0][1:]) for part in used]
    assert len(files) == 3 and all(file.is_file() for file in files)
