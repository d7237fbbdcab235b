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

"""Run all calls of a batch, each in its own process, on this machine or on a Dask cluster."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from ...errors import UvmsError, brief
from ...processes import Isolated, call_isolated

CONNECT = 10.0      # [s] timeout to connect to a scheduler
RETRIES = 2         # of a call whose Dask worker was lost, on another worker


class Ended(NamedTuple):
    """A call that has ended: its index among the arguments, and its value or the error."""

    place: int
    value: Any
    error: str = ""


def in_processes(function: Callable[[Any], Any], arguments: Sequence[Any],
                 jobs: int) -> Iterator[Ended]:
    """Call the function with each argument, `jobs` at a time; yields results as they finish."""
    isolated = Isolated()
    with ThreadPoolExecutor(jobs) as pool:
        places = {pool.submit(isolated.call, function, argument): place
                  for place, argument in enumerate(arguments)}
        try:
            for future in as_completed(places):
                error = future.exception()
                if error is None:
                    yield Ended(places[future], future.result())
                elif isinstance(error, UvmsError):
                    yield Ended(places[future], None, str(error))
                else:
                    raise error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            isolated.stop()


def on_dask(function: Callable[[Any], Any], arguments: Sequence[Any],
            address: str) -> Iterator[Ended]:
    """Call the function with each argument on the cluster of the scheduler at `address`; yields
    results as they finish. Raises UvmsError if it cannot be reached or has no workers."""
    try:
        # Imported here: nothing else needs Dask.
        from distributed import Client
        from distributed import as_completed as as_ended
    except ImportError:
        raise UvmsError("--dask needs the package 'distributed', which is not installed; try pip "
                        "install 'uvms_adaptive_dynamics[dask]' here and on the workers."
                        ) from None
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:      # TimeoutError is an OSError
        raise UvmsError(f"--dask: no scheduler answers at '{address}' within {CONNECT:g} s "
                        f"({brief(str(error))}); start one with 'dask scheduler'.") from None
    with client:
        if not client.nthreads():
            raise UvmsError(f"--dask: the cluster at '{address}' has no workers; start some with "
                            f"'dask worker {address}'.")
        futures = [client.submit(call_isolated, function, argument, pure=False, retries=RETRIES)
                   for argument in arguments]
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in as_ended(futures, loop=client.loop):
                failure = future.exception()
                if failure is None:
                    yield Ended(places[future.key], future.result())
                else:
                    kind = "" if isinstance(failure, UvmsError) else f"{type(failure).__name__}: "
                    said = " ".join(str(failure).split())
                    yield Ended(places[future.key], None, f"{kind}{said}")
        finally:
            client.cancel(futures)
