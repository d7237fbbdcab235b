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

"""The front end of a run in its own process: the same numbers, and it always ends."""
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.evaluation import run as run_module
from uvms_adaptive_dynamics.evaluation.prepared import is_doubted
from uvms_adaptive_dynamics.evaluation.recording import Piece
from uvms_adaptive_dynamics.evaluation.run import run
from uvms_adaptive_dynamics.processes import Stream
from uvms_adaptive_dynamics.signals.checks.finding import SIGN, Finding, Harm
from uvms_adaptive_dynamics.simulation.bag import write_bag


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Six seconds of the simulated robot."""
    path = tmp_path_factory.mktemp("simulated") / "dive"
    write_bag(path, seed=4, duration=6.0)
    return path


def test_one_process_and_two_give_the_same_bits(bag):
    """For two recordings, including the front end's final state."""
    pieces = [Piece(bag, end=3.0), Piece(bag, begin=2.0)]
    alone, apart = (run(pieces, Config(), jobs=jobs) for jobs in (1, 2))
    for one, other in zip(alone.log.rows(), apart.log.rows(), strict=True):
        assert one.tobytes() == other.tobytes()
    assert alone.final.values.tobytes() == apart.final.values.tobytes()
    assert np.unique(alone.log.rows().bag).tolist() == [0, 1]
    for name in ("counters", "masked", "ticks", "findings", "inputs", "longest_gap", "mask_spans",
                 "notes"):
        assert getattr(alone, name) == getattr(apart, name), name


@pytest.mark.parametrize("finding, doubted", [
    (Finding("joint velocity", "it comes .1 s late", harm=Harm.SLIGHT), False),
    (Finding("joint_states.effort_scale", f"axis_b: {SIGN}", joint="axis_b"), False),
    (Finding("dvl.rpy", "the DVL is turned", harm=Harm.FOLLOWED), True)])
def test_rows_are_doubted_for_a_finding_that_they_depend_on(finding, doubted):
    """Velocities that come late are not used, so the arm and the vehicle are judged all the same;
    a sign is judged by the coupling."""
    front = SimpleNamespace(delay=SimpleNamespace(warning=""),
                            frames=SimpleNamespace(findings=[(finding, 3.0)]))
    assert is_doubted(front) == doubted


def test_a_front_end_that_dies_is_said(bag, monkeypatch):
    """The run fails with a sentence and does not hang."""
    class Dying(Stream):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.process.kill()
    monkeypatch.setattr(run_module, "Stream", Dying)
    with pytest.raises(UvmsError, match="the front end's process was ended by SIGKILL"):
        run([bag], Config(), jobs=2)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found by /proc")
def test_interruption_ends_both_processes(bag, tmp_path):
    """A terminal sends Ctrl-C to both, here once the front end's process leaves it to the other.

    Of ten recordings, so that the run is not over before that on a busy machine."""
    process = subprocess.Popen(
        [sys.executable, "-m", "uvms_adaptive_dynamics", "evaluate", *[str(bag)] * 10, "--jobs",
         "2", "--output", str(tmp_path / "out")], start_new_session=True,
        stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60.0
    while not (found := [child for child in children.read_text().split() if ignores(child)]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60.0) == 130
    while any(runs(child) for child in found):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ignores(process):
    """Whether a process ignores Ctrl-C."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("SigIgn:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)
    return False


def runs(process):
    """Whether a process exists and is not a zombie, which only its new parent can reap."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
