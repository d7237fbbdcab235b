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

"""Finished tasks in a folder, one file each, named by the digest of all that they depend on.
Whenever a batch is killed, each file is complete or missing."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...disk.reading import read_text
from ...disk.writing import output_folder, remove_partials
from ...errors import UvmsError
from ..run_files import write_json
from .content import digest_of

BATCH_SCHEMA = 1
# [bytes] A task takes 40 kB per ten minutes of judged time; a batch has some thousand tasks.
LARGEST_TASK, LARGEST_BATCH = 100_000_000, 2_000_000_000
BATCH_FORM = "the --output folder of a finished batch, or its batch.json"


class Store:
    """Outcomes of tasks by key. Failures are not stored, so the next run retries them."""

    def __init__(self, folder: Path):
        self._folder = output_folder(folder)
        remove_partials(self._folder)

    def find(self, key: str) -> dict[str, Any] | None:
        """The stored outcome, or None if there is no intact one."""
        try:
            content = json.loads(read_text(self._file(key), "outcome", LARGEST_TASK, UvmsError, ""))
            outcome = {"result": content["result"], "times": content["times"]}
            whole = content["schema"] == BATCH_SCHEMA and content["digest"] == digest_of(outcome)
        # A disk may return anything; a task without an intact outcome runs again.
        except (UvmsError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return outcome if whole else None

    def keep(self, key: str, outcome: dict[str, Any]) -> None:
        """Store an outcome; raises UvmsError if it cannot be written."""
        write_json(self._file(key),
                   {"schema": BATCH_SCHEMA, "digest": digest_of(outcome), **outcome})

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def load_results(folder: Path) -> dict[str, Any]:
    """batch.json of a finished batch; raises UvmsError."""
    path = folder / "batch.json" if folder.is_dir() else folder
    text = read_text(path, f"result '{path}'", LARGEST_BATCH, UvmsError, BATCH_FORM)
    try:
        content = json.loads(text)
        # The digest covers everything inside, so an edited or torn file is not used.
        if content["schema"] == BATCH_SCHEMA and content["digest"] == digest_of(content["tasks"]):
            return content
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UvmsError(f"'{path}' is not a result of this command; expected {BATCH_FORM}.")
