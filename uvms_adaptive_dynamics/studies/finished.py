"""Runs of an interrupted campaign that are there already."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UvmsError


def finished(file: Path, setup: Mapping[str, Any]) -> dict[str, Any] | None:
    """An earlier run that was written with this setup in it; None where there is none."""
    if not file.exists():
        return None
    try:
        outcome = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise UvmsError(
            f"'{file}' cannot be read ({error}); remove it, and its run is repeated.") from None
    return outcome if all(
        outcome.get(key) == json.loads(json.dumps(value)) for key, value in setup.items()) else None
