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

"""Shared fixtures: the folder of shared material, the default robot, and a message bus that stays
on this machine."""
import gc
import os
import sys
import tempfile
from pathlib import Path

gc.disable()    # until all tests are collected: it would take ten seconds, and find nothing
os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nodes save what they learn under the home folder, and start from what they find there.
_HOME = tempfile.TemporaryDirectory(prefix="uvms_home_")
os.environ["HOME"] = _HOME.name
# All processes of a run inherit the folder of the first one, and share its content.
if "UVMS_TEST_KEPT" not in os.environ:
    _KEPT = tempfile.TemporaryDirectory(prefix="uvms_kept_")
    os.environ["UVMS_TEST_KEPT"] = _KEPT.name

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Files that take some seconds of processor time, roughly the longest first, so that no process
# waits for the other at the end. Files that wait in real time come after some minutes of computing,
# hence after the checks that .ci/run starts next to the first tests, and with computing files in
# between, so that both processes seldom wait at once.
LONGEST = (
    "signals/checks/test_frames.py", "system/test_acceptance.py", "estimation/test_estimator.py",
    "studies/test_fault_bench.py", "estimation/test_changes.py", "evaluation/test_evaluate.py",
    "evaluation/test_altered_recordings.py", "review/test_arm_check.py",
    "signals/test_odometry.py", "studies/test_intervals.py", "uncertainty/test_identifiability.py",
    "solvers/test_solvers.py", "studies/test_guided.py", "system/test_tutorial.py",
    "ros/test_node.py", "evaluation/inspection/test_inspection.py", "signals/test_front_end.py",
    "ros/test_live_faults.py", "signals/test_faulty_recordings.py", "signals/test_after_garbage.py",
    "ros/test_parameter_outputs.py", "studies/test_closed_loop.py", "estimation/test_calm.py",
    "ros/test_identification_ends.py", "estimation/test_restarts.py",
    "uncertainty/test_channel_noise.py", "evaluation/batch/test_batch.py",
    "model/test_forward_simulation.py", "signals/checks/test_delay.py",
    "ros/test_identification_node.py", "solvers/native/test_certificate.py",
    "evaluation/test_evaluate_stages.py", "ros/test_closed_loop_nodes.py", "studies/test_excite.py",
    "system/test_fuzz.py", "ros/test_memory.py", "studies/test_twin_command.py",
    "signals/test_own_attitude.py", "ros/test_statements.py",
    "system/test_compare_least_squares.py", "review/test_left_over.py",
    "ros/test_feedforward_node.py", "signals/checks/test_thruster_check.py",
    "evaluation/test_prepared.py", "test_kill_campaign.py", "estimation/test_forgetting.py",
    "studies/test_benchmark.py", "ros/test_demo.py", "simulation/test_simulated_robot.py",
    "system/test_wheel.py", "cpp/test_feedforward_header.py", "studies/test_unseen.py",
    "studies/test_paper.py", "system/test_readme.py")

# No deadline: the tests may share a loaded machine. The same examples every time.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Run the longest files first, all others in their usual order."""
    places = {ROOT / "test" / file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish():
    """Exclude thousands of tests and all imported modules from garbage collection, each of which
    would take a third of a second to find nothing among them; and do so more seldom, since a test's
    recordings are a million objects."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Collect a file's garbage, then exclude what is left again: a run that ends includes all
    (`uvms_adaptive_dynamics.garbage`)."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def solve_as_numpy_1_26():
    """Refuse calls of `np.linalg.solve` that a station computer's numpy 1.26 reads otherwise: with
    one dimension less than the matrices, the right sides were a stack of vectors, not of matrices.
    """
    solve = np.linalg.solve

    def strict(a, b):
        if 1 < np.ndim(b) == np.ndim(a) - 1:
            raise TypeError(f"np.linalg.solve of shapes {np.shape(a)} and {np.shape(b)} has two "
                            "meanings, by the version of numpy; expected as many dimensions")
        return solve(a, b)

    np.linalg.solve = strict
    yield
    np.linalg.solve = solve


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden evaluations and recordings; tests that need it are skipped without
    it."""
    path = Path(os.environ.get("UVMS_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"shared material is not beside the checkout ({path}); set UVMS_SHARED to run "
                    "this test")
    return path


@pytest.fixture
def ros():
    """A message bus for one test, with an operator's node."""
    from ros_bus import bus  # starts rclpy, which most tests do without
    with bus() as made:
        yield made


@pytest.fixture(scope="session")
def clean():
    """(config, robot, pi, 12 s of noise-free messages with a wrench topic)."""
    from analytic import AnalyticMotion, stream
    from signal_runs import make
    config, robot, pi = make()
    return config, robot, pi, stream(AnalyticMotion(0, config=config), robot, pi, 12.0)
