"""Memory of this process, and whether it grows over many ticks."""

from __future__ import annotations

import gc
import resource
from pathlib import Path


def peak_mb() -> float:
    """Largest resident memory so far [MB] (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def resident_mb() -> float:
    """Resident memory now [MB], garbage collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6
