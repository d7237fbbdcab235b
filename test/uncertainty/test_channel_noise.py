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

"""Noise and intervals, tracked from earlier residuals only."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.model.kernel import gaussian_kernel
from uvms_adaptive_dynamics.uncertainty.channel_noise import (
    WINSOR,
    WINSOR_MEAN,
    ChannelNoise,
    LastingNoise,
    LongRunNoise,
)

KINDS = ("gaussian", "low-passed", "heavy tails", "flat", "wrong initial", "growing")


@pytest.fixture(scope="module")
def covered():
    """By kind: whether each of 60,000 residuals lay inside an interval made from earlier ones only;
    each kind is a channel."""
    rng = np.random.default_rng(5)
    n = 60_000
    white = rng.normal(size=n)
    residual = np.stack([
        white, 4 * np.convolve(white, gaussian_kernel(Filter()), "same"),
        rng.standard_t(3, size=n), rng.uniform(-1, 1, n), white, white * np.linspace(1, 5, n)
    ], axis=1)
    initial = np.where(np.array(KINDS) == "wrong initial", 50.0, 1.0)
    noise, inside = ChannelNoise(initial, .02, 5.0, 5000.0, True), []
    for r in residual:
        predicted = noise.interval_stddev
        inside.append(np.abs(r) < 1.96 * predicted)
        noise.add_residual(r, np.ones(len(KINDS), bool), predicted)
    return dict(zip(KINDS, np.transpose(inside)))


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_whatever_the_noise_is(covered, kind):
    """95 % of unseen residuals lie inside, for any shape, colour and scale; widths follow a change
    of scale."""
    assert .935 < covered[kind][5000:].mean() < .965


def test_outliers_do_not_widen_the_interval_of_the_others():
    """With 5 % gross outliers the interval of nominal rows is at most 1.3 times as wide as without.
    """
    rng = np.random.default_rng(6)
    white = rng.normal(size=40_000)
    outlier = rng.random(40_000) < .05
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    widths, inside = [], []
    for r, bad in zip(np.where(outlier, 20 * rng.choice([-1, 1], 40_000), white), outlier):
        predicted = noise.interval_stddev
        widths.append(predicted[0])
        if not bad:
            inside.append(abs(r) < 1.96 * predicted[0])
        noise.add_residual(np.array([r]), np.ones(1, bool), predicted)
    assert np.mean(widths[5000:]) < 1.3 and .93 < np.mean(inside[5000:]) < .97


def test_masked_channels_do_not_change():
    """A masked channel keeps its noise; others follow their residuals."""
    noise = ChannelNoise(np.ones(2), .02, 5.0, 5000.0, True)
    for _ in range(100):
        noise.add_residual(np.array([9.0, 9.0]), np.array([False, True]), np.array([1.0, 10.0]))
    assert noise.stddev[0] == 1.0 and noise.stddev[1] > 2.0


def test_intervals_follow_residuals_that_come_and_go():
    """Large and small residuals alternate every two seconds: coverage is 95 % overall, and the
    interval is wide when it must be."""
    rng = np.random.default_rng(7)
    large = (np.arange(60_000) // 100) % 2 == 0
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    widths, inside = np.empty(60_000), np.empty(60_000, bool)
    for k, r in enumerate(rng.normal(size=60_000) * np.where(large, 2.0, 0.5)):
        predicted = noise.interval_stddev
        widths[k], inside[k] = predicted[0], abs(r) < 1.96 * predicted[0]
        noise.add_residual(np.array([r]), np.ones(1, bool), predicted)
    assert .935 < inside[5000:].mean() < .965
    assert widths[5000:][large[5000:]].mean() > 1.4 * widths[5000:][~large[5000:]].mean()


def test_what_is_saved_is_not_of_the_last_half_second():
    """A burst of half a second changes the next row's interval, but not the noise for later use."""
    rng = np.random.default_rng(8)
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    for r in rng.normal(size=5000):
        noise.add_residual(np.array([r]), np.ones(1, bool), noise.interval_stddev)
    before = noise.interval_stddev, noise.lasting_stddev
    for r in 4 * rng.normal(size=25):
        noise.add_residual(np.array([r]), np.ones(1, bool), noise.interval_stddev)
    assert noise.interval_stddev > 1.4 * before[0] and noise.lasting_stddev < 1.05 * before[1]


