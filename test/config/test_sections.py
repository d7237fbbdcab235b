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

"""Settings: ranges, cross-checks, files; errors name the setting, got and expected."""
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Config, Limits, flatten, load_config
from uvms_adaptive_dynamics.config.files import fits_node, parameter_nodes
from uvms_adaptive_dynamics.errors import ConfigError

ODOMETRY = "nav_msgs/msg/Odometry"
NUMBERS = [(name, entry) for name, entry, _ in Config().settings()
           if entry.metadata["kind"] in ("float", "int")]


def refused(**values):
    """Error message for invalid settings."""
    with pytest.raises(ConfigError) as caught:
        Config().with_values({name.replace("__", "."): value for name, value in values.items()})
    return str(caught.value)


@pytest.mark.parametrize("name", ["robot.gravity", "robot.water_density"])
def test_constants_that_are_divided_by_are_not_zero(name):
    """Depth is pressure / (density * gravity), and attitude comes from the direction of gravity."""
    for value in (0, 0.0, -9.8, 1e-300, math.nan, math.inf):
        with pytest.raises(ConfigError, match=f"'{name}' is .*expected a number from 1 to"):
            Config().with_values({name: value})


@pytest.mark.parametrize("name, values", [
    ("estimation.prior_stddev", (0, 1e-6, 1e3, 1e6)), ("estimation.relative_weight", (1e-6, 0)),
    ("estimation.information_floor", (0, 1e-12)), ("estimation.relative_epsilon", (0,)),
    ("estimation.noise_stddev", ([1e-9] * 10,)),
    ("estimation.prior_inflation", (0, 1e7, -1)), ("estimation.deadline", (-1e-3,))])
def test_settings_with_which_solves_fail_are_refused(name, values):
    """Measured: with these values the problem has no unique solution, or rounding decides it."""
    for value in values:
        with pytest.raises(ConfigError, match=f"'{name}' is"):
            Config().with_values({name: value})


@pytest.mark.parametrize("name, entry", NUMBERS, ids=[name for name, _ in NUMBERS])
def test_ranges_are_inclusive_and_end_there(name, entry):
    """Both ends of every range are accepted; the next number beyond, NaN and infinity are not."""
    low, high = entry.metadata["low"], entry.metadata["high"]
    whole = entry.metadata["kind"] == "int"
    outside = [math.nan, math.inf, -math.inf, "7", None, True]
    if low is not None:
        outside.append(low - 1 if whole else low - 1e-9 * max(abs(low), 1e-9))
    if high is not None:
        outside.append(high + 1 if whole else high * (1 + 1e-9))
    for value in outside:
        with pytest.raises(ConfigError):
            Config().with_values({name: value})
    for value in (low, high):
        if value is not None and name not in ("estimation.weight_min", "estimation.weight_max",
                                              "depth.maximum"):
            got = {n: v for n, _, v in Config().with_values({name: value}).settings()}
            assert got[name] == value


def test_limits_of_plausibility_have_unit_and_reason():
    """Each states its unit and the reason for its default."""
    given = {name.split(".")[1]: (entry.metadata["unit"], value)
             for name, entry, value in Config().settings() if name.startswith("limits.")}
    assert given == {
        "speed": ("m/s", 10.0), "rate": ("rad/s", 12.0), "acceleration": ("m/s^2", 40.0),
        "angular_acceleration": ("rad/s^2", 100.0), "joint_speed": ("rad/s", 20.0),
        "joint_acceleration": ("rad/s^2", 2000.0), "force": ("N", 2000.0),
        "torque": ("N m", 1000.0)}
    assert all("Default: " in entry.metadata["doc"] for name, entry, _ in Config().settings()
               if name.startswith("limits."))
    with pytest.raises(ConfigError, match="'limits.force' is -1"):
        Limits(force=-1)


def test_checks_between_settings_name_both_sides():
    """Wrong counts per joint, channel and thruster; contradictory bounds."""
    assert "at least estimation.weight_min (90 N)" in refused(
        estimation__weight_min=90, estimation__weight_max=50)
    assert "'estimation.weight_max' is 0" in refused(estimation__weight_min=90)
    assert "each of robot.joints" in refused(joint_states__effort_scale=[1.0])
    assert "10 numbers" in refused(estimation__noise_stddev=[1.0] * 9)
    assert "names from robot.joints" in refused(joint_states__effort_masked=["elbow"])
    assert "one per thruster" in refused(thrusters__signs=[1.0, 1.0])
    assert "or 'cvxpy:<NAME>'" in refused(estimation__solver="guess")
    assert "at least depth.minimum (5 m)" in refused(depth__minimum=5.0, depth__maximum=1.0)
    assert "expected 0 for geometry_msgs/msg/TwistWithCovarianceStamped, which has no altitude" in (
        refused(dvl__minimum_altitude=0.3))
    for section, low, high in (("joint_states", "limits_low", "limits_high"),
                               ("excitation", "joint_low", "joint_high")):
        assert f"none below {section}.{low} (0.0, 1.0, 0.0, 0.0)" in refused(**{
            f"{section}__{low}": [0, 1, 0, 0], f"{section}__{high}": [.5] * 4})
    assert "Did you mean 'estimation.horizon'?" in refused(estimation__horison=3)


