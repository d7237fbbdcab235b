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

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# No deadline: the tests may share a loaded machine. The same examples every time.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("repeatable")


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