def lasting(residual, doubt=None, initial=1.0, noise=None):
    """The noise for later use after residuals (T,), with parameter uncertainty `doubt` (T,)."""
    noise = noise or ChannelNoise(np.array([initial]), .02, 5.0, 5000.0, True)
    doubt = np.zeros(len(residual)) if doubt is None else doubt
    for r, d in zip(residual, doubt):
        noise.add_residual(np.array([r]), np.ones(1, bool), np.hypot(noise.interval_stddev, d))
    return float(noise.lasting_stddev[0])


@pytest.mark.parametrize("kind", ["gaussian", "heavy tails", "by manoeuvre", "wrong initial"])
def test_saved_noise_covers_another_time_with_nothing_adapted(kind):
    """Noise from two minutes covers 92-98.5 % of later residuals, even with heavy tails or with a
    different level of model error in each manoeuvre."""
    rng = np.random.default_rng(12)
    n, later = 6000, 40_000

    def residual(count):
        if kind == "heavy tails":
            return rng.standard_t(3, size=count)
        level = np.repeat(np.exp(.4 * rng.normal(size=count // 500)), 500)
        return rng.normal(size=count) * (level if kind == "by manoeuvre" else 1.0)

    scale = lasting(residual(n), initial=30.0 if kind == "wrong initial" else 1.0)
    assert .92 < np.mean(np.abs(residual(later)) < 1.96 * scale) < .985


def test_gross_outliers_are_not_saved_as_noise():
    """6 % outliers of twenty deviations change the noise for later use by less than a fifth; the
    95 % quantile of all residuals would be far off."""
    rng = np.random.default_rng(13)
    white = rng.normal(size=6000)
    outlier = rng.random(6000) < .06
    spoiled = lasting(np.where(outlier, 20 * np.sign(white), white))
    assert spoiled < 1.2 * lasting(white)


def test_the_priors_error_is_not_saved_as_noise():
    """Ten seconds of tenfold residuals that parameter uncertainty explains."""
    rng = np.random.default_rng(14)
    doubt = np.where(np.arange(6000) < 500, 10.0, 0.0)
    white = rng.normal(size=6000)
    assert lasting(np.hypot(1.0, doubt) * white, doubt) < 1.15 * lasting(white)


def test_few_rows_make_a_wide_saved_noise():
    """One manoeuvre does not tell the level of the next, so its noise is wider than that of many;
    with few rows the initially assumed noise still counts."""
    rng = np.random.default_rng(15)
    white = rng.normal(size=6000)
    assert 1.1 < lasting(white[:600]) / lasting(white) < 1.5
    assert lasting(white[:30], initial=20.0) > 5.0


def test_saved_noise_is_gone_on_from_and_put_back():
    """After a restart the noise for later use is the saved one, and hardly changes within a second;
    a change's residuals can be taken out of it."""
    rng = np.random.default_rng(16)
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    noise.restart(np.array([4.0]))
    assert noise.lasting_stddev[0] == noise.interval_stddev[0] == 4.0
    assert lasting(rng.normal(size=50), noise=noise) == pytest.approx(4.0, rel=.25)
    before = lasting(rng.normal(size=2000), noise=noise)
    record = noise.record()
    assert lasting(30 * rng.normal(size=1000), noise=noise) > 3 * before
    noise.put_back(record)
    assert noise.lasting_stddev[0] == pytest.approx(before, rel=.05)


def test_rows_gathered_for_the_lasting_noise_count_one_by_one():
    """Its histogram is that of the long-run noise, which adds each row at once, after any number of
    rows of any weight; rows after a record leave nothing when it is put back."""
    rng = np.random.default_rng(15)
    one_by_one, gathered = LongRunNoise(np.ones(2), 500.0), LastingNoise(np.ones(2), 500.0, .02)
    for size in (10, 30, 25, 700):
        for residual, weight in zip(rng.normal(size=(size, 2)), rng.random((size, 2))):
            one_by_one.add_residual(residual, weight)
            gathered.add_residual(residual, weight)
        record, expected = gathered.record(), one_by_one.record()
        np.testing.assert_allclose(record.seen, expected.seen, rtol=1e-12)
        np.testing.assert_allclose(record.histogram, expected.histogram, atol=1e-12)
    before = gathered.stddev
    for _ in range(10):
        gathered.add_residual(np.full(2, 50.0), np.ones(2))
    gathered.put_back(record)
    np.testing.assert_array_equal(gathered.stddev, before)


def long_run(residual, initial=1.0, memory=5000.0):
    """The long-run noise of one channel after residuals (T,)."""
    noise = LongRunNoise(np.array([initial]), memory)
    for r in residual:
        noise.add_residual(np.array([r]), np.ones(1, bool))
    for _ in range(25):
        # a full turn, which updates the scale
        noise.add_residual(np.zeros(1), np.zeros(1, bool))
    return float(noise.stddev[0])


def test_long_run_noise_is_the_deviation_of_gaussian_noise():
    """Even if the initial noise was a hundred times too large or too small."""
    white = 3.0 * np.random.default_rng(0).normal(size=8000)
    for initial in (.03, 3.0, 300.0):
        assert long_run(white, initial) == pytest.approx(3.0, rel=.06)


def test_long_run_noise_withstands_outliers():
    """5 % outliers of hundredfold size change it by less than a fifth; the deviation of all
    residuals is twenty times larger."""
    rng = np.random.default_rng(1)
    residual = np.where(rng.random(8000) < .05, 100.0, 1.0) * rng.normal(size=8000)
    assert .9 < long_run(residual) < 1.2


def test_long_run_noise_does_not_depend_on_the_order():
    """With a long memory, a quiet and a lively recording give the same scale in either order, and
    it is that of the lively one, within a factor of three."""
    rng = np.random.default_rng(2)
    quiet, lively = .01 * rng.normal(size=6000), rng.normal(size=4000)
    first, last = (long_run(np.concatenate(parts), memory=1e9)
                   for parts in ((quiet, lively), (lively, quiet)))
    assert first == pytest.approx(last, rel=.35)
    assert min(first, last) > .33


def test_long_run_noise_follows_a_new_level_within_its_memory():
    """After a thirtyfold increase, a quarter of the new level is reached after .4 of the memory,
    two thirds after one."""
    rng = np.random.default_rng(3)
    before = rng.normal(size=20_000)
    assert long_run(np.concatenate([before, 30.0 * rng.normal(size=2000)])) > 7.5
    assert long_run(np.concatenate([before, 30.0 * rng.normal(size=5000)])) > 20.0


def test_a_noise_that_many_rows_told_is_not_taken_over_by_few():
    """Five seconds of tenfold residuals hardly change a noise from a hundred seconds, as if they
    were outliers; in the end it follows the new level."""
    noise, rng = LongRunNoise(np.ones(1), 5000.0), np.random.default_rng(0)
    noise.go_on(np.array([2.0]), 5000.0)
    for _ in range(250):
        noise.add_residual(2.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] == pytest.approx(2.0, rel=0.05)
    for _ in range(250):
        noise.add_residual(20.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] < 2.5
    for _ in range(15_000):
        noise.add_residual(20.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] == pytest.approx(20.0, rel=0.1)


def test_noise_is_at_most_what_residuals_are():
    """`at_most` limits a noise assumed ten times too large to the size of the residuals, even
    without rows in motion; a few residuals do not count yet, and large ones do not raise it."""
    rng = np.random.default_rng(0)
    noise = ChannelNoise(np.array([10.0, 10.0]), .02, 5.0, 5000.0, True)
    still, valid = np.zeros(2, bool), np.ones(2, bool)
    for k in range(500):
        if k == 5:
            np.testing.assert_array_equal(noise.at_most, noise.stddev)
        noise.add_residual(rng.normal(size=2) * [1.0, 50.0], valid, noise.interval_stddev, still)
    np.testing.assert_allclose(noise.at_most, [1.0, 10.0], rtol=.1)
    np.testing.assert_array_equal(noise.stddev, [10.0, 10.0])


def test_proposal_2_is_solved():
    """The scale satisfies its equation on the residuals, within the histogram's resolution."""
    rng = np.random.default_rng(4)
    residual = rng.standard_t(2, size=20_000)
    s = long_run(residual, memory=1e9)
    assert np.mean(np.minimum(residual ** 2, WINSOR ** 2 * s ** 2)) / s ** 2 == pytest.approx(
        WINSOR_MEAN, rel=.1)


def test_a_saved_noise_is_gone_on_from():
    """After a restart weights and intervals use the saved noise, which hardly changes within a
    second."""
    noise = ChannelNoise(np.ones(2), .02, 5.0, 5000.0, True)
    noise.restart(np.array([.1, 5.0]))
    for _ in range(50):
        noise.add_residual(np.array([.3, 1.0]), np.ones(2, bool), noise.interval_stddev)
    np.testing.assert_allclose(noise.long_run, [.1, 5.0], rtol=.6)
    noise.restart()
    np.testing.assert_allclose(noise.long_run, 1.0)


def test_clipped_squares_of_gaussian_noise_have_the_stated_mean():
    """Numerical integration confirms the constant that makes the scale right for Gaussian noise."""
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-z ** 2 / 2) / np.sqrt(2 * np.pi)
    assert np.sum(np.minimum(z ** 2, WINSOR ** 2) * density) * (z[1] - z[0]) == pytest.approx(
        WINSOR_MEAN, abs=1e-4)


def test_noise_is_put_back_as_it_was():
    """Putting back an earlier record after seconds of large residuals restores the long-run and the
    local noise."""
    rng = np.random.default_rng(9)
    noise = ChannelNoise(np.ones(2), .02, 5.0, 5000.0, True)
    for r in rng.normal(size=(1500, 2)):
        noise.add_residual(r, np.ones(2, bool), noise.interval_stddev)
    record, before = noise.record(), (noise.long_run, noise.stddev)
    for r in 50 * rng.normal(size=(400, 2)):
        noise.add_residual(r, np.ones(2, bool), noise.interval_stddev)
    assert (noise.long_run > 2 * before[0]).all()
    noise.put_back(record)
    np.testing.assert_allclose(noise.long_run, before[0], rtol=.05)
    np.testing.assert_array_equal(noise.stddev, before[1])


def test_noise_is_put_back_after_a_restart_with_another():
    """A recovery restarts from the noise found so far, to which its residuals are then related: a
    record from before it keeps its own scale."""
    rng = np.random.default_rng(17)
    noise = ChannelNoise(np.array([5.0, 5.0]), .02, 5.0, 5000.0, True)
    for r in rng.normal(size=(5000, 2)):
        noise.add_residual(r, np.array([True, False]), noise.interval_stddev)
    record = noise.record()
    noise.put_back(record)
    before = noise.long_run, noise.lasting_stddev
    noise.restart(noise.lasting_stddev / 3, noise.long_run / 3, 5000.0)
    noise.put_back(record)
    np.testing.assert_array_equal(noise.long_run, before[0])
    np.testing.assert_array_equal(noise.lasting_stddev, before[1])


def test_what_the_parameters_explain_is_not_noise():
    """Ten seconds of tenfold residuals that parameter uncertainty explains do not change the
    long-run noise."""
    rng = np.random.default_rng(10)
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    for k in range(1500):
        doubt = 10.0 if k < 500 else 0.0
        noise.add_residual(np.hypot(1.0, doubt) * rng.normal(size=1), np.ones(1, bool),
                           np.hypot(noise.interval_stddev, doubt))
    assert noise.long_run[0] == pytest.approx(1.0, rel=.15)


@pytest.mark.parametrize("unlearnt, expected", [(0.0, 1.0), (3.0, 0.0)])
def test_the_noise_of_earlier_rows_takes_no_share(unlearnt, expected):
    """Residuals of one deviation stay the noise if the parameters are uncertain by three only
    because of earlier noise, but not if they have not been learnt: then they explain all of it."""
    rng = np.random.default_rng(11)
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    for r in rng.normal(size=(10_000, 1)):
        noise.add_residual(r, np.ones(1, bool), np.hypot(noise.interval_stddev, 3.0),
                           unlearnt=np.full(1, unlearnt ** 2))
    assert noise.long_run[0] == pytest.approx(expected, abs=.1)
