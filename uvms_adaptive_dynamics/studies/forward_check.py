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

"""`forward`: simulate a piece of a recording with a saved estimate, and compare its bands with a
Monte Carlo simulation (docs/uncertainty.md)."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..errors import BagError, ConfigError, ParameterError
from ..evaluation.run_files import write_json
from ..model.dynamics import State
from ..model.error_covariance import Disturbance
from ..model.forward_simulation import Forward, error_of, simulate
from ..model.kernel import correlation_length, gaussian_kernel
from ..model.metrics import shown
from ..model.parameter_draws import moving_covariance
from ..model.parameter_file import load_parameters
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.sample import Sample
from .monte_carlo import compared, monte_carlo
from .noise_kinds import recorded

FORWARD_SCHEMA = 1
BAND_SEED = 1    # added to the seed, so that bands and Monte Carlo use different draws


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = (
        "Simulate a piece of a recording from its initial state and efforts, with bands from the "
        "estimate's covariance.")
    parser.add_argument("bag", metavar="BAG", type=options.bag,
                        help="folder of a bag, or one .mcap or .db3 file")
    parser.add_argument("--parameters", type=options.file, metavar="YAML", required=True,
                        help="estimate with covariance, from --save-parameters or the node")
    parser.add_argument("--begin", type=options.seconds(0.0), default=20.0, metavar="S",
                        help="start of the piece, after the recording's first sample [s]; default "
                             "20")
    parser.add_argument("--duration", type=options.seconds(), default=5.0, metavar="S",
                        help="how far to simulate [s]; default 5")
    parser.add_argument("--step", type=options.seconds(high=0.05), default=0.02, metavar="S",
                        help="step of the simulation [s]; default 0.02")
    parser.add_argument("--disturbance", action="store_true",
                        help="include the residuals of the estimate's predictions in the bands")
    parser.add_argument(
        "--draws", type=options.whole(2, also=0), default=0, metavar="N",
        help="also run a Monte Carlo simulation with N parameter draws; default 0: none")
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N",
                        help="seed of those draws; default 0")
    options.add_output(parser, "forward.json")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate, compare and return 0; raises UvmsError for unusable input."""
    if args.duration <= args.step:
        raise ConfigError(f"--duration: got {args.duration:g} s, expected more than --step "
                          f"({args.step:g} s).")
    config, folder = options.config_of(args), output_folder(args.output)
    robot = RobotModel.from_config(config)
    source = f"--parameters '{args.parameters}'"
    estimate = load_parameters(args.parameters).for_table(robot.table, source)
    if estimate.covariance is None:
        raise ParameterError(
            f"{source}: got no covariance, expected an estimate with one, which the bands need.")
    piece = _piece(args.bag, config, robot, args.begin, args.duration)
    start, efforts = state_of(piece[0]), smooth_efforts(piece, config)
    disturbance = _disturbance(estimate, config, source) if args.disturbance else None
    covariance = moving_covariance(robot, start, estimate.values, estimate.covariance,
                                   seed=args.seed + BAND_SEED)
    band = simulate(robot, start, efforts, estimate.values, args.duration, covariance, disturbance,
                    step=args.step)
    names, measured = error_names(robot), _measured(robot, piece, band)
    content: dict[str, Any] = {
        "schema": FORWARD_SCHEMA, "t": band.t, "error_names": names, "stddev": band.stddev,
        "measured_minus_simulated": measured}
    print(f"{'state':<16}{'band [stddev]':>15}{'measured - simulated':>23}   "
          f"after {args.duration:g} s")
    for name, spread, error in zip(names, band.stddev[-1], measured[-1], strict=True):
        said = None if np.isnan(error) else error
        print(f"{name:<16}{spread:>15.3g}{shown(said, '.3g'):>23}")
    if args.draws:
        draws = monte_carlo(robot, start, efforts, estimate, config, args.duration, args.step,
                            args.draws, args.seed)
        bands = {said: simulate(robot, start, efforts, estimate.values, args.duration, spread,
                                step=args.step)
                 for said, spread in (("parameters that can move", covariance),
                                      ("all of the estimate's covariance", estimate.covariance))}
        content["monte_carlo"] = compared(draws, bands, names, args.step)
    write_json(folder / "forward.json", content)
    print(f"\n{folder / 'forward.json'}")
    return 0


def error_names(robot: RobotModel) -> tuple[str, ...]:
    """(d,) names of the entries of a state error, in the order of `forward.Forward`."""
    vehicle = ("north [m]", "east [m]", "down [m]", "roll [rad]", "pitch [rad]", "yaw [rad]",
               "u [m/s]", "v [m/s]", "w [m/s]", "p [rad/s]", "q [rad/s]",
               "r [rad/s]") if robot.vehicle else ()
    return (*vehicle, *robot.joints, *(f"{joint} speed" for joint in robot.joints))


def state_of(sample: Sample) -> State:
    """The state that a sample measured."""
    return State(sample.R_nb, sample.nu, sample.mu, sample.mu_dot)


def smooth_efforts(samples: Sequence[Sample], config: Config) -> Callable[[float], np.ndarray]:
    """Measured efforts (C,) at t [s] from the first sample, behind the rows' low-pass, linearly
    interpolated between samples."""
    kernel = gaussian_kernel(config.filter)
    raw = np.array([
        np.concatenate([s.wrench, s.joint_torque]) if config.robot.vehicle else s.joint_torque
        for s in samples
    ])
    padded = np.pad(raw, ((len(kernel) // 2,) * 2, (0, 0)), "edge")
    tau = np.column_stack([np.convolve(column, kernel, "valid") for column in padded.T])
    last = len(tau) - 1

    def at(t: float) -> np.ndarray:
        place = min(max(t / config.filter.period, 0.0), last)
        k = min(int(place), last - 1)
        return tau[k] + (place - k) * (tau[k + 1] - tau[k])
    return at


def _piece(bag: Path, config: Config, robot: RobotModel, begin: float,
           duration: float) -> list[Sample]:
    samples, _ = recorded(bag, "gaussian", config, robot, 0)
    if not samples:
        raise BagError(f"{bag}: gave no usable sample; run `evaluate` on it to see why.")
    first = samples[0].t
    piece = [
        s for s in samples
        if first + begin - 1e-9 <= s.t <= first + begin + duration + config.filter.period / 2
    ]
    if len(piece) < duration / config.filter.period:
        raise BagError(
            f"{bag}: got {len(piece)} samples in the {duration:g} s from {begin:g} s on, "
            f"expected {round(duration / config.filter.period)}; begin earlier, or where the "
            "recording has no gap.")
    return piece


def _disturbance(estimate: ParameterSet, config: Config, source: str) -> Disturbance:
    if estimate.noise_stddev is None:
        raise ParameterError(
            f"--disturbance: {source} holds no noise of the channels, expected an estimate with it."
        )
    return Disturbance(np.diag(estimate.noise_stddev ** 2),
                       correlation_length(gaussian_kernel(config.filter)) * config.filter.period)


def _measured(robot: RobotModel, piece: Sequence[Sample], band: Forward) -> np.ndarray:
    """(T, d) measured (nearest sample) minus simulated; NaN for the position, which is not
    measured."""
    period = piece[1].t - piece[0].t
    states = tuple(state_of(piece[min(round(t / period), len(piece) - 1)]) for t in band.t)
    errors = error_of(robot, states, band.position, band)
    if robot.vehicle:
        errors[:, :3] = np.nan
    return errors
