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

"""Starts of the estimator node that must be refused, each in a separate process.

A process spends most of its time on imports. So one process imports everything and is forked for
each start:

    python test/node_refusals.py < ARGUMENTS          a JSON list per line; answers [status, output]
"""
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from uvms_adaptive_dynamics.ros import node as estimator  # noqa: E402
from uvms_adaptive_dynamics.ros import node_log  # noqa: E402

LIMIT = 30      # [s] for a start


def start(arguments):
    """(exit status, output) of a node with these arguments; a node that does not end is killed by a
    signal, and its status is negative."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.close(read)
        sys.exit(estimator.main(["estimator", *arguments]))
    os.close(write)
    with open(read, errors="replace") as output:
        said = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


if __name__ == "__main__":
    node_log.DISCOVERY_S = 0.0      # no listener on the log: that is for `test_node_log.py`
    with contextlib.suppress(KeyboardInterrupt):
        while line := sys.stdin.readline():
            print(json.dumps(start(json.loads(line))), flush=True)
