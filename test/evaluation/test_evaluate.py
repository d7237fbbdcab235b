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

"""The whole evaluation on simulated bags: metrics.json as documented, bad input refused."""
import csv
import errno
import json
import os
import re
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from html_page import Elements
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.__main__ import COMMANDS, main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.disk import writing
from uvms_adaptive_dynamics.evaluation import evaluate_command
from uvms_adaptive_dynamics.evaluation import run as run_module
from uvms_adaptive_dynamics.evaluation.bags import check_bag
from uvms_adaptive_dynamics.evaluation.mask_spans import NO_REASON
from uvms_adaptive_dynamics.evaluation.page_data import CHANNEL_VALUES, PARAMETER_POINTS
from uvms_adaptive_dynamics.evaluation.parity import POINTS
from uvms_adaptive_dynamics.evaluation.recording import Piece
from uvms_adaptive_dynamics.evaluation.regimes import regimes
from uvms_adaptive_dynamics.evaluation.run import evaluate, metrics_of, run
from uvms_adaptive_dynamics.evaluation.run_files import OTHER_BYTES, needed_bytes
from uvms_adaptive_dynamics.evaluation.run_log import TRAJECTORY_POINTS, RunLog
from uvms_adaptive_dynamics.model.metrics import METRICS, channel_metrics
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.sample import FILTERS_START
from uvms_adaptive_dynamics.model.vehicle import load_columns
from uvms_adaptive_dynamics.review.review import Review
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.uncertainty.answer import VERDICTS
from uvms_adaptive_dynamics.uncertainty.evidence import ReportedFinding

CHANNELS = ["surge", "sway", "heave", "roll", "pitch", "yaw", "axis_e", "axis_d", "axis_c",
            "axis_b"]
TIMES = ("solver", "update_ms")
SAVED = ("coverage95_saved", "width_saved", "width_expected")


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Twelve seconds of the simulated robot."""
    path = tmp_path_factory.mktemp("simulated") / "dive"
    write_bag(path, seed=3, duration=12.0)
    return path


@pytest.fixture(scope="module")
def result(bag, tmp_path_factory):
    """Folder of a run from the command line, with its outputs and saved parameters."""
    folder = tmp_path_factory.mktemp("result")
    assert main(["evaluate", str(bag), "--output", str(folder / "out"), "--save-parameters",
                 str(folder / "saved.yaml")]) == 0
    return folder


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{constant} in {path}")
    return json.loads(path.read_text(), parse_constant=refuse)


def altered(bag, path, change):
    """A copy of the bag with each message replaced by `change(number, topic, message)`; None drops
    it."""
    store = get_typestore(Stores.ROS2_JAZZY)
    with Reader(bag) as reader, Writer(path, version=9,
                                       storage_plugin=StoragePlugin.MCAP) as writer:
        made = {
            c.id: writer.add_connection(c.topic, c.msgtype, typestore=store)
            for c in reader.connections
        }
        for k, (connection, stamp, raw) in enumerate(reader.messages()):
            message = change(k, connection.topic, store.deserialize_cdr(raw, connection.msgtype))
            if message is not None:
                writer.write(made[connection.id], stamp,
                             store.serialize_cdr(message, connection.msgtype))
    return path


def test_a_setting_that_contradicts_the_sensors_is_said(result, tmp_path, capsys):
    """Findings of the front end are printed with the bag's name and the likely setting. (Frozen,
    since the front end needs no estimate.)"""
    write_bag(tmp_path / "dive", seed=2, duration=24.0)
    frozen = ["--jobs", "1", "--frozen", "--parameters", str(result / "saved.yaml"), "--no-report"]
    assert main(["evaluate", str(tmp_path / "dive"), *frozen, "--set", "dvl.frame=flu",
                 "--output", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert "dive: dvl.frame: " in told.out + told.err


def test_metrics_json_has_the_documented_form(result):
    """It has every documented key and all channels, in strict JSON."""
    metrics = strict(result / "out" / "metrics.json")
    assert list(metrics) == ["verdict", "next", "schema", "duration_s", "updates", "skipped",
                             "channels", "prior", "final", "solver", "update_ms", "parameters",
                             "physical", "inputs", "findings", "changes", "payload", "failures",
                             "longest_gap_s", "lowpass", "external_load_share", "stages",
                             "settings_changed"]
    assert metrics["schema"] == 2 and metrics["duration_s"] == pytest.approx(12.0, abs=0.3)
    for block in (metrics["channels"], metrics["prior"]["channels"], metrics["final"]["channels"]):
        assert list(block) == CHANNELS
        more = {*SAVED, "trust", "trust_share", "trust_since_s", "masked_by"} if (
            block is metrics["channels"]) else set()
        assert all(set(channel) == {"unit", "n", "masked", *METRICS, *more}
                   for channel in block.values())
        assert [block[name]["n"]
                for name in CHANNELS] == [metrics["channels"][name]["n"] for name in CHANNELS]
    assert set(metrics["solver"]) == {"name", "median_ms", "p99_ms", "max_ms", "failures"}
    assert set(metrics["update_ms"]) == {"median", "p99", "max"}
    assert metrics["update_ms"]["median"] >= metrics["solver"]["median_ms"]
    assert [len(metrics["parameters"][key]) for key in ("names", "value", "stddev")] == [75] * 3
    assert len(metrics["parameters"]["interval95"]) == 75
    assert metrics["verdict"]["word"] in VERDICTS and len(metrics["verdict"]["answers"]) == 6
    statement = strict(result / "out" / "statement.json")
    assert statement["verdict"] == metrics["verdict"] and statement["next"] == metrics["next"]
    title = (result / "out" / "statement.md").read_text().splitlines()[0]
    assert title.startswith(f"# {metrics['verdict']['word'].capitalize()}: ")
    assert metrics["physical"]["violations"] == 0 and len(metrics["physical"]["min_eig_J"]) == 4
    assert metrics["updates"] > 500
    page = (result / "out" / "report.html").read_text()
    band = metrics["lowpass"]
    assert (f"-3 dB at {band['bandwidth_hz']:.2f} Hz, gain {band['gain_at_1_hz']:.2f} at 1 Hz"
            in page)
    # This run started without a saved noise.
    for channel in metrics["channels"].values():
        assert channel["coverage95_saved"] is channel["width_saved"] is None
        assert channel["width_expected"] == pytest.approx(3.92 * channel["rmse"], rel=1e-4)


def test_every_key_of_metrics_json_is_documented(result):
    """docs/metrics.md names each key, including those of a channel and of an input."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()
    metrics = strict(result / "out" / "metrics.json")
    keys = {*metrics, *metrics["solver"], *metrics["update_ms"], *metrics["parameters"],
            *metrics["physical"], *metrics["longest_gap_s"], *metrics["lowpass"]}
    for group in (metrics["channels"], metrics["inputs"]):
        keys.update(*group.values())
    assert {key for key in keys if not re.search(rf"`{key}[`.]", page)} == set()


