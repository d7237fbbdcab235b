"""The figures of docs/signals.md, made anew: `python docs/measure_signals.py {cost,outliers,delay,held-out,budget} [--seeds ..]`.

    cost      CPU time of a sample, all channels, filters included, from the messages of a bag
    outliers  R^2 lost, held out, by learning from a faulty recording instead of the clean one; false rejections
    delay     error of the estimated delay between command and motion
    held-out  1 - R^2 with this front end and with another checkout's (--before DIR), on the rows that count in both
    budget    1 - R^2 held out where single signals are the simulator's truth

Recordings are simulated into --bags and used again. Prior wrong by a factor of two, a solve at every tenth tick.
"""
import argparse
import os
import pickle
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
if "UVMS_BEFORE" not in os.environ:     # set where this file runs with another checkout's package
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import numpy as np  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.evaluation.bags import read_messages  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.sample import Sample  # noqa: E402
from uvms_adaptive_dynamics.signals.topics import inputs  # noqa: E402

SOLVE_EVERY, HELD_OUT_SEED, DURATION = 10, 1000, 120.0
NAMES = tuple(f.name for f in fields(Sample))
SIGNALS = {"as measured": (), "nu": ("nu",), "nu_dot": ("nu_dot",), "attitude": ("R_nb",), "wrench": ("wrench",), "joint torque": ("joint_torque",),
           "arm's motion": ("mu", "mu_dot", "mu_ddot"), "vehicle's motion": ("R_nb", "nu", "nu_dot"), "everything": NAMES[1:9]}


def bag_of(folder, seed, faults=()):
    """The bag of a seed, truth beside it; made unless it is there."""
    from uvms_adaptive_dynamics.simulation.bag import write_bag
    from uvms_adaptive_dynamics.simulation.faults import combined
    bag = folder / f"s{seed}{'_faulty' if faults else ''}"
    if not bag.exists():
        write_bag(bag, seed=seed, duration=DURATION, truth=bag.with_suffix(".npz"), faults=combined(faults) if faults else None)
    return bag


def front_end(config, robot):
    try:
        from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
    except ImportError:                  # checkouts from before the front end had a folder of its own
        from uvms_adaptive_dynamics.signals import SignalFrontEnd
    return SignalFrontEnd(config, robot)


def samples_of(bag, config, robot):
    """(front end, samples) of a bag."""
    front, found = front_end(config, robot), []
    for item in read_messages(bag, inputs(config)):
        front.push(*item)
        found += front.samples()
    return front, found + front.flush()


def samples_before(checkout, bag):
    """Samples of a bag by the front end of another checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "UVMS_BEFORE": "1"}
    raw = subprocess.run([sys.executable, __file__, "dump", "--bags", str(bag)], env=environment, check=True, stdout=subprocess.PIPE).stdout
    return [Sample(*row) for row in pickle.loads(raw)]


def with_truth(samples, bag, names, period):
    """The samples with some of their fields replaced by the simulator's truth."""
    truth = np.load(bag.with_suffix(".npz"))
    columns, place = {name: truth[name] for name in names}, {round(t / period): k for k, t in enumerate(truth["t"])}
    found = []
    for s in samples:
        k = place.get(round(s.t / period))
        if k is not None:
            found.append(Sample(**{name: columns[name][k] if name in columns else getattr(s, name) for name in NAMES}))
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
    estimator.learn = False
    estimator.reset_horizon()
    return {round(p.t / config.filter.period): p for p in map(estimator.add, test) if p is not None}


def unexplained(sets, pi_of=None):
    """[1 - R^2 (C,)] of each set of predictions on the rows that count in all, the share masked in the last, and, with
    `pi_of` (p,), what those parameters leave unexplained of the last set's rows."""
    ticks = sorted(set.intersection(*map(set, sets)))
    valid = np.logical_and.reduce([[p[k].valid for k in ticks] for p in sets])

    def share(measured, predicted):
        measured, error = np.where(valid, measured, np.nan), np.where(valid, measured - predicted, np.nan)
        return np.nansum(error ** 2, axis=0) / np.nansum((measured - np.nanmean(measured, axis=0)) ** 2, axis=0)

    column = lambda p, name: np.array([getattr(p[k], name) for k in ticks])  # noqa: E731
    found = [share(column(p, "measured"), column(p, "predicted")) for p in sets]
    last = sets[-1]
    best = None if pi_of is None else share(column(last, "measured"), column(last, "regressor") @ pi_of + column(last, "known"))
    return found, 1 - np.mean([last[k].valid for k in sorted(last)], axis=0), best


def line(name, values):
    """A table's row: ten channels and their mean."""
    print(f"{name:<22}" + "".join(f"{v:8.4f}" for v in values) + f"{np.mean(values):9.4f}", flush=True)


def cost(args, config, robot):
    """Median CPU time between two samples; the best of three passes, each over the whole bag."""
    messages = list(read_messages(bag_of(args.bags, args.seeds[0]), inputs(config)))
    for _ in range(3):
        front, times, spent = front_end(config, robot), [], 0
        for item in messages:
            begin = time.process_time_ns()
            front.push(*item)
            made = front.samples()
            spent += time.process_time_ns() - begin
            if made:
                times += [1e-6 * spent / len(made)] * len(made)
                spent = 0
        print(f"{len(times)} samples: CPU median {np.median(times):.3f} ms, mean {np.mean(times):.3f}, 99 % {np.quantile(times, .99):.3f}, "
              f"largest {np.max(times):.1f}")


