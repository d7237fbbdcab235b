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

"""Samples of the simulated robot through the whole front end, cached in a temporary file, and gross
outliers in their efforts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...model.sample import Sample

SOURCES = Path(__file__).resolve().parents[2]
# in standard deviations of the estimator's initial noise
SMALLEST_OUTLIER, LARGEST_OUTLIER = 5.0, 20.0

# No sensor of the simulation is misread, or put right.
SAMPLE_FIELDS = [f.name for f in fields(Sample) if f.name not in ("misread", "again")]


def simulated_samples(seconds: float, seed: int = 1) -> list[Sample]:
    """Samples of `seconds` of the simulated robot with the default settings; the same code and seed
    give the same samples."""
    file = (Path(tempfile.gettempdir())
            / f"uvms_benchmark_{os.getuid()}_{_version()}_{seed}_{seconds:g}.npz")
    if file.is_file() and file.stat().st_uid == os.getuid():
        with np.load(file) as saved:
            columns = [saved[name] for name in SAMPLE_FIELDS]
            return [_sample(row) for row in zip(*columns)]
    samples = _simulate(seconds, seed)
    no_doubt = np.full((3, 3), np.nan)      # an array cannot hold None
    partial = file.with_suffix(f".{os.getpid()}.npz")
    # Any: to a type checker, the unpacked dict might contain the flag `allow_pickle`.
    written: dict[str, Any] = {
        name: np.array([no_doubt if (value := getattr(s, name)) is None else value
                        for s in samples])
        for name in SAMPLE_FIELDS
    }
    # Without disk space the samples are simulated again next time.
    with contextlib.suppress(OSError):
        np.savez(partial, **written)
        partial.replace(file)
    partial.unlink(missing_ok=True)
    return samples


def _sample(row: tuple) -> Sample:
    values = dict(zip(SAMPLE_FIELDS, row))
    doubt = values["down_covariance"]
    values["down_covariance"] = None if np.isnan(doubt).any() else doubt
    return Sample(**{name: value.item() if value is not None and value.ndim == 0 else value
                     for name, value in values.items()})


def _simulate(seconds: float, seed: int) -> list[Sample]:
    # Imported here: rosbags and the simulator are not needed once the file exists.
    from rosbags.typesys import Stores, get_typestore

    from ...signals.front_end import SignalFrontEnd
    from ...signals.samples import samples_of
    from ...signals.topics import inputs
    from ...simulation.bag import DEFAULT_START, ros_message
    from ...simulation.robot import SimulatedRobot

    config, store = Config(), get_typestore(Stores.ROS2_JAZZY)
    roles = {entry.topic: entry.role for entry in inputs(config)}
    simulated = SimulatedRobot(seed, seconds, start_ns=round(DEFAULT_START * 1e9),
                               truth_period=None)
    messages = ((roles[one.topic], ros_message(store, one), one.receive_time * 1e-9)
                for one in simulated)
    return samples_of(SignalFrontEnd(config, RobotModel.from_config(config)), messages)


def _version() -> str:
    """Digest of the package's code, so that samples of an older simulator or front end are never
    reused."""
    digest = hashlib.sha1()
    for path in sorted([*SOURCES.glob("*.py"), *SOURCES.glob("signals/**/*.py"),
                        *SOURCES.glob("simulation/**/*.py"), *SOURCES.glob("robots/*")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def with_outliers(samples: list[Sample], share: float, noise: np.ndarray,
                  seed: int = 0) -> list[Sample]:
    """The samples with gross errors in the efforts of a `share` of them, on each channel with
    probability one half (at least one channel).

    noise (C,) [N, N m]: an error is 5 to 20 times as large, of random sign. It comes before the
    low-pass, which smears it over neighbours: the share of rows beyond rho exceeds that of samples.
    """
    rng, found = np.random.default_rng(seed), []
    for sample in samples:
        if rng.random() >= share:
            found.append(sample)
            continue
        hit = rng.random(noise.size) < 0.5
        hit[rng.integers(noise.size)] = True
        error = np.where(hit,
                         rng.choice([-1.0, 1.0], noise.size)
                         * rng.uniform(SMALLEST_OUTLIER, LARGEST_OUTLIER, noise.size) * noise, 0.0)
        found.append(replace(sample, wrench=sample.wrench + error[:6],
                             joint_torque=sample.joint_torque + error[6:]))
    return found
