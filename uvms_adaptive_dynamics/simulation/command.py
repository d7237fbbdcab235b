"""`simulate`: write a recording of the simulated robot."""
from __future__ import annotations

import argparse
from dataclasses import replace

from .faults import ACCEPTANCE, KINDS, combined
from .true_robot import TrueRobot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command, with their units."""
    parser.add_argument("--output", required=True, metavar="BAG", help="directory of the new rosbag2 recording")
    parser.add_argument("--duration", type=float, default=120.0, help="length of the run [s]; default 120")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another motion and other noise; default 0")
    parser.add_argument("--storage", choices=("mcap", "sqlite3"), default="mcap", help="default mcap")
    parser.add_argument("--payload", type=float, default=0.0, help="mass in the gripper [kg]; default 0")
    parser.add_argument("--faults", nargs="+", choices=(*KINDS, "acceptance"), default=[], metavar="KIND",
                        help=f"what goes wrong with sensors and log: {', '.join(KINDS)}; 'acceptance' is {', '.join(ACCEPTANCE)}")
    parser.add_argument("--truth", metavar="FILE", help="also write the true motion and efforts to this .npz file")


def run(args: argparse.Namespace) -> int:
    """Write the bag; returns the exit status. Raises UvmsError with what to do when an argument cannot be used."""
    from ..errors import ConfigError
    from .bag import write_bag  # rosbags is needed here alone

    if not 0.0 < args.duration < 1e6:
        raise ConfigError(f"duration: got {args.duration}, expected seconds above 0; give the length of the run")
    if not 0.0 <= args.payload <= 2.0:
        raise ConfigError(f"payload: got {args.payload} kg, expected 0 to 2; the arm lifts no more")
    if args.seed < 0:
        raise ConfigError(f"seed: got {args.seed}, expected 0 or more")
    kinds = dict.fromkeys(kind for given in args.faults for kind in (ACCEPTANCE if given == "acceptance" else (given,)))
    truth = write_bag(args.output, seed=args.seed, duration=args.duration, storage=args.storage,
                      true_robot=replace(TrueRobot(), payload_mass=args.payload), truth=args.truth,
                      faults=combined(kinds) if kinds else None)
    print(f"{args.output}: {args.duration:g} s, seed {args.seed}, {args.storage}"
          + (f", faults: {', '.join(kinds)}" if kinds else "")
          + (f"; {len(truth.t)} rows of truth in {args.truth}" if args.truth else ""))
    return 0
