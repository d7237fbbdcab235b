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

"""Parameter files on the command line: those that never end, and those that reach no node."""
import os

import pytest
import rclpy
from ros_bus import bus

from uvms_adaptive_dynamics.config.files import fits_node
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.ros.parameter_files import check_reached, read_parameter_files

NODES = (("a", "/"), ("a", "/x"), ("a", "/x/y"))


@pytest.mark.parametrize("name", ["/**", "**", "/*", "*", "a", "/a", "/x/a", "x/a", "/*/a", "/**/a",
                                  "/x/*", "/x/**", "b", "/x"])
def test_names_fit_where_rclpy_gives_the_parameters(tmp_path, name):
    """Names and patterns match as in rcl."""
    path = tmp_path / "p.yaml"
    path.write_text(f'"{name}": {{ros__parameters: {{number: 1}}}}\n')
    with bus() as made:
        for node_name, namespace in NODES:
            node = rclpy.create_node(node_name, namespace=namespace, context=made.context,
                                     cli_args=["--ros-args", "--params-file", str(path)],
                                     use_global_arguments=False)
            assert fits_node(name, node.get_fully_qualified_name()) == bool(
                node._parameter_overrides), (name, namespace)
            node.destroy_node()


def test_files_are_those_of_the_ros_arguments(tmp_path):
    """All files between --ros-args and --, and no other arguments."""
    for name in "abc":
        (tmp_path / name).write_text(f"{name}: {{ros__parameters: {{x: 1}}}}")
    a, b, c = (str(tmp_path / name) for name in "abc")
    found = read_parameter_files(["node", "--params-file", "none", "--ros-args", "--params-file", a,
                                  "-p", "x:=1", "--params-file", b, "--", "--params-file", "none",
                                  "--ros-args", "--params-file", c])
    assert {path: nodes[0][0] for path, nodes in found.items()} == {a: "a", b: "b", c: "c"}


def test_a_file_that_never_ends_is_refused(tmp_path):
    """rcl would block forever."""
    os.mkfifo(tmp_path / "p.yaml")
    with pytest.raises(ConfigError, match="it is a FIFO"):
        read_parameter_files(["node", "--ros-args", "--params-file", str(tmp_path / "p.yaml")])


def test_a_file_that_reaches_nothing_is_refused_with_both_names(tmp_path):
    """Each file is checked on its own; a setting for the node must not be given twice."""
    path = tmp_path / "p.yaml"
    path.write_text("/rov/uvms_estimator: {ros__parameters: {filter: {gap: 1}, filter.gap: 2}}")
    files = read_parameter_files(["node", "--ros-args", "--params-file", str(path)])
    with pytest.raises(ConfigError, match="only for '/rov/uvms_estimator'; none of them reaches "
                                          "this node, '/uvms_estimator'; expected that name"):
        check_reached(files, "/uvms_estimator")
    with pytest.raises(ConfigError, match="p.yaml': setting 'filter.gap' is given twice"):
        check_reached(files, "/rov/uvms_estimator")
    path.write_text("/**: {ros__parameters: {}}")
    check_reached(read_parameter_files(["node", "--ros-args", "--params-file", str(path)]), "/n")
