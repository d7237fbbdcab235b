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

"""The whole command: the same bits whoever computes them and despite interruptions; failures as
rows; held-out recordings; comparison."""
import csv
import html
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.evaluation.batch.content import digest_of
from uvms_adaptive_dynamics.evaluation.batch.store import Store, load_results
from uvms_adaptive_dynamics.evaluation.run import evaluate
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.uncertainty.answer import VERDICTS

SECONDS = 3.0
RESULTS = ("batch.json", "results.csv", "batch.html")


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """Two short recordings of the simulated robot, and one invalid file."""
    folder = tmp_path_factory.mktemp("bags")
    for seed in (1, 2):
        write_bag(folder / f"dive{seed}", seed=seed, duration=SECONDS)
    (folder / "torn.mcap").write_bytes(b"no recording")
    return folder


def bits(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


def batch(bags, output, *more):
    return main(["batch", str(bags), "--output", str(output), *more])


@pytest.fixture(scope="module")
def serial(bags, tmp_path_factory):
    """A batch with one task at a time."""
    folder = tmp_path_factory.mktemp("serial")
    assert batch(bags, folder) == 1      # one recording cannot be read
    return folder


def test_a_failing_recording_is_a_row_with_its_sentence(serial):
    with open(serial / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    failed = [row for row in rows if row["error"]]
    assert [row["recording"] for row in failed] == ["torn.mcap"]
    assert "torn.mcap" in failed[0]["error"] and failed[0]["r2"] == ""
    assert {row["recording"] for row in rows if row["r2"]} == {"dive1", "dive2"}
    page = (serial / "batch.html").read_text()
    assert "1 failed" in page and "http" not in page and html.escape(failed[0]["error"]).replace(
        "&#x27;", "&#39;") in page


def test_figures_are_those_of_evaluate(bags, serial):
    expected = evaluate([bags / "dive2"], Config())["channels"]
    tasks = json.loads((serial / "batch.json").read_text())["tasks"]
    got = next(task for task in tasks if task["split"] == "dive2")["result"]["recordings"][0]
    for name, channel in got.items():
        assert all(channel[key] == expected[name][key] for key in ("n", "r2", "coverage95", "nll"))
        # Pieces add up to the whole, except for rounding.
        assert sum(channel["pieces"]["squared"]) == pytest.approx(
            channel["mse"] * channel["n"], rel=1e-12)


def test_the_verdict_is_that_of_evaluate_whatever_the_speed(bags, serial, capsys):
    """It is in table, page and terminal, with its first reason; update times do not count."""
    slow = evaluate([bags / "dive2"], Config())["verdict"]
    answers = [answer for answer in slow["answers"] if answer["question"] != "Is it fast?"]
    task = next(task for task in load_results(serial)["tasks"] if task["split"] == "dive2")
    found = task["result"]["verdict"]
    assert found["word"] == max((answer["verdict"] for answer in answers), key=VERDICTS.index)
    assert set(found["reasons"]) == {reason for answer in answers for reason in answer["reasons"]}
    with open(serial / "results.csv", newline="") as file:
        words = {row["recording"]: row["verdict"] for row in csv.DictReader(file)}
    assert words["dive2"] == found["word"] and words["torn.mcap"] == ""
    assert found["reasons"][0][:40] in html.unescape((serial / "batch.html").read_text())
    assert batch(bags, serial) == 1       # all but the torn one are already done
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("dive2"))
    assert found["word"] in line and found["reasons"][0][:40] in line


def test_killed_and_in_parallel_it_gives_the_same_bits(bags, serial, tmp_path):
    """After a kill -9 once the first task is done, the next start runs only the rest."""
    command = [sys.executable, "-m", "uvms_adaptive_dynamics", "batch", str(bags), "--output",
               str(tmp_path), "--jobs", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 100.0
    while not list(tmp_path.glob("tasks/*.json")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "batch.json").exists()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("tasks/*.json")}
    assert batch(bags, tmp_path, "--jobs", "2") == 1
    assert bits(tmp_path) == bits(serial)
    assert all(file.stat().st_mtime_ns == at for file, at in kept.items())


def test_a_finished_batch_runs_nothing_again(bags, serial, tmp_path, capsys):
    """Not even under other names of the recordings."""
    folder = tmp_path / "again"
    shutil.copytree(serial, folder)
    renamed = shutil.copytree(bags, tmp_path / "elsewhere")
    (renamed / "torn.mcap").unlink()
    (renamed / "dive1").rename(renamed / "first")
    assert batch(renamed, folder, "--frozen", "--parameters", "nothing.yaml") == 2
    capsys.readouterr()
    assert batch(renamed, folder) == 0
    assert "2 of 2 tasks are already done" in capsys.readouterr().err


def test_a_torn_result_is_not_taken(serial, tmp_path):
    store, whole = Store(tmp_path), next((serial / "tasks").glob("*.json"))
    for content in ("", "{", "[]", whole.read_text()[:-9], whole.read_text().replace("0.9", "0.8")):
        (tmp_path / whole.name).write_text(content)
        assert store.find(whole.stem) is None
    shutil.copy(whole, tmp_path)
    assert store.find(whole.stem) is not None


def test_held_out_is_learnt_from_the_others_and_tested_frozen(bags, tmp_path):
    """The figures are those of two runs of `evaluate`, to the bit."""
    pair = ["--pair", "dive1", "dive2"]
    assert main(["batch", str(bags), *pair, "--output", str(tmp_path / "out")]) == 0
    evaluate([bags / "dive1"], Config(), save_to=tmp_path / "learnt.yaml")
    tested = evaluate([bags / "dive2"], Config(), load_parameters(tmp_path / "learnt.yaml"),
                      frozen=True)
    content = json.loads((tmp_path / "out/batch.json").read_text())
    (channels,) = content["tasks"][0]["result"]["recordings"]
    assert {name: c["rmse"] for name, c in channels.items()} == {
        name: c["rmse"] for name, c in tested["channels"].items()}


def test_two_results_are_compared(serial, tmp_path, capsys):
    worse = tmp_path / "worse"
    worse.mkdir()
    content = json.loads((serial / "batch.json").read_text())
    for task in content["tasks"]:
        for channels in (task["result"] or {"recordings": []})["recordings"]:
            pieces = channels["roll"]["pieces"]
            pieces["squared"] = [4.0 * value for value in pieces["squared"]]
    content["digest"] = digest_of(content["tasks"])
    (worse / "batch.json").write_text(json.dumps(content))
    assert main(["batch", "--compare", str(serial), str(worse), "--output",
                 str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[3].split()[:2] == ["roll", "worse"]
    assert "roll" in (tmp_path / "out/comparison.html").read_text()
    name, = [name for name in content["recordings"] if name == "dive1"]
    for changes, said in (({"held_out": "frozen"}, "judged in different ways"),
                          ({"recordings": {**content["recordings"], name: "0"}}, "")):
        (worse / "batch.json").write_text(json.dumps(content | changes))
        assert main(["batch", "--compare", str(serial), str(worse), "--output",
                     str(tmp_path / "out")]) == (2 if said else 0)
        assert (said or f"left out: {name}, which in the other") in capsys.readouterr().err
    with pytest.raises(UvmsError, match="not a result of this command"):
        (worse / "batch.json").write_text(json.dumps(content).replace("surge", "surgf"))
        load_results(worse)


@pytest.mark.parametrize("arguments, sentence", [
    ([], "got no recording"),
    (["{bags}", "--frozen"], "--frozen: got no parameters"),
    (["{bags}", "--vary", "estimation.horizon=50"], "--vary: got estimation.horizon=50"),
    (["{bags}", "--held-out", "one", "--pair", "dive1", "dive2"], "got several of"),
    (["{bags}", "--pair", "dive1", "dive9"], "no recording is called 'dive9'"),
    (["{bags}", "--compare", "x", "y"], "got recordings as well"),
    (["--compare", "x", "y"], "result 'x'")])
def test_what_cannot_be_run_is_refused_before_anything_is_made(arguments, sentence, bags, tmp_path,
                                                               capsys):
    output = tmp_path / "out"
    arguments = [argument.format(bags=bags) for argument in arguments]
    assert main(["batch", *arguments, "--output", str(output)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (output / "tasks").exists()


def test_one_batch_at_a_time_in_a_folder(bags, serial, tmp_path):
    """Two would overwrite each other, and run everything twice."""
    from uvms_adaptive_dynamics.disk.folder_lock import FolderLock
    lock = FolderLock(tmp_path)
    assert lock.take()
    assert batch(bags, tmp_path) == 2


def test_a_dask_cluster_gives_the_same_bits(bags, serial, tmp_path):
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed; pip install distributed to run this test")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                  host="127.0.0.1") as cluster:
        assert batch(bags, tmp_path, "--dask", cluster.scheduler_address) == 1
    assert bits(tmp_path) == bits(serial)
