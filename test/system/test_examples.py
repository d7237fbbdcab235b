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

"""The converters in examples/: bags on the default topics, with the values and times of the
recordings."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from scipy.integrate import trapezoid  # numpy's has another name before 2.0
from scipy.spatial.transform import Rotation

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

import bag_writer  # noqa: E402
import brov_tank_to_bag  # noqa: E402
import hinsdale_to_bag  # noqa: E402
import mocap_velocity  # noqa: E402
import tiago_to_bag  # noqa: E402
import ur10e_to_bag  # noqa: E402

RUN = "traj005-0"


def convert(script, *arguments):
    """The finished process of a converter, run as a user would."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / script), *map(str, arguments)], capture_output=True,
        text=True, timeout=120)


def read(bag):
    """Messages by topic: lists of (header stamp [s], message); the header stamp equals that of the
    bag."""
    content = {}
    with AnyReader([bag]) as reader:
        for connection, stamp_ns, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp_ns
            content.setdefault(connection.topic, []).append((stamp_ns * 1e-9, message))
    return content


def recording(shared, name):
    folder = shared / "data" / name
    if not folder.is_dir():
        pytest.skip(f"the recording '{name}' is not among the shared material ({folder})")
    return folder


@pytest.fixture(scope="module")
def tiago(shared, tmp_path_factory):
    folder = recording(shared, "tiago")
    output = tmp_path_factory.mktemp("tiago")
    for part in ("train", "test"):
        done = convert("tiago_to_bag.py", "--data", folder, "--output", output / part, "--part",
                       part)
        assert done.returncode == 0, done.stderr
    return folder, read(output / "train"), read(output / "test")


@pytest.fixture(scope="module")
def hinsdale(shared, tmp_path_factory):
    folder = recording(shared, "hinsdale_uvms")
    bag = tmp_path_factory.mktemp("hinsdale") / RUN
    done = convert("hinsdale_to_bag.py", "--data", folder, "--run", RUN, "--output", bag)
    assert done.returncode == 0, done.stderr
    return folder, bag, read(bag)


def test_tiago_parts_are_seventy_and_thirty_percent_of_the_useful_rows_in_order_of_time(tiago):
    """Every useful row is in exactly one part, and no stamp of the test part is older than one of
    the training part."""
    _, train, test = tiago
    assert set(train) == set(test) == {"/joint_states"}
    stamps = np.array([t for t, _ in train["/joint_states"] + test["/joint_states"]])
    assert (len(train["/joint_states"]), len(test["/joint_states"])) == (4109, 1761)
    assert (np.diff(stamps) > 0).all() and np.median(np.diff(stamps)) == pytest.approx(
        0.01, abs=1e-4)


def test_tiago_values_are_those_of_the_recording(tiago):
    """The first message has position and current of the first useful row, by the URDF's names."""
    folder, train, _ = tiago
    stamp, message = train["/joint_states"][0]
    position = bag_writer.read_table(folder / "tiago_position.csv.gz")
    current = bag_writer.read_table(folder / "tiago_effort.csv.gz")
    assert message.name == ["torso_lift_joint"] + [f"arm_{k}_joint" for k in range(1, 8)]
    assert stamp == pytest.approx(tiago_to_bag.EPOCH_NS * 1e-9 + position["t"][921], abs=1e-6)
    assert message.position[2] == position["- arm_2_joint_position"][921]
    assert message.effort[4] == current["- arm_4_joint_effort"][921]


def test_tiago_velocity_is_the_derivative_of_the_position(tiago):
    """The velocity integrates to the position over 0.1 s, best when shifted by at most two
    samples."""
    _, train, _ = tiago
    stamps = np.array([t for t, _ in train["/joint_states"]])
    position = np.array([m.position for _, m in train["/joint_states"]])[:, 4]
    velocity = np.array([m.velocity for _, m in train["/joint_states"]])[:, 4]
    gain = position[10:] - position[:-10]

    def misfit(delay):
        shifted = np.interp(stamps + delay, stamps, velocity)
        total = np.concatenate([[0.0],
                                np.cumsum((shifted[1:] + shifted[:-1]) / 2 * np.diff(stamps))])
        return np.std(gain - (total[10:] - total[:-10]))

    delays = np.linspace(-0.25, 0.25, 51)
    assert abs(delays[np.argmin([misfit(delay) for delay in delays])]) <= 0.021


