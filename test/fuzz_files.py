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

"""Corrupted settings and files: configurations, parameter files, URDFs, thrust curves, exports,
plans and results of batches.

Each case is a real file, either corrupted as text or with values replaced in its structure. So some
cases are refused by the first line that reads them, and some reach the last.
"""
import copy
import json
import math
from pathlib import Path

import numpy as np
import yaml
from ardupilot_logs import small_logs
from export_cases import estimate
from fuzz_cases import randomness, spoilt

from uvms_adaptive_dynamics.config import Config, load_config
from uvms_adaptive_dynamics.config.template import settings_file
from uvms_adaptive_dynamics.control.excitation.trajectory import Promise, Trajectory
from uvms_adaptive_dynamics.control.excitation.trajectory_file import (
    load_trajectory,
    save_trajectory,
)
from uvms_adaptive_dynamics.control.stages import FOLDER as SCHEDULES
from uvms_adaptive_dynamics.control.stages import load_schedule
from uvms_adaptive_dynamics.evaluation.bags import opened
from uvms_adaptive_dynamics.evaluation.batch.compare import compared, judged_by_variant
from uvms_adaptive_dynamics.evaluation.batch.content import digest_of
from uvms_adaptive_dynamics.evaluation.batch.plan import load_plan, splits_of, variants_of
from uvms_adaptive_dynamics.evaluation.batch.store import load_results
from uvms_adaptive_dynamics.export.formats import FORMATS, export_as, read_export
from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.parameters import VEHICLE_PARAMETERS, ParameterTable
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import channel_names
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf
from uvms_adaptive_dynamics.options import setting
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd

TOKENS = (
    "nan", ".nan", ".inf", "-.inf", "1e400", "-1", "0", "1e-400", "9" * 400, "0x" + "f" * 400,
    "1:" * 300, "null", "~", "yes", "''", '"', "'", "[", "]", "{", "}", "&a ", "*a", "<<: ",
    "!!set ", "!!binary ", "!!timestamp ", "2001-99-99", "---\n", "...\n", "%YAML 9\n", "\t", "\0",
    "\ufeff", "\u2028", "\U0001f916", "#", ": ", "- ", "? ", "| ", "> ", ",", "\n", " " * 40,
    "[" * 120, "{a: " * 120, "/**:", "ros__parameters:", "<", ">", "</robot>", "<!DOCTYPE x>",
    "&lt;", "&#0;", "<link name='x'/>", "floating", "planar", "mimic", "universe", "${x}", "1_000",
    "\u0661", "-0.0", "1e308", "True", "axis_e", "../../x", "/dev/zero", "x" * 5000)
VALUES = (
    None, True, False, 0, -1, 1, 2, 10 ** 30, 10 ** 400, 0.5, -0.0, 1e-320, 1e300, math.inf,
    -math.inf, math.nan, "", "1e-3", "yes", "x", "*", "x" * 3000, "a b", "\ud7ff", [], {}, [[]],
    [1], [math.nan] * 6, ["x"] * 4, {"a": 1}, {"": {}}, [None], list(range(3000)), "/dev/zero",
    "~x", "package://x/y", "axis_e", "flu", b"\xff")
ALPHA5 = Path(resolve_urdf(Config().robot.urdf)).read_text()
JOINTS = Config().robot.joints
CURVE = ("pwm_us,thrust_10V_N,thrust_16V_N\n1100,-28,-40\n1480,0,0\n1500,0,0\n1520,0,0\n"
         "1700,14,20\n1900,36,51\n")
MAPPING = """\
time: {column: t, unit: ms}
offset: 1.0
scale: {q: 0.5}
topics:
  imu: {type: sensor_msgs/msg/Imu, orientation: [a, b, c], angular_velocity: [a, b, c]}
  joint_states: {type: sensor_msgs/msg/JointState, name: [x, y], position: [q, a]}
  out: {type: mavros_msgs/msg/RCOut, channels: [u, u]}
"""
CSV = "t,a,b,c,q,u\n1000,0.1,0.2,0.3,4,1500\n1010,,,,5,1501\n1020,1,2,3,6,1502\n"
BIN, TLOG = small_logs()
PLAN = """settings:
  estimation.horizon: [50, 100]
  calm: {estimation: {prior_inflation: 2.0}}
held_out:
- {name: x, learn: ["a/*"], test: [b]}
"""
TASKS = [{"variant": "v", "split": "s", "judged": ["r"], "error": "", "result": {"recordings": [
    {"surge": {"unit": "N", "n": 4, "pieces": {"n": [2, 2], "squared": [1.0, 2.0],
                                               "inside": [2, 2], "nll": [0.5, None]}}}]}}]
