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

"""Differences of two results: intervals cover the truth, and what got worse comes first."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.evaluation.batch.compare import (
    Difference,
    compared,
    jackknife,
    judged_by_variant,
    paired_variants,
)
from uvms_adaptive_dynamics.evaluation.batch.table import comparison_table, verdict_table


def sums(residuals, stddev=1.0):
    """Sums (K, 4) of residuals (K, rows)."""
    return np.array([[len(r), r @ r, np.sum(np.abs(r) <= 1.96 * stddev),
                      np.sum(0.5 * np.log(2 * np.pi * stddev ** 2) + 0.5 * (r / stddev) ** 2)]
                     for r in residuals])


def channel(residuals):
    """A recording's channel as in a batch, with each row of residuals as a piece."""
    table = sums(residuals)
    return {"unit": "N", "n": int(table[:, 0].sum()),
            "pieces": dict(zip(("n", "squared", "inside", "nll"), table.T.tolist()))}


def test_the_jackknife_of_a_mean_is_its_standard_error():
    """With equally many rows in each cluster, NLL and coverage are means over clusters."""
    rng = np.random.default_rng(1)
    old, new = (sums(rng.normal(size=(9, 40))) for _ in range(2))
    change, half_width = jackknife(old, new)
    for place, column in ((1, 2), (2, 3)):
        means = (new[:, column] - old[:, column]) / 40
        assert change[place] == pytest.approx(means.mean(), abs=1e-12)
        # 2.306: the 97.5 % quantile of Student's t with 8 degrees of freedom, from a table
        assert half_width[place] == pytest.approx(2.306 * means.std(ddof=1) / 3, rel=1e-3)


def test_intervals_of_the_change_of_an_rmse_cover_the_truth():
    """For clusters of correlated rows and a 10 % larger RMSE, 95 % of 400 intervals cover it, +- 3
    deviations."""
    rng, inside, truth = np.random.default_rng(2), 0, np.log(1.1)
    for _ in range(400):
        level = rng.gamma(8.0, 1 / 8.0, size=(12, 1))      # differs between recordings
        common = rng.normal(size=(12, 30))
        old = level * (common + rng.normal(size=(12, 30)))
        new = 1.1 * level * (common + rng.normal(size=(12, 30)))
        change, half_width = jackknife(sums(old), sums(new))
        inside += abs(change[0] - truth) <= half_width[0]
    assert abs(inside / 400 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 400)


def test_a_single_cluster_has_no_interval():
    _, half_width = jackknife(sums(np.ones((1, 5))), sums(2 * np.ones((1, 5))))
    assert np.isnan(half_width).all()


@pytest.fixture
def results():
    """Old and new results: 'roll' 30 % worse, mostly in r3, 'surge' better, 'heave' the same."""
    rng, old, new = np.random.default_rng(3), {}, {}
    for k in range(6):
        base = {name: rng.normal(size=(4, 200)) for name in ("surge", "heave", "roll")}
        old["s", f"r{k}"] = {name: channel(r) for name, r in base.items()}
        worse = 1.3 + (0.2 if k == 3 else 0.0)
        new["s", f"r{k}"] = {name: channel(r * factor) for (name, r), factor in zip(
            base.items(), (0.7, 1.0, worse))}
    return old, new


def test_what_got_worse_stands_first(results):
    found = compared(*results)
    assert [(c.channel, c.word) for c in found] == [
        ("roll", "worse"), ("heave", "same"), ("surge", "better")]
    assert found[0].worst == "r3 (s)" and found[0].kind == "recordings"
    assert comparison_table(found).splitlines()[1].split()[:2] == ["roll", "worse"]


def test_long_figures_of_the_table_stand_apart(results):
    tiny = Difference(-0.00083e-2, 0.00043e-2)
    line = comparison_table([compared(*results)[0]._replace(
        log_rmse=tiny, coverage=tiny, nll=tiny)]).splitlines()[1]
    assert "% -0.00083 ± 0.00043 pt -8.3e-06" in " ".join(line.split())


def test_a_reason_that_is_cut_short_ends_in_dots():
    assert verdict_table([("dive", "usable", "word " * 50)]).endswith("word ...")


def test_one_recording_is_compared_by_its_pieces(results):
    old, new = ({("s", "r0"): side["s", "r0"]} for side in results)
    found = compared(old, new)
    assert {c.kind for c in found} == {"pieces"} and found[0].clusters == 4


def test_recordings_of_one_side_and_channels_without_rows_are_left_out(results):
    old, new = results
    del new["s", "r1"]
    new["s", "r2"]["heave"] = {"unit": "N", "n": 0, "pieces": {
        "n": [], "squared": [], "inside": [], "nll": []}}
    assert {c.channel: c.clusters for c in compared(old, new)} == {
        "roll": 5, "heave": 4, "surge": 5}


def test_variants_are_paired_by_name_or_as_the_only_ones():
    assert paired_variants({"a": {}, "b": {}}, {"b": {}, "c": {}}) == [("b", "b")]
    assert paired_variants({"a": {}}, {"c": {}}) == [("a", "c")]
    assert paired_variants({"a": {}}, {"b": {}, "c": {}}) == [("a", "b"), ("a", "c")]
    assert paired_variants({"a": {}}, {"a": {}, "c": {}}) == [("a", "a")]
    assert paired_variants({"a": {}, "b": {}}, {"c": {}, "d": {}}) == []


def test_failed_tasks_have_nothing_to_compare():
    task = {"variant": "v", "split": "s", "judged": ["r"], "error": "x", "result": None}
    done = {**task, "error": "", "result": {"recordings": [{"surge": 1}]}}
    assert judged_by_variant([task, done]) == {"v": {("s", "r"): {"surge": 1}}}
