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

"""Corrupted recordings (mcap and sqlite3), read and passed to the front end."""
import shutil
from pathlib import Path

import numpy as np
from fuzz_cases import randomness, spoilt

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.bags import check_bag, read_messages
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.bag import write_bag

SECONDS = 0.5
TOKENS = (b"\0", b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"\x89MCAP0\r\n",
          b"SQLite format 3\0", b"zstd", b"lz4", b"cdr", b"\x80", b"\x01\x00\x00\x00")
STORAGES = ("mcap", "sqlite3")


class BagFuzzer:
    """Cases by number; recordings are made and corrupted in `folder`."""

    def __init__(self, folder, seed=0):
        self._folder, self._seed, self._config = Path(folder), seed, Config()
        self._inputs, self._robot = inputs(self._config), RobotModel.from_config(self._config)
        self.whole = {}
        for storage in STORAGES:
            bag = self._folder / storage
            write_bag(bag, seed=1, duration=SECONDS, storage=storage)
            self.whole[storage] = {file.name: file.read_bytes() for file in bag.iterdir()}
            shutil.rmtree(bag)

    def run(self, number, tally):
        """Run one case and add it to the tally."""
        rng, storage = randomness(self._seed, number), STORAGES[number % 2]
        whole = self.whole[storage]
        # Every fifth case corrupts the metadata, which are small, and YAML.
        chosen = "metadata.yaml" if rng.random() < 0.2 else next(
            name for name in whole if name != "metadata.yaml")
        bag = self._folder / "bag"
        bag.mkdir()
        for name, data in whole.items():
            if name == chosen:
                data = spoilt(rng, data, TOKENS) if rng.random() < 0.5 else flipped(rng, data)
            (bag / name).write_bytes(data)
        path = bag if rng.random() < 0.7 else bag / chosen.replace("metadata.yaml", "none.mcap")
        tally.run(storage, number, lambda: self.read(path))
        shutil.rmtree(bag)

    def read(self, path):
        """Do with a recording what `evaluate` does, except estimating."""
        front = SignalFrontEnd(self._config, self._robot)
        contents = check_bag(path, self._inputs)
        assert contents.end >= contents.start
        with np.errstate(all="ignore"):
            for message in read_messages(path, self._inputs):
                front.add_message(*message)
                front.samples()
            front.flush()


def flipped(rng, data):
    """Change up to a hundred bytes of the file, without changing its length."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 100))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)
