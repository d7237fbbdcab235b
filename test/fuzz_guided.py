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

"""Coverage-guided fuzzing (atheris, libFuzzer): inputs that reach new lines are mutated further.

An extra for a developer's machine: pip install atheris (CPython 3.11 to 3.13 on Linux).
"""
import sys
import tempfile
from pathlib import Path


def guided(kind, seconds):
    """Fuzz for a number of seconds; libFuzzer ends the process with the input of the first
    failure."""
    try:
        import atheris
    except ImportError:
        print("fuzz: atheris is not installed; pip install atheris", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="uvms_guided_") as folder:
        # Must come before the package is imported, or its lines are not covered.
        with atheris.instrument_imports(include=["uvms_adaptive_dynamics", "yaml", "rosbags"]):
            target, corpus = TARGETS[kind](atheris, Path(folder))
        seeds = Path(folder) / "corpus"
        seeds.mkdir()
        for number, data in enumerate(corpus):
            (seeds / str(number)).write_bytes(data)
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-timeout=10",
                       "-rss_limit_mb=4096", "-max_len=200000", str(seeds)], target)
        atheris.Fuzz()
    return 0


def yaml_target(atheris, folder):
    """Interpret bytes as a configuration, and as a parameter file."""
    from fuzz_files import FileFuzzer

    from uvms_adaptive_dynamics.config import load_config
    from uvms_adaptive_dynamics.errors import UvmsError
    from uvms_adaptive_dynamics.model.parameter_file import load_parameters
    fuzzer, path = FileFuzzer(folder), folder / "case.yaml"

    def one(data):
        path.write_bytes(data)
        for read in (load_config, load_parameters):
            try:
                read(path)
            except UvmsError as error:
                assert "\n" not in str(error), error
    return one, [fuzzer.parameters.encode(), fuzzer.settings[:4000].encode(),
                 b"/**: {ros__parameters: {filter: {lowpass: 0.1}}}"]


def bags_target(atheris, folder):
    """Interpret bytes as an mcap file."""
    from fuzz_bags import BagFuzzer

    from uvms_adaptive_dynamics.errors import UvmsError
    fuzzer, path = BagFuzzer(folder), folder / "case.mcap"

    def one(data):
        path.write_bytes(data)
        try:
            fuzzer.read(path)
        except UvmsError as error:
            assert "\n" not in str(error), error
    return one, [data for name, data in fuzzer.whole["mcap"].items() if name != "metadata.yaml"]


def messages_target(atheris, folder):
    """Interpret bytes as instructions: which field of which message of a stream gets which
    number."""
    import copy

    import numpy as np
    from fuzz_messages import FIELDS, MessageFuzzer, leaves
    fuzzer = MessageFuzzer(motions=1)
    stream = fuzzer.streams[0][:600]

    def one(data):
        source, front = atheris.FuzzedDataProvider(data), fuzzer.front_end(0)
        orders = {}
        while source.remaining_bytes() and len(orders) < 50:
            orders[source.ConsumeIntInRange(0, len(stream) - 1)] = (
                source.ConsumeProbability(), source.ConsumeFloat(), source.ConsumeFloat())
        with np.errstate(all="ignore"):
            for k, (role, message, received) in enumerate(stream):
                if k in orders:
                    place, number, late = orders[k]
                    message = copy.deepcopy(message)
                    found = leaves(message)
                    holder, name = found[min(int(place * len(found)), len(found) - 1)]
                    value = getattr(holder, name)
                    if isinstance(value, int):
                        setattr(holder, name, int(np.clip(np.nan_to_num(number), -2**31, 2**31)))
                    elif isinstance(value, (float, np.ndarray)):
                        setattr(holder, name, 0 * value + number)
                    received += late if abs(late) < 1e9 else 0.0
                front.add_message(role, message, received)
                for sample in front.samples():
                    assert all(np.isfinite(getattr(sample, field)).all() for field in FIELDS)
    return one, [b"", bytes(range(256)), bytes(2000)]


TARGETS = {"yaml": yaml_target, "bags": bags_target, "messages": messages_target}
