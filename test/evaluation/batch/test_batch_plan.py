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

"""What a batch runs (recordings, variants, splits, keys), and what it refuses."""
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.evaluation.batch.content import file_digest, pinned
from uvms_adaptive_dynamics.evaluation.batch.plan import (
    KeyedRecording,
    Split,
    Task,
    load_plan,
    recordings_in,
    splits_of,
    variants_of,
)


def made(folder, *files):
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(file)
    return folder


def test_recordings_are_found_at_any_depth(tmp_path):
    """Finds finished bags, one that was cut off, single files and autopilot logs; no other folders
    and nothing hidden."""
    folder = made(tmp_path, "monday/a/metadata.yaml", "monday/a/a_0.mcap", "monday/a/a_1.mcap",
                  "monday/b/b_0.db3", "single.mcap", "notes/readme.txt", ".trash/x.mcap",
                  "logs/00000001.BIN", "logs/dive.tlog")
    assert list(recordings_in([folder])) == ["logs/00000001.BIN", "logs/dive.tlog", "monday/a",
                                             "monday/b", "single.mcap"]
    assert list(recordings_in([folder / "monday/a", folder / "single.mcap"])) == [
        "a", "single.mcap"]


def test_a_link_that_leads_back_up_ends(tmp_path):
    made(tmp_path, "a/metadata.yaml")
    (tmp_path / "again").symlink_to(tmp_path)
    assert list(recordings_in([tmp_path])) == ["a"]


def test_recordings_that_cannot_be_told_apart_are_refused(tmp_path):
    made(tmp_path, "x/dive/metadata.yaml", "y/dive/metadata.yaml", "empty/readme.txt")
    with pytest.raises(ConfigError, match="two recordings have the name 'dive'.*folder above"):
        recordings_in([tmp_path / "x/dive", tmp_path / "y/dive"])
    with pytest.raises(ConfigError, match="holds no recording; expected a rosbag2 folder"):
        recordings_in([tmp_path / "empty"])


def test_variants_are_configurations_times_changes_times_grid():
    grid = {"estimation.horizon": [50, 200], "estimation.prior_inflation": [1.5, 3.0]}
    found = variants_of({"boat": Config(), "pool": Config()},
                        {"free": {}, "solver": {"estimation.solver": "native"}}, grid)
    assert len(found) == 2 * 2 * 4
    one = found["pool, solver, horizon=200, prior_inflation=1.5"]
    assert one.changed() == {"estimation.horizon": 200, "estimation.prior_inflation": 1.5,
                             "estimation.solver": "native"}


def test_results_do_not_depend_on_the_time_that_a_solve_takes():
    made = variants_of({"boat": Config().with_values({"estimation.deadline": 0.01})}, {}, {})
    assert made["boat"].estimation.deadline == 0.0


def test_a_setting_that_does_not_exist_is_named_with_its_variant():
    with pytest.raises(ConfigError, match="variant 'horizn=5': .*Did you mean"):
        variants_of({"boat": Config()}, {}, {"estimation.horizn": [5]})


def test_variants_that_names_cannot_tell_apart_are_refused():
    folder = "/data/" + "x" * 60
    with pytest.raises(ConfigError, match="two variants have the name"):
        variants_of({"boat": Config()}, {}, {"prior.file": [f"{folder}/a", f"{folder}/b"]})


def test_a_slip_of_a_million_combinations_is_refused():
    with pytest.raises(ConfigError, match="got 1000000 combinations"):
        variants_of({"boat": Config()}, {}, {"estimation.horizon": list(range(1000)),
                                             "estimation.prior_inflation": [1.0] * 1000})


@pytest.mark.parametrize("held_out, splits", [
    ("none", [Split("a", ("a",), ()), Split("b", ("b",), ()), Split("c", ("c",), ())]),
    ("frozen", [Split("a", (), ("a",)), Split("b", (), ("b",)), Split("c", (), ("c",))]),
    ("one", [Split("a", ("b", "c"), ("a",)), Split("b", ("a", "c"), ("b",)),
             Split("c", ("a", "b"), ("c",))]),
    ([Split("x", ("[ab]",), ("c",))], [Split("x", ("a", "b"), ("c",))])])