def test_every_documented_key_is_in_metrics_json(result):
    """docs/metrics.md names no key that does not exist."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()
    metrics = strict(result / "out" / "metrics.json")
    # (This run has no findings and nothing held out.)
    metrics |= {"held_out": {}, "findings": ReportedFinding("imu", "imu: late").entry()}
    metrics |= {"prior.channels": {}, "final.channels": {}, "channels.<name>": {},
                "inputs.<role>": metrics["inputs"]["imu"]}
    whole, of_channel = ([line.split(" | ", 1) for line in part.partition("\n\n")[0].splitlines()]
                         for part in page.split("| key | meaning |\n|---|---|\n")[1:])
    assert {name for names, _ in of_channel for name in re.findall(r"`(\w+)`", names)} <= {
        *metrics["channels"]["surge"]}
    for names, meaning in whole:
        for name in re.findall(r"`([^`]+)`", names):
            assert name in metrics
            if name in ("solver", "update_ms", "parameters", "physical", "inputs.<role>",
                        "findings", "longest_gap_s"):
                assert {*re.findall(r"`(\w+)`", meaning)} - {"null"} <= {*metrics[name]}, name


def test_a_short_recording_is_not_blamed_for_the_start_of_its_filters(bag):
    """Neither its beginning nor a piece of it has a finding; all ticks are counted."""
    for piece in (Piece(bag, end=4.0), Piece(bag, begin=5.5, end=8.0)):
        done = run([piece], Config())
        assert not any(found.code == "masked rows" for found in done.findings)
        assert set(done.masked["surge"]) == {FILTERS_START}
        period = done.config.filter.period
        assert len(done.log.rows().t) < done.ticks < (piece.end - (piece.begin or 0.0)) / period


def test_a_recording_too_short_to_compare_sensors_says_so(result, bag):
    """Whatever is learnt from it; a frozen run learns nothing from its sensors."""
    said = strict(result / "out" / "metrics.json")["verdict"]["reasons"]
    assert any(one.startswith("too short to compare the sensors") for one in said)
    assert "20 s with all sensors are needed" in " ".join(said)
    frozen = evaluate([bag], Config(), frozen=True)["verdict"]["reasons"]
    assert not any("too short to compare" in one for one in frozen)


def test_metrics_json_says_which_channels_to_rely_on(result):
    """It has the state at the end, the share of rows in each state, and when each was first
    reached; a model without a saved estimate starts as doubtful."""
    for channel in strict(result / "out" / "metrics.json")["channels"].values():
        assert channel["trust"] in ("ok", "doubtful", "wrong")
        assert sum(channel["trust_share"].values()) == pytest.approx(1.0)
        assert channel["trust_since_s"]["doubtful"] == 0.0
        assert (channel["trust_since_s"]["wrong"] is None) == (channel["trust_share"]["wrong"] == 0)


def test_metrics_json_accounts_for_every_message(result):
    """For a good recording it has all inputs with their rates, no refusals or findings, and only
    the gaps of the filters."""
    metrics = strict(result / "out" / "metrics.json")
    assert set(metrics["inputs"]) == {"imu", "dvl", "depth", "joint_states", "thrusters"}
    for figures in metrics["inputs"].values():
        assert set(figures) == {"topic", "received", "used", "refused", "doubted", "rate_hz",
                                "clock_offset_s", "latency_s"}
        assert figures["received"] == figures["used"] + sum(figures["refused"].values()) > 100
        assert figures["clock_offset_s"] is None
    assert metrics["inputs"]["imu"]["rate_hz"] == pytest.approx(100.0, rel=0.05)
    assert metrics["inputs"]["dvl"]["latency_s"] == pytest.approx(0.1, abs=0.05)
    for channel in metrics["channels"].values():
        assert set(channel["masked_by"]) <= {"joint at rest", "joint stalled", NO_REASON}
        assert sum(channel["masked_by"].values()) == channel["masked"]
    assert metrics["findings"] == metrics["failures"] == metrics["changes"] == []
    assert metrics["payload"] is None
    assert 0.0 < metrics["longest_gap_s"]["sample"] <= metrics["longest_gap_s"]["vehicle_row"] < 2.0
    assert metrics["settings_changed"] == {} and metrics["external_load_share"] == 0.0


def test_a_faulty_recording_is_accounted_for_on_the_terminal_too(bag, tmp_path, capsys):
    """Refused messages, a clock that is ahead and a changed setting are in metrics.json, on the
    terminal and in the report."""
    def spoil(k, topic, message):
        if topic == "/joint_states" and k % 5 == 0:
            message.position = np.full(4, np.nan)
        if topic == "/depth":
            nanoseconds = message.header.stamp.nanosec + 900_000_000
            message.header.stamp.sec += nanoseconds // 10**9
            message.header.stamp.nanosec = nanoseconds % 10**9
        return message
    assert main(["evaluate", str(altered(bag, tmp_path / "bad", spoil)), "--output",
                 str(tmp_path / "out"), "--set", "filter.gap=0.9", "--jobs", "1", "--end",
                 "7"]) == 0
    metrics, told = strict(tmp_path / "out" / "metrics.json"), capsys.readouterr()
    joints, depth = (metrics["inputs"][role] for role in ("joint_states", "depth"))
    assert list(joints["refused"]) == ["position is not finite"]
    assert joints["used"] + sum(joints["refused"].values()) == joints["received"]
    assert depth["clock_offset_s"] == pytest.approx(0.9, abs=0.1)
    assert "position is not finite" in told.out and "0.9" in told.out
    found = next(found for found in metrics["findings"] if found["code"] == "depth")
    assert "ahead of the other clocks" in found["evidence"] and found["time"] is None
    assert "Synchronize" in found["sentence"] and "Synchronize" in told.err
    assert metrics["settings_changed"] == {"filter.gap": {"default": Config().filter.gap,
                                                          "value": 0.9}}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "position is not finite" in page and "clock ahead [s]" in page


def test_channels_of_which_no_row_counts_are_a_finding(bag, tmp_path):
    """It names the missing input and what to do."""
    def silent(k, topic, message):
        if topic == "/dvl/twist":
            message.twist.covariance = np.full(36, 9e9)
        return message
    metrics = evaluate([Piece(altered(bag, tmp_path / "silent", silent), end=6.0)], Config(),
                       output=None)
    said = [found["sentence"] for found in metrics["findings"] if found["code"] == "masked rows"]
    assert len(said) == 1 and said[0].startswith("no row of surge, sway, heave")
    assert "'no dvl'" in said[0] and "covariance says no lock" in said[0]
    assert "set dvl.topic" in said[0]


def test_a_model_wrong_by_a_factor_says_so_when_frozen(bag, tmp_path):
    """Every clearly wrong channel is `wrong` within ten seconds, and the report's findings say so.
    """
    config, robot = Config(), RobotModel.from_config(Config())
    wrong = perturbed(prior_from_config(config, robot), 2.0, seed=5)
    metrics = evaluate([bag], config, wrong, frozen=True, output=tmp_path / "out")
    bad = [channel for channel in metrics["channels"].values() if channel["r2"] < 0.4]
    assert len(bad) >= 3
    assert all(channel["trust_since_s"]["wrong"] <= 10.0 for channel in bad)
    assert any(found["code"] == "trust" for found in metrics["findings"])
    assert "wrong on every channel" in (tmp_path / "out" / "report.html").read_text()


def test_the_estimate_predicts_better_than_its_prior(result):
    """On the rows it learnt from, the last estimate has less error than the prior, and a good R^2.
    """
    metrics = strict(result / "out" / "metrics.json")
    for name in CHANNELS:
        assert metrics["final"]["channels"][name]["rmse"] < metrics["prior"]["channels"][name][
            "rmse"]
        assert metrics["final"]["channels"][name]["r2"] > 0.8


def test_samples_csv_gives_the_same_metrics(result):
    """Metrics recomputed from samples.csv match metrics.json; vehicle channels also have the arm's
    share."""
    metrics = strict(result / "out" / "metrics.json")
    with open(result / "out" / "samples.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[:6] == ["t", "surge.measured", "surge.predicted", "surge.stddev",
                                 "surge.valid", "surge.arm"]
    assert "axis_e.arm" not in rows[0]
    for name in CHANNELS:
        measured, predicted, stddev = (np.array([float(r[f"{name}.{what}"] or "nan") for r in rows])
                                       for what in ("measured", "predicted", "stddev"))
        valid = np.array([r[f"{name}.valid"] == "1" for r in rows])
        found = channel_metrics(measured, predicted, stddev, valid,
                                metrics["channels"][name]["unit"])
        for key in ("n", "masked", *METRICS):
            assert found[key] == pytest.approx(metrics["channels"][name][key], rel=1e-5, abs=1e-6)
    assert np.std([float(r["pitch.arm"]) for r in rows]) > 0.01


def test_report_is_one_page_with_every_channel(result):
    """It needs no other file, loads nothing, is below 3 MB, and has the data of every plot."""
    assert not list((result / "out").glob("*.png"))
    text = (result / "out" / "report.html").read_text()
    elements = Elements(text)
    assert elements.loaded == [] and "dive" in text and len(text.encode()) < 3e6
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    assert [channel["name"] for channel in data["channels"]["each"]] == CHANNELS
    drawn = re.findall(r'data-kind="(\w+)" data-key="([^"]*)"', text)
    assert [key for kind, key in drawn if kind == "channel"] == list(map(str, range(10)))
    parameters = [key for kind, key in drawn if kind == "parameter"]
    assert sorted(parameters) == sorted(data["parameters"]["each"]) and len(parameters) == 75
    assert len(data["eigenvalues"]["each"]) == 5 and data["solve"]["median"] > 0
    assert all(name in elements.texts for name in ("Findings", "Notes and settings"))
    reasons = {reason for _, _, reason in data["channels"]["each"][6]["masked"]}
    assert any("joint at rest" in reason for reason in reasons)


def test_figures_without_matplotlib_are_refused_before_the_run(refused, bag, monkeypatch):
    """The report itself does not need it."""
    monkeypatch.setattr(evaluate_command, "find_spec", lambda name: None)
    assert "matplotlib is not installed" in refused(bag, "--figures")


def test_the_page_of_long_runs_of_many_joints_stays_below_3_mb():
    """The page does not grow with the recording: 16 channels, 220 parameters."""
    values = CHANNEL_VALUES + 3 * 220 * PARAMETER_POINTS + 5 * 16 * PARAMETER_POINTS + 2 * 3000
    parity = 16 * POINTS * len("M100.5 100.5h0")
    assert values * 4 * 4 / 3 + parity + 300_000 < 3e6


@pytest.mark.campaign
def test_figures_are_written_where_they_are_asked_for(result, bag, tmp_path):
    """They are PNG files; a run without them does not load matplotlib."""
    two = Config().with_values({"robot.joints": CHANNELS[6:8]})
    evaluate([Piece(bag, end=6.0)], two, output=tmp_path, report=False, figures=True)
    assert {path.stem for path in tmp_path.glob("*.png")} == {
        "prediction_vehicle", "prediction_arm", "parity", "fixed_against_adapted", "eigenvalues",
        "solve_time", "parameters_vehicle_inertia", "parameters_vehicle_damping",
        "parameters_vehicle_restoring", *(f"parameters_{joint}" for joint in CHANNELS[6:8])}
    script = ("import sys; from uvms_adaptive_dynamics.__main__ import main\n"
              f"status = main(['evaluate', {str(bag)!r}, '--output', {str(tmp_path / 'other')!r}, "
              "'--set', 'estimation.solver=native', '--frozen', '--parameters', "
              f"{str(result / 'saved.yaml')!r}, '--end', '4', '--jobs', '1'])\n"
              "assert status == 0 and 'matplotlib' not in sys.modules")
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_report_shows_intervals_over_time_and_what_not_to_rely_on(result):
    """A run of twelve seconds has one piece of time with the coverage of metrics.json; links are
    named as not individually known."""
    page = (result / "out" / "report.html").read_text()
    surge = strict(result / "out" / "metrics.json")["channels"]["surge"]
    width, nll = surge["interval_width"], surge["nll"]
    assert f"{100 * surge['coverage95']:.1f} % · {width:.4g} · {nll:.2f}" in page
    assert "do not rely on" in page and "links of axis_e" in page


def test_the_same_bag_gives_the_same_numbers(bag, result):
    """Offline evaluation is deterministic: only solve times differ."""
    found = {k: v for k, v in evaluate([bag], Config()).items() if k not in TIMES}
    again = json.loads(json.dumps(found, default=lambda a: a.tolist()))
    first = {k: v for k, v in strict(result / "out" / "metrics.json").items() if k not in TIMES}
    assert again == first


def test_frozen_run_learns_nothing(bag, result, tmp_path):
    """With --frozen the three blocks agree, nothing is updated, and the saved parameters come back
    unchanged."""
    assert main(["evaluate", str(bag), "--parameters", str(result / "saved.yaml"), "--frozen",
                 "--output", str(tmp_path)]) == 0
    metrics = strict(tmp_path / "metrics.json")
    assert metrics["updates"] == 0 and metrics["solver"] is None and metrics["update_ms"][
        "median"] is None
    for name in CHANNELS:
        found = metrics["channels"][name]
        for block in ("prior", "final"):
            other = metrics[block]["channels"][name]
            assert {key: found[key] for key in other} == pytest.approx(other)
        # Nothing adapts: the noise is the saved one throughout.
        assert found["coverage95_saved"] == pytest.approx(found["coverage95"])
        assert found["width_saved"] == pytest.approx(found["interval_width"])
    saved = load_parameters(result / "saved.yaml")
    assert metrics["parameters"]["value"] == pytest.approx(saved.values)
    learnt = strict(result / "out" / "metrics.json")["final"]["channels"]
    assert all(metrics["channels"][n]["rmse"] == pytest.approx(learnt[n]["rmse"], rel=1e-6)
               for n in CHANNELS)
    assert (tmp_path / "report.html").is_file()


def test_intervals_of_a_frozen_run_adapt_only_if_asked(bag, result, tmp_path, capsys):
    """With --adapt-intervals the width follows the residuals, the coverage of the saved noise is
    also given, and parameters stay fixed; without --frozen the option is refused."""
    given = ["evaluate", str(bag), "--adapt-intervals", "--no-report", "--jobs", "1", "--output",
             str(tmp_path)]
    assert main([*given, "--frozen", "--parameters", str(result / "saved.yaml")]) == 0
    metrics = strict(tmp_path / "metrics.json")
    assert metrics["updates"] == 0
    for name in CHANNELS:
        found = metrics["channels"][name]
        assert found["interval_width"] != pytest.approx(found["width_saved"], rel=.01)
    assert main(given) == 2
    assert "--adapt-intervals: got no --frozen" in capsys.readouterr().err


def test_several_bags_are_pooled_and_the_estimate_is_kept(bag, result, tmp_path):
    """Rows of both count, and the second pass starts from the estimate of the first. (Two messages
    alike would be those of one recording.)"""
    def renamed(k, topic, message):
        if hasattr(message, "header"):
            message.header.frame_id = "other"
        return message
    other = altered(bag, tmp_path / "other", renamed)
    once, done = strict(result / "out" / "metrics.json"), run([bag, other], Config())
    rows, twice = done.log.rows(), metrics_of(done)
    assert all(twice["channels"][name]["n"] == 2 * once["channels"][name]["n"] for name in CHANNELS)
    assert twice["duration_s"] == pytest.approx(2 * once["duration_s"])
    trajectory, first = done.log.trajectory(), int(np.argmax(rows.bag == 1))
    predicted, _ = done.log.predict(trajectory.pi[trajectory.bag == 0][-1], None)
    assert rows.predicted[first] == pytest.approx(predicted[first])


def test_the_longest_recording_is_reviewed(bag, tmp_path, monkeypatch):
    """Not the last one, which may be short: what only a whole recording shows would be missed. A
    clock that is set back ends a stretch."""
    asked = []

    def reviewed(samples, rows, seen, config, robot):
        asked.append((len(samples), rows.t))
        return Review([], {}, sound=False)
    monkeypatch.setattr(run_module, "review", reviewed)
    done = run([Piece(bag, 0.0, 9.0), Piece(bag, 9.0, 10.5)], Config())
    assert any("reviewed on the longest, 'dive'" in fact for fact in done.facts)
    first, *_ = asked
    assert first[1][-1] - first[1][0] > 7.0 and first[0] > 100

    def set_back(k, topic, message):
        if k >= 2700 and hasattr(message, "header"):
            message.header.stamp.sec -= 5
        return message
    run([altered(bag, tmp_path / "set_back", set_back)], Config())
    t = asked[-1][1]
    assert len(t) > 200 and np.diff(t).min() > 0.0


def test_files_of_an_earlier_run_are_named(bag, tmp_path, capsys):
    given = ["evaluate", str(bag), "--end", "6", "--output", str(tmp_path / "out")]
    assert main([*given, "--split", "60"]) == 0
    assert "of an earlier run" not in capsys.readouterr().err
    assert main([*given, "--no-report"]) == 0
    assert "report.html, held_out in '" in capsys.readouterr().err


def test_vehicle_alone_and_arm_alone(bag, tmp_path):
    """A robot without an arm, or without a vehicle, has only its own channels."""
    short = ["--jobs", "1", "--end", "6"]
    vehicle = [*short, "--output", str(tmp_path / "v"), "--set", "robot.joints=[]"]
    assert main(["evaluate", str(bag), *vehicle]) == 0
    assert list(strict(tmp_path / "v" / "metrics.json")["channels"]) == CHANNELS[:6]
    arm = [*short, "--output", str(tmp_path / "a"), "--set", "robot.vehicle=false"]
    assert main(["evaluate", str(bag), *arm]) == 0
    metrics = strict(tmp_path / "a" / "metrics.json")
    assert list(metrics["channels"]) == CHANNELS[6:] and metrics["physical"]["min_eig_M"] is None


def test_single_bad_messages_do_not_spoil_a_run(bag, tmp_path):
    """NaN in some messages is masked or bridged, and the run ends with finite figures."""
    def spoil(k, topic, message):
        if topic == "/joint_states" and k % 50 < 2:
            message.effort = np.full(4, np.nan)
        if topic == "/imu/data" and k % 100 == 0:
            message.angular_velocity.x = np.inf
        return message
    path = altered(bag, tmp_path / "nan", spoil)
    assert main(["evaluate", str(path), "--output", str(tmp_path / "out"), "--no-report",
                 "--jobs", "1", "--end", "7"]) == 0
    metrics = strict(tmp_path / "out" / "metrics.json")
    assert all(metrics["channels"][name]["n"] > 100
               for name in CHANNELS) and not (tmp_path / "out" / "report.html").exists()


@pytest.fixture
def refused(bag, tmp_path, capsys):
    """A function that runs `evaluate` with invalid arguments and returns its single sentence."""
    def run(*arguments):
        status = main(["evaluate", *(str(a) for a in arguments), "--jobs", "1", "--output",
                       str(tmp_path / "out")])
        error = capsys.readouterr().err
        assert status == 2 and error.count("\n") == 1 and "Traceback" not in error, error
        assert not (tmp_path / "out" / "metrics.json").exists()
        return error
    return run


def test_bad_input_is_refused_in_one_sentence(bag, tmp_path, refused):
    """Missing or foreign bags, configurations and parameters give exit status 2 and a sentence that
    names the culprit."""
    (tmp_path / "foreign.mcap").write_bytes(b"not an mcap file")
    (tmp_path / "bad.yaml").write_text("a: [1, 2")
    (tmp_path / "other.yaml").write_text("a: 1")
    (tmp_path / "few.yaml").write_text("parameters: {W: 110}")
    for arguments, part in (([tmp_path / "nowhere"], "does not exist"), ([
            tmp_path / "foreign.mcap"
    ], "cannot be read"), ([bag, tmp_path / "nowhere"], "does not exist"), ([
            bag, "--config", tmp_path / "none.yaml"
    ], "cannot be read"), ([bag, "--config", tmp_path / "bad.yaml"], "not valid YAML"), ([
            bag, "--config", tmp_path / "other.yaml"
    ], "not a ROS parameter file"), ([bag, "--parameters", tmp_path / "few.yaml"], "missing"), ([
            bag, "--frozen"
    ], "--parameters"), ([bag, "--solver", "guess"], "estimation.solver"), ([
            bag, "--set", "estimation.horison=3"
    ], "Did you mean"), ([bag, "--set", "estimation.horizon"], "name=value"), ([
        bag, "--set", "estimation.horizon=many"], "whole number"), ([bag, "--save-parameters",
                          tmp_path / "foreign.mcap" / "p.yaml"], "Not a directory")):
        assert part in refused(*arguments)


def test_bags_without_what_is_needed_are_refused(bag, tmp_path, refused):
    """Bags without messages, without a required topic, or without usable messages are refused."""
    empty = altered(bag, tmp_path / "empty", lambda k, topic, message: None)
    assert "holds no messages" in refused(empty)
    no_dvl = altered(bag, tmp_path / "no_dvl", lambda k, topic, message: None
                     if topic == "/dvl/twist" else message)
    assert "'/dvl/twist'" in refused(no_dvl)

    def blind(k, topic, message):
        if topic == "/joint_states":
            message.position = np.full(4, np.nan)
        if topic == "/imu/data":
            message.orientation.w = np.nan
        return message
    said = refused(altered(bag, tmp_path / "blind", blind))
    assert "no usable sample" in said and "imu.topic" in said and "joint_states.topic" in said
    assert re.search(r"imu: (\d+) of \1 messages on '\S+' were refused", said), said
    assert "orientation has length" in said, said

    def short(k, topic, message):
        return message if k < 60 else None
    said = refused(altered(bag, tmp_path / "short", short))
    assert "no usable sample; expected more than" in said


def test_output_that_cannot_be_written_is_refused(bag, tmp_path, capsys):
    """A file in place of the output folder is reported before any work is done."""
    (tmp_path / "taken").write_text("")
    assert main(["evaluate", str(bag), "--output", str(tmp_path / "taken")]) == 2
    assert f"--output: got '{tmp_path / 'taken'}', expected a folder" in capsys.readouterr().err


def row(rng, C, p, t, pi):
    return SimpleNamespace(
        t=t, pi=pi, noise_stddev=np.full(C, 0.5), measured=rng.standard_normal(C),
        predicted=rng.standard_normal(C), predicted_stddev=np.ones(C), valid=np.ones(C, bool),
        regressor=rng.standard_normal((C, p)), tau_known=rng.standard_normal(C),
        trust=None, load=None, R_nb=None)


def test_log_predicts_with_other_parameters_from_memory_and_from_file():
    """Y pi + known load and its stddev are the same from memory and from the temporary file."""
    table, rng = RobotModel.from_config(Config()).table, np.random.default_rng(4)
    pi, root = rng.standard_normal(table.size), rng.standard_normal((table.size, 3))
    rows = [row(rng, table.channels, table.size, float(k), pi) for k in range(2100)]
    logs = [RunLog(table), RunLog(table, memory_limit=0)]
    for log in logs:
        for r in rows:
            log.add_row(r, 0, r.valid)
    predicted, stddev = logs[0].predict(pi, root @ root.T)
    for k in (0, 1023, 1024, 2099):
        Y = rows[k].regressor
        assert predicted[k] == pytest.approx(Y @ pi + rows[k].tau_known)
        assert stddev[k] == pytest.approx(np.sqrt(np.sum((Y @ root) ** 2, axis=1) + 0.25))
        arm = table.arm_slice
        assert logs[0].rows().arm[k] == pytest.approx(Y[:6, arm] @ pi[arm] + rows[k].tau_known[:6])
    places = np.array([len(rows) - 1, 0, 3])
    assert all(np.array_equal(log.regressors(places), [rows[k].regressor for k in places])
               for log in logs)
    again, spread = logs[1].predict(pi, None)
    assert np.array_equal(again, predicted) and np.all(spread == 0.5)


def test_an_external_force_is_counted_and_is_not_the_arms():
    """The effort against it is in the prediction and not in the arm's part of it."""
    table, rng = RobotModel.from_config(Config()).table, np.random.default_rng(6)
    log, arm = RunLog(table), table.arm_slice
    one = row(rng, table.channels, table.size, 0.0, rng.standard_normal(table.size))
    carried = one.regressor[:6, arm] @ one.pi[arm] + one.tau_known[:6]
    log.add_row(one, 0, one.valid)
    one.R_nb, one.load = from_rpy(.2, -.3, 1.0), rng.standard_normal(12)
    one.tau_known[:6] -= load_columns(one.R_nb) @ one.load
    log.add_row(one, 0, one.valid)
    assert log.rows().arm == pytest.approx(np.stack([carried, carried]))
    assert log.loaded == 1


