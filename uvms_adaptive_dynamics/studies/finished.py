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

"""Finished runs of an interrupted campaign."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UvmsError


def finished(file: Path, setup: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of an earlier run with the same setup; None if there is none."""
    if not file.exists():
        return None
    try:
        outcome = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise UvmsError(
            f"'{file}' cannot be read ({error}); remove it to repeat its run.") from None
    return outcome if all(
        outcome.get(key) == json.loads(json.dumps(value)) for key, value in setup.items()) else None