def test_settings_that_leave_nothing_to_measure_are_refused():
    """A joint read from another's entry, efforts times zero, thrusters without effect."""
    assert "expected every name once" in refused(joint_states__names=["a", "a", "b", "c"])
    for name in ("effort_scale", "effort_scale_negative"):
        assert "belongs in effort_masked" in refused(**{f"joint_states__{name}": [1, 1, 0, 1]})
    assert "'thrusters.allocation' is 'all zeros'; expected" in refused(
        thrusters__allocation=[0.0] * 48)
    Config().with_values({"thrusters.allocation": [0.0] * 48, "thrusters.source": "wrench"})
    in_mm = [entry * (1000.0 if k >= 24 else 1.0)
             for k, entry in enumerate(Config().thrusters.allocation)]
    assert "a lever of 207 m for thruster 1'; expected at most 10 m" in refused(
        thrusters__allocation=in_mm)


@pytest.mark.parametrize("solver", ["auto", "native", "clarabel", "mosek", "cvxpy:ECOS"])
def test_solvers_have_these_names(solver):
    """'auto' and the four explicit choices."""
    assert Config().with_values({"estimation.solver": solver}).estimation.solver == solver


def test_changed_settings_are_those_that_differ():
    """Empty by default; setting a value to its default is no change."""
    assert Config().changed() == Config().changed_settings() == {}
    config = Config().with_values({"estimation.horizon": 100, "filter.lowpass": 0,
                                   "robot.link_volumes": []})
    assert config.changed() == {"filter.lowpass": 0.0}
    assert config.changed_settings() == {"filter.lowpass": (Config().filter.lowpass, 0.0)}


@pytest.mark.parametrize("values, part", [
    ({"imu.type": ODOMETRY, "filter.linear_acceleration": "imu"}, "has no specific force"),
    ({"imu.type": ODOMETRY, "imu.orientation": "own"},
     "'imu.orientation' is 'own'.*has no specific force"),
    ({"imu.topic": "odom", "dvl.topic": "odom", "imu.type": ODOMETRY},
     "'dvl.type'.*expected 'nav_msgs/msg/Odometry' as imu.type"),
    ({"imu.topic": "odom", "dvl.topic": "odom", "imu.type": ODOMETRY, "dvl.type": ODOMETRY},
     "'dvl.frame' is 'frd'; expected 'flu' as imu.frame, since both read the topic 'odom'"),
    ({"imu.orientation": "own", "robot.current_ned": (0.1, 0.0, 0.0)}, "no heading")])
def test_sources_of_motion_that_contradict_each_other_are_refused(values, part):
    """The error names the setting to change."""
    with pytest.raises(ConfigError, match=part):
        Config().with_values(values)


@pytest.mark.parametrize("text, part", [
    ("a: [1, 2", "not valid YAML at line"), ("a: 1", "not a ROS parameter file"),
    ("- 1", "not a ROS parameter file"), ("", "not a ROS parameter file"),
    ("/**: [1, 2]", "'/**' is [1, 2]; expected a ROS parameter file"),
    ("/**: {ros__parameters: {}}\nuvms_estimator: hello", "'uvms_estimator' is 'hello'"),
    ("/**: {filter: {lowpass: 0.1}}", "'/**/filter/lowpass' is 0.1"),
    ("a:", "has no ros__parameters"),
    ("/**: {ros__parameters: 5}", "ros__parameters is 5; expected sections"),
    ("/**: {ros__parameters: {estimation: 5}}", "'estimation' does not exist"),
    ("/**: {ros__parameters: {estimation: {}}}", "'estimation' does not exist"),
    ("/**: {ros__parameters: {3: 4}}", "'3' does not exist"),
    ("/**: {ros__parameters: {filter: {lowpass: .nan}}}", "'filter.lowpass' is nan; expected"),
    ("/**: {ros__parameters: {filter: {lowpass: 1.0e+400}}}", "'filter.lowpass' is inf"),
    ("/**: {ros__parameters: {filter: {lowpass: " + "9" * 900 + "}}}", "9...; expected a number"),
    ("/**: {ros__parameters: {filter: {lowpass: 0x" + "f" * 900 + "}}}", "a number from 0"),
    ("/**: {ros__parameters: {filter: {lowpass: 1, lowpass: 2}}}", "duplicate key 'lowpass'"),
    ("/**: {ros__parameters: {filter: {lowpass: 1}, filter.lowpass: 2}}", "is given twice"),
    ("/**: &a {ros__parameters: *a}", "alias '*a'"),
    ("/**: {ros__parameters: {robot: {joints: &b [*b]}}}", "alias '*b'"),
    ("/**: {ros__parameters: {estimation: {horizon: many}}}", "expected a whole number")])
