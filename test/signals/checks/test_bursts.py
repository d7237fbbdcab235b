"""What the frame checks are shown of a doubted sensor."""

from uvms_adaptive_dynamics.signals.checks.bursts import LASTING, BurstFilter


def shown(doubted, period=0.5):
    rows = []
    bursts = BurstFilter("imu", lambda name, t, *values: rows.append(t))
    for k, doubt in enumerate(doubted):
        bursts.add(doubt, period * k)
    return rows


def test_a_burst_is_never_shown_and_what_lasts_is_shown_whole():
    """Five seconds of doubt vanish; with more than LASTING of it nothing is lost."""
    assert shown([False] * 4 + [True] * 10 + [False]) == [0.0, 0.5, 1.0, 1.5, 7.0]
    count = int(LASTING / 0.5) + 5
    assert shown([True] * count) == [0.5 * k for k in range(count)]
