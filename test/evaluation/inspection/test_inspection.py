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

"""A single inspection finds everything foreign in a vehicle's recording, and proposes settings."""
import sys
from pathlib import Path
from types import SimpleNamespace

import foreign_vehicle
import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader, Writer

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config, load_config
from uvms_adaptive_dynamics.config.files import reasons_in
from uvms_adaptive_dynamics.evaluation.inspection import motion
from uvms_adaptive_dynamics.evaluation.inspection.inspection import inspect_recording
from uvms_adaptive_dynamics.evaluation.inspection.proposal import Proposal
from uvms_adaptive_dynamics.evaluation.logs.ros_messages import type_store
from uvms_adaptive_dynamics.evaluation.recording import Piece
from uvms_adaptive_dynamics.signals.checks.finding import Finding, Harm
from uvms_adaptive_dynamics.simulation.bag import write_bag

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

import brov_tank_to_bag  # noqa: E402

DURATION = 34.0     # [s]; frames are first checked after 30 s


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """The simulated robot's recording, and the same recording as a foreign vehicle's."""
    folder = tmp_path_factory.mktemp("inspection")
    write_bag(folder / "own", seed=3, duration=DURATION)
    return folder / "own", foreign_vehicle.write(folder / "own", folder / "foreign")


def test_nothing_is_proposed_for_what_fits(bags):
    """A recording with default settings needs no setting and lacks nothing."""
    inspection = inspect_recording(Piece(bags[0]), Config())
    assert inspection.proposal.changes() == {} and inspection.proposal.missing == []
    assert set(inspection.chosen) == {"imu", "dvl", "depth", "joint_states", "thrusters"}
    assert inspection.survey.topics["/imu/data"].rate == pytest.approx(100.0, rel=0.01)
    assert inspection.motion.warnings == [] and inspection.motion.counted["surge"][0] > 0.9


@pytest.mark.campaign
def test_a_forgotten_mount_is_proposed_once_all_else_is_right(bags):
    """With what the front end's checks find in the rounds before."""
    config = Config().with_values({"robot.mount_rpy": (0.0, 0.0, 0.0), "dvl.frame": "flu"})
    proposal = inspect_recording(Piece(bags[0]), config).proposal
    changes = proposal.changes()
    assert set(changes) == {"robot.mount_rpy", "dvl.frame"} and proposal.missing == []
    assert np.abs(changes["robot.mount_rpy"]) == pytest.approx((np.pi, 0.0, 0.0), abs=1e-3)


def test_an_input_that_ends_early_and_what_it_masks_are_shown(bags, tmp_path, capsys):
    """The DVL is recorded from 6 to 9 s only."""
    with Reader(bags[0]) as source, Writer(tmp_path / "dive", version=9) as bag:
        of = {connection.id: bag.add_connection(connection.topic, connection.msgtype,
                                                typestore=type_store())
              for connection in source.connections}
        for connection, t, raw in source.messages():
            if connection.topic != "/dvl/twist" or 6e9 < t - source.start_time < 9e9:
                bag.write(of[connection.id], t, raw)
    assert main(["inspect", str(tmp_path / "dive"), "--end", "20"]) == 0
    said = capsys.readouterr().out
    row, = [line for line in said.splitlines() if line.startswith("dvl ")]
    assert "none before 6 s" in row and "none after 9 s" in row
    note, = [line for line in said.splitlines() if "'no dvl'" in line]
    assert "surge" in note and "axis_e" not in note
    assert "none before" not in said.replace(row, "") and "none after" not in said.replace(row, "")


def test_all_that_is_foreign_is_found_in_one_look(bags, tmp_path, capsys):
    """Names, types, units, axes, order, channels and signs are found at once; --config reads the
    written file, which gives reasons."""
    written = tmp_path / "boat.yaml"
    assert main(["inspect", str(bags[1]), "--write", str(written)]) == 0
    config = load_config(written)
    expected = Config().with_values(foreign_vehicle.TRUTH)
    assert config.differences(expected) == {}
    said = capsys.readouterr().out
    assert "set depth.unit: hPa" in said and "/mavros/imu/static_pressure" in said
    assert "15.60 V throughout: is it measured?" in said
    tree = yaml.safe_load(written.read_text())
    assert tree["/**"]["ros__parameters"]["dvl"]["frame"] == "flu"
    assert "# thruster 3 pushes backwards" in written.read_text()


