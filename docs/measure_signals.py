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

"""Measures the figures of docs/signals.md: `python docs/measure_signals.py WHAT [--seeds ..]`.

    cost        CPU time per sample, with all filters, from the messages of a bag
    outliers    held-out R^2 lost by learning from a faulty recording; false rejections
    delay       error of the estimated delay between command and motion
    held-out    1 - R^2 of this front end, of the simulator's truth, and of the best linear model
    budget      held-out 1 - R^2 with single signals replaced by the simulator's truth
    sources     held-out R^2 lost without an orientation, and with odometry or poses for DVL and IMU

Recordings are simulated into --bags and reused. The prior is wrong by a factor of two, and every
tenth tick is solved.
"""

import argparse
import os
import sys
import time
from dataclasses import fields
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import numpy as np  # noqa: E402

from uvms_adaptive_dynamics.evaluation.bags import read_messages  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.sample import Sample  # noqa: E402
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd  # noqa: E402
from uvms_adaptive_dynamics.signals.samples import samples_of  # noqa: E402
from uvms_adaptive_dynamics.signals.topics import inputs  # noqa: E402

SOLVE_EVERY, HELD_OUT_SEED, DURATION = 10, 1000, 120.0
NAMES = tuple(f.name for f in fields(Sample))
SIGNALS = {
    "as measured": (),
    "nu": ("nu",),
    "nu_dot": ("nu_dot",),
    "attitude": ("R_nb",),
    "wrench": ("wrench",),
    "joint torque": ("joint_torque",),
    "arm's motion": ("mu", "mu_dot", "mu_ddot"),
    "vehicle's motion": ("R_nb", "nu", "nu_dot"),
    "everything": NAMES[1:9],
}


def bag_of(folder, seed, faults=()):
    """The bag of a seed, with a file of the truth; simulated unless it exists."""
    from uvms_adaptive_dynamics.simulation.bag import write_bag
    from uvms_adaptive_dynamics.simulation.faults.kinds import combined

    bag = folder / f"s{seed}{'_faulty' if faults else ''}"
    if not bag.exists():
        write_bag(
            bag,
            seed=seed,
            duration=DURATION,
            truth=bag.with_suffix(".npz"),
            faults=combined(faults),
        )
    return bag


def front_and_samples(bag, config, robot):
    """(front end, samples) of a bag."""
    front = SignalFrontEnd(config, robot)
    return front, samples_of(front, read_messages(bag, inputs(config)))


def with_truth(samples, bag, names, period):
    """The samples with the fields `names` replaced by the simulator's truth."""
    truth = np.load(bag.with_suffix(".npz"))
    columns, place = (
        {name: truth[name] for name in names},
        {round(t / period): k for k, t in enumerate(truth["t"])},
    )
    found = []
    for s in samples:
        k = place.get(round(s.t / period))
        if k is not None:
            found.append(
                Sample(
                    **{
                        name: columns[name][k] if name in columns else getattr(s, name)
                        for name in NAMES
                    }
                )
            )
    return found


def predictions(config, robot, seed, train, test):
    """{tick: prediction} on `test`, frozen, after learning from `train`."""
    from uvms_adaptive_dynamics.estimation.estimator import Estimator
    from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config

    estimator = Estimator(config, perturbed(prior_from_config(config, robot), 2, seed), robot)
    for k, sample in enumerate(train):
        estimator.add(sample)
        if k % SOLVE_EVERY == SOLVE_EVERY - 1:
            estimator.solve()
    estimator.solve()
    estimator.set_learning(False)
    estimator.break_off()
    return {round(p.t / config.filter.period): p for p in map(estimator.add, test) if p is not None}


def unexplained(sets, pi_of=None):
    """([1 - R^2 (C,)] of each set of predictions on the rows that count in all sets, (C,) share of
    masked rows in the last set, 1 - R^2 (C,) of the parameters `pi_of` (p,) on the last set's rows,
    or None)."""
    ticks = sorted(set.intersection(*map(set, sets)))
    valid = np.logical_and.reduce([[p[k].valid for k in ticks] for p in sets])

    def share(measured, predicted):
        error = np.where(valid, measured - predicted, np.nan)
        measured = np.where(valid, measured, np.nan)
        moved = measured - np.nanmean(measured, axis=0)
        return np.nansum(error**2, axis=0) / np.nansum(moved**2, axis=0)

    column = lambda p, name: np.array([getattr(p[k], name) for k in ticks])
    found = [share(column(p, "measured"), column(p, "predicted")) for p in sets]
    last = sets[-1]
    best = (
        None
        if pi_of is None
        else share(
            column(last, "measured"), column(last, "regressor") @ pi_of + column(last, "known")
        )
    )
    return found, 1 - np.mean([last[k].valid for k in sorted(last)], axis=0), best


