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

"""A node that winds down stays alive after an internal error until the robot is at neutral."""
import contextlib
import importlib.util
import signal
from types import SimpleNamespace

import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

import rclpy  # noqa: E402

from uvms_adaptive_dynamics.errors import ConfigError  # noqa: E402
from uvms_adaptive_dynamics.ros import process  # noqa: E402


class Starting:
    """A node whose start meets a signal, or fails by itself."""

    def __init__(self, interrupted):
        self.context = rclpy.get_default_context()
        self._interrupted = interrupted

    def get_fully_qualified_name(self):
        return "/starting"

    def begin(self):
        if self._interrupted:       # as rclpy's handler of SIGINT does
            rclpy.shutdown()
        raise ConfigError("setting 'imu.topic' cannot be subscribed")

    def close(self):
        pass


@pytest.mark.parametrize("interrupted, status, said", [(True, 0, 0), (False, 1, 1)])
def test_a_signal_during_the_start_is_an_end_and_no_error(monkeypatch, interrupted, status, said):
    """What fails because the context is gone is not reported as a wrong setting."""
    reported = []
    monkeypatch.setattr(process, "last_words", lambda *words: reported.append(words))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert process.run_node(["starting"], lambda: Starting(interrupted),
                            process.node_parser("starting", "starting", "Starts"),
                            "starting") == status
    assert len(reported) == said


class WindingDown:
    """A node that is wound down some looks after it was asked to; `fails`: so does its report."""

    def __init__(self, looks=3, fails=False):
        self.context = SimpleNamespace(ok=lambda: True)
        self.asked, self.looked, self._looks, self._fails = [], 0, looks, fails

    def wind_down(self, error=None):
        self.asked.append(error)
        if self._fails:
            raise ValueError("the report failed")

    @property
    def wound_down(self):
        self.looked += bool(self.asked)
        return self.looked > self._looks


ERROR = PermissionError(30, "Read-only file system")


def spin_with_an_error(node, monkeypatch):
    def spin_once(timeout_sec):
        raise ERROR
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(PermissionError):
        process._spin_and_wind_down(SimpleNamespace(spin_once=spin_once), node)


@pytest.mark.parametrize("fails", [False, True])
def test_an_error_on_the_executor_lets_the_node_wind_down(monkeypatch, fails):
    """The node is told the error and awaited, even if its report of the stop fails."""
    node = WindingDown(fails=fails)
    spin_with_an_error(node, monkeypatch)
    assert node.asked == [ERROR] and node.wound_down


def test_a_node_that_does_not_wind_down_is_not_awaited_for_ever(monkeypatch):
    """The error is raised after the longest time."""
    monkeypatch.setattr(process, "WIND_DOWN_S", 0.1)
    node = WindingDown(looks=1e9)
    spin_with_an_error(node, monkeypatch)
    assert node.asked == [ERROR] and node.looked > 1


@pytest.mark.parametrize("first", [True, False])
def test_a_context_that_a_signal_shuts_down_at_the_same_time_is_shut_down(monkeypatch, first):
    """rclpy's handler runs in a thread of its own; any other failure is raised."""
    context = rclpy.Context()
    rclpy.init(context=context)

    def late(context):
        if first:
            context.shutdown()
        raise RuntimeError("rcl_shutdown already called on the given context")

    with monkeypatch.context() as patched:
        patched.setattr(rclpy, "try_shutdown", late)
        with contextlib.nullcontext() if first else pytest.raises(RuntimeError, match="already"):
            process.shut_down(context)
    rclpy.try_shutdown(context=context)
