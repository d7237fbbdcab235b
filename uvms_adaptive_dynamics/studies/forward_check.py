"""`forward`: simulate a piece of a recording with a saved estimate, and hold its bands against a Monte Carlo (docs/uncertainty.md)."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from ..config import Config
from ..model.physical_set import PhysicalSet
from ..model.dynamics import State
from ..errors import BagError, ConfigError, ParameterError
from ..model.forward_simulation import Disturbance, Forward, draw_parameters, error_of, moving_covariance, simulate
from ..model.parameter_file import ParameterSet, load_parameters
from ..model.robot import RobotModel
from ..estimation.low_pass import correlation_length, gaussian_kernel
from ..model.sample import Sample
from ..evaluation.command import config_of
from ..evaluation.files import output_folder, write_json
from .noise_kinds import recorded

SCHEMA = 1
SETTLING = 0.5   # [s] after which the bands are compared: at the start every spread is zero
BAND_SEED = 1    # added to the seed: bands are never of the draws that they are held against


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = "Simulate a piece of a recording from its own start and efforts, with the bands of the estimate's covariance."
    parser.add_argument("bag", metavar="BAG", type=Path, help="folder of a bag, or one .mcap or .db3 file")
    parser.add_argument("--parameters", type=Path, metavar="YAML", required=True, help="estimate with covariance, from --save-parameters or the node")
    parser.add_argument("--begin", type=float, default=20.0, metavar="S", help="where to begin, after the recording's first sample [s]; default 20")
    parser.add_argument("--duration", type=float, default=5.0, metavar="S", help="how far to simulate [s]; default 5")
    parser.add_argument("--step", type=float, default=0.02, metavar="S", help="step of the simulation [s]; default 0.02")
    parser.add_argument("--disturbance", action="store_true", help="let the bands hold the residual of the estimate's predictions, too")
    parser.add_argument("--draws", type=int, default=0, metavar="N", help="Monte Carlo of so many drawn parameters beside the bands; default none")
    parser.add_argument("--seed", type=int, default=0, help="of those draws; default 0")
    parser.add_argument("--config", type=Path, metavar="YAML", help="ROS parameter file with the settings that differ from the defaults")
    parser.add_argument("--solver", help=argparse.SUPPRESS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change one setting (may be repeated)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for forward.json")


def run(args: argparse.Namespace) -> int:
    """Simulate, compare and return 0; raises UvmsError where something cannot be used."""
    for name, value, expected, fits in (("--duration", args.duration, "above --step", args.duration > args.step),
                                        ("--step", args.step, "above 0 and at most 0.05 s", 0 < args.step <= 0.05),
                                        ("--draws", args.draws, "0, or at least 2", args.draws == 0 or args.draws >= 2),
                                        ("--begin", args.begin, "0 or more", args.begin >= 0)):
        if not fits:
            raise ConfigError(f"{name}: got {value}, expected {expected}.")
    config, folder = config_of(args), output_folder(args.output)
    robot = RobotModel.from_config(config)
    estimate = load_parameters(args.parameters).for_table(robot.table, f"--parameters '{args.parameters}'")
    if estimate.covariance is None:
        raise ParameterError(f"--parameters '{args.parameters}' has no covariance, so that there are no bands; save it again with one.")
    piece = _piece(args.bag, config, robot, args.begin, args.duration)
    start, efforts = state_of(piece[0]), smooth_efforts(piece, config)
    disturbance = _disturbance(estimate, config, args.parameters) if args.disturbance else None
    covariance = moving_covariance(robot, start, estimate.values, estimate.covariance, seed=args.seed + BAND_SEED)
    band = simulate(robot, start, efforts, estimate.values, args.duration, covariance, disturbance, step=args.step)
    names, measured = error_names(robot), _measured(robot, piece, band)
    content: dict[str, Any] = {"schema": SCHEMA, "t": band.t, "error_names": names, "stddev": band.stddev, "measured_minus_simulated": measured}
    print(f"{'state':<16}{'band [stddev]':>15}{'measured - simulated':>23}   after {args.duration:g} s")
    for name, spread, error in zip(names, band.stddev[-1], measured[-1]):
        print(f"{name:<16}{spread:>15.3g}{'-' if np.isnan(error) else format(error, '.3g'):>23}")
    if args.draws:
        content["monte_carlo"] = _compared(robot, start, efforts, estimate, covariance, args, config, names)
    write_json(folder / "forward.json", content)
    print(f"\n{folder / 'forward.json'}")
    return 0


def error_names(robot: RobotModel) -> tuple[str, ...]:
    """(d,) names of the entries of a state's error, in the order of `forward.Forward`."""
    vehicle = ("north [m]", "east [m]", "down [m]", "roll [rad]", "pitch [rad]", "yaw [rad]",
               "u [m/s]", "v [m/s]", "w [m/s]", "p [rad/s]", "q [rad/s]", "r [rad/s]") if robot.vehicle else ()
    return (*vehicle, *robot.joints, *(f"{joint} speed" for joint in robot.joints))


def state_of(sample: Sample) -> State:
    """The state that a sample measured."""
    return State(sample.R_nb, sample.nu, sample.mu, sample.mu_dot)