def test_hinsdale_bag_has_the_default_topics_at_the_rates_of_the_recording(hinsdale):
    """Joints and IMU at 20 Hz, velocity at 10 Hz, in time order, on the clock of the recording."""
    _, bag, content = hinsdale
    assert {topic: len(entries)
            for topic, entries in content.items()} == {
                "/imu/data": 401, "/joint_states": pytest.approx(415, abs=2),
                "/dvl/twist": pytest.approx(200, abs=5)
            }
    for entries in content.values():
        stamps = np.array([t for t, _ in entries]) - hinsdale_to_bag.EPOCH_NS * 1e-9
        assert (np.diff(stamps) > 0).all() and stamps[0] >= 0 and stamps[-1] < 21
    assert "arm_start_s: '" in (bag / "metadata.yaml").read_text()


def test_hinsdale_joints_have_the_zeros_of_their_urdf_and_no_effort(hinsdale):
    """Positions are the recorded ones less the offset, and no row repeats the previous one within
    its sampling time."""
    folder, _, content = hinsdale
    table = bag_writer.read_table(folder / f"{RUN}_joint_states.csv.gz")
    stamp, first = content["/joint_states"][0]
    assert first.name == ["r5m_joint5", "r5m_joint4", "r5m_joint3", "r5m_joint2"]
    assert first.position == pytest.approx([table["axis_e_pos"][0] - 3.07, table["axis_d_pos"][0],
                                            table["axis_c_pos"][0], table["axis_b_pos"][0] - 2.879])
    assert all(len(message.effort) == 0 for _, message in content["/joint_states"])
    rows = [(t, tuple(m.position) + tuple(m.velocity)) for t, m in content["/joint_states"]]
    assert all(a != b or later - earlier >= hinsdale_to_bag.REPEAT_TIMEOUT
               for (earlier, a), (later, b) in zip(rows, rows[1:]))


def test_hinsdale_attitude_is_enu_from_flu(hinsdale):
    """The specific force points up in the world of the orientation; 0.03 rad allows for the
    accelerometer's offset."""
    _, _, content = hinsdale
    up = []
    for _, message in content["/imu/data"]:
        q, f = message.orientation, message.linear_acceleration
        up.append(Rotation.from_quat([q.x, q.y, q.z, q.w]).apply([f.x, f.y, f.z]))
    up = np.array(up)
    tilt = np.arccos(up[:, 2] / np.linalg.norm(up, axis=1))
    assert np.median(tilt) < 0.03 and tilt.max() < 0.06
    assert np.median(up[:, 2]) == pytest.approx(9.8, abs=0.1)


def test_hinsdale_velocity_is_that_of_the_captured_point(hinsdale):
    """The vertical displacement in the world is the integral of the velocities (to 1 cm in 20 s);
    the third axis points down."""
    folder, _, content = hinsdale
    mocap = bag_writer.read_table(folder / f"{RUN}_mocap.csv.gz")
    attitude = {round(t, 1): m.orientation for t, m in content["/imu/data"]}
    stamps, down, q = [], [], None
    for t, message in content["/dvl/twist"]:
        q = attitude.get(round(t, 1)) or q
        v = message.twist.twist.linear
        down.append(-Rotation.from_quat([q.x, q.y, q.z, q.w]).apply([v.x, -v.y, -v.z])[2])
        stamps.append(t - hinsdale_to_bag.EPOCH_NS * 1e-9)
    sunk = trapezoid(down, stamps)
    expected = -(np.interp(stamps[-1], mocap["time_secs"], mocap["z_pose"])
                 - np.interp(stamps[0], mocap["time_secs"], mocap["z_pose"]))
    assert sunk == pytest.approx(expected, abs=0.01) and abs(expected) > 0.1