def line(name, values):
    """Print a row of the table: ten channels and their mean."""
    print(
        f"{name:<22}" + "".join(f"{v:8.4f}" for v in values) + f"{np.mean(values):9.4f}", flush=True
    )


def cost(args, config, robot):
    """CPU time per sample, in three passes over the whole bag."""
    messages = list(read_messages(bag_of(args.bags, args.seeds[0]), inputs(config)))
    for _ in range(3):
        front, times, spent = SignalFrontEnd(config, robot), [], 0
        for item in messages:
            begin = time.process_time_ns()
            front.add_message(*item)
            made = front.samples()
            spent += time.process_time_ns() - begin
            if made:
                times += [1e-6 * spent / len(made)] * len(made)
                spent = 0
        print(
            f"{len(times)} samples: CPU median {np.median(times):.3f} ms, "
            f"mean {np.mean(times):.3f}, 99 % {np.quantile(times, 0.99):.3f}, "
            f"largest {np.max(times):.1f}"
        )


def outliers(args, config, robot):
    """Compare learning from a faulty and from a clean recording, tested on another clean one."""
    from uvms_adaptive_dynamics.simulation.faults.kinds import ACCEPTANCE

    for seed in args.seeds:
        front, test = front_and_samples(bag_of(args.bags, seed + HELD_OUT_SEED), config, robot)
        dirty, faulty = front_and_samples(bag_of(args.bags, seed, ACCEPTANCE), config, robot)
        _, clean = front_and_samples(bag_of(args.bags, seed), config, robot)
        (a, b), *_ = unexplained(
            [predictions(config, robot, seed, train, test) for train in (clean, faulty)]
        )
        line(f"seed {seed}: R^2 lost", b - a)
        print(
            f"  largest {np.max(b - a):.4f}; rejected in the faulty one: {dirty.counters}; "
            f"in the clean test: {front.counters or 'nothing'}"
        )


