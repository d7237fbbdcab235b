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

"""Fuzz external input: corrupted files and settings, message streams, recordings.

    python test/fuzz.py --cases 20000 files
    python test/fuzz.py --cases 1000000 messages
    python test/fuzz.py --cases 5000 bags
    python test/fuzz.py --atheris yaml --seconds 60     (needs: pip install atheris)

Every case must be used, or refused by an error of the package in one sentence, within a second of
processor time. Case K of seed S is always the same: `--seed S --first K --cases 1 files`.
"""
import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# [bytes] A case that allocates more is a finding, and must not exhaust the machine.
MEMORY = 6 << 30
EVERY_S = 30.0     # between lines of progress


def fuzzer(kind, folder, seed):
    """The fuzzer of a kind; each is imported only when needed."""
    if kind == "files":
        from fuzz_files import FileFuzzer
        return FileFuzzer(folder, seed)
    if kind == "messages":
        from fuzz_messages import MessageFuzzer
        return MessageFuzzer(seed)
    from fuzz_bags import BagFuzzer
    return BagFuzzer(folder, seed)


def fuzz(kind, first, cases, seed=0, say=lambda sentence: None):
    """Run cases; returns the tally. A message is a case, and a stream of messages runs as a
    whole."""
    from fuzz_cases import Tally
    tally, done, told = Tally(), 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="uvms_fuzz_") as folder:
        cases_of, number = fuzzer(kind, folder, seed), first
        while done < cases:
            done += cases_of.run(number, tally) or 1
            number += 1
            if time.monotonic() - told > EVERY_S:
                told = time.monotonic()
                say(f"{done} of {cases} cases, {tally.failures.total()} failures")
    return tally


def main():
    """Run and print the tally; returns 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", nargs="?", choices=("files", "messages", "bags"))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="K",
                        help="number of the first case")
    parser.add_argument("--atheris", choices=("messages", "yaml", "bags"),
                        help="guided by coverage instead")
    parser.add_argument("--seconds", type=int, default=60, help="of --atheris; default 60")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if args.atheris:
        from fuzz_guided import guided
        return guided(args.atheris, args.seconds)
    if args.kind is None:
        parser.error("give files, messages or bags, or --atheris")
    begin = time.monotonic()
    tally = fuzz(args.kind, args.first, args.cases, args.seed,
                 lambda sentence: print(sentence, file=sys.stderr, flush=True))
    print(f"{tally}\n{args.cases} cases of seed {args.seed} from {args.first} on, "
          f"{time.monotonic() - begin:.0f} s")
    return int(bool(tally.failures))


if __name__ == "__main__":
    sys.exit(main())
