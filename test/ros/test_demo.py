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

"""Parts of the demonstration: refusals, failing children, output. The whole is tested by hand."""
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_bus import bus  # first: it sets the domain
from sensor_msgs.msg import JointState

from uvms_adaptive_dynamics import options
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError, UvmsError
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.ros import messages
from uvms_adaptive_dynamics.ros.demo import command as demo
from uvms_adaptive_dynamics.ros.demo.child import Child, run_command
from uvms_adaptive_dynamics.ros.demo.view import SHOWN_PARAMETERS, View
from uvms_adaptive_dynamics.ros.topic_qos import LATCHED


@pytest.mark.parametrize("given, words", [
    (("--output", "."), "expected a path that does not exist yet"),
    (("--duration", "1"), "at least 10"), (("--duration", "nan"), "at least 10"),
    (("--duration", "inf"), "at least 10"), (("--seed", "-1"), "at least 0")])
def test_arguments_that_cannot_be_used_are_refused(given, words, tmp_path, monkeypatch):
    """An existing folder is not touched, and a run too short to show anything creates none."""
    monkeypatch.chdir(tmp_path)
    parser = options.Parser()
    demo.add_arguments(parser)
    with pytest.raises(ConfigError, match=words):
        parser.parse_args(given)
    assert not any(tmp_path.iterdir())


def test_the_prior_is_wrong_by_the_factor_everywhere(tmp_path):
    """Every parameter is doubled or halved; another seed gives another prior."""
    config = Config()
    right = prior_from_config(config, RobotModel.from_config(config)).values
    wrong = load_parameters(demo._wrong_prior(tmp_path / "prior.yaml", 1)).values
    ratio = wrong[right != 0] / right[right != 0]
    assert set(np.round(ratio, 9)) == {0.5, 2.0}
    assert not np.array_equal(wrong, load_parameters(demo._wrong_prior(tmp_path / "other.yaml",
                                                                       2)).values)


def test_a_child_that_fails_shows_its_last_lines(tmp_path):
    """The error shows the reason and the path of the log."""
    child = Child("estimator", tmp_path / "log", "uvms_adaptive_dynamics.ros.node", "--ros-args",
                  "-p", "filter.period:=-1.0")
    child.process.wait(30)
    with pytest.raises(UvmsError) as caught:
        child.check()
    assert "estimator ended with status 1" in str(caught.value)
    assert "[uvms_estimator]: setting 'filter.period' is -1.0" in str(caught.value)
    assert str(tmp_path / "log") in str(caught.value)


def test_a_command_that_fails_ends_the_demonstration(tmp_path, capfd):
    """Its own message is on the terminal, and the error names the command."""
    with pytest.raises(UvmsError, match="evaluate .*nowhere.* ended with status 2"):
        run_command("evaluate", tmp_path / "nowhere", "--output", tmp_path / "out", quiet=True)
    assert "nowhere" in capfd.readouterr().err


def test_the_held_out_table_has_a_line_for_each_channel():
    """Undefined figures are dashes."""
    table = demo.held_out_table(
        {"surge": {"r2": -0.5}, "yaw": {"r2": None}},
        {"surge": {"r2": 0.98, "coverage95": 0.95}, "yaw": {"r2": None, "coverage95": None}})
    surge, yaw = table.splitlines()[-2:]
    assert surge.split() == ["surge", "-0.50", "0.980", "95.0%"]
    assert yaw.split() == ["yaw", "-", "-", "-"]


def test_the_domain_is_never_the_callers(monkeypatch):
    """Simulated thruster commands must not reach a vehicle."""
    for domain in range(0, 102):
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        assert demo._other_domain() != str(domain) and 0 < int(demo._other_domain()) <= 101


def test_the_view_shows_what_the_topics_say(tmp_path, monkeypatch, capsys):
    """Fit, parameters with intervals, solver and skipped solves, as lines and as a table."""
    monkeypatch.setattr("uvms_adaptive_dynamics.ros.demo.view.PLAIN_EVERY_S", 0.0)
    prior = demo._wrong_prior(tmp_path / "prior.yaml", 0)
    names = load_parameters(prior).names
    statuses = [messages.diagnostic_status(0, f"uvms_estimator: {name}", "fine", values, "")
                for name, values in (
        ("overall", {}),
        ("predictions",
         {"surge R^2": 0.9876, "surge coverage": 0.951, "yaw R^2": -1234.0, "yaw coverage": 0.5}),
        ("solver",
         {"solver": "clarabel", "solve median [ms]": 2.5, "solve 99th percentile [ms]": 9.0,
          "skipped solves": 3, "failures": 0}))]
    view = View(prior)
    try:
        with bus() as ros:
            publishers = [ros.publisher(JointState, "/uvms_estimator/parameters", LATCHED),
                          ros.publisher(DiagnosticArray, "/diagnostics", 10)]
            publishers[1].publish(messages.diagnostic_array(10.0, statuses))
            for k, t in enumerate((0.0, 10.0, 12.5)):       # the prior's stamp is zero
                publishers[0].publish(messages.parameters_message(
                    t, names, np.full(len(names), k / 2), np.full(len(names), .5)))
                ros.until(lambda k=k: view.spin(0.05) or view._status and (
                    view._parameters.get(names[0], (-1, 0))[0] == k / 2), what=f"{t} s")
            view.spin(0.05)
            view.finish()
    finally:
        view.close()
    words = capsys.readouterr().out
    for expected in ("surge 0.99", "yaw < -9", "m_X_du 1±1", "clarabel 2.5 ms a solve", "3 skipped",
                     "0.988", "95%", "[  2.5 s]", "  2.5 s of estimates"):
        assert expected in words, words
    assert all(name in words for name in SHOWN_PARAMETERS)