def test_splits(held_out, splits):
    assert splits_of(held_out, ["a", "b", "c"]) == splits


@pytest.mark.parametrize("held_out, names, sentence", [
    ("one", ["a"], "expected at least two"),
    ([Split("x", ("*",), ("b",))], ["a", "b"], "split 'x' both learns from and tests 'b'"),
    ([Split("x", ("z*",), ("b",))], ["a", "b"], r"no recording is called 'z\*'; got")])
def test_splits_that_cannot_be_are_refused(held_out, names, sentence):
    with pytest.raises(ConfigError, match=sentence):
        splits_of(held_out, names)


def test_a_plan_is_read(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("settings:\n  estimation.horizon: [50, 100]\n"
                    "  short: {estimation: {horizon: 20}}\n"
                    "held_out:\n- {learn: a, test: [b, c]}\n"
                    "- {name: x, learn: [b], test: ['c*']}\n")
    assert load_plan(path) == (
        {"short": {"estimation.horizon": 20}}, {"estimation.horizon": [50, 100]},
        [Split("1", ("a",), ("b", "c")), Split("x", ("b",), ("c*",))])


@pytest.mark.parametrize("text, sentence", [
    ("held_ot: one", "expected a plan: 'settings:'"),
    ("- a", "expected a plan"),
    ("settings: 3", "settings is 3"),
    ("settings: {estimation.horizon: 50}", "'estimation.horizon' is 50; expected a list of values"),
    ("held_out: some", "held_out is 'some'"),
    ("held_out: [{learn: [a]}]", "test of split 1 is None; expected names"),
    ("held_out: [{learn: [a], test: [b], tst: 1}]", "split 1 is"),
    ("held_out: [{name: x, learn: a, test: b}, {name: x, learn: b, test: a}]", "the same name")])
def test_plans_that_cannot_be_used_are_refused(tmp_path, text, sentence):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        load_plan(path)


def test_a_key_stands_for_content_and_for_no_name(tmp_path):
    """A key does not depend on names and places, but on bytes, settings and order."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text("<robot/>")
    config = Config().with_values({"robot.urdf": str(urdf)})
    a, b = KeyedRecording("a", "/x/a", "1"), KeyedRecording("b", "/x/b", "2")

    def key(variant="v", config=config, learn=(a, b), test=(), parameters=None, code="c"):
        return Task(variant, "split", config, learn, test, parameters, code).key

    renamed = KeyedRecording("other", "/y/other", "1")
    assert key() == key("other", learn=(renamed, b)) == key()
    others = [key(learn=(b, a)), key(learn=(a,)), key(learn=(a,), test=(b,)), key(code="d"),
              key(config=config.with_values({"estimation.horizon": 7})),
              key(parameters=("p", "3")), key(parameters=("p", "4"))]
    before = key()
    urdf.write_text("<robot />")
    assert len({before, key(), *others}) == 2 + len(others)
    stages = tmp_path / "own.yaml"
    stages.write_text("stages: []")
    staged = config.with_values({"estimation.schedule": str(stages)})
    before = key(config=staged)
    stages.write_text("stages: [{}]")
    assert len({key(), before, key(config=staged)}) == 3


def test_a_bag_s_digest_follows_its_bytes(tmp_path):
    folder = made(tmp_path, "bag/metadata.yaml", "bag/0.mcap")
    before = file_digest(folder / "bag")
    assert file_digest(folder / "bag") == before
    (folder / "bag/0.mcap").write_text("0")
    assert file_digest(folder / "bag") != before


def test_settings_are_pinned_to_whole_paths_and_a_solver(tmp_path, monkeypatch):
    """They must mean the same on another machine or in another folder."""
    made(tmp_path, "start.yaml")
    monkeypatch.chdir(tmp_path)
    config = pinned(Config().with_values({"prior.file": "start.yaml"}))
    assert config.prior.file == str(tmp_path / "start.yaml")
    assert config.estimation.solver in ("mosek", "native")
    assert pinned(config) == config
