"""Files of a run: JSON that strict readers accept."""
import json

import numpy as np

from uvms_adaptive_dynamics.evaluation.files import jsonable


def test_json_is_strict():
    """numpy types and non-finite numbers become plain JSON."""
    content = jsonable({"a": np.array([1.0, np.nan]), "b": np.int64(3),
                        "c": (np.inf, {"d": np.float64("nan")}), "e": np.bool_(True)})
    expected = {"a": [1.0, None], "b": 3, "c": [None, {"d": None}], "e": True}
    assert json.loads(json.dumps(content, allow_nan=False)) == expected
