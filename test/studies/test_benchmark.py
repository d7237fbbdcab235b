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

"""The benchmark: its samples, its figures on a small case, and its lines on the requirements."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rosbags")  # the simulated robot's messages

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet  # noqa: E402
from uvms_adaptive_dynamics.model.prior import prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark import (  # noqa: E402
    acceptance,
    cases,
    command,
    report,
)
from uvms_adaptive_dynamics.studies.benchmark.cases import TimedCase  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.chain import chain_robot, chain_samples  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.endurance import endured  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.measure import measure  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.samples import (  # noqa: E402
    simulated_samples,
    with_outliers,
)
from uvms_adaptive_dynamics.studies.benchmark.times import Times, spread  # noqa: E402

SMALL = TimedCase("horizon", horizon=8, joints=1, ticks=12, compared=3, each_tick=1, settle=2)


@pytest.mark.parametrize("n", [0, 1, 4, 12])
def test_chain_is_a_robot_whose_links_are_possible(n):
    """For any number of joints the URDF's links lie inside P, and noise-free efforts are Y pi."""
    config, robot = chain_robot(Config(), n)
    assert robot.table.n == n and robot.table.size == 27 + 12 * n
    truth = prior_from_config(config, robot).values
    assert PhysicalSet(robot.table, config.estimation).violation(truth) < 1e-9
    samples = chain_samples(config, robot, truth, 40)
    residual = np.array(
        [(raw := robot.raw_rows(s)).tau - raw.Y @ truth - raw.tau_known for s in samples]
    )
    assert 0.3 < np.mean(residual.std(axis=0) / robot.default_noise(config)) < 0.7
    assert np.allclose(np.diff([s.t for s in samples]), config.filter.period)