def outliers(args, config, robot):
    """Learning from the faulty recording against learning from the clean one, tested on another clean one."""
    from uvms_adaptive_dynamics.simulation.faults import ACCEPTANCE
    for seed in args.seeds:
        front, test = samples_of(bag_of(args.bags, seed + HELD_OUT_SEED), config, robot)
        dirty, faulty = samples_of(bag_of(args.bags, seed, ACCEPTANCE), config, robot)
        _, clean = samples_of(bag_of(args.bags, seed), config, robot)
        (a, b), *_ = unexplained([predictions(config, robot, seed, train, test) for train in (clean, faulty)])
        line(f"seed {seed}: R^2 lost", b - a)
        print(f"  largest {np.max(b - a):.4f}; refused in the faulty one: {dirty.counters}; in the clean test: {front.counters or 'nothing'}")


def delay(args, config, robot):
    """Commands received earlier than they act, by 0 to 0.5 s."""
    from uvms_adaptive_dynamics.signals.checks.delay import thruster_delay
    for seed in args.seeds:
        messages = list(read_messages(bag_of(args.bags, seed), inputs(config)))
        for true in (0.0, 0.05, 0.1, 0.2, 0.35, 0.5):
            front, found = front_end(config, robot), []
            for role, message, t in sorted(((r, m, t - true * (r == "thrusters")) for r, m, t in messages[:len(messages) // 2]), key=lambda item: item[2]):
                front.push(role, message, t)
                found += front.samples()
            offline, online = thruster_delay(found, robot, config).delay, front.delay.found.delay
            print(f"seed {seed}, true {true:.2f} s: offline {1e3 * (offline - true):+5.1f} ms, online {1e3 * (online - true):+5.1f} ms", flush=True)


def held_out(args, config, robot):
    """Both front ends, the same bags, rows, bandwidth and estimator."""
    from uvms_adaptive_dynamics.studies.campaign import best_linear
    table = []
    print(f"{'1 - R^2':<22}" + "".join(f"{name:>8}" for name in robot.channels) + f"{'mean':>9}")
    for seed in args.seeds:
        bags = [bag_of(args.bags, seed), bag_of(args.bags, seed + HELD_OUT_SEED)]
        before = predictions(config, robot, seed, *(samples_before(args.before, bag) for bag in bags))
        now = [samples_of(bag, config, robot)[1] for bag in bags]
        true = predictions(config, robot, seed, *(with_truth(s, bag, NAMES[1:9], config.filter.period) for s, bag in zip(now, bags)))
        rows, masked, best = unexplained([true, before, predictions(config, robot, seed, *now)],
                                         best_linear(bags[0].with_suffix(".npz"), config, robot).values)
        table.append((rows[1], rows[2], best, rows[0], masked))
        for name, values in zip(("before", "now", "best linear model", "truth for all signals", "masked"), table[-1]):
            line(f"{seed} {name}", values)
    old, new, best, true, _ = means = np.mean(table, axis=0)
    for name, values in zip(("before", "now", "best linear model", "truth for all signals", "masked"), means):
        line(f"all: {name}", values)
    line("now / before", new / old)
    print(f"mean of the ten: {np.mean(new) / np.mean(old):.3f} of before; with the truth for all signals {np.mean(true) / np.mean(old):.3f}; "
          f"best linear model {np.mean(best) / np.mean(old):.3f}")


def budget(args, config, robot):
    """Which signal's errors cost what."""
    print(f"{'1 - R^2, truth for':<22}" + "".join(f"{name:>8}" for name in robot.channels) + f"{'mean':>9}")
    for seed in args.seeds:
        bags = [bag_of(args.bags, seed), bag_of(args.bags, seed + HELD_OUT_SEED)]
        measured = [samples_of(bag, config, robot)[1] for bag in bags]
        for name, names in SIGNALS.items():
            found = predictions(config, robot, seed, *(with_truth(s, bag, names, config.filter.period) for s, bag in zip(measured, bags)))
            line(f"{seed} {name}", unexplained([found])[0][0])


def main():
    commands = {"cost": cost, "outliers": outliers, "delay": delay, "held-out": held_out, "budget": budget}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*commands, "dump"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--bags", type=Path, default=Path("measured_bags"), help="folder of the simulated bags")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="a setting, such as estimation.forgetting=1.0")
    parser.add_argument("--before", type=Path, help="checkout whose front end stands for before (held-out)")
    args = parser.parse_args(namespace=argparse.Namespace(config=None, solver=None))
    if args.what == "dump":     # for samples_before: the samples of one bag, as plain tuples, by a package that may be older
        config = Config()
        robot = RobotModel.from_config(config)
        sys.stdout.buffer.write(pickle.dumps([tuple(getattr(s, name) for name in NAMES) for s in samples_of(args.bags, config, robot)[1]]))
        return
    from uvms_adaptive_dynamics.evaluation.command import config_of
    config = config_of(args)
    robot = RobotModel.from_config(config)
    if args.what == "held-out" and args.before is None:
        parser.error("--before: give the checkout to compare with, such as a git worktree of 6ea3d84")
    args.bags.mkdir(parents=True, exist_ok=True)
    commands[args.what](args, config, robot)


if __name__ == "__main__":
    main()
