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

"""Saving at run time: when, what, by which node, and the effect of failures."""
import shutil
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.disk.folder_lock import FolderLock
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.learned import known_rows
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.robot_identity import robot_identity
from uvms_adaptive_dynamics.ros.memory import Memory, next_save, robot_folder
from uvms_adaptive_dynamics.studies.benchmark.samples import simulated_samples

CONFIG = Config().with_values({"output.save_period": 3600.0, "prior.file": "auto"})
ROBOT = RobotModel.from_config(CONFIG)


class Log(list):
    info = warning = list.append


@pytest.fixture(scope="module")
def samples():
    return simulated_samples(10.0, 1)


@pytest.fixture
def start(tmp_path):
    """An estimator with its running memory as in the node; requests run immediately."""
    running = []

    def make(config=CONFIG):
        log = Log()
        memory = Memory(config, ROBOT, tmp_path / "robot", log)
        found, said = memory.start()[:2]
        estimator = Estimator(config, robot=ROBOT, start=found)

        def request(action):
            answer = Future()
            answer.set_result(action(estimator))
            return answer
        memory.run(request)
        running.append(memory)
        return estimator, memory, log, said
    yield make
    for memory in running:
        memory.stop()


def learn(estimator, samples):
    for sample in samples:
        estimator.step(sample)


def test_a_start_goes_on_from_the_last_exit(start, samples):
    """Values, covariance, noise and rows are restored; the message names file, date and rows."""
    estimator, memory, _, said = start()
    assert "no saved state" in said
    learn(estimator, samples[:60])
    memory.stop()
    again, _, _, said = start()
    assert "started from" in said and "state.yaml" in said
    np.testing.assert_allclose(again.pi, estimator.pi, rtol=1e-12)
    assert known_rows(again.prior) == estimator.information.rows_learned > 0
    assert again.information.prior.saved


def test_an_untouched_prior_is_never_saved(start, samples):
    """An unchanged state is not saved again either."""
    estimator, memory, *_ = start()
    memory.save()
    assert not (memory.folder / "state.yaml").exists()
    learn(estimator, samples[:60])
    memory.save()
    memory.save()
    assert memory.saves == 1
    estimator.set_learning(False)
    learn(estimator, samples[60:90])
    memory.save()
    assert memory.saves == 1


def test_a_reset_keeps_what_was_known(start, samples):
    """The state is saved before it, and moved to a backup once there is something new."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:100])
    memory.keep(estimator)
    estimator.restart()
    memory.save()
    rows = known_rows(load_parameters(memory.folder / "state.yaml"))
    memory.save()
    assert known_rows(load_parameters(memory.folder / "state.yaml")) == rows
    learn(estimator, samples[100:160])
    memory.save()
    assert known_rows(load_parameters(memory.folder / "state.yaml")) < rows
    backup, = memory.folder.glob("state.*.yaml")
    assert known_rows(load_parameters(backup)) == rows


def test_a_richer_file_that_is_loaded_does_not_replace_the_state_for_good(start, samples):
    """The first save of another line leaves a backup, whenever it happens."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.keep(estimator)
    estimator.restart(replace(estimator.parameter_set(), learned={"rows": 10**6,
                                                                  "directions": 75}))
    learn(estimator, samples[60:120])
    memory.save()
    assert known_rows(load_parameters(memory.folder / "state.yaml")) > 10**6
    backup, = memory.folder.glob("state.*.yaml")
    assert 0 < known_rows(load_parameters(backup)) < 10**6


