"""`demo`: a simulated robot and the estimator node over real topics, a live view, then the evaluation of what was recorded.

For a machine with rclpy and without `ros2 launch`; nothing here is used by the node.
"""
from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from ...errors import UvmsError

# The prior that the estimator starts from: every parameter wrong by this factor, one way or the other.
WRONG_BY = 2.0
START_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 20.0
LAST_LINES = 15
HELD_OUT_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command, with their units."""
    parser.description = ("Simulate a BlueROV2 Heavy with an Alpha 5, estimate its parameters live from a prior wrong by a factor of 2, "
                          "then evaluate the recording and test the result on another one.")
    parser.add_argument("--duration", type=float, default=90.0, help="length of the live run [s]; default 90")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another motion, noise and prior; default 0")
    parser.add_argument("--output", type=Path, default=Path("demo_output"), metavar="DIR", help="new folder for everything; default demo_output")
    parser.add_argument("--solver", default="auto", help="'auto', 'mosek', 'clarabel' or 'cvxpy:<NAME>'; default auto")
    parser.add_argument("--no-held-out", action="store_true", help="leave out the test on a second recording")


def run(args: argparse.Namespace) -> int:
    """Run the demonstration; returns the exit status. Raises UvmsError with what to do where something cannot be used."""
    # For the evaluation here and for both nodes; BLAS threads only stand in each other's way at this size (see node.py).
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        # First of all: rclpy from wheels starts the whole process anew to set its library path.
        import rclpy  # noqa: F401
    except ImportError as error:
        raise UvmsError(f"the demonstration needs rclpy ({error}). Source a ROS 2 Jazzy installation, or install the extras: "
                        "pip install '.[standalone,ros,evaluation]'.") from None
    if args.duration < 10:
        raise UvmsError(f"--duration is {args.duration:g} s; expected at least 10 s, or there is nothing to see.")
    folder = args.output.expanduser().resolve()
    if folder.exists():
        raise UvmsError(f"--output '{folder}' exists; expected a new folder. Remove it or give another one.")
    begin = time.monotonic()
    folder.mkdir(parents=True)
    prior = _wrong_prior(folder / "prior.yaml", args.seed)
    _live(args, folder, prior)
    print("\nEvaluating the recording through the same code, offline ...", flush=True)
    _evaluate(args, folder, prior)
    print(f"\nReport: {folder / 'evaluation' / 'report.html'}\nThe whole demonstration took {time.monotonic() - begin:.0f} s.")
    return 0


def _wrong_prior(path: Path, seed: int) -> Path:
    from ...config import Config
    from ...model.parameter_file import save_parameters
    from ...model.prior import perturbed, prior_from_config
    from ...model.robot import RobotModel
    config = Config()
    return save_parameters(path, perturbed(prior_from_config(config, RobotModel.from_config(config)), WRONG_BY, seed))


# --- the live part ------------------------------------------------------------------------------------------------------

class Child:
    """A process of the demonstration; its words go to a file, and to the terminal when it fails."""

    def __init__(self, name: str, log: Path, *arguments: str):
        self.name, self.log = name, log
        # Both or neither: with one of them alone, rclpy from wheels does not find its libraries.
        environment = {key: value for key, value in os.environ.items()
                       if key != "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
                       and not (key == "LD_LIBRARY_PATH" and "_ROS_WHEELS_BOOTSTRAP_COMPLETE" in os.environ)}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).resolve().parents[3]), *filter(None, [environment.get("PYTHONPATH")])])
        with log.open("w") as stream:
            self.process = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, stdout=stream,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def check(self) -> None:
        """Raises UvmsError with its last lines when it has ended badly."""
        if self.process.poll() not in (None, 0):
            raise UvmsError(f"the {self.name} ended with status {self.process.returncode}. Its last lines ({self.log}):\n{self.last_lines()}")

    def last_lines(self) -> str:
        """The end of what it said."""
        return "\n".join(f"  | {line}" for line in self.log.read_text(errors="replace").splitlines()[-LAST_LINES:])

    def stop(self) -> None:
        """Ask it to end, and insist if it does not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _live(args: argparse.Namespace, folder: Path, prior: Path) -> None:
    """Both nodes in a ROS domain of their own, watched until the robot is done."""
    # Never the caller's domain: a real vehicle that listens there would obey the simulated thruster commands.
    os.environ.update(ROS_DOMAIN_ID=_other_domain(), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    from .view import View  # only now, since it starts ROS in that domain
    package, children = __package__.partition(".")[0], []
    view = View(prior)
    try:
        estimator = Child("estimator", folder / "estimator.log", f"{package}.ros.node", "--ros-args", "-p", f"prior.file:={prior}",
                          "-p", f"output.record:={folder / 'recording'}", "-p", f"estimation.solver:={args.solver}")
        children.append(estimator)
        _wait(view.estimator_is_up, estimator, "the estimator to subscribe")
        robot = Child("simulated robot", folder / "simulated_robot.log", f"{package}.simulation.node", "--ros-args",
                      "-p", f"seed:={args.seed}", "-p", f"duration:={args.duration}")
        children.append(robot)
        print(f"A simulated BlueROV2 Heavy with an Alpha 5 moves for {args.duration:g} s; the prior is wrong by a factor of {WRONG_BY:g}.\n"
              f"(To look on: export ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST; ros2 topic list)\n", flush=True)
        while robot.process.poll() is None:
            view.spin(0.2)
            estimator.check()
        robot.check()
        view.spin(0.3)  # what is still on its way
        view.finish()
        estimator.stop()
        estimator.check()
    finally:
        for child in children:
            child.stop()
        view.close()


def _other_domain() -> str:
    """A ROS domain of the demonstration's own, below 102 as DDS's ports on Linux ask for."""
    domain = 1 + os.getpid() % 100
    return str(domain + 1 if str(domain) == os.environ.get("ROS_DOMAIN_ID") else domain)


def _wait(condition, child: Child, what: str) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while not condition():
        child.check()
        if time.monotonic() > end:
            raise UvmsError(f"waited {START_TIMEOUT_S:g} s for {what}. Its last lines ({child.log}):\n{child.last_lines()}")


# --- the offline part ---------------------------------------------------------------------------------------------------

def _evaluate(args: argparse.Namespace, folder: Path, prior: Path) -> None:
    """The recording again, and its result tested on a motion that it has not seen."""
    from ...config import Config
    from ...evaluation.command import summary
    from ...evaluation.run import evaluate
    from ...model.parameter_file import load_parameters
    config = Config().with_values({"estimation.solver": args.solver})
    start, learnt = load_parameters(prior), folder / "parameters.yaml"
    print(summary(evaluate([folder / "recording"], config, start, output=folder / "evaluation", save_to=learnt)), flush=True)
    if args.no_held_out:
        return
    from ...simulation.bag import write_bag
    print(f"\nHeld-out test: another motion of {HELD_OUT_S:g} s, predicted with fixed parameters ...", flush=True)
    bag = folder / "held_out"
    write_bag(bag, seed=args.seed + 1000, duration=HELD_OUT_S)
    after = evaluate([bag], config, load_parameters(learnt), frozen=True, output=folder / "held_out_evaluation", report=False)
    before = evaluate([bag], config, start, frozen=True)
    shutil.rmtree(bag)
    print(f"\n{'channel':<12}{'R^2 prior':>12}{'R^2 learnt':>12}{'95 % interval holds':>22}")
    for name, channel in after["channels"].items():
        print(f"{name:<12}{_figure(before['channels'][name]['r2'], '.2f'):>12}{_figure(channel['r2'], '.3f'):>12}"
              f"{_figure(channel['coverage95'], '.1%'):>22}")


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
