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

"""Calls in separate processes: values, all kinds of failures, and the end with the parent."""
import os
import signal
import subprocess
import sys
import time

import pytest

from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.evaluation.batch.executors import in_processes, on_dask
from uvms_adaptive_dynamics.processes import Isolated, Started, Stream, call_isolated


@pytest.mark.parametrize("function, argument, value", [
    (sorted, [3, 1], [1, 3]), (os.getenv, "OMP_NUM_THREADS", "1"),
    # What a library prints is not an answer.
    (os.system, "echo printed", 0)])
def test_a_call_returns_its_value(function, argument, value):
    assert call_isolated(function, argument) == value


@pytest.mark.parametrize("function, argument, sentence", [
    (int, "x", "ValueError: .*invalid literal"),
    (os._exit, 3, "ended with status 3"),
    (signal.raise_signal, signal.SIGABRT, "was ended by SIGABRT"),
    (signal.raise_signal, signal.SIGKILL, "SIGKILL .*out of memory")])
def test_whatever_ends_a_call_is_a_sentence(function, argument, sentence):
    with pytest.raises(UvmsError, match=sentence):
        call_isolated(function, argument)


def test_a_call_that_fails_ends_no_other():
    ended = list(in_processes(int, ["1", "x", "3"], jobs=2))
    assert sorted((one.place, one.value) for one in ended) == [(0, 1), (1, None), (2, 3)]
    assert [bool(one.error) for one in sorted(ended)] == [False, True, False]


def test_calls_that_are_no_longer_wanted_end():
    """As after Ctrl-C, nothing keeps running."""
    began = time.monotonic()
    calls = in_processes(time.sleep, [0.0, 600.0, 600.0], jobs=2)
    assert next(calls).place == 0
    calls.close()
    assert time.monotonic() - began < 60.0
    stopped = Isolated()
    stopped.stop()
    with pytest.raises(UvmsError, match="SIGKILL"):
        stopped.call(time.sleep, 600.0)


def test_a_streams_items_come_in_order_and_its_end_is_known():
    with Stream(iter, [1, "two", None]) as stream:
        assert list(stream) == [1, "two", None]
    with Stream(iter, []) as stream:
        assert list(stream) == []


def test_a_stream_that_breaks_off_says_so_after_its_items():
    """Items made so far are used, and nothing waits for more."""
    with Stream(map, int) as stream, pytest.raises(UvmsError, match="TypeError"):
        list(stream)
    with Stream(iter, range(10**9), owner="the reader's") as stream:
        items = iter(stream)
        assert [next(items), next(items)] == [0, 1]
        stream.process.kill()
        with pytest.raises(UvmsError, match="the reader's process was ended by SIGKILL"):
            list(items)


def test_a_process_that_was_started_ahead_serves_a_stream():
    """With its module loaded; without a stream it ends with its own context."""
    with Started("this") as started:        # which prints the Zen of Python
        with Stream(iter, [1, 2], started=started) as stream:
            assert list(stream) == [1, 2] and stream.process is started.process
            started.said.seek(0)
            assert b"Zen" in started.said.read()
        assert started.process.poll() is not None
    with Started() as unused:
        assert unused.process.poll() is None
    assert unused.process.poll() is not None


def test_the_end_of_a_streams_context_ends_its_process():
    """Even while it waits for its items to be taken, and after a Ctrl-C, which it ignores."""
    with Stream(iter, range(10**9)) as stream:
        assert next(iter(stream)) == 0
        stream.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert stream.process.poll() is None
    assert stream.process.poll() is not None


def test_a_process_ends_with_its_parent(tmp_path):
    """After a kill -9 of a batch nothing keeps computing next to the following one."""
    mark = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", (
        "from uvms_adaptive_dynamics.processes import call_isolated\n"
        "import os\n"
        f"call_isolated(os.system, 'echo $PPID > {mark}; exec sleep 5')")])
    deadline = time.monotonic() + 60.0
    while not (mark.exists() and mark.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child = int(mark.read_text())
    parent.kill()
    parent.wait()
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process outlived its parent")


def test_a_cluster_that_is_not_there_is_named():
    """The error names the missing package or, with Dask, the address."""
    with pytest.raises(UvmsError, match="not installed; try pip|no scheduler answers at"):
        next(on_dask(int, ["1"], "tcp://127.0.0.1:9"))