def test_coverage_by_regime_counts_rows_with_nothing_adapted():
    """For known speeds, rests, signs and a change it counts rows, and rows inside an interval with
    the saved noise, whatever noise the predictions used."""
    table, rng = RobotModel.from_config(Config()).table, np.random.default_rng(5)
    log, C, pi = RunLog(table), table.channels, np.zeros(table.size)
    viscous = [table.index[name] for name in (
        "X_u", "Y_v", "Z_w", "K_p", "M_q", "N_r", *(f"{joint}.fv" for joint in table.joints))]
    for k in range(900):
        r = row(rng, C, table.size, .02 * k, pi)
        r.regressor[np.arange(C), viscous] = -(1 + k % 300)
        r.measured[:], r.predicted[:] = (1.0, 0.0) if k % 2 else (-3.0, 0.0)
        log.add_row(r, 0, np.full(C, k >= 300))
    log.changes.append(16.0)
    noise = np.full(C, .8)
    run_of = SimpleNamespace(log=log, saved_noise=noise, final=SimpleNamespace(noise_stddev=None))
    found = {regime.name: (regime.rows[0], regime.inside[0]) for regime in regimes(run_of)}
    # Here the parameters contribute a variance of .75, so 1.96 deviations are 2.3.
    assert found == {
        "slow third": (200, 100), "middle third": (200, 100), "fast third": (200, 100),
        "at rest": (300, 150), "60 s after a change": (99, 50), "command positive": (450, 450),
        "command negative": (450, 0)
    }