BATCH = json.dumps({"schema": 1, "digest": digest_of(TASKS), "tasks": TASKS}, indent=1)
SMALL = ParameterTable(False, ("axis_e",), (False,), (0.2,), (0.1,))
NAMES = [name for name, _, _ in Config().settings()]


class FileFuzzer:
    """Cases by number; files are written into `folder`."""

    def __init__(self, folder, seed=0):
        self._path, self._seed = Path(folder) / "case", seed
        self.settings = settings_file()
        self.parameters = self._saved().read_text()
        self._kinds = (("configuration", self._configuration), ("settings", self._set),
                       ("parameter file", self._parameter_file), ("URDF", self._urdf),
                       ("thrust curve", self._curve), ("export", self._export),
                       ("trajectory", self._trajectory), ("schedule", self._schedule),
                       ("mapping", self._mapping), ("log", self._log),
                       ("plan", self._plan), ("batch", self._batch))
        self.trajectory = self._moved().read_text()
        self._exports = {name: export_as(estimate(1), name).text for name in FORMATS}

    def run(self, number, tally):
        """Run one case and add it to the tally."""
        rng = randomness(self._seed, number)
        kind, case = self._kinds[number % len(self._kinds)]
        prepared = case(rng)
        tally.run(kind, number, prepared)

    def _mapping(self, rng):
        """A CSV with its mapping, one of them corrupted."""
        mapping, table = self._path.with_suffix(".yaml"), self._path.with_suffix(".csv")
        whole = rng.random() < 0.5
        text = self._spoilt(rng, MAPPING) if whole else MAPPING
        rows = CSV if whole else spoilt(rng, CSV, TOKENS)
        for path, content in ((mapping, text), (table, rows)):
            path.write_bytes(content.encode("utf-8", "surrogatepass")
                             if isinstance(content, str) else content)
        return lambda: read_all(rng.choice((mapping, table)))

    def _log(self, rng):
        """A .tlog or a .BIN with corrupted bytes."""
        suffix, content = rng.choice(((".tlog", TLOG), (".BIN", BIN)))
        path = self._path.with_suffix(suffix)
        path.write_bytes(spoilt(rng, content, [bytes([k]) * 3 for k in range(256)]))
        return lambda: read_all(path)

    def _saved(self):
        rng = np.random.default_rng(1)
        root = rng.normal(size=(SMALL.size, SMALL.size))
        return save_parameters(self._path, ParameterSet(
            SMALL.names, rng.normal(size=SMALL.size), root @ root.T, np.ones(1),
            {"joints": ["axis_e"], "vehicle": False,
             "channels": list(channel_names(False, ("axis_e",)))},
            known_from=("measured",) * SMALL.size, identifiability={"rank": 9}))

    def _moved(self):
        sine, cosine = np.random.default_rng(2).normal(0, 0.1, (2, 7, 2))
        return save_trajectory(self._path, Trajectory(
            ("axis_e",), 20.0, 2.0, np.arange(7.0), np.full((7, 2), 0.2), sine, cosine,
            Promise(("W",), ("N",), np.ones(1, bool), np.ones(1), np.ones(1)),
            {"kind": "motion", "move": list(channel_names(True, JOINTS)), "seed": 2,
             "free": [name for name, _, _ in VEHICLE_PARAMETERS]}))

    def _write(self, text):
        self._path.write_bytes(text.encode("utf-8", "surrogatepass")
                               if isinstance(text, str) else text)
        return self._path

    def _spoilt(self, rng, text):
        """A real file, corrupted in its YAML structure, as text, or as bytes."""
        way = rng.random()
        if way < 0.4:
            return yaml.dump(replaced(rng, yaml.safe_load(text)), allow_unicode=True)
        if way < 0.9:
            return spoilt(rng, text, TOKENS)
        return spoilt(rng, text.encode(), [bytes([k]) * 3 for k in range(256)])

    def _configuration(self, rng):
        """A file of all settings, or of a few."""
        tree = yaml.safe_load(self.settings)
        sections = tree["/**"]["ros__parameters"]
        for name in rng.sample(sorted(sections), rng.randrange(len(sections))):
            del sections[name]
        path = self._write(self._spoilt(rng, yaml.safe_dump(tree)))
        return lambda: use(load_config(path))

    def _plan(self, rng):
        """A plan of a batch, up to its variants and splits."""
        path = self._write(self._spoilt(rng, PLAN))

        def case():
            named, grid, held_out = load_plan(path)
            splits_of(held_out or "none", ["a/1", "a/2", "b"])
            for config in variants_of({"boat": Config()}, named, grid).values():
                use(config)
        return case

    def _batch(self, rng):
        """A result of a batch, as a comparison reads it."""
        path = self._write(self._spoilt(rng, BATCH))
        return lambda: compared(*[judged_by_variant(load_results(path)["tasks"])["v"]] * 2)

    def _set(self, rng):
        """`--set NAME=VALUE`, and values straight from ROS."""
        name = rng.choice(NAMES)
        if rng.random() < 0.5:
            value = {name: rng.choice(VALUES)}
            return lambda: use(Config().with_values(value))
        text = f"{name}={rng.choice(TOKENS)}{rng.choice(TOKENS)}"

        def case():
            try:
                pair = setting(text)
            except Exception as error:
                assert type(error).__name__ == "ArgumentTypeError", error
                return
            use(Config().with_values(dict([pair])))
        return case

    def _parameter_file(self, rng):
        path = self._write(self._spoilt(rng, self.parameters))

        def case():
            found = load_parameters(path).for_table(SMALL)
            assert np.isfinite(found.values).all()
        return case

    def _schedule(self, rng):
        shipped = sorted(SCHEDULES.glob("*.yaml"))
        text = rng.choice(shipped).read_text()
        path = self._write(self._spoilt(rng, text)).rename(self._path.with_suffix(".yaml"))

        def case():
            for stage in load_schedule(path, SMALL).stages:
                assert set(stage.free) <= set(SMALL.names) and stage.at_most > stage.at_least
        return case

    def _urdf(self, rng):
        text = ALPHA5[ALPHA5.index("<robot"):] if rng.random() < 0.5 else ALPHA5
        path = self._write(spoilt(rng, text, TOKENS))

        def case():
            arm = ManipulatorModel.from_urdf(str(path), JOINTS)
            assert np.isfinite(arm.inertials()).all()
        return case

    def _curve(self, rng):
        path = self._write(spoilt(rng, CURVE, (*TOKENS, "1500,0,0\n", "pwm_us", "thrust_12V_N")))

        def case():
            curve = ThrustCurve.from_csv(path)
            thrust = curve.thrust(np.linspace(900, 2100, 50), 14.0)
            assert np.isfinite(thrust).all() and np.isfinite(curve.command(thrust, 14.0)).all()
        return case

    def _trajectory(self, rng):
        path = self._write(self._spoilt(rng, self.trajectory))

        def case():
            motion = load_trajectory(path)
            coordinates = motion.coordinates_at(np.linspace(0.0, motion.duration, 5))
            assert all(np.isfinite(each).all() for each in coordinates)
        return case

    def _export(self, rng):
        name = rng.choice(sorted(FORMATS))
        text = spoilt(rng, self._exports[name], TOKENS)

        def case():
            assert all(map(math.isfinite, read_export(name, text, Config()).values()))
        return case


