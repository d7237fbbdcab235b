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

"""`simulate`: record the simulated robot."""
from __future__ import annotations

import argparse
from dataclasses import replace

from .. import options
from ..config import load_config
from ..errors import ConfigError
from .faults.kinds import ACCEPTANCE, FAULT_KINDS, combined
from .mishaps import Held, Mishaps, Pull, ThrusterFailure
from .rough import ROUGH, ROUGH_PARTS, Roughness, roughness
from .true_robot import TrueRobot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command, with their units."""
    parser.add_argument("--output", type=options.new_path, required=True, metavar="BAG",
                        help="directory of the new rosbag2 recording")
    parser.add_argument("--duration", type=options.seconds(high=1e6), default=120.0, metavar="S",
                        help="length of the run [s]; default 120")
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N",
                        help="seed of motion and noise; default 0")
    parser.add_argument("--config", type=options.file, metavar="YAML",
                        help="simulate the robot of these settings (arm, mount, thrusters, water), "
                             "and publish with their topics, types and units")
    parser.add_argument("--storage", choices=("mcap", "sqlite3"), default="mcap",
                        help="default mcap")
    # The arm lifts no more than 2 kg.
    parser.add_argument("--payload", type=options.number(0.0, 2.0, "kg"), default=0.0,
                        metavar="KG", help="mass in the gripper [kg]; default 0")
    parser.add_argument(
        "--faults", nargs="+", choices=(*FAULT_KINDS, "acceptance"), default=[], metavar="KIND",
        help=f"faults of sensors and log: {', '.join(FAULT_KINDS)}; "
             f"'acceptance' means {', '.join(ACCEPTANCE)}")
    parser.add_argument(
        "--rough", nargs="*", choices=tuple(ROUGH_PARTS), default=None, metavar="PART",
        help="effects that the model lacks: all without a PART (except motion capture), or any of "
             f"{', '.join(ROUGH_PARTS)}")
    parser.add_argument("--individual", type=options.whole(0), default=0, metavar="N",
                        help="number of the robot among its kind, independent of the seed; "
                             "default 0")
    parser.add_argument("--pull", nargs=4, type=options.number(-1e3, 1e3), action="append",
                        metavar=("N", "E", "D", "S"), default=[],
                        help="a tether that becomes taut: force north, east and down [N], and its "
                             "start [s] (may be repeated)")
    parser.add_argument("--thruster-fails", nargs=3, type=options.number(-1e3, 1e6),
                        action="append", metavar=("K", "SHARE", "S"), default=[],
                        help="thruster K, counted from 1, gives only SHARE, 0 to 1, of its thrust "
                             "from S [s] on (may be repeated)")
    parser.add_argument("--held", nargs=2, type=options.number(0.0, 1e6), action="append",
                        metavar=("S", "UNTIL"), default=[],
                        help="something holds the vehicle where it is, as a dock or a net does, "
                             "from S until UNTIL [s] (may be repeated)")
    parser.add_argument("--truth", type=options.new_file, metavar="FILE",
                        help="also write the true motion and efforts to this .npz file")


def run(args: argparse.Namespace) -> int:
    """Write the bag and return 0; raises UvmsError for unusable arguments."""
    from .bag import write_bag  # rosbags is needed only here
    from .configured import true_robot_of

    if args.config is not None and args.faults:
        raise ConfigError("--faults: got --config as well; expected one of the two, since faults "
                          "only work with the default robot's messages.")
    config = None if args.config is None else load_config(args.config)
    robot = TrueRobot() if config is None else true_robot_of(config)
    if robot.fixed_base and (args.rough is not None or args.pull or args.thruster_fails
                             or args.held):
        raise ConfigError("--rough, --pull, --thruster-fails, --held: got one of them with an arm "
                          "on a fixed base (robot.vehicle is false); expected a vehicle, on which "
                          "they all act.")
    kinds = dict.fromkeys(kind for given in args.faults
                          for kind in (ACCEPTANCE if given == "acceptance" else (given,)))
    truth = write_bag(args.output, seed=args.seed, duration=args.duration, storage=args.storage,
                      true_robot=replace(robot, payload_mass=args.payload), truth=args.truth,
                      faults=combined(kinds), rough=rough_of(args.rough),
                      individual=args.individual, config=config,
                      mishaps=mishaps_of(args, robot.allocation.shape[1]))
    print(f"{args.output}: {args.duration:g} s, seed {args.seed}, {args.storage}"
          + (f", faults: {', '.join(kinds)}" if kinds else "")
          + ("" if args.rough is None else f", rough: {', '.join(args.rough) or 'all'}")
          + (f"; {len(truth.t)} rows of truth in {args.truth}" if args.truth else ""))
    return 0


def mishaps_of(args: argparse.Namespace, thrusters: int) -> Mishaps:
    """The mishaps of `--pull`, `--thruster-fails` and `--held`; raises ConfigError for an invalid
    thruster or share, or a time that ends before it begins."""
    for number, share, _ in args.thruster_fails:
        if number not in range(1, thrusters + 1) or not 0 <= share <= 1:
            raise ConfigError(f"--thruster-fails: got thruster {number:g} and share {share:g}, "
                              f"expected one of 1 to {thrusters} and a share of 0 to 1.")
    for begin, end in args.held:
        if end <= begin:
            raise ConfigError(f"--held: got {begin:g} and {end:g} s, expected an end after the "
                              "beginning.")
    return Mishaps(tuple(Pull((north, east, down), begin)
                         for north, east, down, begin in args.pull),
                   tuple(ThrusterFailure(int(number) - 1, share, begin)
                         for number, share, begin in args.thruster_fails),
                   tuple(Held(*times) for times in args.held))


def rough_of(parts: list[str] | None) -> Roughness:
    """The roughness of `--rough`: none for None, all parts for an empty list."""
    if parts is None:
        return Roughness()
    return roughness(parts) if parts else ROUGH