def test_rows_in_their_intervals_are_counted_where_there_is_one():
    """Of the rows that are asked for, those that are valid and have an interval."""
    table, rng = RobotModel.from_config(Config()).table, np.random.default_rng(5)
    log, C = RunLog(table), table.channels
    for k in range(40):
        r = row(rng, C, table.size, .02 * k, np.zeros(table.size))
        r.predicted[:], r.valid[:] = r.measured, True
        r.predicted_stddev[:] = 1.0
        r.valid[1], r.predicted_stddev[2] = False, np.nan
        r.predicted[0] += 2.0 * (k < 25)        # beyond 1.96 deviations
        log.add_row(r, int(k >= 20), np.ones(C, bool))
    assert log.held(np.arange(20, 40)).tolist() == [0.75] + [1.0] * (C - 1)


def test_trajectory_is_thinned_evenly():
    """However long the run, the trajectory is short, starts with the first estimate and has an even
    step."""
    table = RobotModel.from_config(Config()).table
    log = RunLog(table)
    for k in range(5 * TRAJECTORY_POINTS):
        log.add_estimate(SimpleNamespace(t=float(k), pi=np.full(table.size, k),
                                         stddev=np.zeros(table.size)), 0)
    t = log.trajectory().t
    assert TRAJECTORY_POINTS / 2 < len(t) <= 2 * TRAJECTORY_POINTS + 1
    assert t[0] == 0 and len(set(np.diff(t))) == 1


