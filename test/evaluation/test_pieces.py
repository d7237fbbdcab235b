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

"""Pieces of recordings: bounds, shares, and a split that equals two runs."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import BagError, ConfigError
from uvms_adaptive_dynamics.evaluation import prepared
from uvms_adaptive_dynamics.evaluation.bags import check_bag, read_messages
from uvms_adaptive_dynamics.evaluation.evaluate_command import run as command
from uvms_adaptive_dynamics.evaluation.pieces import divided
from uvms_adaptive_dynamics.evaluation.recording import Piece
from uvms_adaptive_dynamics.evaluation.run import evaluate, run
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.signals.checks.finding import Mend
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.bag import write_bag

CONFIG = Config().with_values({"estimation.solver": "native"})


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Eight seconds of the simulated robot."""
    path = tmp_path_factory.mktemp("pieces") / "bag"
    write_bag(path, seed=1, duration=8.0)
    return path


def test_a_piece_has_the_messages_between_its_bounds(bag):
    """Bounds are times of reception from the recording's start; contents and times agree."""
    whole = list(read_messages(bag, inputs(CONFIG)))
    piece = Piece(bag, 2.0, 5.0)
    part = list(read_messages(piece, inputs(CONFIG)))
    start = whole[0][2]
    expected = [t for _, _, t in whole if 2.0 <= t - start <= 5.0]
    assert [t for _, _, t in part] == pytest.approx(expected, abs=1e-6)
    contents = check_bag(piece, inputs(CONFIG))
    assert contents.end - contents.start == pytest.approx(3.0)
    with pytest.raises(BagError, match="8.* s long; got a beginning at 90"):
        check_bag(Piece(bag, 90.0), inputs(CONFIG))


def test_shares_are_of_the_time_of_all_recordings_together(bag):
    """The cut may fall inside a recording or between two."""
    length = (contents := check_bag(bag, inputs(CONFIG))).end - contents.start
    assert divided([bag], CONFIG, 1.0, 5.0, None) == ([Piece(bag, 1.0, 5.0)], [])
    learnt, held_out = divided([bag, bag], CONFIG, 0.0, None, 75.0)
    assert learnt[0] == Piece(bag, 0.0, None) and held_out[0].begin == learnt[1].end
    assert learnt[1].end == pytest.approx(0.5 * length) and len(held_out) == 1
    learnt, held_out = divided([bag], CONFIG, 2.0, 6.0, 50.0)
    assert (learnt, held_out) == ([Piece(bag, 2.0, pytest.approx(4.0))],
                                  [Piece(bag, pytest.approx(4.0), 6.0)])


def test_a_split_is_learning_and_then_the_held_out_test(bag, tmp_path):
    """The numbers are those of two runs, the second with the first one's parameters, frozen."""
    learnt, held_out = divided([bag], CONFIG, 0.0, None, 60.0)
    both = evaluate(learnt, CONFIG, held_out=held_out, output=tmp_path, report=False)
    saved = tmp_path / "learnt.yaml"
    first = evaluate(learnt, CONFIG, save_to=saved)
    second = evaluate(held_out, CONFIG, load_parameters(saved), frozen=True)
    assert both["channels"] == first["channels"]
    for name, channel in both["held_out"]["channels"].items():
        assert channel["rmse"] == pytest.approx(second["channels"][name]["rmse"], rel=1e-6)
        assert channel["n"] == second["channels"][name]["n"]
    assert (tmp_path / "held_out" / "samples.csv").is_file()
    answers = {each["question"]: each for each in both["verdict"]["answers"]}
    answer = answers["Does it hold on what was held out?"]
    word = both["held_out"]["verdict"]["word"]
    assert answer["verdict"] == word and (word == "good") == (not answer["reasons"])
    assert set(answer["reasons"]) <= set(both["next"])
    assert answer["sentence"] in (tmp_path / "statement.md").read_text()
    assert "learned" not in [one["code"] for one in both["held_out"]["findings"]]


def test_what_was_learnt_from_a_wrong_sensor_is_not_judged_held_out(bag, monkeypatch):
    """Its parameters are wrong with it, also where the held-out part is too short to show the
    sensor: a DVL .3 m from its place led to "multiply thrusters.efficiency by 0.46"."""
    learnt, held_out = divided([bag], CONFIG, 0.0, None, 60.0)
    doubts = iter([True, False])        # of the learnt part, of the held-out one
    monkeypatch.setattr(prepared, "is_doubted", lambda front: next(doubts))
    tested = evaluate(learnt, CONFIG, held_out=held_out, report=False)["held_out"]
    (of_inputs,) = [answer["sentence"] for answer in tested["verdict"]["answers"]
                    if "sensors" in answer["question"]]
    assert "learnt while a sensor or a setting was found wrong" in of_inputs
    assert "thrust" not in of_inputs


def test_what_puts_readings_right_goes_on_with_the_same_recording(bag, monkeypatch):
    """A node that goes on would not have to find the wrong sensor again; another recording may have
    been made after a repair."""
    late, given = Mend("dvl", 0, np.eye(3), late=0.1), []

    class FrontEnd(SignalFrontEnd):
        def __init__(self, config, robot, mends):
            super().__init__(config, robot, mends)
            given.append(tuple(mends))

    monkeypatch.setattr(prepared, "SignalFrontEnd", FrontEnd)
    learnt, held_out = divided([bag], CONFIG, 0.0, None, 60.0)
    done = run(learnt, CONFIG)
    assert done.mends == ()
    done = replace(done, mends=(late,), doubted=True)
    assert run(held_out, CONFIG, done.final, True, learnt=done).facts[0].endswith(
        "; the readings of dvl are put right here as they were there")
    assert "put right" not in run([Piece(bag, 1.0)], CONFIG, done.final, True,
                                  learnt=done).facts[0]
    assert given == [(), (late,), ()]


def test_bounds_and_modes_that_contradict_are_refused(bag, tmp_path):
    """They are refused before anything is read."""
    args = {"bags": [bag], "frozen": False, "parameters": None, "adapt_intervals": False,
            "begin": 5.0, "end": 3.0, "split": None}
    with pytest.raises(ConfigError, match="--end: got 3"):
        command(type("Args", (), args))
    args |= {"end": None, "split": 50.0, "frozen": True, "parameters": bag}
    with pytest.raises(ConfigError, match="--split: got --frozen"):
        command(type("Args", (), args))
