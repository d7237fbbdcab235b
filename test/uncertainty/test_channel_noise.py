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
from uvms_adaptive_dynamics.uncertainty.channel_noise import ChannelNoise

KINDS = ("gaussian", "low-passed", "heavy tails", "flat", "wrong initial", "growing")


@pytest.fixture(scope="module")
def covered():
    """By kind: whether each of 30,000 residuals lay inside an interval made from earlier ones only;
    each kind is a channel."""
    rng = np.random.default_rng(5)
    n = 30_000
    white = rng.normal(size=n)
    residual = np.stack([white, 4 * np.convolve(white, gaussian_kernel(Filter()), "same"),
                         rng.standard_t(3, size=n), rng.uniform(-1, 1, n), white,
                         white * np.linspace(1, 5, n)], axis=1)
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
    white = rng.normal(size=25_000)
    outlier = rng.random(25_000) < .05
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    widths, inside = [], []
    for r, bad in zip(np.where(outlier, 20 * rng.choice([-1, 1], 25_000), white), outlier):
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
    large = (np.arange(30_000) // 100) % 2 == 0
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    widths, inside = np.empty(30_000), np.empty(30_000, bool)
    for k, r in enumerate(rng.normal(size=30_000) * np.where(large, 2.0, 0.5)):
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


@pytest.mark.parametrize("at_rest, saved", [(.2, 1.25), (4.0, 2.25)])
def test_rest_widens_the_noise_for_later_use_and_never_narrows_it(at_rest, saved):
    """Half the rows are at rest, where a small residual repeats one error, but a large one is a
    force that is there in motion, too: a tether's."""
    rng = np.random.default_rng(18)
    noise = ChannelNoise(np.ones(1), .02, 5.0, 5000.0, True)
    for k, r in enumerate(rng.normal(size=6000)):
        moves = k // 1000 % 2 == 0
        noise.add_residual(np.array([r if moves else at_rest]), np.ones(1, bool),
                           noise.interval_stddev, np.array([moves]))
    assert noise.lasting_stddev[0] == pytest.approx(saved, rel=.1)
    assert noise.long_run[0] == pytest.approx(1.0, rel=.1)


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