def test_help_names_every_command(capsys):
    """argparse does not interpret a percent sign in a command's description."""
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert all(name in said for name in COMMANDS) and "95 %" in said


def test_results_outlive_a_disk_that_fills_during_the_run(bag, tmp_path, monkeypatch, capsys):
    """Each file of the run is saved completely elsewhere, and the sentence says where."""
    def full(target, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(writing, "_replace", full)
    monkeypatch.setattr(writing.tempfile, "tempdir", str(tmp_path))
    assert main(["evaluate", str(bag), "--jobs", "1", "--end", "6", "--output",
                 str(tmp_path / "out"), "--save-parameters", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    folder, = tmp_path.glob("uvms_kept_*")
    kept = {file.name: file for file in folder.iterdir()}
    assert {"p.yaml", "metrics.json", "samples.csv", "report.html"} <= set(kept)
    assert f"No space left on device. They are kept in '{folder}'" in said
    assert all(name in said for name in kept) and "Traceback" not in said
    assert strict(kept["metrics.json"])["updates"] > 100
    assert load_parameters(kept["p.yaml"]).covariance is not None


def test_a_disk_without_room_is_found_before_the_run(bag, tmp_path, monkeypatch, refused):
    """The required space follows from the length of the recording and the number of channels."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda path: usage(10**9, 10**9, 2 * 10**6))
    assert "2 MB of free space; expected at least 10." in refused(bag)


def test_a_clock_that_was_set_while_recording_asks_for_no_more_space(bag, monkeypatch):
    """A companion computer without a clock begins in 1970: the bag is decades long."""
    def long(path, needed):
        contents = check_bag(path, needed)
        return replace(contents, start=contents.end - 1.7e9)
    usual = run_module._space([bag], Config())
    monkeypatch.setattr(run_module, "check_bag", long)
    assert run_module._space([bag], Config()) < 50 * usual


def test_the_space_that_a_run_asks_for_is_enough(result):
    """It is at most three times the size of the samples, without the allowance for figures."""
    table = (result / "out" / "samples.csv")
    rows = len(table.read_text().splitlines()) - 1
    others = sum(f.stat().st_size for f in (result / "out").iterdir() if f != table)
    needed = needed_bytes(rows, len(CHANNELS))
    assert table.stat().st_size <= needed - OTHER_BYTES <= 3 * table.stat().st_size
    assert others <= OTHER_BYTES