def smooth_efforts(samples: Sequence[Sample], config: Config) -> Callable[[float], np.ndarray]:
    """Measured efforts (C,) at t [s] from the first sample, after the rows' own low-pass: linear between the samples."""
    kernel = gaussian_kernel(config.filter)
    raw = np.array([np.concatenate([s.wrench, s.joint_torque]) if config.robot.vehicle else s.joint_torque for s in samples])
    padded = np.pad(raw, ((len(kernel) // 2,) * 2, (0, 0)), "edge")
    tau = np.column_stack([np.convolve(column, kernel, "valid") for column in padded.T])
    last = len(tau) - 1

    def at(t: float) -> np.ndarray:
        place = min(max(t / config.filter.period, 0.0), last)
        k = min(int(place), last - 1)
        return tau[k] + (place - k) * (tau[k + 1] - tau[k])
    return at


def _piece(bag: Path, config: Config, robot: RobotModel, begin: float, duration: float) -> list[Sample]:
    samples, _ = recorded(bag, "gaussian", config, robot, 0)
    if not samples:
        raise BagError(f"{bag}: gave no usable sample; see what `evaluate` says of it.")
    first = samples[0].t
    piece = [s for s in samples if first + begin - 1e-9 <= s.t <= first + begin + duration + config.filter.period / 2]
    if len(piece) < duration / config.filter.period:
        raise BagError(f"{bag}: from {begin:g} s on there are {len(piece)} samples of {duration:g} s, expected {round(duration / config.filter.period)}; "
                       "begin earlier, or where the recording has no gap.")
    return piece


def _disturbance(estimate: ParameterSet, config: Config, source: Path) -> Disturbance:
    if estimate.noise_stddev is None:
        raise ParameterError(f"--disturbance: '{source}' holds no noise of the channels; save it again with one.")
    return Disturbance(np.diag(estimate.noise_stddev ** 2), correlation_length(gaussian_kernel(config.filter)) * config.filter.period)


def _measured(robot: RobotModel, piece: Sequence[Sample], band: Forward) -> np.ndarray:
    """(T, d) what the nearest samples measured, minus the simulation; no position, which nothing measures."""
    period = piece[1].t - piece[0].t
    states = tuple(state_of(piece[min(round(t / period), len(piece) - 1)]) for t in band.t)
    errors = error_of(robot, states, band.position, band)
    if robot.vehicle:
        errors[:, :3] = np.nan
    return errors


# --- Monte Carlo ----------------------------------------------------------------------------------------------------

class Draws(NamedTuple):
    """errors (N, T, d) of the runs of drawn parameters values (N, p); how many draws were refused, and of the N are outside P."""

    errors: np.ndarray
    values: np.ndarray
    refused: int
    outside: int


def monte_carlo(robot: RobotModel, start: State, efforts: Callable[[float], np.ndarray], estimate: ParameterSet, config: Config,
                duration: float, step: float, draws: int, seed: int) -> Draws:
    """Simulate `draws` runs, each with parameters drawn from the estimate's normal distribution.

    Most draws lie outside of P in directions that no motion shows (mass that one link gives to the next). They count as they
    are; `draw_parameters` refuses what has no motion.
    """
    values, refused = draw_parameters(robot, start, estimate.values, estimate.covariance, draws, seed)
    base, physical = simulate(robot, start, efforts, estimate.values, duration, step=step), PhysicalSet(robot.table, config.estimation)
    errors = []
    for drawn in values:
        run = simulate(robot, start, efforts, drawn, duration, step=step)
        errors.append(error_of(robot, run.states, run.position, base))
    return Draws(np.array(errors), values, refused, sum(physical.violation(drawn) > 0 for drawn in values))


def band_ratios(band: Forward, errors: np.ndarray) -> np.ndarray:
    """(T, d) standard deviation of the band relative to that of the draws' errors (N, T, d); NaN where these do not spread."""
    spread = errors.std(axis=0, ddof=1)
    return np.divide(band.stddev, spread, out=np.full_like(spread, np.nan), where=spread > 0)


def _compared(robot: RobotModel, start: State, efforts: Callable[[float], np.ndarray], estimate: ParameterSet, moving: np.ndarray,
              args: argparse.Namespace, config: Config, names: tuple[str, ...]) -> dict[str, Any]:
    """Bands of the parameters alone beside the spread of a Monte Carlo: of what can move of the estimate's covariance, and of all of it."""
    draws = monte_carlo(robot, start, efforts, estimate, config, args.duration, args.step, args.draws, args.seed)
    late = slice(round(SETTLING / args.step), None)
    found: dict[str, Any] = {"draws": args.draws, "refused": draws.refused, "outside_P": draws.outside}
    print(f"\n{args.draws} draws, {draws.refused} more refused (no positive definite inertia), {draws.outside} outside P")
    print(f"band / Monte Carlo, over {SETTLING:g} to {args.duration:g} s: RMS over time, lowest .. highest")
    for said, covariance in (("parameters that can move", moving), ("all of the estimate's covariance", estimate.covariance)):
        band = simulate(robot, start, efforts, estimate.values, args.duration, covariance, step=args.step)
        ratios = band_ratios(band, draws.errors)[late]
        overall = np.sqrt(np.mean(band.stddev[late] ** 2, axis=0) / np.mean(draws.errors.var(axis=0, ddof=1)[late], axis=0))
        found[said] = {"overall": overall, "lowest": ratios.min(axis=0), "highest": ratios.max(axis=0)}
        print(f"  {said}")
        for k, name in enumerate(names):
            print(f"    {name:<16}{overall[k]:>7.3f}{ratios[:, k].min():>9.3f} .. {ratios[:, k].max():.3f}")
    return found
