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

"""`demo`: a simulated robot and the estimator over real topics, then `evaluate` on the recording.

For machines with rclpy but without `ros2 launch`; the estimator node does not use this module.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from ... import options
from ...config import Config
from ...disk.writing import output_folder
from ...errors import UvmsError
from ...model.metrics import shown
from ...model.parameter_file import save_parameters
from ...model.prior import perturbed, prior_from_config
from ...model.robot import RobotModel
from .child import PACKAGE, Child, run_command

# Error of the prior that the estimator starts from: each parameter is off by this factor, up or
# down.
DEMO_PRIOR_FACTOR = 2.0
SHORTEST_DEMO_S, DEMO_HELD_OUT_S = 10.0, 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command, with their units."""
    parser.description = (
        "Simulate a BlueROV2 Heavy with an Alpha 5, estimate its parameters live from a prior "
        "wrong by a factor of 2, then evaluate the recording and test the result on another one.")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_DEMO_S), default=90.0,
                        metavar="S", help="length of the live run; default 90, at least "
                                          f"{SHORTEST_DEMO_S:g}, since less shows nothing")
    parser.add_argument("--seed", type=options.seed, default=0,
                        help="seed of motion, noise and prior; default 0")
    parser.add_argument("--output", type=options.new_path, default="demo_output", metavar="DIR",
                        help="new folder for all output; default demo_output")
    parser.add_argument("--solver", default="auto", help="setting estimation.solver; default auto")
    parser.add_argument("--no-held-out", action="store_true",
                        help="skip the test on a second recording")


def run(args: argparse.Namespace) -> int:
    """Run the demonstration and return the exit status; raises UvmsError for unusable input."""
    # For both nodes: at this size BLAS threads only block each other (see ros/node.py).
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        # First of all: rclpy from wheels restarts the process to set its library path.
        import rclpy  # noqa: F401
    except ImportError as error:
        raise UvmsError(
            f"the demonstration needs rclpy ({error}). Source a ROS 2 Jazzy installation, or "
            "install the extras: pip install '.[standalone,ros,evaluation]'.") from None
    folder = args.output.resolve()
    begin = time.monotonic()
    output_folder(folder)
    prior = _wrong_prior(folder / "prior.yaml", args.seed)
    _live(args, folder, prior)
    print("\nEvaluating the recording through the same code, offline ...", flush=True)
    run_command("evaluate", folder / "recording", "--parameters", prior, "--solver", args.solver,
                "--output", folder / "evaluation",
                "--save-parameters", folder / "parameters.yaml")
    if not args.no_held_out:
        _test_held_out(args, folder, prior)
    print(f"\nReport: {folder / 'evaluation' / 'report.html'}\n"
          f"The whole demonstration took {time.monotonic() - begin:.0f} s.")
    return 0


def _wrong_prior(path: Path, seed: int) -> Path:
    config = Config()
    prior = prior_from_config(config, RobotModel.from_config(config))
    return save_parameters(path, perturbed(prior, DEMO_PRIOR_FACTOR, seed))


# --- the live part ------------------------------------------------------------------------------

def _live(args: argparse.Namespace, folder: Path, prior: Path) -> None:
    """Run both nodes in their own ROS domain until the robot is done, with a live view."""
    # Never the caller's domain: a real vehicle there would obey the simulated thruster commands.
    os.environ.update(ROS_DOMAIN_ID=_other_domain(), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    from .view import View  # imported late, since it starts ROS in that domain
    view, children = View(prior), []
    try:
        estimator = Child("estimator", folder / "estimator.log", f"{PACKAGE}.ros.node",
                          "--ros-args", "-p", f"prior.file:={prior}",
                          "-p", f"output.record:={folder / 'recording'}",
                          "-p", f"output.directory:={folder / 'estimator'}",
                          "-p", f"estimation.solver:={args.solver}")
        children.append(estimator)
        estimator.wait_for_estimator(view.estimator_is_up)
        robot = Child("simulated robot", folder / "simulated_robot.log",
                      f"{PACKAGE}.ros.demo.simulated_robot", "--ros-args",
                      "-p", f"seed:={args.seed}", "-p", f"duration:={args.duration}")
        children.append(robot)
        print(f"A simulated BlueROV2 Heavy with an Alpha 5 moves for {args.duration:g} s; the "
              f"prior is wrong by a factor of {DEMO_PRIOR_FACTOR:g}.\n(To watch: export "
              f"ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']} "
              "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST; then ros2 launch "
              f"{PACKAGE} view.launch.py (RViz), or with layouts/ of the package: plotjuggler "
              "--layout plotjuggler.xml, foxglove.json; docs/live_view.md)\n", flush=True)
        while robot.process.poll() is None:
            view.spin(0.2)
            estimator.check()
        robot.check()
        view.spin(0.3)  # messages still in transit
        view.finish()
        estimator.stop()
        estimator.check()
    finally:
        for child in children:
            child.stop()
        view.close()


def _other_domain() -> str:
    """A ROS domain for the demonstration, below 102 because of DDS's port range on Linux."""
    domain = 1 + os.getpid() % 100
    return str(domain + 1 if str(domain) == os.environ.get("ROS_DOMAIN_ID") else domain)


# --- the offline part ---------------------------------------------------------------------------

def _test_held_out(args: argparse.Namespace, folder: Path, prior: Path) -> None:
    """Test prior and result, both frozen, on a motion that the estimator has not seen."""
    from ...simulation.bag import write_bag
    print(f"\nHeld-out test: another motion of {DEMO_HELD_OUT_S:g} s, predicted with fixed "
          "parameters ...", flush=True)
    bag = folder / "held_out"
    write_bag(bag, seed=args.seed + 1000, duration=DEMO_HELD_OUT_S)
    channels = {}
    for name, parameters in (("prior", prior), ("learnt", folder / "parameters.yaml")):
        output = folder / f"held_out_{name}"
        run_command("evaluate", bag, "--parameters", parameters, "--frozen", "--no-report",
                    "--output", output, quiet=True)
        channels[name] = json.loads((output / "metrics.json").read_text())["channels"]
    shutil.rmtree(bag)
    print(held_out_table(channels["prior"], channels["learnt"]))


def held_out_table(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Table of R^2 of prior and result, and coverage of the result, per channel."""
    lines = [f"\n{'channel':<12}{'R^2 prior':>12}{'R^2 learnt':>12}{'95 % interval holds':>22}"]
    lines += [f"{name:<12}{shown(before[name]['r2'], '.2f'):>12}"
              f"{shown(channel['r2'], '.3f'):>12}{shown(channel['coverage95'], '.1%'):>22}"
              for name, channel in after.items()]
    return "\n".join(lines)
