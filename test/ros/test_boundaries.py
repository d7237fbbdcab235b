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

"""Import rules of the ROS layer: no evaluation, no studies, and one owner of the estimator."""
import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "uvms_adaptive_dynamics"
ROS = sorted((PACKAGE / "ros").rglob("*.py"))


def imported(path):
    """Absolute names of all modules that a file of the package imports, at any depth."""
    parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[:len(parts) - node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return found


@pytest.mark.parametrize("path", ROS, ids=lambda path: path.stem)
def test_the_node_needs_neither_evaluation_nor_studies(path):
    """A vehicle's computer has no matplotlib; the demo calls `evaluate` as a program."""
    for room in ("evaluation", "studies"):
        assert not any(name.startswith(f"{PACKAGE.name}.{room}") for name in imported(path))


def test_rclpy_is_imported_by_the_ros_layer_alone():
    """Everything else runs without ROS."""
    others = set(PACKAGE.rglob("*.py")) - set(ROS)
    assert not [path for path in others
                if any(name.split(".")[0] == "rclpy" for name in imported(path))]


@pytest.mark.parametrize("path", ROS, ids=lambda path: path.stem)
def test_nothing_but_the_worker_keeps_an_estimator(path):
    """Other threads read the worker's snapshot or send it an action `f(estimator)`."""
    kept = [node.attr for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and node.attr.strip("_") == "estimator"]
    assert not kept or path.stem == "worker"
