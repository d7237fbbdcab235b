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

"""The comparison with the paper: rules for trials and rows, and the whole command."""
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.run_log import Rows
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.studies.paper.table import mean_over, table
from uvms_adaptive_dynamics.studies.paper.trials import (
    CommonRows,
    PaperTrial,
    Part,
    PreparedSamples,
    compared,
    figures,
    trials_of,
)


def test_each_bag_is_tested_on_the_next_and_one_alone_on_its_end():
    """Nothing is tested on what it was learnt from; a single bag is split at 70 % of its time."""
    a, b, c = (Path(name) for name in "abc")
    assert [(t.learnt, t.tested) for t in trials_of([a, b, c])] == [(a, b), (b, c), (c, a)]
    assert len({t.name for t in trials_of([Path("x/dive"), Path("y/dive"), a])}) == 3
    samples = [SimpleNamespace(t=5.0 + .1 * k) for k in range(101)]
    signals = SimpleNamespace(samples=lambda bag, config: samples)
    learnt, tested = PaperTrial("a", a, trials_of([a])[0].tested).samples(signals, Config())
    assert learnt + tested == samples and learnt[-1].t == pytest.approx(12.0)


def part_of(t, measured, predicted, valid):
    """A `Part` with one channel, whose fixed parameters predict zero."""
    column = [np.array(values, float).reshape(-1, 1) for values in (measured, predicted)]
    ones = np.ones_like(column[0])
    rows = Rows(np.array(t), np.zeros(len(t), int), *column, ones,
                np.array(valid).reshape(-1, 1), ones[:, :0], ones, 0 * ones, trust=0 * ones,
                speed=ones, in_motion=ones > 0)
    return Part(rows, 0 * ones)


def test_models_are_scored_on_the_same_rows_and_measurements():
    """Instants that one model lacks, and rows that one masks, do not count for any; measurements
    are the first model's."""
    first = part_of([0.0, .02, .04, .06], [1, 2, 3, 4], [1, 2, 3, 5], [1, 1, 1, 0])
    other = part_of([.0200001, .04, .06], [9, 9, 9], [2, 2, 4], [True, True, True])
    rows = compared({"first": first, "other": other}, .02)
    np.testing.assert_allclose(rows.t, [.02, .04, .06])
    np.testing.assert_array_equal(rows.measured[:, 0], [2, 3, 4])
    np.testing.assert_array_equal(rows.valid[:, 0], [True, True, False])
    np.testing.assert_array_equal(rows.models["other"][0][:, 0], [2, 2, 4])
    np.testing.assert_array_equal(rows.models["first"][0][:, 0], [2, 3, 5])
    assert list(rows.models) == ["prior", "first", "other"]


def test_the_signed_error_is_predicted_less_measured():
    """It is positive if the model predicts too much; rows that do not count are ignored."""
    robot = SimpleNamespace(channels=("x",), units=("N",))
    measured = np.array([[1.0], [2.0], [3.0]])
    rows = CommonRows(np.arange(3.0), measured, np.array([[True], [True], [False]]),
                      {"m": (measured + [[.5], [.1], [99]], np.ones((3, 1)))})
    found = figures(rows, robot)["m"]["x"]
    assert found["signed"] == pytest.approx(.3) and found["mae"] == pytest.approx(.3)
    assert found["n"] == 2 and found["mse"] == pytest.approx(.13)


def test_means_are_over_trials_that_have_the_figure():
    """A trial in which a channel was masked throughout does not count as zero."""
    def trial(r2, n):
        channel = dict.fromkeys(("slope", "bias", "mse", "mae", "rmse", "signed", "coverage95",
                                 "interval_width", "nll"), 1.0)
        return {"default": {"surge": channel | {"r2": r2, "n": n, "unit": "N"}}}
    mean = mean_over([trial(.9, 5), trial(.7, 5), trial(None, 0)])
    assert mean["default"]["surge"]["r2"] == pytest.approx(.8)
    assert mean["default"]["surge"]["trials"] == 2
    assert "surge [N]" in table(mean) and "0.800" in table(mean)


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Eleven seconds of the simulated robot."""
    path = tmp_path_factory.mktemp("simulated") / "dive"
    write_bag(path, seed=3, duration=11.0)
    return path


def test_samples_are_made_once_where_settings_allow(bag):
    """Settings after the front end share the list of samples; front-end settings get their own."""
    signals, base = PreparedSamples(), Config()
    first = signals.samples(bag, base)
    cost = base.with_values({"estimation.arrival": "relative", "uncertainty.alpha": .1})
    assert signals.samples(bag, cost) is first and isinstance(first[0], Sample)
    assert signals.samples(bag, base.with_values({"filter.gates": False})) is not first


def test_the_command_compares_default_and_paper(bag, tmp_path, capsys):
    """Default, letter and cost on one bag give both parts, all channels, figures and files; the
    letter runs with all its settings."""
    assert main(["paper", str(bag), "--window", "40", "--baseline", "letter", "cost", "--every",
                 "40", "--set-paper", "estimation.rho=2", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    content = json.loads((tmp_path / "paper.json").read_text())
    models = ["prior", "default", "paper, 0.8 s", "paper's cost, 0.8 s"]
    for part in ("prequential", "held_out"):
        assert list(content["mean"][part]) == models
        for channels in content["mean"][part].values():
            assert list(channels) == list(RobotModel.from_config(Config()).channels)
        for group in ("vehicle", "arm"):
            assert (tmp_path / f"dive_{part}_{group}.png").stat().st_size > 10_000
    rows = content["trials"]["dive"]["prequential"]
    assert len({rows[model]["surge"]["n"] for model in models}) == 1 and rows["prior"]["surge"]["n"]
    assert content["settings"]["paper, 0.8 s"]["estimation.rho"] == 2.0
    assert content["settings"]["paper's cost, 0.8 s"] == {
        "estimation.arrival": "relative", "estimation.horizon": 40, "estimation.rho": 2.0,
        "estimation.relative_weight": 1 / 40}
    assert all(name in said for name in (*models, "held out", "prequential", "signed"))
