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

"""Files of a run: JSON that strict readers accept."""
import json

import numpy as np

from uvms_adaptive_dynamics.evaluation.run_files import jsonable


def test_json_is_strict():
    """numpy types and non-finite numbers become plain JSON."""
    content = jsonable({"a": np.array([1.0, np.nan]), "b": np.int64(3),
                        "c": (np.inf, {"d": np.float64("nan")}), "e": np.bool_(True)})
    expected = {"a": [1.0, None], "b": 3, "c": [None, {"d": None}], "e": True}
    assert json.loads(json.dumps(content, allow_nan=False)) == expected
