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

"""Shared by the fuzzers: cases that can be repeated by number, a watchdog for hangs, and a
tally."""
import faulthandler
import random
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import contextmanager

from uvms_adaptive_dynamics.errors import UvmsError

# [s] Longest case: in processor time, since the machine may be shared, and in wall-clock time,
# which also passes while waiting for a FIFO.
PROCESSOR_LIMIT, CLOCK_LIMIT = 1.0, 10.0
KEPT = 5      # examples of each kind of failure


class Hang(BaseException):
    """A case took too long; no `except Exception` swallows it."""


def randomness(seed, number):
    """The random numbers of one case: the same whichever cases ran before it."""
    return random.Random(f"{seed}/{number}")


@contextmanager
def watched():
    """Raises Hang in code that takes too long; if it cannot be interrupted, ends the process."""
    def hung(signum, frame):
        raise Hang
    before = [signal.signal(number, hung) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_LIMIT)
    signal.setitimer(signal.ITIMER_REAL, CLOCK_LIMIT)
    faulthandler.dump_traceback_later(10 * CLOCK_LIMIT, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        for number, old in zip((signal.SIGPROF, signal.SIGALRM), before):
            signal.signal(number, old)


class Tally:
    """Counts of outcomes. A case that is neither used nor refused in one sentence is a failure."""

    def __init__(self):
        self.outcomes = Counter()
        self.failures = Counter()
        self.examples = {}
        self.longest = 0.0

    def run(self, kind, name, case):
        """Run `case()`: used, refused by a UvmsError, or failed; `name` identifies it for a
        repetition."""
        begin = time.process_time()
        try:
            with watched():
                case()
            self.outcomes[f"{kind}: used"] += 1
        except UvmsError as error:
            self.outcomes[f"{kind}: refused"] += 1
            if "\n" in str(error) or len(str(error)) > 1000:
                self.fail(f"{kind}: sentence of {len(str(error))} characters", name)
        except Hang as error:
            self.fail(f"{kind}: hang in {place(error)}", name)
        except Exception as error:
            self.fail(f"{kind}: {type(error).__name__} in {place(error)}: {str(error)[:60]}", name)
        self.longest = max(self.longest, time.process_time() - begin)

    def fail(self, what, name):
        """Count a failure and keep a few of its names."""
        what = " ".join(what.split())
        self.failures[what] += 1
        examples = self.examples.setdefault(what, [])
        if len(examples) < KEPT:
            examples.append(str(name))

    def __str__(self):
        lines = [f"{count:>9}  {what}" for what, count in sorted(self.outcomes.items())]
        lines.append(f"{self.failures.total():>9}  failures; longest case {self.longest:.2f} s")
        for what, count in self.failures.most_common():
            lines.append(f"{count:>9}  {what}\n           cases {', '.join(self.examples[what])}")
        return "\n".join(lines)


def place(error):
    """The last line of the package that an exception passed through, or of any code if there is
    none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "uvms_adaptive_dynamics" in frame.filename.split("/")]
    frame = (own or frames)[-1]
    return f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno}"


def spoilt(rng, data, tokens):
    """`data` (text or bytes) with up to 8 pieces deleted, duplicated, moved, or replaced by
    tokens."""
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        begin = rng.randrange(len(data) + 1)
        length = rng.choice((0, 1, 1, 4, 20, 200))
        piece = data[begin:begin + length]
        way = rng.randrange(6)
        if way == 0:
            new = piece[:0]
        elif way == 1:
            new = piece * rng.choice((2, 3, 50))
        elif way == 2:
            other = rng.randrange(len(data) + 1)
            new = data[other:other + rng.choice((1, 20, 200))]
        elif way == 3 and rng.random() < 0.1:
            data, new, piece = data[:begin], piece[:0], piece[:0]
        else:
            new = rng.choice(tokens)
        data = data[:begin] + new + data[begin + len(piece):]
    return data
