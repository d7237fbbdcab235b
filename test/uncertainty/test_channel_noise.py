"""Noise and intervals that are tracked from earlier residuals alone."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.channel_noise import ChannelNoise
from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.estimation.low_pass import gaussian_kernel


def coverage(residual, initial=1.0):
    """Share of residuals inside an interval that was made from earlier ones only."""
    noise = ChannelNoise(np.array([initial]), .02, 5.0, True)
    inside = []
    for r in residual:
        predicted = noise.interval_stddev
        inside.append(abs(r) < 1.96 * predicted[0])
        noise.update(np.array([r]), np.ones(1, bool), predicted)
    return np.array(inside)


@pytest.mark.parametrize("kind", ["gaussian", "low-passed", "heavy tails", "flat", "wrong initial", "growing"])
def test_intervals_cover_whatever_the_noise_is(kind):
    """95 % of unseen residuals lie inside, for any shape, colour and scale; widths follow a change of scale."""
    rng = np.random.default_rng(5)
    n = 60_000
    white = rng.normal(size=n)
    residual = {"gaussian": white, "low-passed": 4 * np.convolve(white, gaussian_kernel(Filter()), "same"),
                "heavy tails": rng.standard_t(3, size=n), "flat": rng.uniform(-1, 1, n), "wrong initial": white,
                "growing": white * np.linspace(1, 5, n)}[kind]
    inside = coverage(residual, initial=50.0 if kind == "wrong initial" else 1.0)
    assert .935 < inside[5000:].mean() < .965


def test_outliers_do_not_widen_the_interval_of_the_others():
    """With 5 % gross outliers the interval of nominal rows stays within 1.3 of what it is without them."""
    rng = np.random.default_rng(6)
    white = rng.normal(size=40_000)
    outlier = rng.random(40_000) < .05
    noise = ChannelNoise(np.ones(1), .02, 5.0, True)
    widths, inside = [], []
    for r, bad in zip(np.where(outlier, 20 * rng.choice([-1, 1], 40_000), white), outlier):
        predicted = noise.interval_stddev
        widths.append(predicted[0])
        if not bad:
            inside.append(abs(r) < 1.96 * predicted[0])
        noise.update(np.array([r]), np.ones(1, bool), predicted)
    assert np.mean(widths[5000:]) < 1.3 and .93 < np.mean(inside[5000:]) < .97


def test_masked_channels_do_not_change():
    """A channel that is not valid keeps its noise; others follow theirs."""
    noise = ChannelNoise(np.ones(2), .02, 5.0, True)
    for _ in range(100):
        noise.update(np.array([9.0, 9.0]), np.array([False, True]), np.array([1.0, 10.0]))
    assert noise.stddev[0] == 1.0 and noise.stddev[1] > 2.0


def test_intervals_follow_residuals_that_come_and_go():
    """Two seconds of large and two of small residuals in turn: 95 % overall, and the interval is wide when it must be."""
    rng = np.random.default_rng(7)
    large = (np.arange(60_000) // 100) % 2 == 0
    noise = ChannelNoise(np.ones(1), .02, 5.0, True)
    widths, inside = np.empty(60_000), np.empty(60_000, bool)
    for k, r in enumerate(rng.normal(size=60_000) * np.where(large, 2.0, 0.5)):
        predicted = noise.interval_stddev
        widths[k], inside[k] = predicted[0], abs(r) < 1.96 * predicted[0]
        noise.update(np.array([r]), np.ones(1, bool), predicted)
    assert .935 < inside[5000:].mean() < .965
    assert widths[5000:][large[5000:]].mean() > 1.4 * widths[5000:][~large[5000:]].mean()


def test_what_is_saved_is_not_of_the_last_half_second():
    """A burst of half a second moves the next row's interval, and hardly the noise for another time."""
    rng = np.random.default_rng(8)
    noise = ChannelNoise(np.ones(1), .02, 5.0, True)
    for r in rng.normal(size=5000):
        noise.update(np.array([r]), np.ones(1, bool), noise.interval_stddev)
    before = noise.interval_stddev, noise.lasting_stddev
    for r in 4 * rng.normal(size=25):
        noise.update(np.array([r]), np.ones(1, bool), noise.interval_stddev)
    assert noise.interval_stddev > 1.4 * before[0] and noise.lasting_stddev < 1.3 * before[1]