def test_what_failed_is_not_saved(start, samples):
    """The file keeps the last good estimate, and exit does not wait for an answer."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.save()
    rows = known_rows(load_parameters(memory.folder / "state.yaml"))
    memory._failed = lambda: True
    memory._request = lambda action: Future()
    learn(estimator, samples[60:120])
    memory.keep(estimator)
    begin = time.monotonic()
    memory.stop()
    assert time.monotonic() - begin < 1.0
    assert known_rows(load_parameters(memory.folder / "state.yaml")) == rows


def test_an_estimator_that_does_not_answer_holds_no_end_up(start, samples, monkeypatch):
    """Whether the wait started before the exit or with it."""
    monkeypatch.setattr("uvms_adaptive_dynamics.ros.memory.EXIT_TIMEOUT_S", 0.3)
    estimator, memory, log, _ = start(CONFIG.with_values({"output.save_period": 0.05}))
    asked = threading.Event()

    def request(action):
        asked.set()
        return Future()
    memory._request = request
    assert asked.wait(5)
    begin = time.monotonic()
    memory.stop()
    assert time.monotonic() - begin < 1.5
    assert "did not answer within 0.3 s" in log[-1]


def test_a_channel_that_is_wrong_is_named_in_the_state(start, samples):
    """With the trust levels shown on ~/status."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.save()
    assert "wrong" not in load_parameters(memory.folder / "state.yaml").learned
    learn(estimator, samples[60:90])
    estimator.findings.trust.levels = np.where(np.arange(10) == 2, 2, 0)
    memory.save()
    assert load_parameters(memory.folder / "state.yaml").learned["wrong"] == ["heave"]
    assert len(list(memory.folder.glob("state.*.yaml"))) == 1


def test_settings_that_change_do_not_put_saves_off(start, samples):
    """The interval always counts from the last save."""
    estimator, memory, *_ = start(CONFIG.with_values({"output.save_period": 0.3}))
    learn(estimator, samples[:60])
    end = time.monotonic() + 5.0
    while not memory.saves and time.monotonic() < end:
        memory._woken.set()
        time.sleep(0.02)
    assert memory.saves


def test_a_state_that_cannot_be_used_is_a_warning(start, samples):
    """It is logged as a warning."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.stop()
    memory.folder.joinpath("state.yaml").write_text("parameters: [")
    _, _, log, said = start()
    assert "starting from the built-in prior, since" in said and log == [said]


def test_what_another_start_is_asked_for_is_done(start, samples):
    """An empty prior.file means the built-in prior, whatever was saved."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.stop()
    other, _, _, said = start(CONFIG.with_values({"prior.file": ""}))
    assert said == "built-in prior" and not other.information.prior.saved


def test_saves_come_at_intervals(start, samples):
    """On a thread of its own."""
    estimator, memory, *_ = start(CONFIG.with_values({"output.save_period": 0.05}))
    learn(estimator, samples[:60])
    end = threading.Event()
    for _ in range(200):
        if memory.saves:
            break
        end.wait(0.05)
    assert memory.saves


@pytest.mark.parametrize("share", [0.01, 0.2, 0.3, 0.4, 0.5])
def test_a_kill_costs_a_period_however_slow_the_disk_is_up_to_half_of_it(share):
    """Worst case: just before the end of the next save, which takes as long as this one."""
    period = 20.0
    begin, took = 100.0, share * period
    due = next_save(begin, begin + took, period)
    assert begin + took <= due and due + took - begin <= period


def test_a_slower_disk_rests_between_two_saves():
    """For half a period."""
    assert next_save(100.0, 112.0, 20.0) == 122.0


