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

"""Measures the figures of docs/thresholds.md: the effect of a factor of 1.5 on each constant.

    python docs/measure_thresholds.py [NAME ...] [--shared DIR] [--rough] [--every 5] [--adapting]
    python docs/measure_thresholds.py --set estimation.rows_at_rest=counted     # a setting instead

The first 70 % of each recording are learnt; the last 30 % are predicted with frozen parameters and
the saved noise. The recordings are UR10, Panda and TIAGo (examples/; TIAGo with --set only), a
simulated robot whose prior is wrong by a factor of two and, with --rough, a rougher one. The rough
robot is used for false changes only, because R^2 means nothing where its axes stand still. With
--adapting the intervals of the last 30 % adapt, and coverage is theirs. No recording contains a
change of the robot, so every detected change is false; its withdrawal is counted too. Constants
that only judge (uncertainty/trust.py) are tested on one estimate.

Each line gives the change that the factor made: R^2 and coverage, mean over a recording's channels
(the largest change in any recording, with its sign), the same for a single channel, accepted
changes in all recordings, and the share of rows whose channel is not `ok` (mean over recordings).
"""
from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import numpy as np  # noqa: E402
import tiago_to_bag  # noqa: E402

from uvms_adaptive_dynamics import options  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.config.files import load_config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.model.normal import Z95  # noqa: E402
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet  # noqa: E402
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.sample import Sample  # noqa: E402
from uvms_adaptive_dynamics.simulation.bag import write_bag  # noqa: E402
from uvms_adaptive_dynamics.simulation.rough import ROUGH, Roughness  # noqa: E402
from uvms_adaptive_dynamics.studies.paper.trials import PaperTrial, PreparedSamples  # noqa: E402

PACKAGE, FACTOR, DURATION, SEED = "uvms_adaptive_dynamics", 1.5, 90.0, 1
JUDGES = "uncertainty.trust"    # does not affect learning


def times(value: Any, factor: float) -> Any:
    """A constant times `factor`; whole numbers stay whole, shares stay at most one."""
    if isinstance(value, tuple):
        return tuple(times(each, factor) for each in value)
    if isinstance(value, int):
        return max(1, round(value * factor))
    return min(1.0, value * factor) if value < 1 else value * factor


def about_one(value: float, factor: float) -> float:
    """A ratio whose distance from one is multiplied by `factor`."""
    return 1 + (value - 1) * factor


def apart(value: tuple[float, float], factor: float) -> tuple[float, float]:
    """A range about one whose ends move away from it."""
    return value[0] / factor, value[1] * factor


# module: names, with the scaling function if it is not `times`
CONSTANTS: tuple[tuple[str, str, Callable], ...] = tuple(
    (module, *(entry if isinstance(entry, tuple) else (entry, times)))
    for module, entries in {
        "model.physical_set": ("ACCEPTED_VIOLATION",),
        "model.prior": ("SLENDER", "WATER", "DEFAULT_VISCOUS", "DEFAULT_COULOMB"),
        "estimation.arrival": ("FORGETTING_BLOCK",),
        "estimation.accepted_change": ("FACTOR_UNDONE", "REVERSED_SHARE"),
        "estimation.changes": ("CHANGE_EVIDENCE_NATS", "CONFIRMED_NATS", "CONFIRMING",
                               "RESTORED_NATS", "FIRST_CHANGE_CHECK", "SINCE"),
        "estimation.estimator": ("RECOVER_AFTER", "SAME_INSTANT"),
        "estimation.external_load": ("LOAD_MEMORY",),
        "estimation.forgetting": ("NEGLIGIBLE_GAIN",),
        "estimation.hypotheses": ("SHARE_OF_PRIOR",),
        "estimation.hypothesis": ("ALIKE_NATS",),
        "estimation.scale_hypotheses": ("SIZES_OF_FACTOR",),
        "estimation.thruster_hypotheses": ("THRUSTER_STDDEV",),
        "estimation.information": (("REWEIGH", about_one), "LIMITED_BY_NOISE"),
        "estimation.prior_information": ("SMALLEST_RELATIVE",),
        "estimation.row_excitation": ("AT_REST", "COASTING", "IN_MOTION", "RECENT_MOTION"),
        "estimation.sample_check": ("INCONSISTENT", "ORTHONORMAL"),
        "uncertainty.channel_noise": ("GROSS", ("FACTOR_RANGE", apart), "QUANTILE_RATE",
                                      "RECENT_SHARE", "RECENT_TIME"),
        "uncertainty.noise_scale": ("WINSOR", "INITIAL_ROWS", "FIRST_ROWS", "MANOEUVRE",
                                    "FEWEST_MANOEUVRES"),
        "uncertainty.residual_autocovariance": ("SIGNIFICANT", "FEWEST_RESIDUALS"),
        "uncertainty.trust": ("EXCESS", "GROSS_EXCESS", "UNEXPLAINED_BY_STATE", "MATTERS_BY_STATE",
                              "ASSUMED", "LARGEST_SQUARE", "T999", "MIN_BLOCKS", "BLOCK_TIME"),
    }.items() for entry in entries)


