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

"""Finished tasks in a folder, one file each, named by what they depend on: whenever a batch is
killed, each is there whole or not at all."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...disk.reading import read_text
from ...disk.writing import output_folder, remove_partials
from ...errors import UvmsError
from ..files import write_json
from .content import digest_of

BATCH_SCHEMA = 1
# [bytes] A task has 40 kB for each ten minutes that it judges; a batch has some thousand tasks.
LARGEST_TASK, LARGEST_BATCH = 100_000_000, 2_000_000_000
BATCH_FORM = "the --output folder of a batch that has ended, or its batch.json"


class Store:
    """Outcomes of tasks by key. Failures are not kept: the next start tries them again."""

    def __init__(self, folder: Path):
        self._folder = output_folder(folder)
        remove_partials(self._folder)

    def find(self, key: str) -> dict[str, Any] | None:
        """The outcome that is kept; None where there is none that is whole."""
        try:
            content = json.loads(read_text(self._file(key), "outcome", LARGEST_TASK, UvmsError, ""))
            outcome = {"result": content["result"], "times": content["times"]}
            whole = content["schema"] == BATCH_SCHEMA and content["digest"] == digest_of(outcome)
        # A disk may return anything; a task that is not found is run again.
        except (UvmsError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return outcome if whole else None

    def keep(self, key: str, outcome: dict[str, Any]) -> None:
        """Write an outcome; raises UvmsError where it cannot be."""
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
        # The digest stands for everything inside: what was edited or torn is not used.
        if content["schema"] == BATCH_SCHEMA and content["digest"] == digest_of(content["tasks"]):
            return content
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UvmsError(f"'{path}' is no result of this command; expected {BATCH_FORM}.")
