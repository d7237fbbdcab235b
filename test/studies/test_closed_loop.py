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

"""The closed loop: the command's figures, on runs of a few seconds."""
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.feedforward import Feedforward
from uvms_adaptive_dynamics.control.motion_controller import gains_for
from uvms_adaptive_dynamics.estimation.progress import ProgressRecord
from uvms_adaptive_dynamics.estimation.validity import FAILED_IN_A_ROW, NONE_FOR
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.closed_loop import command, tuning
from uvms_adaptive_dynamics.studies.closed_loop.command import zeroed
from uvms_adaptive_dynamics.studies.closed_loop.loop import CarriedPayload, TrackingErrors, run_loop
from uvms_adaptive_dynamics.studies.closed_loop.parameter_sources import Adapted
from uvms_adaptive_dynamics.studies.closed_loop.runs import RunTimes, back_after, errors_of
from uvms_adaptive_dynamics.studies.closed_loop.stress import stress
from uvms_adaptive_dynamics.studies.closed_loop.truth import true_parameters, wrong_prior

CONFIG = zeroed(Config())
MODEL = RobotModel.from_config(CONFIG)
GAINS = gains_for(prior_from_config(CONFIG, MODEL), MODEL.joints)


@pytest.fixture(scope="module")
def true():
    """The robot's true parameters from 6 s of its truth."""
    return true_parameters(CONFIG, MODEL, duration=6.0)


def made_up(error, t=None):
    """A track with the same error [m, rad] on one axis of every quantity."""
    t = np.arange(0.0, 120.0, 0.01) if t is None else t
    error = np.broadcast_to(error, t.shape)
    three, four, ten = (np.zeros((t.size, k)) for k in (3, 4, 10))
    three[:, 0], four[:, 0] = error, error
    return TrackingErrors(t, three, three, three, four, ten, ten, [""] * t.size,
                          np.zeros(t.size, bool))


def test_a_wrong_prior_is_wrong_by_the_factor_within_the_physical_set(true):
    """Most entries are wrong by exactly two, all are within P, and the weight in water is wrong by
    two, not by a hundred newtons."""
    physical = PhysicalSet(MODEL.table, CONFIG.estimation)
    for seed in (1, 2):
        wrong = wrong_prior(true, MODEL, CONFIG, 2.0, seed)
        assert physical.violation(wrong.values) < 1e-6
        ratio = np.abs(wrong.values[:22] / true.values[:22])
        assert np.mean(np.isclose(ratio, 2.0, rtol=1e-3) | np.isclose(ratio, 0.5, rtol=1e-3)) > 0.7
        value = dict(zip(wrong.names, wrong.values))
        own = dict(zip(true.names, true.values))
        factor = (value["W"] - value["B"]) / (own["W"] - own["B"])
        assert min(abs(factor - 2.0), abs(factor - 0.5)) < 0.05
    again = wrong_prior(true, MODEL, CONFIG, 2.0, 2)
    np.testing.assert_array_equal(again.values, wrong.values)


def test_errors_are_of_the_windows_alone():
    """The transient and the seconds after a change do not count."""
    schedule = RunTimes()
    t = np.arange(0.0, 120.0, 0.01)
    inside = np.any([(t >= a) & (t < b) for a, b in schedule.windows.values()], axis=0)
    errors = errors_of(made_up(np.where(inside, 0.002, 5.0)), schedule)
    for kind in ("position", "attitude", "joints"):
        assert errors[kind] == pytest.approx(dict.fromkeys(
            ("before", "payload", "after", "all"), 0.002))


def test_the_time_until_the_error_is_back():
    """The time from which the error stays within 1.2, whatever it was before; None if never."""
    schedule, t = RunTimes(), np.arange(0.0, 120.0, 0.01)
    true = made_up(0.001)
    late = made_up(np.where((t > 55) & (t < 61), 0.01, 0.0011))
    assert back_after(late, true, schedule)["joints"] == pytest.approx(6.0, abs=0.5)
    assert set(back_after(made_up(0.0011), true, schedule).values()) == {0.0}
    assert set(back_after(made_up(0.0013), true, schedule).values()) == {None}