def test_local_fit_is_not_moved_by_glitches():
    """A fifth of wild samples does not change the slope of a clean parabola."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(0.0, 2.0, 200))
    signal = 0.3 * time + 0.5 * time**2
    signal[rng.choice(200, 40, replace=False)] += rng.uniform(0.05, 1.0, 40)
    fit = mocap_velocity.local_fit(time, signal, 1.0, floor=1e-3)
    assert fit.slope == pytest.approx(1.3, abs=2e-3) and fit.value == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize("time", [np.r_[0.0:0.8:0.01, 1.2:2.0:0.01], np.r_[0.0:1.0:0.01]])
def test_local_fit_is_silent_in_a_gap_and_at_the_end(time):
    """If half of the window has no samples, there is no velocity instead of an extrapolated one."""
    assert mocap_velocity.local_fit(time, np.zeros_like(time), 1.0, floor=1e-3) is None


@pytest.mark.parametrize("script, arguments", [("tiago_to_bag.py", ()),
                                               ("hinsdale_to_bag.py", ("--all",))])
def test_missing_data_is_one_sentence(script, arguments, tmp_path):
    """A wrong --data ends with one line that gives its path, and creates no bag."""
    done = convert(script, "--data", tmp_path / "nowhere", "--output", tmp_path / "bag", *arguments)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "nowhere" in done.stderr
    assert not (tmp_path / "bag").exists()


def test_unknown_run_is_answered_with_the_known_ones(hinsdale, tmp_path):
    """The message lists the existing runs."""
    done = convert("hinsdale_to_bag.py", "--data", hinsdale[0], "--run", "traj999-9", "--output",
                   tmp_path / "bag")
    assert done.returncode == 1 and "traj999-9" in done.stderr and RUN in done.stderr


def test_existing_bag_is_not_overwritten(tiago, tmp_path):
    """An existing --output is refused and unchanged."""
    (tmp_path / "bag").mkdir()
    done = convert("tiago_to_bag.py", "--data", tiago[0], "--output", tmp_path / "bag")
    assert done.returncode == 1 and "exists already" in done.stderr and not list(
        (tmp_path / "bag").iterdir())


def test_damaged_file_is_named(tmp_path):
    """The message gives the path of a file that is not gzip."""
    (tmp_path / "x.csv.gz").write_text("t,a\n1,2\n")
    with pytest.raises(bag_writer.ConversionError, match="x.csv.gz.*not a gzipped CSV"):
        bag_writer.read_table(tmp_path / "x.csv.gz")


def test_configurations_fit_the_recordings(shared):
    """Every setting exists, the URDF has the joints, the Hinsdale prior is complete and admissible,
    and the whole vehicle is free."""
    from uvms_adaptive_dynamics.config import load_config
    from uvms_adaptive_dynamics.model.parameter_file import load_parameters
    from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
    from uvms_adaptive_dynamics.model.robot import RobotModel

    for name, urdf in (("tiago", "tiago/tiago_48_schunk.urdf"),
                       ("hinsdale", "hinsdale_uvms/blue_rov_hardware_fixedjaw.urdf")):
        config = load_config(EXAMPLES / f"{name}.yaml").with_values(
            {"robot.urdf": str(recording(shared,
                                         urdf.split("/")[0]).parent / urdf)})
        table = RobotModel.from_config(config).table
        if name == "hinsdale":
            prior = load_parameters(config.prior.file).for_table(table)
            assert PhysicalSet(table, config.estimation).violation(prior.values) <= 0.0
            free = [
                name for name, frozen in zip(table.names, table.match(config.estimation.frozen))
                if not frozen
            ]
            assert free == list(table.names[table.vehicle_slice])
        else:
            assert config.robot.joints == tiago_to_bag.JOINTS


# --- BlueROV2 in a tank ---------------------------------------------------------------------------

def tank_table(path, rows=5, **replaced):
    """A table like the recordings: the vehicle turns right while moving ahead."""
    table = {"timestamps": 1.7e18 + 2e8 * np.arange(rows + 1), "positions": np.zeros((rows + 1, 6)),
             "velocities": np.tile([.3, 0, 0, 0, 0, .2], (rows + 1, 1)),
             "scaled_controls": np.tile([0, 0, 0, .25, .5, 0], (rows, 1)), **replaced}
    np.savez(path, **table)
    return path


def test_tank_rows_are_odometry_and_commands(tmp_path):
    """Odometry at the middle of each row, in its frame; commands at its start, mixed from the
    sticks: forward and right turn match surge and yaw of the allocation."""
    bag = tmp_path / "bag"
    assert brov_tank_to_bag.main(["--data", str(tank_table(tmp_path / "a.npz")),
                                  "--output", str(bag)]) == 0
    found = {}
    with AnyReader([bag]) as reader:
        for connection, stamp, raw in reader.messages():
            found.setdefault(connection.topic, []).append(
                (stamp, reader.deserialize(raw, connection.msgtype)))
    assert len(found["/odom"]) == len(found["/thruster_commands"]) == 5
    (at, odom), (begin, commands) = found["/odom"][0], found["/thruster_commands"][0]
    assert at - begin == pytest.approx(1e8, abs=1e3)
    assert (odom.twist.twist.linear.x, odom.twist.twist.angular.z) == (.3, .2)
    allocation = np.reshape(brov_tank_to_bag.Config().thrusters.allocation, (6, -1))
    wrench = allocation @ commands.data
    assert wrench[0] > 1.0 and wrench[5] > .1 and np.abs(wrench[1:4]).max() < 1e-9


@pytest.mark.parametrize("replaced, words", [
    ({"positions": np.full((6, 6), np.nan)}, "does not hold rows of six finite numbers"),
    ({"velocities": np.zeros((6, 3))}, "does not hold rows of six finite numbers")])
def test_a_spoilt_tank_table_is_refused(tmp_path, capsys, replaced, words):
    """With a message and status 1, even if the file is missing."""
    path = tank_table(tmp_path / "a.npz", **replaced)
    out = ["--output", str(tmp_path / "bag")]
    assert brov_tank_to_bag.main(["--data", str(path), *out]) == 1
    assert words in capsys.readouterr().err
    assert brov_tank_to_bag.main(["--data", str(tmp_path / "none.npz"), *out]) == 1
    assert "does not exist. Check --data." in capsys.readouterr().err


# --- UR10e ----------------------------------------------------------------------------------------

def ur10e_table(path, lines=()):
    """A table like the recordings, ten rows and then the given lines."""
    rows = [",".join(f"{value:.4f}" for value in (1000.0 + 0.01 * k, *np.arange(30.0) + 0.1 * k))
            for k in range(10)]
    path.write_text("\n".join([*rows, *lines]))
    return path


def test_ur10e_rows_are_joint_states_with_currents(tmp_path, capsys):
    """Columns in their order; rows of a damaged transfer are left out and counted."""
    spoilt = ["1000.2," + "2.7e154," * 30, "no,numbers", "47.5," + "0.1," * 29 + "0.1"]
    path = ur10e_table(tmp_path / "a.csv", spoilt)
    bag = tmp_path / "bag"
    assert ur10e_to_bag.main(["--data", str(path), "--output", str(bag)]) == 0
    assert "10 messages, 3 spoilt rows" in capsys.readouterr().out
    states = read(bag)["/joint_states"]
    assert states[1][0] - states[0][0] == pytest.approx(0.01, abs=1e-6)
    first = states[0][1]
    assert first.name == list(ur10e_to_bag.JOINTS)
    assert first.position.tolist() == [0, 1, 2, 3, 4, 5]
    assert first.velocity.tolist() == [6, 7, 8, 9, 10, 11]
    assert first.effort.tolist() == [12, 13, 14, 15, 16, 17]


@pytest.mark.parametrize("content, words", [
    (None, "does not exist. Check --data."), ("1,2,3\n4,5,6", "at least 19 numbers per row")])
def test_what_is_no_ur10e_table_is_refused(tmp_path, capsys, content, words):
    """With a message and status 1."""
    path = tmp_path / "a.csv"
    if content is not None:
        path.write_text(content)
    assert ur10e_to_bag.main(["--data", str(path), "--output", str(tmp_path / "bag")]) == 1
    assert words in capsys.readouterr().err
