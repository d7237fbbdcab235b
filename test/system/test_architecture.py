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

"""Import rules: one folder is one stage, and imports go one way (docs/architecture.md).

All imports count, including those inside functions and those only for type checkers: modules in a
cycle hidden in a function still cannot be understood, tested or replaced separately.
"""
import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import uvms_adaptive_dynamics
from uvms_adaptive_dynamics.__main__ import COMMANDS

PACKAGE = "uvms_adaptive_dynamics"
FOLDER = Path(uvms_adaptive_dynamics.__file__).parent

# Rooms that a room may import from, besides itself and EVERYBODY.
EVERYBODY = ("errors", "disk", "terminal")
BELOW = {
    "config": set(),
    "model": {"config"},
    "signals": {"config", "model"},
    "solvers": {"config", "model"},
    "uncertainty": {"config", "model"},
    "estimation": {"config", "model", "solvers", "uncertainty"},
    "control": {"config", "model", "uncertainty"},
    "review": {"config", "model", "signals", "uncertainty", "estimation"},
    "evaluation": {"config", "model", "signals", "solvers", "uncertainty", "estimation", "control",
                   "review", "options", "garbage", "processes"},
    # The demonstration uses a simulated robot; the node does not, see below.
    "ros": {"config", "model", "signals", "solvers", "uncertainty", "estimation", "simulation",
            "control", "review", "options", "garbage", "processes", "programs"},
    # Only URDF paths and rotations of the model: its physics shares no code with the regressors.
    "simulation": {"config", "model", "signals", "options"},
    "studies": {"config", "model", "signals", "solvers", "uncertainty", "estimation", "evaluation",
                "simulation", "control", "options", "garbage"},
    "export": {"config", "model", "uncertainty", "options"},
    "options": {"config"},
    "errors": set(),
    "disk": set(),
    "garbage": set(),
    "processes": set(),
    "programs": set(),
    "terminal": set(),
    "completion": {"options"},
    "__main__": {"options", "programs"},
}

# Restricted distributions: prefixes of the modules that may import them.
WAYS_IN = {
    "rclpy": ("ros.",),
    "rosbag2_py": ("ros.",),
    "rosbags": ("evaluation.rosbag_file", "evaluation.logs.ros_messages",
                "evaluation.convert_command", "simulation.bag", "simulation.configured",
                "ros.recorder", "studies.benchmark.samples", "studies.closed_loop.loop",
                "studies.excitation.dry_run", "studies.guided.loop"),
    "pymavlink": ("evaluation.logs.",),
    "rich": ("terminal",),
    "matplotlib": ("evaluation.canvas", "evaluation.figures", "evaluation.parameter_figures",
                   "studies.benchmark.report", "studies.closed_loop.picture",
                   "studies.excitation.picture", "studies.paper.overlays",
                   "studies.twin.picture"),
    "jinja2": ("evaluation.report", "evaluation.batch.page"),
    "distributed": ("evaluation.batch.executors",),
    "cvxpy": ("solvers.",),
    "clarabel": ("solvers.",),
    "mosek": ("solvers.",),
    "pinocchio": ("model.manipulator", "simulation."),
}
ROS_MESSAGES = ("_msgs", "_interfaces", "_srvs")

NODES = ("ros.node", "ros.feedforward_node", "ros.twin_node", "ros.identification_node")
NOT_AT_RUN_TIME = ("evaluation", "studies", "simulation")


def modules():
    """Map of dotted name (inside the package, '' for itself) to syntax tree."""
    found = {}
    for path in sorted(FOLDER.rglob("*.py")):
        parts = path.relative_to(FOLDER).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def imported(name):
    """(modules of this package, top-level names of others) that a module imports at any depth."""
    path = MODULES[name]
    here = [PACKAGE, *filter(None, name.split("."))]
    package = here if path.name == "__init__.py" else here[:-1]
    targets = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            targets.update(f"{base}.{alias.name}" for alias in node.names)
    own, others = set(), set()
    for target in targets:
        top, _, inside = target.partition(".")
        if top != PACKAGE:
            others.add(top)
            continue
        while inside not in MODULES:      # a name inside a module: the module counts
            inside = inside.rpartition(".")[0]
        own.add(inside)
    return own - {name}, others


@cache
def imports():
    """`imported` of every module. (Not at import: each process of a run collects all tests.)"""
    return {name: imported(name) for name in MODULES}


def room(name):
    return name.partition(".")[0]


def crossings():
    """(importing module, imported module) of every import from one room to another."""
    return {(name, target) for name, (own, _) in imports().items() for target in own
            if target and room(target) != room(name) and name}


def reachable(start):
    """Modules that importing `start` may load, including the packages around them."""
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            parents = {name.rsplit(".", k)[0] for k in range(1, name.count(".") + 1)}
            waiting += imports()[name][0] | parents
    return seen


def test_no_module_imports_itself_in_a_circle():
    """The graph of all imports between modules has an order.

    A package's `__init__` that collects names from its modules comes after them.
    """
    graph = {name: {target for target in own if target} for name, (own, _) in imports().items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_arrows_between_rooms_go_one_way():
    """A room imports only from the rooms below it."""
    wrong = [f"{name} imports {target}" for name, target in sorted(crossings())
             if room(target) not in (*EVERYBODY, *BELOW[room(name)])]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_place():
    """A new folder needs its arrows before its modules."""
    assert {room(name) for name in MODULES if name} == set(BELOW)


@pytest.mark.parametrize("distribution", WAYS_IN)
def test_distributions_have_one_way_in(distribution):
    """Heavy, optional and ROS-bound distributions are imported only by the modules listed here."""
    wrong = [name for name, (_, others) in imports().items()
             if distribution in others and not name.startswith(WAYS_IN[distribution])]
    assert not wrong, f"{distribution} is imported by {', '.join(wrong)}"


def test_messages_of_ros_are_imported_by_its_room_alone():
    """All other code gets plain numbers, so that it runs without ROS."""
    wrong = {name: top for name, (_, others) in imports().items() for top in others
             if top.endswith(ROS_MESSAGES) and room(name) != "ros"}
    assert not wrong, wrong


@pytest.mark.parametrize("node", NODES)
def test_what_a_node_loads_is_the_product_alone(node):
    """Neither evaluation nor studies nor the simulated robot is loaded on a vehicle's computer."""
    loaded = {name for name in reachable(node) if room(name) in NOT_AT_RUN_TIME}
    assert not loaded, sorted(loaded)


def test_third_parties_are_declared():
    """All imports are from the standard library or declared in setup.py or package.xml.

    The recorder uses rosbag2_py if rosbags is not installed.
    """
    root = FOLDER.parent
    declared = (root / "setup.py").read_text() + (root / "package.xml").read_text()
    names = {"yaml": "pyyaml"}
    others = {top for _, tops in imports().values() for top in tops} - {"rosbag2_py"}
    missing = [top for top in others - set(sys.stdlib_module_names)
               if names.get(top, top) not in declared]
    assert not missing, missing


def test_names_that_are_imported_by_text_exist():
    """The library's lazy names and the subcommands of the command line, which are not visible as
    imports."""
    homes = {*uvms_adaptive_dynamics._HOMES.values(), *(home for home, _ in COMMANDS.values())}
    assert homes <= set(MODULES) and all(find_spec(f"{PACKAGE}.{home}") for home in homes)
