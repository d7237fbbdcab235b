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

"""Data that take seconds to make and that several test files need, made once for all processes of a
run."""
import fcntl
import os
import pickle
from pathlib import Path

FOLDER = "UVMS_TEST_KEPT"   # environment variable with the run's folder, set by conftest.py


def kept(name, make):
    """The result of make(), computed by this or another process of the run; name: identifies its
    settings. Outside a run of the tests it is always computed."""
    if FOLDER not in os.environ:
        return make()
    path = Path(os.environ[FOLDER]) / name
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)    # a second process waits for the first one
        if path.exists():
            return pickle.loads(path.read_bytes())
        made = make()
        part = Path(f"{path}.part")
        part.write_bytes(pickle.dumps(made))
        part.rename(path)
        return made
