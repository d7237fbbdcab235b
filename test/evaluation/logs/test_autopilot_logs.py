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

"""A .BIN and a .tlog, written with pymavlink, give the same samples as the bag of the same run."""
import shutil
import sys

import ardupilot_logs as logs
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.evaluation.bags import check_bag, opened, read_messages
from uvms_adaptive_dynamics.evaluation.logs.autopilot import (
    LONGEST_BETWEEN,
    LoggedSeries,
    Quantities,
    tracks_of,
)
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.bag import DEFAULT_START, write_bag

pytest.importorskip("pymavlink")
BOOT = DEFAULT_START - 30.0
LOG = Config().with_values(logs.SETTINGS)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with bag, dive.BIN, dive.tlog, joints.csv and the two mappings that join them."""
    folder = tmp_path_factory.mktemp("logs")
    write_bag(folder / "bag", seed=3, duration=12.0, start_time=DEFAULT_START)
    logs.write_bin(folder / "bag", folder / "dive.BIN", BOOT)
    logs.write_tlog(folder / "bag", folder / "dive.tlog", BOOT)
    logs.write_joints(folder / "bag", folder / "joints.csv")
    for kind in ("BIN", "tlog"):
        logs.write_joined(folder / f"dive.{kind}", folder / "joints.csv", folder / f"{kind}.yaml")
    return folder


def samples(path, config):
    """{tick [s]: motion and wrench} of all samples whose vehicle rows count."""
    front = SignalFrontEnd(config, RobotModel.from_config(config))
    made = []
    for role, message, t in read_messages(path, inputs(config)):
        front.add_message(role, message, t)
        made += front.samples()
    return {round(s.t, 3): np.concatenate([s.nu, s.nu_dot, s.R_nb.ravel(), s.mu, s.wrench])
            for s in made if s.valid[:6].all()}


@pytest.mark.parametrize("kind", ["BIN", "tlog"])
def test_samples_are_those_of_the_bag(run, kind):
    """Every signal agrees within a share of its own deviation. Both logs round PWM to microseconds
    (0.5 % of this thrust), the .tlog also rounds to 1 mrad/s, 1 mg and milliseconds; DVL readings
    arrive earlier, so their noise of 1 cm/s affects a tick's velocity differently."""
    expected, found = samples(run / "bag", Config()), samples(run / f"{kind}.yaml", LOG)
    ticks = sorted(set(expected) & set(found))
    assert len(ticks) > 0.9 * len(expected)
    a, b = (np.array([rows[tick] for tick in ticks]) for rows in (expected, found))
    error = np.sqrt(np.mean((a - b) ** 2, axis=0)) / a.std(axis=0)
    velocity, acceleration = error[:3], error[6:12]
    assert velocity.max() < 0.04 and acceleration.max() < 0.1
    assert error[3:6].max() < 0.02 and error[12:].max() < 0.02


def test_topics_are_those_of_mavros_and_sensors_are_told_apart(run):
    """The first barometer has mavros' name, the second its own; GPS gives the epoch."""
    for kind in ("BIN", "tlog"):
        with opened(run / f"dive.{kind}") as log:
            assert set(log.topics) == {"/mavros/imu/data", "/mavros/rc/out", "/ardupilot/dvl",
                                       "/mavros/imu/static_pressure", "/ardupilot/pressure_2"}
            assert log.start == pytest.approx(DEFAULT_START, abs=0.2)
            messages = log.messages(["/mavros/imu/static_pressure"], -np.inf, np.inf)
            assert next(messages)[1].fluid_pressure == pytest.approx(95_000.0)


def test_what_an_autopilot_does_not_log_is_said(run):
    """The error names the joints' topic and the command that helps."""
    with pytest.raises(BagError, match="has no topic 'joint_states'.*inspect"):
        check_bag(run / "dive.BIN", inputs(LOG))


def test_servo_times_that_wrap_after_71_minutes_stay_right(run, tmp_path):
    """A uint32 of microseconds wraps; the outputs stay in step with other messages."""
    logs.write_tlog(run / "bag", tmp_path / "late.tlog", DEFAULT_START - 2 ** 32 * 1e-6 + 5.0)
    with opened(tmp_path / "late.tlog") as log:
        track = next(track for track in log.tracks if track.topic == "/mavros/rc/out")
    assert np.ptp(track.received - track.stamps) < 0.01


def test_attitude_lies_on_the_great_circle_and_ends_with_its_neighbours():
    """Halfway between two attitudes is half the turn; attitudes too far apart give no reading."""
    t = np.array([0.0, 0.1, 0.1 + 2 * LONGEST_BETWEEN])
    attitude = LoggedSeries(t, t, np.array([[0, 0, 0], [0, 0, 0.2], [0, 0, 0.3]]))
    at = np.array([0.05, 0.2])
    imu = LoggedSeries(at, at, np.zeros((2, 6)))
    values = tracks_of(Quantities(attitude, imu))[0].values[:, 6:]
    # FLU in ENU of a yaw of 0.1 in NED: a turn of pi/2 - 0.1 about z
    assert values[0] == pytest.approx([0, 0, np.sin(np.pi / 4 - 0.05), np.cos(np.pi / 4 - 0.05)])
    assert len(values) == 1 and np.isnan(tracks_of(Quantities(None, imu))[0].values[:, 6:]).all()


@pytest.mark.parametrize("name", ["x.BIN", "x.tlog"])
def test_garbage_is_refused_in_a_sentence(run, tmp_path, name):
    """An empty file, noise, and the beginning of a log are refused."""
    whole = (run / f"dive.{name[2:]}").read_bytes()
    for content in (b"", b"\xfe" * 4000, bytes(range(256)) * 20, whole[:20]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BagError, match="log '.*"), opened(tmp_path / name):
            pass


def test_a_log_without_pymavlink_names_the_package(run, monkeypatch, tmp_path):
    """Without the extra [logs] the error names pymavlink."""
    monkeypatch.setitem(sys.modules, "pymavlink.DFReader", None)
    monkeypatch.setitem(sys.modules, "pymavlink.dialects.v20", None)
    for kind in ("BIN", "tlog"):
        # a copy, since logs that were read are cached
        log = shutil.copy(run / f"dive.{kind}", tmp_path)
        with pytest.raises(BagError, match="pip install pymavlink"), opened(log):
            pass
