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

"""A prefix as `colcon build` would install the package, made from the checkout, for the real `ros2
launch`; and whether `ros2 launch` is available."""
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "uvms_adaptive_dynamics"
EXECUTABLES = {"estimator": "ros.node", "simulated_robot": "ros.demo.simulated_robot",
               "feedforward": "ros.feedforward_node", "twin": "ros.twin_node",
               "identify": "ros.identification_node",
               "closed_loop_controller": "ros.demo.controller"}


def ros2_launch_is_there() -> bool:
    """Whether `ros2 launch` runs, with the interpreter of the nodes or another one."""
    ros2 = shutil.which("ros2")
    return ros2 is not None and subprocess.run(
        [ros2, "launch", "--help"], capture_output=True, check=False, timeout=60,
        env=environment()).returncode == 0


def environment(prefix: Path | None = None, **others: str) -> dict[str, str]:
    """This process's environment for a child in which rclpy from wheels can start, with a prefix in
    front."""
    left_out = ("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "LD_LIBRARY_PATH") if (
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE" in os.environ) else ()
    found = {key: value for key, value in os.environ.items() if key not in left_out}
    prefixes = [str(prefix)] if prefix else []
    return {**found, **others, "AMENT_PREFIX_PATH": os.pathsep.join(
                filter(None, [*prefixes, found.get("AMENT_PREFIX_PATH")])),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), found.get("PYTHONPATH")]))}


def make_prefix(folder: Path) -> Path:
    """Make lib/<package>/<executable>, share/<package>/{launch,config,...} and ament's marker."""
    share = add_package(folder, PACKAGE, {
        name: f"exec {sys.executable} -m {PACKAGE}.{module} \"$@\""
        for name, module in EXECUTABLES.items()})
    # Copies, since `ros2 launch` does not follow links to folders.
    for source in (ROOT / "launch", ROOT / "config", ROOT / "layouts", ROOT / PACKAGE / "robots"):
        shutil.copytree(source, share / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def add_package(prefix: Path, package: str, scripts: dict[str, str]) -> Path:
    """Add a package with shell scripts as executables; returns its share."""
    share, lib = prefix / "share" / package, prefix / "lib" / package
    marks = prefix / "share" / "ament_index" / "resource_index" / "packages"
    for path in (share, lib, marks):
        path.mkdir(parents=True, exist_ok=True)
    (marks / package).touch()
    for name, text in scripts.items():
        script = lib / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return share