class Recording(NamedTuple):
    """Samples to learn and to test, and the factor on the initial parameters."""

    name: str
    config: Config
    robot: RobotModel
    wrong_by: float     # factor on the prior's parameters
    learnt: list[Sample]
    tested: list[Sample]


class Figures(NamedTuple):
    """Held-out r2 and coverage (C,); not_ok: share of rows; changes: accepted while learning."""

    r2: np.ndarray
    coverage: np.ndarray
    not_ok: float
    changes: int


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="constants, such as MANOEUVRE or trust.EXCESS; default all")
    parser.add_argument("--shared", type=Path,
                        default=Path(os.environ.get("UVMS_SHARED", ROOT.parent / "shared")),
                        help="folder with data/unisa_acg; default $UVMS_SHARED or ../shared")
    parser.add_argument("--rough", action="store_true", help="also a rougher simulated robot")
    parser.add_argument("--every", type=int, default=5, help="rows between solves; default 5")
    parser.add_argument("--adapting", action="store_true", help="test intervals that adapt")
    parser.add_argument("--set", type=options.setting, action="append", default=[],
                        dest="settings", metavar="SETTING=VALUE",
                        help="measure the joint effect of these settings instead of constants")
    args = parser.parse_args()
    chosen = [one for one in CONSTANTS
              if not args.names or {one[1], f"{one[0].split('.')[-1]}.{one[1]}"} & set(args.names)]
    if not chosen:
        parser.error(f"no constant of this script is named {' or '.join(args.names)}.")
    recordings = list(all_recordings(args.shared, args.rough, bool(args.settings)))
    learnt = [learn(one, args.every) for one in recordings]
    base = [tested(one, *known, args.adapting) for one, known in zip(recordings, learnt)]
    for one, figures in zip(recordings, base):
        print(f"{one.name:>9}: R^2 {np.round(figures.r2, 3)}, coverage "
              f"{np.round(figures.coverage, 3)}, not ok {figures.not_ok:.1%}, "
              f"{figures.changes} changes", flush=True)
    print(f"{'':44}" + "".join(f"{head:>14}" for head in (
        "R^2", "a channel's", "coverage", "a channel's", "changes", "not ok")))
    if args.settings:
        changed = [one._replace(config=one.config.with_values(dict(args.settings)))
                   for one in recordings]
        found = [tested(one, *learn(one, args.every), args.adapting) for one in changed]
        for one, before, after in zip(recordings, base, found):
            print(f"{one.name:>9}: R^2 {np.round(after.r2 - before.r2, 3)}, coverage "
                  f"{np.round(after.coverage - before.coverage, 3)} more; "
                  f"{after.changes - before.changes} more changes")
        print(line("set.these", "", recordings, base, found))
        return 0
    for module, name, scaled in chosen:
        for factor in (FACTOR, 1 / FACTOR):
            with patched(module, name, scaled, factor) as value:
                found = [tested(one, *(known if module == JUDGES else learn(one, args.every)),
                                args.adapting) for one, known in zip(recordings, learnt)]
            print(line(f"{module}.{name}", value, recordings, base, found), flush=True)
    return 0


def line(name: str, value: Any, recordings: list[Recording], base: list[Figures],
         found: list[Figures]) -> str:
    """A row of the table."""
    cells = []
    for part in ("r2", "coverage"):
        change = [getattr(new, part) - getattr(old, part)
                  for new, old, one in zip(found, base, recordings) if one.tested]
        for of in (np.nanmean, lambda each: each[np.nanargmax(np.abs(each))]):
            each = [float(of(one)) for one in change]
            k = int(np.argmax(np.abs(each)))
            where = recordings[k].name if abs(each[k]) >= 5e-4 else ""
            cells.append(f"{each[k]:+.3f} {where[:6]:>6}")
    cells.append(f"{sum(one.changes for one in found)}")
    cells.append(f"{np.nanmean([one.not_ok for one in found]):.3f}")
    shown = name.split(".", 1)[1] + (f" = {np.round(value, 8)}" if value != "" else "")
    return f"{shown[:43]:44}" + "".join(f"{cell:>14}" for cell in cells)