def test_samples_are_kept_and_the_same(tmp_path, monkeypatch):
    """The second call reads the file of the first; every field survives."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    first, again = simulated_samples(2.0, 5), simulated_samples(2.0, 5)
    assert len(list(tmp_path.iterdir())) == 1 and len(first) == len(again) > 50
    for a, b in zip(first, again):
        for name in a.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_outliers_are_gross_and_as_many_as_asked():
    """Checks the share of samples that differ and the size of the errors; states are unchanged."""
    config, robot = chain_robot(Config(), 2)
    samples = chain_samples(config, robot, prior_from_config(config, robot).values, 600)
    noise = robot.default_noise(config)
    spoilt = with_outliers(samples, 0.1, noise, seed=1)
    error = (
        np.array(
            [
                np.r_[b.wrench - a.wrench, b.joint_torque - a.joint_torque]
                for a, b in zip(samples, spoilt)
            ]
        )
        / noise
    )
    hit = np.abs(error).max(axis=1) > 0
    assert (
        0.06 < hit.mean() < 0.14
        and np.abs(error[error != 0]).min() > 4.9
        and np.abs(error).max() < 20.1
    )
    assert all(a.nu is b.nu and a.mu is b.mu for a, b in zip(samples, spoilt))
    assert with_outliers(samples, 0.0, noise) == samples


def test_a_case_has_all_its_figures(tmp_path):
    """A case has times of both clocks, agreement with the oracle, certificates and memory, in JSON
    without NaN and in a plot."""
    result = measure(SMALL)
    assert result["update_ms"]["median"] > result["solve_ms"]["median"] > 0
    assert (
        result["compared"] == 3
        and abs(result["objective_excess"][1]) < 1e-6
        and result["prediction_difference"] < 1e-5
    )
    assert result["worst_violation"] < 1e-8 and result["failures"] == 0
    assert (
        result["cvxpy_compiled_once"]["speedup"] > 0
        and result["cvxpy_compiled_each_tick"]["solve_ms"]["median"] > 0
    )
    assert result["peak_with_cvxpy_mb"] >= result["peak_mb"] > 10
    entries = [{"label": SMALL.label, "case": vars(SMALL), "result": result}]
    report.write_json(tmp_path / "b.json", entries)
    report.write_plot(tmp_path / "b.png", entries)
    assert json.loads((tmp_path / "b.json").read_text())["cases"][0]["label"] == SMALL.label
    assert (tmp_path / "b.png").stat().st_size > 5000
    assert "violation" in report.line(entries[0])


def test_a_solver_that_is_not_there_is_named_not_replaced():
    """A case whose solver cannot run says so and has no times."""
    result = measure(TimedCase("solver", horizon=8, joints=0, solver="cvxpy:NOSUCH"))
    assert "NOSUCH" in result["skipped"] and set(result) == {"skipped"}


def test_command_runs_cases_in_processes_of_their_own(tmp_path, monkeypatch, capsys):
    """JSON and plot are written, progress is printed, a missing solver does not stop the others,
    and the profile is shown."""
    missing = TimedCase("solver", horizon=8, joints=0, solver="cvxpy:NOSUCH", ticks=5, compared=0,
                        each_tick=0)
    monkeypatch.setattr(
        cases,
        "quick_grid",
        lambda: [
            TimedCase("horizon", horizon=8, joints=0, ticks=10, compared=0, each_tick=0, settle=0),
            missing,
        ],
    )
    parser = command.argparse.ArgumentParser()
    command.add_arguments(parser)
    assert (
        command.run(parser.parse_args(["--quick", "--profile", "--output", str(tmp_path / "out")]))
        == 0
    )
    printed = capsys.readouterr().out
    assert "[1/2]" in printed and "not run:" in printed and "tottime" in printed
    found = json.loads((tmp_path / "out" / "benchmark.json").read_text())
    assert found["schema"] == 1 and len(found["cases"]) == 2 and found["machine"]["threads"] == "1"
    assert (tmp_path / "out" / "benchmark.png").is_file()


def test_verdicts_say_asked_and_measured():
    """Lines say met or not met, each with both numbers."""

    def entry(group, update, **case):
        figures = {"median": update, "p99": 3 * update, "max": 4 * update}
        return {
            "label": group,
            "case": vars(TimedCase(group, **case)),
            "result": {
                "ticks": 2000,
                "failures": 0,
                "update_ms": figures,
                "update_cpu_ms": figures,
                "solve_ms": figures,
                "solve_cpu_ms": figures,
                "worst_violation": 0.0,
                "oracle_violation": 1e-9,
                "objective_excess": [-1e-9, 1e-9],
                "prediction_difference": 1e-7,
                "compared": 5,
                "oracle_statuses": {"optimal": 5},
                "cvxpy_compiled_each_tick": None,
                "cvxpy_compiled_once": {"speedup": 30.0, "speedup_cpu": 31.0, "update_ms": figures},
            },
        }

    lines = acceptance.verdicts(
        [entry("acceptance", 1.5), entry("horizon", 1.0, horizon=50),
         entry("horizon", 2.0, horizon=2000), entry("joints", 1.0, joints=4),
         entry("joints", 3.0, joints=12)]
    )
    met = {line[9:].split(":")[0]: line.startswith("met") for line in lines}
    assert (
        met["update, median"]
        and met["update, p99"]
        and not met["horizon 2000 against 50, update"]
        and met["joints 12 against 4, update"]
    )
    assert all("asked" in line and "measured" in line for line in lines)


def test_spread_of_times():
    """Median, p99 and maximum of each clock; None without times."""
    found = spread("update", [Times(float(k), 2.0 * k) for k in range(1, 102)])
    assert (
        found["update_ms"] == {"median": 51.0, "p99": 100.0, "max": 101.0}
        and found["update_cpu_ms"]["median"] == 102.0
    )
    assert spread("solve", [])["solve_ms"] is None


def test_endurance_reports_memory_and_times():
    """There are ten memory figures, the last at the end, and times of every update after the
    horizon is full, with the node's deadline."""
    found = endured(100, lap=60, case=TimedCase("endurance", joints=0, horizon=8))
    assert [ticks for ticks, _ in found.memory] == list(range(10, 101, 10)) and all(
        mb > 10 for _, mb in found.memory
    )
    assert 30 < len(found.update) < 100 and all(one.cpu >= 0 for one in found.update)
    assert 0 <= found.late < 100


@pytest.mark.campaign
def test_with_little_data_answers_are_worth_what_they_say():
    """With ten samples and a weak prior, the cost is so steep near its optimum that a step into the
    constraints' interior can spoil an answer. No tick exceeds the oracle by more than 1e-6, and
    predictions agree to 1e-5 of their RMS."""
    [case] = [
        case
        for case in cases.comparison_cases()
        if case.arrival == "relative" and case.grouping == "sample"
    ]
    found = measure(replace(case, ticks=40, compared=40))
    assert found["compared"] >= 37 and found["failures"] == 0
    assert found["objective_excess"][0] > -1e-5 and found["objective_excess"][1] < 1e-6
    assert found["prediction_difference"] < 1e-5
