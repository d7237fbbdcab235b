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

"""The command line, `python -m uvms_adaptive_dynamics COMMAND`; commands load modules on demand."""
from __future__ import annotations

import difflib
import errno
import os
import select
import signal
import sys
from importlib import import_module
from typing import Any

from .programs import INTERRUPTED, begin_imports, end_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from . import __version__  # noqa: E402
from .disk.kinds import reason_of  # noqa: E402
from .errors import UvmsError  # noqa: E402
from .options import Parser  # noqa: E402

MODULE_PROGRAM = "python -m uvms_adaptive_dynamics"
COMMANDS = {
    "evaluate": ("evaluation.evaluate_command",
                 "replay recordings through the estimator and measure its predictions"),
    "inspect": ("evaluation.inspect_command",
                "list the contents of a recording and propose settings for it"),
    "check": ("evaluation.check_command",
              "check settings and the files that they name, without a recording"),
    "convert": ("evaluation.convert_command",
                "write an ArduPilot, telemetry or CSV log as a rosbag2 recording"),
    "batch": ("evaluation.batch.command",
              "evaluate many recordings with many settings in parallel, or compare two results"),
    "simulate": ("simulation.simulate_command", "write a recording of a simulated robot"),
    "campaign": ("studies.campaign",
                 "identify simulated robots from wrong priors and test them on held-out data"),
    "coverage": ("studies.coverage",
                 "compare parameter intervals with the truth, on data from the linear model"),
    "intervals": ("studies.intervals",
                  "measure the coverage of 95 % prediction intervals on unseen data of simulated "
                  "robots"),
    "unseen": ("studies.unseen",
               "test on robots the rules were not tuned for: coverage on other motion, false "
               "findings"),
    "stages": ("studies.stages",
               "identify in stages and all at once, and compare both on held-out data"),
    "paper": ("studies.paper.command",
              "compare the paper's method with the defaults, on recordings or simulated robots"),
    "forward": ("studies.forward_check",
                "simulate part of a recording with a saved estimate, with uncertainty bands"),
    "twin": ("studies.twin.command",
             "forecast motions with an estimate, and compare the bands with what then happened"),
    "faults": ("studies.faults.command",
               "inject faults into a clean recording, one by one, and judge the effect of each"),
    "verdicts": ("studies.verdicts.command",
                 "count correct verdicts on good recordings and on recordings with known defects"),
    "terms": ("studies.terms.command",
              "show which terms beyond the paper's improve predictions on held-out data"),
    "closed_loop": ("studies.closed_loop.command",
                    "track a motion with a wrong, adapted, true or no feedforward"),
    "guided": ("studies.guided.command",
               "identify a simulated robot stage by stage, with designed motions"),
    "excite": ("studies.excitation.command",
               "design the most informative motion within limits (dry run)"),
    "benchmark": ("studies.benchmark.command",
                  "time the complete update against CVXPY, over horizons, joints and solvers"),
    "export": ("export.command",
               "export a saved estimate to URDF, simulators and other controllers"),
    "completion": ("completion", "print the shell script that completes commands and options"),
    "demo": ("ros.demo.command", "simulate a robot, identify it live, test on held-out data, and "
                                 "report"),
}


class _CommandParser(Parser):
    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own drops errors of the output, such as a full disk.
        print(message or "", end="", file=file or sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return its exit status (2 for invalid input)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _CommandParser(prog=_program(),
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
            if arguments and arguments[0].startswith("-"):
                parser.parse_args(arguments)    # exits for --help and --version
            raise _no_command(arguments)
        command = import_module(f".{COMMANDS[chosen][0]}", __package__)
        end_imports()
        command.add_arguments(subparsers.choices[chosen])
        return int(command.run(parser.parse_args(arguments)))
    except UvmsError as error:
        print(f"{chosen or 'uvms_adaptive_dynamics'}: {error}", file=sys.stderr)
        return 2


def _program() -> str:
    """The program as it was called: that of `scripts/uvms`, or the module."""
    return os.environ.get("UVMS_PROGRAM", MODULE_PROGRAM)


def _no_command(arguments: list[str]) -> UvmsError:
    if not arguments:
        return UvmsError("expected a command, such as 'inspect' or 'evaluate'. See --help.")
    near = difflib.get_close_matches(arguments[0], COMMANDS, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return UvmsError(f"got '{arguments[0]}', expected a command.{hint} See --help.")


def process() -> int:
    """`main` of a process: its status, or that of a shell for Ctrl-C and for output that is no
    longer read."""
    begin_imports()
    try:
        try:
            status = main()
        except SystemExit as end:       # --help, --version
            status = int(end.code or 0)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        if not any(_is_unread(stream.fileno()) for stream in (sys.stdout, sys.stderr)):
            raise       # another pipe, of one of our own processes
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno != errno.ENOSPC or not _is_full():
            raise       # of another file
        _drop_output()
        print(f"standard output cannot be written: {reason_of(error)}; free space on its disk or "
              "send it to another one", file=sys.stderr)
        return 2


def _drop_output() -> None:
    """Drop what is left of the output, which Python would report at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_full() -> bool:
    """Whether the output's disk takes nothing more."""
    try:
        print(flush=True)
    except OSError as error:
        return error.errno == errno.ENOSPC
    return False


def _is_unread(output: int) -> bool:
    """Whether an output is a pipe whose reader has gone, as `head` does."""
    poll = select.poll()
    poll.register(output, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


if __name__ == "__main__":
    sys.exit(process())