@contextmanager
def patched(module: str, name: str, scaled: Callable, factor: float) -> Iterator[Any]:
    """Patch the constant to `factor` times its value, in the module that declares it and in those
    that import it by name; yields the new value."""
    value = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    new = value * factor if isinstance(value, np.ndarray) else scaled(value, factor)
    with ExitStack() as stack:
        for where, holder in list(sys.modules.items()):
            if where.startswith(PACKAGE) and vars(holder).get(name) is value:
                stack.enter_context(patch.object(holder, name, new))
                if name == "WINSOR" and hasattr(holder, "WINSOR_MEAN"):
                    stack.enter_context(patch.object(holder, "WINSOR_MEAN", winsor_mean(new)))
        yield new


def winsor_mean(k: float) -> float:
    """E min(z^2, k^2) of a standard normal z."""
    density = math.exp(-k ** 2 / 2) / math.sqrt(2 * math.pi)
    tail = math.erfc(k / math.sqrt(2))
    return 1 - tail - 2 * k * density + k ** 2 * tail


def learn(one: Recording, every: int) -> tuple[ParameterSet, int]:
    """(saved estimate, number of accepted changes)."""
    prior = perturbed(prior_from_config(one.config, one.robot), one.wrong_by, SEED)
    estimator = Estimator(one.config, prior, one.robot)
    for k, sample in enumerate(one.learnt):
        estimator.add(sample)
        if k % every == every - 1:
            estimator.solve()
    estimator.solve()
    return estimator.parameter_set(), estimator.changes


def tested(one: Recording, saved: ParameterSet, changes: int, adapting: bool = False) -> Figures:
    """Figures of the last part with nothing adapted or, if `adapting`, with adapting intervals; NaN
    if there is no last part."""
    if not one.tested:
        nothing = np.full(one.robot.table.channels, np.nan)
        return Figures(nothing, nothing, np.nan, changes)
    estimator = Estimator(one.config, saved, one.robot, learn=False, adapt_intervals=adapting)
    rows = [row for row in map(estimator.add, one.tested) if row is not None]
    valid, residual, stddev, tau, trust = (
        np.array([getattr(row, part) for row in rows])
        for part in ("valid", "residual", "predicted_stddev", "measured", "trust"))
    inside = np.abs(residual) <= Z95 * stddev
    r2, coverage = np.full((2, valid.shape[1]), np.nan)     # NaN: a channel without rows
    for c in np.flatnonzero(valid.any(axis=0)):
        ok = valid[:, c]
        r2[c] = 1 - np.mean(residual[ok, c] ** 2) / np.var(tau[ok, c])
        coverage[c] = np.mean(inside[ok, c])
    return Figures(r2, coverage,
                   float(np.mean(trust > 0)), changes)


def all_recordings(shared: Path, rough: bool, tiago: bool) -> Iterator[Recording]:
    """All recordings, each passed through its front end once."""
    for name in ("ur10", "panda"):
        config = load_config(ROOT / f"examples/{name}.yaml")
        yield recording(name, config, shared / f"data/unisa_acg/{name}_exciting_trajectory.db3")
    with tempfile.TemporaryDirectory() as folder:
        if tiago:
            data, bag = shared / "data/tiago", Path(folder) / "tiago"
            with contextlib.redirect_stdout(io.StringIO()):
                tiago_to_bag.main(["--data", str(data), "--output", str(bag)])
            yield recording("tiago", load_config(ROOT / "examples/tiago.yaml").with_values(
                {"robot.urdf": str(data / "tiago_48_schunk.urdf")}), bag)
        kinds = {"simulated": Roughness(), "rough": ROUGH}
        for name in list(kinds)[:2 if rough else 1]:
            bag = Path(folder) / name
            write_bag(bag, seed=SEED, duration=DURATION, rough=kinds[name])
            found = recording(name, Config(), bag, wrong_by=2.0)
            yield found._replace(tested=[]) if name == "rough" else found


def recording(name: str, config: Config, bag: Path, wrong_by: float = 1.0) -> Recording:
    """A bag's samples, split into learnt and tested ones."""
    return Recording(name, config, RobotModel.from_config(config), wrong_by,
                     *PaperTrial(name, bag, None).samples(PreparedSamples(), config))


if __name__ == "__main__":
    sys.exit(main())
