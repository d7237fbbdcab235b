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

"""The payload is requested again and again, whatever the answers."""
import importlib.util
from concurrent.futures import Future

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from uvms_adaptive_dynamics.ros.payload_output import PayloadOutput  # noqa: E402


def test_a_failed_request_is_no_answer():
    """Nothing is published, and the next answer is."""
    published, asked = [], []

    def request(action):
        asked.append(Future())
        return asked[-1]
    output = PayloadOutput(lambda name, message: published.append(name), request, "node")
    output.check()
    asked[0].set_exception(np.linalg.LinAlgError("singular"))
    output.check()
    assert len(asked) == 2 and not published
    asked[1].set_result((1.0, None))
    output.check()
    assert len(asked) == 3 and published == ["payload"]