def delay(args, config, robot):
    """Estimate the delay of commands that come 0 to 0.5 s before they act."""
    from uvms_adaptive_dynamics.signals.checks.delay import FIRST_ESTIMATE, thruster_delay

    for seed in args.seeds:
        messages = list(read_messages(bag_of(args.bags, seed), inputs(config)))
        for true in (0.0, 0.05, 0.1, 0.2, 0.35, 0.5):
            front = SignalFrontEnd(config, robot)
            half = messages[: len(messages) // 2]
            earlier = ((r, m, t - true * (r == "thrusters")) for r, m, t in half)
            found = samples_of(front, sorted(earlier, key=lambda item: item[2]))
            # what the commands have been put off by, and what remains
            online = front.delay.found.delay - sum(mend.late for mend in front.mends)
            received = [sample for sample in found if sample.t < found[0].t + FIRST_ESTIMATE]
            offline = thruster_delay(received, robot, config).delay
            print(
                f"seed {seed}, true {true:.2f} s: offline {1e3 * (offline - true):+5.1f} ms, "
                f"online {1e3 * (online - true):+5.1f} ms",
                flush=True,
            )


def held_out(args, config, robot):
    """Compare front end, truth for all signals, and best linear model on the same rows."""
    from uvms_adaptive_dynamics.studies.simulated_runs import best_linear

    names, table = ("front end", "best linear model", "truth for all signals", "masked"), []
    print(f"{'1 - R^2':<22}" + "".join(f"{name:>8}" for name in robot.channels) + f"{'mean':>9}")
    for seed in args.seeds:
        bags = [bag_of(args.bags, seed), bag_of(args.bags, seed + HELD_OUT_SEED)]
        measured = [front_and_samples(bag, config, robot)[1] for bag in bags]
        period = config.filter.period
        true = [with_truth(s, bag, NAMES[1:9], period) for s, bag in zip(measured, bags)]
        best = best_linear(bags[0].with_suffix(".npz"), config, robot).values
        (of_truth, of_measured), masked, of_best = unexplained(
            [predictions(config, robot, seed, *pair) for pair in (true, measured)], best
        )
        table.append((of_measured, of_best, of_truth, masked))
        for name, values in zip(names, table[-1]):
            line(f"{seed} {name}", values)
    for name, values in zip(names, np.mean(table, axis=0)):
        line(f"all: {name}", values)


def budget(args, config, robot):
    """Measure the cost of each signal's errors."""
    channels = "".join(f"{name:>8}" for name in robot.channels)
    print(f"{'1 - R^2, truth for':<22}{channels}{'mean':>9}")
    for seed in args.seeds:
        bags = [bag_of(args.bags, seed), bag_of(args.bags, seed + HELD_OUT_SEED)]
        measured = [front_and_samples(bag, config, robot)[1] for bag in bags]
        for name, names in SIGNALS.items():
            found = predictions(
                config,
                robot,
                seed,
                *(
                    with_truth(s, bag, names, config.filter.period)
                    for s, bag in zip(measured, bags)
                ),
            )
            line(f"{seed} {name}", unexplained([found])[0][0])


def sources(args, config, robot):
    """Measure the loss of held-out R^2 without the IMU's orientation, and with odometry or poses in
    place of DVL and IMU, against the robot's own sensors; tilt error RMS [deg] after 20 s."""
    sys.path.insert(0, str(ROOT / "test/signals"))
    from odometry import BOTH, ODOMETRY, POSE, as_pose, odometry, replaced, simulated
    from test_faulty_recordings import front_and_samples
    from test_faulty_recordings import held_out as r2
    from test_own_attitude import without

    beside = {"dvl.frame": "flu", "dvl.xyz": (0.0, 0.0, 0.0)}
    for seed in args.seeds:
        messages, truth = simulated(seed, 70.0)
        test = front_and_samples(config, robot, simulated(seed + 10, 60.0)[0])[1]
        cases = {"sensors": (messages, {}), "no orientation": (without(messages), {})}
        for step in (1, 2, 5, 10):
            moves = odometry(truth, np.random.default_rng(0))[::step]
            poses = [(as_pose(m), t) for m, t in moves]
            for kind, source in ((ODOMETRY, moves), (POSE, poses)):
                name = f"{kind.rsplit('/')[-1]} {100 // step} Hz"
                cases[name] = (replaced(messages, source),
                               {**BOTH, "imu.type": kind, "dvl.type": kind})
                cases[f"{name} and IMU"] = (replaced(messages, source, ("dvl",)),
                                            {**beside, "dvl.type": kind})
        usual = None
        for name, (recording, values) in cases.items():
            own = config.with_values(values)
            samples = front_and_samples(own, robot, recording)[1]
            found = r2(config, robot, samples, test)
            usual = found if usual is None else usual
            index = np.searchsorted(truth.t, [s.t - 1e-4 for s in samples])
            tilt = [np.cross(s.R_nb[2], truth.R_nb[k][2]) for s, k in zip(samples, index)
                    if s.valid[0] and k < len(truth.t) and s.t - truth.t[0] > 20.0]
            rms = np.degrees(np.sqrt(np.mean(np.square(tilt)) * 3))
            print(f"{seed} {name}: tilt {rms:.2f} deg, loss "
                  + " ".join(f"{x:.4f}" for x in usual - found), flush=True)


def main():
    commands = {
        "cost": cost,
        "outliers": outliers,
        "delay": delay,
        "held-out": held_out,
        "budget": budget,
        "sources": sources,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=commands)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument(
        "--bags", type=Path, default=Path("measured_bags"), help="folder of the simulated bags"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a setting, such as estimation.forgetting=1.0",
    )
    args = parser.parse_args(namespace=argparse.Namespace(config=None, solver=None))
    from uvms_adaptive_dynamics.options import config_of

    config = config_of(args)
    args.bags.mkdir(parents=True, exist_ok=True)
    commands[args.what](args, config, RobotModel.from_config(config))


if __name__ == "__main__":
    main()
