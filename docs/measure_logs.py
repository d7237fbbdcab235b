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

"""Compares R^2 of each channel of a simulated run as bag, .BIN and .tlog (docs/recordings.md).

    python docs/measure_logs.py --duration 90 --seed 3
"""
import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import ardupilot_logs as logs  # noqa: E402

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.evaluation.run import evaluate  # noqa: E402
from uvms_adaptive_dynamics.simulation.bag import DEFAULT_START, write_bag  # noqa: E402


def main():
    """Print a line per channel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=90.0)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bag(folder / "bag", seed=args.seed, duration=args.duration,
                  start_time=DEFAULT_START)
        boot = DEFAULT_START - 30.0
        logs.write_bin(folder / "bag", folder / "dive.BIN", boot)
        logs.write_tlog(folder / "bag", folder / "dive.tlog", boot)
        logs.write_joints(folder / "bag", folder / "joints.csv")
        native = {"estimation.solver": "native"}
        runs = {"bag": evaluate([folder / "bag"], Config().with_values(native))}
        for kind in ("BIN", "tlog"):
            path = logs.write_joined(folder / f"dive.{kind}", folder / "joints.csv",
                                     folder / f"{kind}.yaml")
            runs[kind] = evaluate([path], Config().with_values(native | logs.SETTINGS))
    print(f"{'channel':<10}" + "".join(f"{kind:>10}{'rows':>8}" for kind in runs))
    for channel in runs["bag"]["channels"]:
        found = [metrics["channels"][channel] for metrics in runs.values()]
        print(f"{channel:<10}" + "".join(f"{c['r2']:>10.4f}{c['n']:>8}" for c in found))


if __name__ == "__main__":
    main()