def test_a_start_waits_for_one_that_is_ending(start, samples):
    """So that it resumes from the newest state and can save."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    ending = threading.Timer(0.3, memory.stop)
    ending.start()
    again, second, log, said = start()
    ending.join()
    assert "started from" in said and second._thread is not None and not log


def test_a_period_of_zero_is_never(start, samples):
    """Also at exit and before a reset, and also if it was set while the node ran."""
    estimator, memory, *_ = start()
    learn(estimator, samples[:60])
    memory.change_settings(CONFIG.with_values({"output.save_period": 0.0}))
    memory.keep(estimator)
    assert not memory.saving
    memory.stop()
    assert not list(memory.folder.glob("*.yaml"))


def test_a_second_node_in_the_folder_says_that_it_saves_nothing(start, samples, monkeypatch):
    """Two nodes must not write one file in turns; logged once, however often settings change."""
    monkeypatch.setattr("uvms_adaptive_dynamics.ros.memory.LOCK_TIMEOUT_S", 0.1)
    start()
    estimator, second, log, _ = start()
    for period in (0.05, 3600.0):
        second.change_settings(CONFIG.with_values({"output.save_period": period}))
    assert len(log) == 1 and "another node saves in" in log[0]
    learn(estimator, samples[:60])
    second.stop()
    assert not (second.folder / "state.yaml").exists()


def test_a_folder_that_is_removed_is_made_again_with_its_lock(start, samples):
    """A new lock in a folder made again would not exclude the first node's saves."""
    estimator, memory, log, _ = start()
    learn(estimator, samples[:60])
    shutil.rmtree(memory.folder)
    memory.save()
    other = FolderLock(memory.folder)
    assert memory.saves == 1 and not other.take()
    shutil.rmtree(memory.folder)
    assert other.take()
    learn(estimator, samples[60:90])
    memory.save()
    assert memory.saves == 1 and not (memory.folder / "state.yaml").exists()
    assert "another node saves" in log[-1]
    other.release()


def test_a_kept_state_that_is_no_state_does_not_stand_in_the_way(start, samples):
    """It is told and left out; the present state is saved."""
    estimator, memory, log, _ = start()
    learn(estimator, samples[:60])
    with memory._writing:      # the memory thread must not write the copy before it is spoilt
        memory.keep(estimator)
        kept = memory._kept[0].parameters
        memory._kept[0] = memory._kept[0]._replace(
            parameters=replace(kept, covariance=np.full_like(kept.covariance, np.nan)))
    memory.save()
    assert "an earlier state was not saved" in log[0] and memory.error == ""
    assert memory.saves == 1 and (memory.folder / "state.yaml").exists()


def test_a_failing_disk_is_a_warning(start, samples):
    """Logged once, and retried."""
    estimator, memory, log, _ = start()
    learn(estimator, samples[:60])
    (memory.folder / "state.yaml").mkdir()
    memory.save()
    memory.save()
    assert "the state was not saved" in log[-1] and "is a folder" in log[-1] and len(log) == 1
    (memory.folder / "state.yaml").rmdir()
    memory.save()
    assert memory.saves == 1 and memory.error == "" and "saved again" in log[-1]


def test_what_a_kill_left_is_removed(start, tmp_path):
    """Temporary files do not accumulate."""
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / ".uvms_000000000000.partial").touch()
    _, memory, *_ = start()
    assert [path.name for path in memory.folder.iterdir()] == [".lock"]


@pytest.mark.parametrize("namespace, name, place", [
    ("/", "uvms_estimator", "no-namespace"), ("/boat", "uvms_estimator", "boat"),
    ("/fleet/boat", "uvms_estimator", "fleet.boat"), ("/boat", "other", "boat+other")])
def test_each_node_has_a_folder_of_its_own(namespace, name, place):
    """By namespace, node and robot."""
    folder = robot_folder(Path("/d"), namespace, name, ROBOT)
    assert folder == Path("/d") / place / robot_identity(ROBOT)


@pytest.mark.parametrize("before", [0.0, 3600.0])
def test_the_period_may_change_while_it_runs(start, samples, before):
    """From never, or during an hour's wait."""
    estimator, memory, _, _ = start(CONFIG.with_values({"output.save_period": before}))
    learn(estimator, samples[:300])
    memory.change_settings(CONFIG.with_values({"output.save_period": 0.05}))
    deadline = time.monotonic() + 5.0
    while not memory.saves and time.monotonic() < deadline:
        time.sleep(0.01)
    assert memory.saves and list(memory.folder.glob("*.yaml"))
