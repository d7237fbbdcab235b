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

"""Shared fixtures: where the shared material is, the default robot, and a message bus that stays on
this machine."""
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nodes save what they learn under the home folder, and start from what they find there.
_HOME = tempfile.TemporaryDirectory(prefix="uvms_home_")
os.environ["HOME"] = _HOME.name
# The processes of a run inherit the folder of the first one, and share what is kept there.
if "UVMS_TEST_KEPT" not in os.environ:
    _KEPT = tempfile.TemporaryDirectory(prefix="uvms_kept_")
    os.environ["UVMS_TEST_KEPT"] = _KEPT.name

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The files that take ten seconds or more, the longest first: one that comes last is waited for by
# the other process. Those that need real time come after what reckons only, and so after the checks
# that .ci/run has beside the first tests.
LONGEST = (
    "system/test_acceptance.py", "studies/test_fault_bench.py", "signals/test_faulty_recordings.py",
    "estimation/test_calm.py", "studies/test_intervals.py", "studies/test_guided.py",
    "signals/test_odometry.py", "evaluation/test_evaluate.py", "estimation/test_changes.py",
    "uncertainty/test_identifiability.py", "estimation/test_estimator.py",
    "signals/checks/test_frames.py", "solvers/test_solvers.py",
    "evaluation/inspection/test_look.py", "signals/test_own_attitude.py", "ros/test_node.py",
    "ros/test_live_faults.py", "ros/test_parameter_outputs.py",
    "evaluation/batch/test_batch.py", "system/test_wheel.py",
    "signals/checks/test_delay.py", "evaluation/test_evaluate_stages.py", "system/test_fuzz.py",
    "simulation/test_rough.py", "signals/test_front_end.py", "model/test_forward_simulation.py",
    "studies/test_unseen.py", "uncertainty/test_channel_noise.py", "studies/test_closed_loop.py",
    "signals/filters/test_inertial.py", "estimation/test_forgetting.py",
    "studies/test_benchmark.py", "studies/test_paper.py", "studies/test_terms_command.py",
    "studies/test_twin_command.py", "simulation/test_simulated_robot.py",
    "cpp/test_feedforward_header.py", "estimation/test_quasi_static_tilts.py",
    "evaluation/test_prepared.py", "evaluation/test_pieces.py", "test_garbage.py",
    "test_kill_campaign.py", "ros/test_memory.py", "system/test_compare_least_squares.py",
    "studies/test_excite.py", "ros/test_demo.py", "ros/test_closed_loop_nodes.py",
    "system/test_tutorial.py", "system/test_readme.py")

# No deadline: the tests may share a loaded machine. The same examples every time.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """The longest files first, the others as they are."""
    places = {ROOT / "test" / file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden evaluations and recordings; tests that need it skip without it."""
    path = Path(os.environ.get("UVMS_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"shared material is not beside the checkout ({path}); set UVMS_SHARED to run "
                    "this test")
    return path


@pytest.fixture(scope="session")
def clean():
    """(config, robot, pi, 12 s of noise-free messages with a wrench topic)."""
    from analytic import AnalyticMotion, stream
    from signal_runs import make
    config, robot, pi = make()
    return config, robot, pi, stream(AnalyticMotion(0, config=config), robot, pi, 12.0)