def test_joint_states_alone_are_asked_for_the_arm_with_lines_that_can_be_pasted(bags, tmp_path):
    """With joints of another arm and no other input, both are asked at once, and the lines form a
    parameter file."""
    dive = tmp_path / "arm.csv"
    dive.write_text("t,a,b\n" + "".join(f"{k / 50},{k / 9},{-k / 9}\n" for k in range(100)))
    (tmp_path / "arm.yaml").write_text(
        "time: {column: t}\ntopics: {joint_states: {type: sensor_msgs/msg/JointState, "
        "name: [one, two], position: [a, b]}}\n")
    inspection = inspect_recording(Piece(tmp_path / "arm.yaml"), Config())
    lines = [line for _, line in inspection.proposal.missing]
    assert len(lines) == 2 and "fixed base" in inspection.proposal.missing[0][0]
    text = inspection.proposal.yaml("bag")
    assert yaml.safe_load(text) == {"/**": {"ros__parameters": {}}}
    completed = text.replace("    # robot.vehicle", "    robot.vehicle")
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(completed)
    assert "remove the {}" in text
    assert yaml.safe_load(completed.replace(" {}", ""))["/**"]["ros__parameters"] == {
        "robot.vehicle": False}
    pasted = yaml.safe_load("\n".join(lines).replace("?", "x"))
    assert pasted["robot.vehicle"] is False and pasted["robot.joints"] == ["one", "two"]


def test_degrees_are_seen_although_the_names_are_unknown(tmp_path):
    """Which joint is which is asked. Another arm's positions, within a turn, are no degrees."""
    for low, size, unit in ((60.0, 100.0, "deg"), (0.0, 6.2, "rad")):
        rows = (f"{k / 50}," + ",".join([f"{low + size * (k % 50) / 50}"] * 4) for k in range(100))
        (tmp_path / "arm.csv").write_text("\n".join(["t,a,b,c,d", *rows]))
        (tmp_path / "arm.yaml").write_text(
            "time: {column: t}\ntopics: {joint_states: {type: sensor_msgs/msg/JointState, "
            "name: [j1, j2, j3, j4], position: [a, b, c, d]}}\n")
        proposal = inspect_recording(Piece(tmp_path / "arm.yaml"), Config()).proposal
        assert proposal.config.joint_states.unit == unit
        assert ("joint_states.names: [?axis_e?" in str(proposal.missing)) == (unit == "deg")


def test_what_data_cannot_tell_is_asked_with_a_line_to_complete(bags):
    """Other joint names with the same ranges, and another type of DVL."""
    config = Config().with_values({"robot.joints": ["axis_e", "axis_d"], "robot.vehicle": False})
    inspection = inspect_recording(Piece(bags[1], 0.0, 3.0), config)
    assert inspection.proposal.config.joint_states.names == ("r_axis_e", "r_axis_d")
    vehicle = inspect_recording(Piece(bags[1], 0.0, 3.0), Config().with_values({"dvl.type":
                                                                      "dvl_msgs/msg/DVL"}))
    assert vehicle.proposal.config.dvl.type == foreign_vehicle.TWIST_STAMPED


@pytest.mark.campaign
def test_a_missing_line_completed_in_the_written_file_completes_it(tmp_path, capsys):
    """The line stands where its section has other lines already; alone, --config reads it too."""
    config = Config().with_values({"joint_states.effort_scale": [0.01] * 4,
                                   "joint_states.topic": "alpha/states"})
    write_bag(tmp_path / "dive", seed=3, duration=40.0, config=config)
    written, alone = tmp_path / "boat.yaml", tmp_path / "known.yaml"
    assert main(["inspect", str(tmp_path / "dive"), "--write", str(written)]) == 1
    assert "complete the lines marked MISSING in it, then evaluate" in capsys.readouterr().out
    line, = [line for line in written.read_text().splitlines() if "a guess" in line]
    completed = "joint_states.effort_scale: [0.01, 0.01, 0.01, 0.01]"
    written.write_text(written.read_text().replace(line, f"    {completed}"))
    alone.write_text(completed)
    assert load_config(written).changed() == config.changed() | {
        "joint_states.topic": "/alpha/states"}
    assert main(["inspect", str(tmp_path / "dive"), "--config", str(alone)]) == 0


