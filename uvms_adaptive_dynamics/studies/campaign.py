"""`campaign`: simulated robots, each identified from a wrong prior and then tested on a motion that it has not seen.

Per seed: bag A, a prior wrong by a factor (DESIGN section 11) and prequential estimation; with --held-out the estimate is
frozen and tested on bag B, another motion. Beside it stands what the model itself can do on the rows of bag B: parameters
fitted by plain least squares to bag A's true states and efforts, free of noise. They share the test's measured rows and
with them the errors of sensors and of the assumed battery voltage, which an estimate from measured rows partly absorbs:
it is a reference that an estimate can reach and, by little, exceed, and not a bound.
"""
from __future__ import annotations

import argparse
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np

from ..config import Config
from ..errors import ConfigError
from ..model.parameter_file import ParameterSet
from ..model.prior import perturbed, prior_from_config
from ..model.robot import RobotModel
from ..estimation.low_pass import RowFilter
from ..model.sample import Sample
from ..simulation.bag import write_bag
from ..simulation.robot import Truth
from ..simulation.true_robot import TrueRobot
from ..evaluation.command import config_of
from ..evaluation.files import output_folder, write_json
from ..evaluation.metrics import all_channels
from ..evaluation.run import Run, metrics_of, run as run_bags

SCHEMA = 1
HELD_OUT_SEED = 1000     # bag B of seed s is the simulated run of seed s + 1000
RELATIVE_WINDOW = 2.0    # [s] window of the paper's arrival cost
# On columns scaled by the table and rows scaled by their channel: small against all that the motion excites, enough to
# keep directions at zero that no motion excites.
RIDGE = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = "Simulate, identify from a wrong prior, test held out: R^2 and calibration for several seeds."
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="N", help="each is another motion, noise and prior; default 1 2 3")
    parser.add_argument("--duration", type=float, default=120.0, help="length of the identification [s]; default 120")
    parser.add_argument("--prior-factor", type=float, default=2.0, metavar="K", help="every non-zero parameter of the prior times K or 1/K; default 2")
    parser.add_argument("--held-out", action="store_true", help="also test the frozen estimate on another motion")
    parser.add_argument("--held-out-duration", type=float, metavar="S", help="length of that test [s]; default as --duration")
    parser.add_argument("--compare-relative", action="store_true",
                        help=f"the same with the paper's arrival cost, estimation.arrival=relative and a window of {RELATIVE_WINDOW:g} s")
    parser.add_argument("--config", type=Path, metavar="YAML", help="ROS parameter file with the settings that differ from the defaults")
    parser.add_argument("--solver", metavar="S", help="'auto', 'mosek', 'clarabel' or 'cvxpy:<NAME>' (setting estimation.solver)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change one setting, such as estimation.forgetting=1.0 (may be repeated)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="seeds that run at the same time; default 1")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR",
                        help="folder for campaign.json and for the bags, which later campaigns use again")


def run(args: argparse.Namespace) -> int:
    """Run the campaign and return 0; raises UvmsError where something cannot be used."""
    for name, value, expected, fits in (
            ("--duration", args.duration, "at least 10 s", args.duration >= 10), ("--jobs", args.jobs, "at least 1", args.jobs >= 1),
            ("--held-out-duration", args.held_out_duration, "at least 10 s", args.held_out_duration is None or args.held_out_duration >= 10),
            ("--prior-factor", args.prior_factor, "above 0", args.prior_factor > 0), ("--seeds", args.seeds, "0 or more", min(args.seeds) >= 0)):
        if not fits:
            raise ConfigError(f"{name}: got {value}, expected {expected}.")
    config, folder = config_of(args), output_folder(args.output)
    held_out = (args.held_out_duration or args.duration) if args.held_out else None
    tasks = [Task(seed, args.duration, held_out, args.prior_factor, config, args.compare_relative, output_folder(folder / "bags"))
             for seed in dict.fromkeys(args.seeds)]
    content: dict[str, Any] = {"schema": SCHEMA, "duration_s": args.duration, "held_out_s": held_out, "prior_factor": args.prior_factor,
                               "settings": {name: value for (name, _, value), (_, _, default) in zip(config.settings(), Config().settings())
                                            if value != default}, "seeds": {}}
    for task, outcome in zip(tasks, _outcomes(tasks, args.jobs)):
        content["seeds"][str(task.seed)] = outcome
        # After every seed: an interrupted campaign keeps what it has.
        write_json(folder / "campaign.json", content)
        for arrival, found in outcome["arrival"].items():
            print(f"\nseed {task.seed}, arrival '{arrival}', {found['solver']['name']}, median {found['update_ms']['median']:.1f} ms a tick, "
                  f"{found['solver']['failures']} failures, {found['physical']['violations']} violations, rank {found['identifiable_rank']}")
            print(table(found, outcome["best_linear"]), flush=True)
    for arrival in content["seeds"][str(args.seeds[0])]["arrival"] if len(tasks) > 1 else ():
        print(f"\nworst of {len(tasks)} seeds, arrival '{arrival}'")
        print(worst([outcome["arrival"][arrival] for outcome in content["seeds"].values()]))
    print(f"\n{folder / 'campaign.json'}")
    return 0


