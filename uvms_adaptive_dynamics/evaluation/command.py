"""`python -m uvms_adaptive_dynamics evaluate`: recordings in, metrics.json, samples.csv and report out (DESIGN section 12)."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from ..config import Config, load_config
from ..errors import ConfigError
from ..model.parameter_file import load_parameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand."""
    parser.description = "Replay rosbag2 recordings through the estimator and measure its predictions."
    parser.add_argument("bags", nargs="+", metavar="BAG", type=Path,
                        help="folder of a bag, or one .mcap or .db3 file; several run one after another")
    parser.add_argument("--config", type=Path, metavar="YAML",
                        help="ROS parameter file with the settings that differ from the defaults")
    parser.add_argument("--parameters", type=Path, metavar="YAML",
                        help="parameters to start from (written by --save-parameters or the node)")
    parser.add_argument("--frozen", action="store_true", help="predict with --parameters and learn nothing: the held-out test")
    parser.add_argument("--save-parameters", type=Path, metavar="YAML", help="keep the last estimate in this file")
    parser.add_argument("--output", type=Path, metavar="DIR", required=True, help="folder for metrics.json, samples.csv and report.html")
    parser.add_argument("--no-report", action="store_true", help="write metrics.json and samples.csv only")
    parser.add_argument("--solver", metavar="S", help="'auto', 'mosek', 'clarabel' or 'cvxpy:<NAME>' (setting estimation.solver)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change one setting, such as estimation.horizon=200 (may be repeated)")


def run(args: argparse.Namespace) -> int:
    """Evaluate and return 0; raises UvmsError where something cannot be used."""
    if args.frozen and args.parameters is None:
        raise ConfigError("--frozen has nothing to predict with; give --parameters YAML as well.")
    config = config_of(args)
    prior = None if args.parameters is None else load_parameters(args.parameters)
    # Only here: solvers and the arm's model take a second to load, and a wrong argument is answered before.
    from .run import evaluate
    metrics = evaluate(args.bags, config, prior, args.frozen, args.output, not args.no_report, args.save_parameters,
                       say=lambda sentence: print(f"evaluate: {sentence}", file=sys.stderr))
    print(summary(metrics))
    print(f"\n{args.output / ('metrics.json' if args.no_report else 'report.html')}")
    return 0


def config_of(args: argparse.Namespace) -> Config:
    changes: dict[str, Any] = {}
    for text in args.settings:
        name, found, value = text.partition("=")
        if not found:
            raise ConfigError(f"--set got '{text}'; expected name=value, such as estimation.horizon=200.")
        try:
            changes[name.strip()] = _number(yaml.safe_load(value))
        except yaml.YAMLError:
            raise ConfigError(f"--set {name}: '{value}' is not a YAML value; expected a number, a text or [a, list].") from None
    if args.solver is not None:
        changes["estimation.solver"] = args.solver
    return load_config(args.config).with_values(changes)


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as a text; people mean the number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def summary(metrics: dict[str, Any]) -> str:
    """The table that ends a run on the terminal."""
    wide = 2 + max(len("channel"), *map(len, metrics["channels"]))
    lines = [f"{'channel':<{wide}}{'unit':<5}{'rows':>7}{'masked':>8}{'R^2':>10}{'slope':>8}{'RMSE':>9}{'cover':>8}{'width':>9}"
             f"{'prior RMSE':>12}{'final RMSE':>12}"]
    for name, c in metrics["channels"].items():
        before, after = (metrics[block]["channels"][name]["rmse"] for block in ("prior", "final"))
        lines.append(f"{name:<{wide}}{c['unit']:<5}{c['n']:>7}{c['masked']:>8}{_text(c['r2'], '.3f'):>10}{_text(c['slope'], '.3f'):>8}"
                     f"{_text(c['rmse'], '.4g'):>9}{_text(c['coverage95'], '.1%'):>8}{_text(c['interval_width'], '.4g'):>9}"
                     f"{_text(before, '.4g'):>12}{_text(after, '.4g'):>12}")
    solver = metrics["solver"]
    lines.append(f"{metrics['duration_s']:.1f} s, " + (
        "frozen: nothing estimated" if solver is None else
        f"{metrics['updates']} updates, {metrics['skipped']} skipped, {solver['name']}: median {_text(solver['median_ms'], '.2f')} ms, "
        f"99 % {_text(solver['p99_ms'], '.2f')} ms, {solver['failures']} failures"))
    return "\n".join(lines)


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