def test_odometry_is_proposed_for_dvl_and_imu(tmp_path):
    """A vehicle with motion capture has one topic for both, with the axes of REP-103."""
    still = {"timestamps": 1.7e18 + 5e7 * np.arange(101), "positions": np.zeros((101, 6)),
             "velocities": np.zeros((101, 6)), "scaled_controls": np.zeros((100, 6))}
    np.savez(tmp_path / "tank.npz", **still)
    assert brov_tank_to_bag.main(["--data", str(tmp_path / "tank.npz"), "--output",
                                  str(tmp_path / "tank")]) == 0
    inspection = inspect_recording(Piece(tmp_path / "tank"), Config())
    config = inspection.proposal.config
    assert config.imu.type == config.dvl.type == "nav_msgs/msg/Odometry"
    assert (config.imu.frame, config.imu.world, config.dvl.frame) == ("flu", "enu", "flu")
    assert config.dvl.xyz == (0.0, 0.0, 0.0) and inspection.proposal.missing == []


def test_a_pilots_sticks_and_a_barometer_in_the_dry_hull_are_no_inputs(tmp_path, capsys):
    """MAVROS records both beside a motion capture, whose odometry is preferred to its twist."""
    (tmp_path / "tank.yaml").write_text(f"""time: {{column: t}}
topics:
  mocap/odom: {{type: nav_msgs/msg/Odometry, pose.pose.position: [x, x, x]}}
  mocap/velocity: {{type: geometry_msgs/msg/TwistStamped, twist.linear: [x, x, x]}}
  mavros/imu/static_pressure: {{type: sensor_msgs/msg/FluidPressure, fluid_pressure: p}}
  mavros/rc/override: {{type: mavros_msgs/msg/OverrideRCIn, channels: [{', '.join('s' * 18)}]}}
""")
    rows = (f"{k / 50},{k / 5000},{101000 + k % 3},{1500 + k % 90}" for k in range(500))
    (tmp_path / "tank.csv").write_text("\n".join(["t,x,p,s", *rows]))
    assert main(["inspect", str(tmp_path / "tank.yaml")]) == 1
    said = capsys.readouterr().out
    assert "set dvl.topic: /mocap/odom" in said and "set depth.enabled: False" in said
    assert "/mavros/imu/static_pressure (usually the autopilot's own barometer" in said
    assert "/mavros/rc/override (the pilot's sticks, unless" in said
    assert "    thrusters.type: mavros_msgs/msg/OverrideRCIn" in said


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_zeros_before_arming_do_not_change_the_unit_of_commands(value, bags, tmp_path):
    """Nor does a driver that sends NaN at first; commands that are all zero show no unit."""
    def commanded(path, until):
        with Reader(bags[0]) as source, Writer(path, version=9) as bag:
            store = type_store()
            of = {connection.id: bag.add_connection(connection.topic, connection.msgtype,
                                                    typestore=store)
                  for connection in source.connections}
            for connection, t, raw in source.messages():
                if connection.topic == "/thruster_commands" and t - source.start_time < until:
                    message = store.deserialize_cdr(raw, connection.msgtype)
                    message.data = np.full(8, value)
                    raw = store.serialize_cdr(message, connection.msgtype)
                bag.write(of[connection.id], t, raw)
        return inspect_recording(Piece(path, 0.0, 4.0), Config()).proposal

    assert "thrusters.unit" not in commanded(tmp_path / "begins", 1e9).changes()
    assert "thrusters.unit" not in commanded(tmp_path / "rests", 5e9).changes()


