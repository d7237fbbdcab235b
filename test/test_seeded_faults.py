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

"""The table of seeded faults fits the code, so that `python test/seeded_faults.py` can try all."""
import pytest
from conftest import ROOT
from seeded_faults import FAULTS, PACKAGE


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_the_text_of_a_fault_stands_in_the_code_exactly_once(fault):
    """Otherwise the fault cannot be seeded. Its tests are those of its room."""
    assert (ROOT / PACKAGE / fault.file).read_text().count(fault.old) == 1
    assert fault.new != fault.old
    for test in fault.tests.split():
        file, _, name = test.partition("::")
        text = (ROOT / "test" / file).read_text()
        assert not name or f"def {name}(" in text
        assert file.split("/")[0] in (fault.room, "estimation")


def test_there_are_enough_of_them():
    """At least ten in the rooms that learn, and ten in the solvers."""
    rooms = [fault.room for fault in FAULTS]
    assert sum(room in ("estimation", "uncertainty") for room in rooms) >= 10
    assert rooms.count("solvers") >= 10 and len({fault.name for fault in FAULTS}) == len(FAULTS)
