"""How windows and gaps follow a sensor that is slower than the settings have in mind."""
from __future__ import annotations

from ..decode.sensor_clock import SensorClock
from ..gates.spikes import HALF_WINDOW, LOOKAHEAD

# Periods of a slow sensor: half a window, in which a fit needs five readings, and the gap that its
# jitter leaves.
WINDOW_PERIODS, GAP_PERIODS = 2.0, 1.5


def half_window(setting: float, clock: SensorClock) -> float:
    """[s] Half of the window in which a sensor's readings are fitted: the setting, or more."""
    return max(setting, WINDOW_PERIODS * (clock.period or 0.0))


def longest_gap(setting: float, clock: SensorClock, periods: float = GAP_PERIODS) -> float:
    """[s] The gap between readings that is bridged: the setting, or so many periods."""
    return max(setting, periods * (clock.period or 0.0))


def window_wait(setting: float, clock: SensorClock) -> float:
    """[s] Of data after a tick until the window about it is full and has left the spike gate."""
    period = clock.period or 0.0
    return (clock.delay + half_window(setting, clock)
            + min(HALF_WINDOW * period, LOOKAHEAD + period))
