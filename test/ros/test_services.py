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

"""Answers of the services when something goes wrong, without a bus."""
import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.ros.services import NodeServices  # noqa: E402


class Log(list):
    info = warning = error = list.append


class Services:
    """The services of a node whose worker calls `call(action)`."""

    def __init__(self, call, folder=None, **settings):
        made, self.log, self.front_ends = {}, Log(), []
        node = SimpleNamespace(get_logger=lambda: self.log,
                               create_service=lambda kind, name, answer: made.__setitem__(
                                   name, answer))
        NodeServices(node, SimpleNamespace(call=call), None,
                     lambda: Config().with_values(settings), lambda: self.front_ends.append(1),
                     SimpleNamespace(folder=folder), None, None, lambda: None)
        self._made = made

    def ask(self, name, request=None):
        response = SimpleNamespace(success=None, message="")
        return self._made[f"~/{name}"](request, response)


def failing(error):
    def call(action):
        raise error
    return call


def test_an_unexpected_error_is_an_answer_and_a_traceback():
    """As of a matrix that is not positive definite: the node continues."""
    services = Services(failing(np.linalg.LinAlgError("singular")))
    answer = services.ask("next_stage")
    assert answer.success is False
    assert answer.message == "~/next_stage failed: LinAlgError: singular"
    assert "Traceback" in services.log[-1]
