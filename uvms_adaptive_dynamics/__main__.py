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

"""The command line: `python -m uvms_adaptive_dynamics COMMAND`; each command loads what it needs.
"""
from __future__ import annotations

import os
import sys
from importlib import import_module

# Before numpy: its matrices are 75 x 75 here, where BLAS threads cost more than they win.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from . import __version__  # noqa: E402
from .errors import UvmsError  # noqa: E402
from .options import Parser  # noqa: E402

MODULE_PROGRAM = "python -m uvms_adaptive_dynamics"
COMMANDS = {
    "evaluate": ("evaluation.evaluate_command",
                 "replay recordings through the estimator and measure its predictions"),
    "inspect": ("evaluation.inspect_command",
                "say what a recording holds, and propose the settings for it"),
    "convert": ("evaluation.convert_command",
                "write an ArduPilot, telemetry or CSV log as a rosbag2 recording"),
    "batch": ("evaluation.batch.command",
              "evaluate many recordings with many settings in parallel, compare two results"),
    "simulate": ("simulation.simulate_command", "make a recording of the simulated robot"),
    "campaign": ("studies.campaign",
                 "identify simulated robots from wrong priors and test them held out"),
    "coverage": ("studies.coverage",
                 "intervals of parameters against the truth, on data of the linear model"),
    "intervals": ("studies.intervals",
                  "count how many unseen rows the 95 % intervals hold on simulated robots"),
    "unseen": ("studies.unseen",
               "robots that no rule was made for: coverage of other motion, what is wrongly found"),
    "stages": ("studies.stages",
               "identify in stages and all at once, and compare what is known held out"),
    "paper": ("studies.paper.command",
              "the letter of the paper beside the defaults, on recordings or simulated robots"),
    "forward": ("studies.forward_check",
                "simulate a piece of a recording with a saved estimate, with its bands"),
    "twin": ("studies.twin.command",
             "forecast motions with an estimate, and hold the bands against what then happened"),
    "faults": ("studies.faults.command",
               "put faults into a clean recording, one by one, and judge what comes of each"),
    "verdicts": ("studies.verdicts.command",
                 "count right verdicts on recordings that are good or spoilt in known ways"),
    "terms": ("studies.terms.command",
              "say which terms beyond the paper's are worth it, on what is held out"),
    "closed_loop": ("studies.closed_loop.command",
                    "follow a motion with a wrong, adapted, true and without a feedforward"),
    "guided": ("studies.guided.command",
               "identify a simulated robot stage by stage, with designed motions"),
    "excite": ("studies.excitation.command",
               "design a motion that tells most of what is not known, within limits; dry run"),
    "benchmark": ("studies.benchmark.command",
                  "time the complete update beside CVXPY's, over horizons, joints and solvers"),
    "export": ("export.command",
               "write a saved estimate for URDF, simulators and controllers of others"),
    "completion": ("completion", "print what makes a shell complete commands and options"),
    "demo": ("ros.demo.command", "simulate, identify, test held out, and report"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; returns its exit status (2 for anything that cannot be used)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = Parser(prog=MODULE_PROGRAM,
                    description="Online estimation of the dynamics of underwater "
                                "vehicle-manipulator robots.")
    parser.add_argument("--version", action="version",
                        version=f"uvms_adaptive_dynamics {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True,
                                       metavar="{" + ",".join(COMMANDS) + "}")
    for name, (_, meaning) in COMMANDS.items():
        subparsers.add_parser(name, help=meaning.replace("%", "%%"))
    chosen = next((argument for argument in arguments if argument in COMMANDS), None)
    try:
        if chosen is None:
            parser.parse_args(arguments)  # --help and --version exit, all else is refused
            return 2
        command = import_module(f".{COMMANDS[chosen][0]}", __package__)
        command.add_arguments(subparsers.choices[chosen])
        return int(command.run(parser.parse_args(arguments)))
    except UvmsError as error:
        print(f"{chosen or 'uvms_adaptive_dynamics'}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