def test_a_feedforward_helps_and_a_payload_disturbs(true):
    """True parameters halve the error of PID alone for vehicle and arm; an unknown payload shows in
    the arm."""
    def norms(parameters, payload=None):
        feedforward = None if parameters is None else Feedforward(MODEL, parameters, CONFIG)
        track = run_loop(CONFIG, MODEL, 1, 4.0, GAINS, feedforward, payload=payload)
        return {kind: np.sqrt(np.mean(values[track.t > 2.0] ** 2))
                for kind, values in track.norms().items()}
    alone, known, loaded = norms(None), norms(true), norms(true, CarriedPayload(0.38, 2.0, 9.0))
    for kind in ("position", "attitude", "joints"):
        assert known[kind] < 0.5 * alone[kind]
    assert loaded["joints"] > 1.5 * known["joints"]


def test_the_feedforward_hears_of_an_estimate_what_the_node_would_say(true):
    """Estimates not yet judged after a jump, or with a wrong channel, only count as a sign of life;
    judged ones act; a failure ends trust at once."""
    adapted, told = Adapted(CONFIG, MODEL, true), []
    listener = SimpleNamespace(update=lambda *given: told.append("update"),
                               confirm=lambda t: told.append("confirm"),
                               distrust=lambda: told.append("distrust"))
    working = replace(adapted.estimator.snapshot(), judged=True, trust=("ok",) * 10,
                      progress=ProgressRecord(np.zeros(10), 0.0))
    adapted._tick_at = 0.0
    for change, expected in (
            ({}, ["update", "confirm"]),
            ({"judged": False}, ["confirm"]),
            ({"trust": ("wrong",) * 10}, ["confirm"]),
            ({"progress": ProgressRecord(np.zeros(10), 0.0, FAILED_IN_A_ROW)}, ["distrust"])):
        snapshot = replace(working, **change)
        adapted.estimator.snapshot = lambda snapshot=snapshot: snapshot
        adapted._new = SimpleNamespace(pi=true.values, t=0.0)
        adapted.update_feedforward(0.0, listener)
        assert told == expected
        told.clear()
    adapted.estimator.snapshot = lambda: working
    adapted.update_feedforward(0.5, listener)
    assert told == ["confirm"] and not adapted.validity(1.01 * NONE_FOR).trusted


def test_a_mad_estimate_is_bounded(true, monkeypatch):
    """In 150 updates of all kinds, no bad one is trusted, no effort exceeds its limit, and the
    wrench moves by less than a twentieth of its limit in a period."""
    monkeypatch.setattr("uvms_adaptive_dynamics.studies.closed_loop.stress.CORNERS", 4)
    monkeypatch.setattr("uvms_adaptive_dynamics.studies.closed_loop.stress.LONGEST_SPELL", 6)
    found = stress(CONFIG, MODEL, true, GAINS, 150)
    assert sum(found["counts"].values()) == pytest.approx(150, abs=15)
    assert all(found["counts"].values())
    assert found["late_fallbacks"] == found["beyond_limits"] == 0 and found["outside"] < 1e-6
    assert max(found["steps_share"][:6]) <= 0.05
    assert found["errors_max"]["position"] < 0.2 and found["errors_max"]["attitude"] < 0.5


@pytest.mark.campaign
def test_the_command_writes_its_table_and_its_picture(tmp_path, monkeypatch, true, capsys):
    """The output has all variants in all windows, required ratios, the PID scan and the stress
    test."""
    monkeypatch.setattr(command, "true_parameters", lambda *_: true)
    monkeypatch.setattr(tuning, "TRIED", ((4.0, 4.0, 12.0),))
    monkeypatch.setattr(tuning, "TUNING_LENGTH", 1.5)
    monkeypatch.setattr(tuning, "TUNING_SETTLED", 1.0)
    monkeypatch.setattr("uvms_adaptive_dynamics.studies.closed_loop.stress.CORNERS", 2)
    assert main(["closed_loop", "--seeds", "1", "--duration", "4", "--tune", "--stress", "20",
                 "--output", str(tmp_path / "out")]) == 0
    written = json.loads((tmp_path / "out/closed_loop.json").read_text())
    errors = written["seeds"]["1"]["errors"]
    assert set(errors) == {"pid", "prior", "adapted", "true"}
    assert errors["true"]["position"]["all"] < errors["pid"]["position"]["all"]
    assert "| fixed prior | joints |" in (tmp_path / "out/closed_loop.md").read_text()
    assert (tmp_path / "out/closed_loop.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert "at most 0.4" in said and "| 4, 4, 12 |" in said and "Stress, jumping alone" in said
    assert set(written["stress"]) == {"all kinds", "jumping alone"} and written["tuning"]