def read_all(path):
    """Every message of a log."""
    with opened(path) as log:
        for _ in log.messages(log.topics, -math.inf, math.inf):
            pass


def use(config):
    """Use settings as a run would: make a robot and a front end, and check that tables are
    finite."""
    robot = RobotModel.from_config(config)
    SignalFrontEnd(config, robot)
    assert np.isfinite(robot.table.scale).all() and np.isfinite(robot.default_noise(config)).all()


def replaced(rng, tree):
    """A copy of nested dicts and lists with one to four entries replaced, dropped or duplicated."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 2, 4))):
        holders = [tree]
        for holder in holders:
            inner = holder.values() if isinstance(holder, dict) else holder
            holders += [value for value in inner if isinstance(value, (dict, list)) and value]
        holder = rng.choice(holders)
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = rng.choice(keys)
        old = holder[key]
        if isinstance(old, float) and rng.random() < 0.7:
            holder[key] = old * rng.choice((-1.0, 0.0, 0.5, 2.0, 10.0 ** rng.randint(-20, 20)))
        elif rng.random() < 0.8 or not isinstance(holder, dict):
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif rng.random() < 0.5 and len(holder) > 1:
            del holder[key]
        else:
            holder[rng.choice(("", 1, None, "x", "filter.lowpass", True))] = rng.choice(VALUES)
    return tree
