"""Shared fixtures: where the shared material is, the default robot, and a message bus that stays on this machine."""
import os
import sys
from pathlib import Path

os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden evaluations and recordings; tests that need it skip where it is absent."""
    path = Path(os.environ.get("UVMS_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"shared material is not beside the checkout ({path}); set UVMS_SHARED to run this test")
    return path