# --- one seed -------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Task:
    """One seed: lengths [s] of identification and held-out test (None: no test), and the folder where the bags are kept."""

    seed: int
    duration: float
    held_out: float | None
    prior_factor: float
    config: Config
    compare_relative: bool
    bags: Path

    def variants(self) -> dict[str, Config]:
        """Settings to compare, by arrival cost."""
        own = {self.config.estimation.arrival: self.config}
        if not self.compare_relative:
            return own
        window = max(1, round(RELATIVE_WINDOW / self.config.filter.period))
        return own | {"relative": self.config.with_values({"estimation.arrival": "relative", "estimation.horizon": window})}


def _outcomes(tasks: Sequence[Task], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from map(run_seed, tasks)
        return
    # Threads of BLAS and processes would fight for the same cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_seed, tasks)


def run_seed(task: Task) -> dict[str, Any]:
    """Identify and test one simulated robot.

    Returns {"arrival": {name: {"second_half", "prequential", "held_out": channels or None, "solver", "update_ms",
    "physical", "identifiable_rank", "parameters"}}, "best_linear": channels or None}, channels as in metrics.json.
    """
    robot = RobotModel.from_config(task.config)
    prior = perturbed(prior_from_config(task.config, robot), task.prior_factor, task.seed)
    bag_a = simulated(task.bags, task.seed, task.duration)
    bag_b = None if task.held_out is None else simulated(task.bags, task.seed + HELD_OUT_SEED, task.held_out)
    outcome: dict[str, Any] = {"arrival": {}, "best_linear": None}
    for arrival, config in task.variants().items():
        learnt = run_bags([bag_a], config, prior)
        metrics = metrics_of(learnt)
        found = {"second_half": second_half(learnt), "prequential": metrics["channels"], "held_out": None,
                 **{key: metrics[key] for key in ("solver", "update_ms", "physical")},
                 "identifiable_rank": learnt.identifiable_rank, "parameters": dict(zip(learnt.final.names, learnt.final.values))}
        if bag_b is not None:
            tested = run_bags([bag_b], config, learnt.final, frozen=True)
            found["held_out"] = metrics_of(tested)["channels"]
            if outcome["best_linear"] is None:
                outcome["best_linear"] = channels_of(tested, best_linear(truth_file(bag_a), config, robot))
        outcome["arrival"][arrival] = found
    return outcome


def second_half(done: Run) -> dict[str, dict[str, Any]]:
    """Metrics of the rows in the second half of the recorded time: the estimate has had the first half to settle."""
    rows = done.log.rows()
    late = rows.t > (rows.t[0] + rows.t[-1]) / 2
    return all_channels(done.robot.channels, done.robot.units, rows.measured[late], rows.predicted[late], rows.stddev[late], rows.valid[late])


def channels_of(done: Run, parameters: ParameterSet) -> dict[str, dict[str, Any]]:
    """Metrics of other parameters on the rows of a run."""
    rows = done.log.rows()
    return all_channels(done.robot.channels, done.robot.units, rows.measured, *done.log.predict(parameters.values, parameters.covariance), rows.valid)


# --- bags and truth -------------------------------------------------------------------------------------------------

def simulated(folder: Path, seed: int, duration: float) -> Path:
    """The bag of a seed, with its truth beside it; made unless it is there already."""
    bag = folder / f"seed{seed}_{duration:g}s"
    if not bag.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished_") as unfinished:
            made = Path(unfinished) / bag.name
            write_bag(made, seed=seed, duration=duration, truth=truth_file(made))
            # The bag last: where there is a bag, there is its whole truth.
            truth_file(made).replace(truth_file(bag))
            made.replace(bag)
    return bag


def truth_file(bag: Path) -> Path:
    """Where the truth of a simulated bag is kept."""
    return bag.with_name(f"{bag.name}.truth.npz")


def best_linear(truth: Path, config: Config, robot: RobotModel) -> ParameterSet:
    """Parameters of the linear model that fit the true states and efforts best, by plain least squares without constraints.

    Rows pass the estimator's own low-pass and mask of joints at rest, and count relative to their channel's standard
    deviation: what is smallest is the sum of 1 - R^2 over the channels.
    """
    Y, tau = true_rows(truth, config, robot)
    scale = np.array([np.nanstd(tau[:, c]) for c in range(tau.shape[1])])
    counted = np.isfinite(tau).ravel()
    A = ((Y / scale[:, None]) * robot.table.scale).reshape(-1, robot.table.size)[counted]
    b = (tau / scale).ravel()[counted]
    x = np.linalg.solve(A.T @ A / len(b) + RIDGE * np.eye(A.shape[1]), A.T @ b / len(b))
    return ParameterSet(robot.table.names, x * robot.table.scale)


def true_rows(truth: Path, config: Config, robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Low-passed Y (T, C, p) and tau - known (T, C) of the truth log, NaN in tau where a joint is at rest."""
    with np.load(truth) as columns:
        log = Truth(**columns)
    joints = [TrueRobot().joints.index(joint) for joint in robot.joints]
    rows = RowFilter(config.filter, robot.table.channels, robot.table.size)
    Y, tau = [], []
    for k, t in enumerate(log.t):
        moving = np.abs(log.mu_dot[k, joints]) >= config.joint_states.rest_velocity
        valid = np.concatenate([np.ones(robot.vehicle_rows.stop, bool), moving])
        sample = Sample(t, log.R_nb[k], log.nu[k], log.nu_dot[k], log.mu[k, joints], log.mu_dot[k, joints], log.mu_ddot[k, joints],
                        log.wrench[k], log.joint_torque[k, joints], valid)
        row = rows.push(t, robot.raw_rows(sample), valid)
        if row is not None:
            Y.append(row.Y)
            tau.append(np.where(row.valid, row.tau - row.known, np.nan))
    return np.array(Y), np.array(tau)


# --- tables ---------------------------------------------------------------------------------------------------------

def table(found: dict[str, Any], best: dict[str, Any] | None) -> str:
    """One seed on the terminal; without a held-out test, slope to masked are those of the second half."""
    lines = [f"{'channel':<10}{'R^2 2nd half':>14}{'held out':>10}{'best linear':>13}{'slope':>8}{'bias':>10}{'cover':>8}{'width':>9}{'NLL':>8}{'masked':>8}"]
    for name, half in found["second_half"].items():
        c = found["held_out"][name] if found["held_out"] else half
        lines.append(f"{name:<10}{_text(half['r2'], '.3f'):>14}{_text(found['held_out'] and c['r2'], '.3f'):>10}"
                     f"{_text(best and best[name]['r2'], '.3f'):>13}{_text(c['slope'], '.3f'):>8}{_text(c['bias'], '.4f'):>10}"
                     f"{_text(c['coverage95'], '.1%'):>8}{_text(c['interval_width'], '.4g'):>9}{_text(c['nll'], '.2f'):>8}"
                     f"{c['masked'] / max(c['n'] + c['masked'], 1):>8.1%}")
    return "\n".join(lines)


def worst(found: Sequence[dict[str, Any]]) -> str:
    """The smallest R^2 of all seeds, and the range of slope and coverage."""
    lines = [f"{'channel':<10}{'R^2 2nd half':>14}{'held out':>10}{'slope':>16}{'cover':>18}"]
    for name in found[0]["second_half"]:
        halves = [f["second_half"][name] for f in found]
        tested = [f["held_out"][name] for f in found if f["held_out"]]
        lines.append(f"{name:<10}{_least(halves, 'r2'):>14}{_least(tested, 'r2'):>10}{_range(tested or halves, 'slope', '.3f'):>16}"
                     f"{_range(tested or halves, 'coverage95', '.1%'):>18}")
    return "\n".join(lines)


def _least(channels: Sequence[dict[str, Any]], key: str) -> str:
    return _text(min((c[key] for c in channels if c[key] is not None), default=None), ".3f")


def _range(channels: Sequence[dict[str, Any]], key: str, form: str) -> str:
    values = [c[key] for c in channels if c[key] is not None]
    return f"{min(values):{form}} .. {max(values):{form}}" if values else "-"


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