def test_an_input_that_begins_after_the_inspected_piece_is_not_switched_off(bags, tmp_path):
    """An arm that is switched on later keeps its joints in the proposal."""
    with Reader(bags[0]) as source, Writer(tmp_path / "dive", version=9) as bag:
        of = {connection.id: bag.add_connection(connection.topic, connection.msgtype,
                                                typestore=type_store())
              for connection in source.connections}
        for connection, t, raw in source.messages():
            if connection.topic != "/joint_states" or t - source.start_time > 5e9:
                bag.write(of[connection.id], t, raw)
    proposal = inspect_recording(Piece(tmp_path / "dive", 0.0, 4.0), Config()).proposal
    assert "robot.joints" not in proposal.changes()
    (sentence, _), = proposal.missing
    assert "no joint states in the inspected piece, but '/joint_states' has" in sentence


def test_a_topic_whose_name_says_nothing_is_named_by_its_type(tmp_path, bags):
    """A DVL on /nucleus/bottomtrack is found: the line to paste has its topic and type, and makes
    the proposal complete."""
    config = Config().with_values({"dvl.topic": "nucleus/bottomtrack",
                                   "dvl.type": foreign_vehicle.TWIST_STAMPED})
    write_bag(tmp_path / "dive", seed=3, duration=3.0, config=config)
    inspection = inspect_recording(Piece(tmp_path / "dive"), Config())
    (sentence, line), = [one for one in inspection.proposal.missing
                         if "velocity over ground" in one[0]]
    assert "/nucleus/bottomtrack" in sentence and "record" not in sentence
    pasted = yaml.safe_load(line)
    assert pasted == {"dvl.topic": "/nucleus/bottomtrack",
                      "dvl.type": foreign_vehicle.TWIST_STAMPED}
    again = inspect_recording(Piece(tmp_path / "dive"), Config().with_values(pasted))
    assert not [one for one in again.proposal.missing if "velocity" in one[0]]


@pytest.mark.parametrize("harm, missing", [(Harm.SLIGHT, False), (Harm.CONTRADICTS, True)])
def test_what_costs_no_row_and_no_setting_corrects_is_not_missing(monkeypatch, harm, missing):
    """A velocity that is late is left out; nobody has to complete a line for it."""
    late = Finding("joint velocity", "comes .08 s later than the position", harm=harm)
    front = SimpleNamespace(frames=SimpleNamespace(findings=[(late, 0)], waiting_for=[]),
                            delay=SimpleNamespace(warning=""), inputs={}, masked={},
                            warnings=[f"{late.setting}: {late.sentence}"])
    monkeypatch.setattr(motion, "_run", lambda piece, proposal: (front, None, []))
    proposal = Proposal(Config())
    warnings = motion.mend_by_motion(None, proposal).warnings
    assert (len(proposal.missing), len(warnings)) == ((1, 0) if missing else (0, 1))


def test_evidence_in_the_given_file_stays_beside_its_setting(tmp_path):
    """When a proposal is the file of the next inspection, a value that stays keeps its reason, one
    that changes gets the new one, and a proposal that is taken back leaves none."""
    (tmp_path / "boat.yaml").write_text("/**:\n  ros__parameters:\n    dvl:\n"
                                        "      # its axes are turned\n      frame: flu\n"
                                        "      # MISSING: a delay\n      delay: .1\n"
                                        "    robot:\n      dry_mass: 11.0  # on the quay\n")
    proposal = Proposal(load_config(tmp_path / "boat.yaml"), reasons_in(tmp_path / "boat.yaml"))
    proposal.set({"dvl.delay": .2}, "late by .2 s")
    before = proposal.state()
    proposal.set({"robot.dry_mass": 12.0}, "heavier")
    proposal.return_to(before)
    assert proposal.reasons == {"dvl.frame": "its axes are turned", "dvl.delay": "late by .2 s",
                                "robot.dry_mass": "on the quay"}
    (tmp_path / "again.yaml").write_text(proposal.yaml("dive"))
    assert reasons_in(tmp_path / "again.yaml").items() >= proposal.reasons.items()
    assert load_config(tmp_path / "again.yaml") == proposal.config
