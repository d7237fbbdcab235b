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

"""`evaluate`: turn recordings into metrics.json, samples.csv and a report."""
from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from .. import options
from ..config import Config
from ..errors import ConfigError
from ..processes import Started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand."""
    parser.description = ("Replay rosbag2 recordings through the estimator and measure its "
                          "predictions.")
    parser.add_argument(
        "bags", nargs="+", metavar="BAG", type=options.bag,
        help="folder of a bag, one .mcap or .db3 file, or another log: .BIN, .tlog, a .csv with "
             "its mapping (docs/recordings.md); several run one after another")
    options.add_piece(parser, "skip this much [s] at the beginning of each recording",
                      "use each recording up to this time [s] from its beginning")
    parser.add_argument(
        "--split", type=options.number(above=0.0, below=100.0, unit="%"), metavar="PERCENT",
        help="learn from this share of the recordings' time and predict the rest with the learnt "
             "parameters: the held-out test in one run")
    parser.add_argument(
        "--parameters", type=options.file, metavar="YAML",
        help="parameters to start from (written by --save-parameters or the node)")
    parser.add_argument(
        "--frozen", action="store_true",
        help="predict with --parameters and the noise saved with them, and learn nothing: the "
             "held-out test")
    parser.add_argument(
        "--adapt-intervals", action="store_true",
        help="with --frozen: let the width of intervals follow the residuals of the bag, as in the "
             "running node; their coverage is then no evidence")
    parser.add_argument(
        "--schedule", metavar="NAME|YAML",
        help="learn in stages: name or file of a schedule, instead of estimation.schedule "
             "(docs/identification.md)")
    parser.add_argument("--save-parameters", type=options.new_file, metavar="YAML",
                        help="save the last estimate in this file")
    parser.add_argument("--jobs", type=options.count, default=2, metavar="N",
                        help="processes: with 2 or more the front end runs ahead of the estimator "
                             "in its own process, with the same results; default 2")
    parser.add_argument("--no-report", action="store_true",
                        help="write metrics.json and samples.csv only")
    parser.add_argument("--figures", action="store_true",
                        help="also write print-quality figures, as PNG files")
    options.add_output(parser, "metrics.json, samples.csv and report.html")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate and return 0; raises UvmsError if something cannot be used."""
    if args.frozen and args.parameters is None:
        raise ConfigError("--frozen: got no parameters to predict with, expected --parameters YAML "
                          "as well.")
    _check(args)
    config = options.config_of(args)
    if args.schedule is not None:
        config = config.with_values({"estimation.schedule": args.schedule})
    if args.jobs == 1:
        return _run(args, config, None)
    # The front end's process loads its modules while this one does.
    with Started("uvms_adaptive_dynamics.evaluation.prepared") as ahead:
        return _run(args, config, ahead)


def _run(args: argparse.Namespace, config: Config, ahead: Started | None) -> int:
    # Imported here: solvers and the arm's model take a second to load, and wrong arguments are
    # reported first.
    from ..model.parameter_file import load_parameters
    from .pieces import divided
    from .run import evaluate
    from .summary import summary
    learnt, held_out = divided(args.bags, config, args.begin, args.end, args.split)
    prior = None if args.parameters is None else load_parameters(args.parameters)
    metrics = evaluate(learnt, config, prior, args.frozen, args.output, not args.no_report,
                       args.save_parameters,
                       say=lambda sentence: print(f"evaluate: {sentence}", file=sys.stderr),
                       adapt_intervals=args.adapt_intervals, figures=args.figures,
                       held_out=held_out, jobs=args.jobs, ahead=ahead)
    print(summary(metrics))
    result = "metrics.json" if args.no_report else "report.html"
    if held_out:
        print(f"\nheld out: the last {100 - args.split:g} %, nothing learnt:\n"
              f"{summary(metrics['held_out'])}\n\n{args.output / 'held_out' / result}")
    print(f"\n{args.output / result}")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse arguments that conflict."""
    if args.adapt_intervals and not args.frozen:
        raise ConfigError("--adapt-intervals: got no --frozen; expected both, since intervals "
                          "always follow the residuals while parameters are learnt.")
    options.check_piece(args)
    if args.split is not None and args.frozen:
        raise ConfigError("--split: got --frozen as well, which learns nothing; expected one of "
                          "the two.")
    if args.figures and find_spec("matplotlib") is None:
        raise ConfigError("--figures: matplotlib is not installed; pip install matplotlib, or "
                          "leave --figures out, which the report does not need.")
    if args.schedule is not None and args.frozen:
        raise ConfigError("--schedule: got --frozen as well, which learns nothing; expected one of "
                          "the two.")