def test_files_that_cannot_be_used_are_refused_with_their_name(tmp_path, text, part):
    """Any defect of the file raises a ConfigError of one short line."""
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    said = str(caught.value)
    assert part in said and "settings.yaml" in said and "\n" not in said and len(said) < 600


def test_lines_to_paste_are_a_file(tmp_path):
    """Settings alone, nested or dotted, are read; ROS cannot read them, so a node refuses them."""
    path = tmp_path / "lines.yaml"
    path.write_text("filter.lowpass: 0.1\ndvl: {delay: 0.2}\n")
    assert load_config(path).changed() == {"filter.lowpass": 0.1, "dvl.delay": 0.2}
    with pytest.raises(ConfigError, match="is not a ROS parameter file"):
        parameter_nodes(path)
    path.write_text("twin: {ros__parameters: {twin.rate: 2.0}}\n")
    with pytest.raises(ConfigError, match="parameters only for 'twin'"):
        load_config(path)


def test_a_file_for_other_nodes_alone_is_refused_with_both_names(tmp_path):
    """A file without parameters for the estimator is refused: a name is probably misspelt. A
    namespace in front of the name or around it is accepted."""
    path = tmp_path / "settings.yaml"
    path.write_text("uvms_estimater: {ros__parameters: {filter: {lowpass: 0.1}}}\n"
                    "/rov/dvl: {ros__parameters: {a: 1}}")
    with pytest.raises(ConfigError, match="parameters only for 'uvms_estimater', '/rov/dvl'; none "
                                          "of them reaches this node, 'uvms_estimator'"):
        load_config(path)
    path.write_text("rov: {uvms_estimator: {ros__parameters: {filter.gap: 2.0}}}\n"
                    "/rov/**: {ros__parameters: {filter.lowpass: 0.1}}")
    assert load_config(path).changed() == {"filter.lowpass": 0.1, "filter.gap": 2.0}


@pytest.mark.parametrize("name, nodes", [
    ("/**", ("/a", "/x/a", "/x/y/a")), ("/*", ("/a",)), ("*", ("/a",)), ("a", ("/a",)),
    ("/x/a", ("/x/a",)), ("/*/a", ("/x/a",)), ("/**/a", ("/a", "/x/a", "/x/y/a")),
    ("/x/*", ("/x/a",)), ("/x/**", ("/x/a", "/x/y/a")), ("b", ()), ("/x", ()), ("/.*", ())])
def test_names_of_nodes_fit_as_in_rcl(name, nodes):
    """test/ros/test_parameter_files.py checks the same table against rclpy."""
    assert tuple(n for n in ("/a", "/x/a", "/x/y/a", "/x/b") if fits_node(name, n)
                 and n != "/x/b") == nodes


def test_what_belongs_to_ros_and_to_other_nodes_is_left_alone(tmp_path):
    """use_sim_time and QoS belong to ROS; sections of other nodes are ignored."""
    path = tmp_path / "settings.yaml"
    path.write_text("""
        /**: {ros__parameters: {use_sim_time: true, filter: {lowpass: 0.1}}}
        /rov/uvms_estimator: {ros__parameters: {filter.gap: 2.0}}
        other: {ros__parameters: {anything: 1}}
        empty:
        uvms_estimator: {ros__parameters: }
        """)
    assert load_config(path).changed() == {"filter.lowpass": 0.1, "filter.gap": 2.0}


def test_paths_count_from_the_file_that_names_them(tmp_path):
    """If the file exists there; anything else stays as written."""
    (tmp_path / "arm.urdf").write_text("")
    path = tmp_path / "settings.yaml"
    path.write_text("/**: {ros__parameters: {robot: {urdf: arm.urdf}, prior: {file: none.yaml},"
                    f" thrusters: {{curve: {'x' * 5000}}}}}}}")
    config = load_config(path)
    assert config.robot.urdf == str(tmp_path / "arm.urdf") and config.prior.file == "none.yaml"
    assert config.thrusters.curve == "x" * 5000     # too long for the name of a file


@given(st.dictionaries(st.sampled_from("abc"), st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, min_size=1),
    max_leaves=6), max_size=3))
def test_flattened_trees_keep_their_leaves(tree):
    """One dotted name per leaf, with its value."""
    def leaf(dotted):
        node = tree
        for key in dotted.split("."):
            node = node[key]
        return node
    flat = flatten(tree)
    assert all(leaf(name) == value for name, value in flat.items())
    assert len(flat) == sum(not isinstance(node, dict) for node in _nodes(tree))


def _nodes(tree):
    for node in tree.values():
        yield node
        if isinstance(node, dict):
            yield from _nodes(node)
