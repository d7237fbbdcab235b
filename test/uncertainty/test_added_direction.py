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

"""The coefficient of a direction added to a fit, and its standard error."""
import numpy as np
import pytest
from scipy.signal import lfilter

from uvms_adaptive_dynamics.uncertainty.added_direction import (
    CLUSTER_LENGTH,
    MIN_PIECES,
    Coefficient,
    RobustFit,
)

RATE = 8.0      # [Hz] of rows


def problem(rng, seconds=60.0, coefficient=0.0, noise=(0.1, 3.0)):
    """(fit, direction (T, C)) for two channels with coloured motion and white noise."""
    t = np.arange(0.0, seconds, 1 / RATE)
    def motion(*shape):
        steps = rng.normal(size=(len(t) + 40, *shape))
        kernel = np.exp(-np.arange(40) / 8.0)
        return np.apply_along_axis(np.convolve, 0, steps, kernel, "valid")[:len(t)]
    Y, direction = motion(2, 5), motion(2)
    tau = Y @ rng.normal(size=5) + coefficient * direction + noise * rng.normal(size=(len(t), 2))
    return RobustFit(Y, tau, np.ones((len(t), 2), bool), t), direction


def test_intervals_hold_the_coefficient():
    """Of 300 directions with coefficient .3 the 99.9 % intervals miss at most two, and the standard
    errors match the scatter."""
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        fit, direction = problem(rng, coefficient=0.3)
        found += fit.added(direction[:, :, None])
    values, errors = (np.array([getattr(one, key) for one in found])
                      for key in ("value", "stddev"))
    assert abs(values.mean() - 0.3) < 4 * values.std() / np.sqrt(300)
    assert 0.8 < np.median(errors) / values.std() < 1.25
    missed = sum(not Coefficient(one.value - 0.3, one.stddev, one.clusters).exceeds(0.0)
                 for one in found)
    assert missed >= 298


def test_nobody_confirms_nothing():
    """A coefficient that channels with rows confirm is not confirmed where none of them judges."""
    fit, direction = problem(np.random.default_rng(1), coefficient=3.0, noise=(0.1, 0.1))
    assert fit.confirmed(direction, np.array([True, True]))
    assert not fit.confirmed(direction, np.array([False, False]))


def test_what_the_model_lacks_may_last_longer_than_a_cluster():
    """Motion and unexplained effort wander over 5 s. The standard error is .9 of the scatter over
    100 recordings of a minute; with clusters taken as independent it would be .66 of it."""
    rng, found = np.random.default_rng(5), []
    for _ in range(100):
        t = np.arange(0.0, 60.0, 1 / RATE)
        motion = wandering(rng, (len(t), 2, 5))
        tau = (motion[:, :, :4].sum(axis=2) + 0.3 * wandering(rng, (len(t), 2))
               + 0.1 * rng.normal(size=(len(t), 2)))
        fit = RobustFit(motion[:, :, :4], tau, np.ones((len(t), 2), bool), t)
        found += fit.added(motion[:, :, 4:])
    errors, values = ([getattr(one, key) for one in found] for key in ("stddev", "value"))
    assert 0.8 < np.median(errors) / np.std(values) < 1.25


def test_few_pieces_of_time_that_tell_count_as_few():
    """A joint that moves for 10 s of a minute, beside effort that the model lacks: the 95 %
    intervals hold the coefficient in at least 93 % of 400 recordings; with all 24 pieces counted it
    would be less."""
    rng, of_all, held = np.random.default_rng(7), 0, 0
    moves = slice(200, 300)
    for _ in range(400):
        fit, direction = problem(rng)
        still = np.ones(len(direction), bool)
        still[moves] = False
        direction[still] = 0.0
        lacked = 0.3 * wandering(rng, direction.shape, 2.0)
        fit = fit.of(fit.tau + lacked)
        found, = fit.added(direction[:, :, None])
        freedom = fit.freedom(direction)
        assert freedom < 6.0 < found.clusters
        held += abs(found.value) < found._replace(freedom=freedom).half_width(0.975)
        of_all += abs(found.value) < found.half_width(0.975)
    assert held >= 372 > of_all, (held, of_all)


def wandering(rng, shape, seconds=5.0):
    """Gauss-Markov processes of unit deviation with this correlation time."""
    kept = np.exp(-1 / (RATE * seconds))
    steps = np.sqrt(1 - kept ** 2) * rng.normal(size=shape)
    steps[0] /= np.sqrt(1 - kept ** 2)
    return lfilter([1.0], [1.0, -kept], steps, axis=0)


def test_a_fit_explains_more_if_it_does_so_all_the_time_and_on_several_channels():
    """Two channels whose noise is halved: all the time, or where it counts as much for a tenth of
    it, or on one channel."""
    rng = np.random.default_rng(8)
    t = np.arange(0.0, 60.0, 1 / RATE)
    Y, noise = rng.normal(size=(len(t), 3, 2)), rng.normal(size=(len(t), 3))

    def more(share, witness=(0, 1, 2)):
        fits = [RobustFit(Y, Y @ [1.0, 2.0] + each, np.ones(noise.shape, bool), t,
                          witness=np.array(witness)) for each in (noise, share * noise)]
        return fits[1].explains_more(fits[0], np.ones(3, bool), 20.0)

    assert more([0.5, 0.5, 1.0])
    assert not more([0.5, 0.5, 1.0], (0, 0, 1))
    assert not more([0.5, 1.0, 1.0])
    assert not more(np.where(t[:, None] < 6.0, 0.01, 1.0) * np.ones(3))


def test_a_direction_that_the_parameters_have_gets_nothing():
    """An unexcited direction gets nothing either; each direction is judged by itself."""
    fit, direction = problem(np.random.default_rng(2), coefficient=0.5)
    own = fit._Y[:, :, 1]
    inside, nothing, true = fit.added(np.stack([own, 0 * own, direction], axis=2))
    assert not inside.exceeds(0.0) and not nothing.exceeds(0.0)
    assert true.exceeds(0.4) and not true.exceeds(0.5)
    assert fit.added(direction[:, :, None])[0] == pytest.approx(true)


def test_outliers_do_not_matter_and_short_data_say_nothing():
    """A tenth of the rows is garbage with a deviation of 100."""
    rng = np.random.default_rng(3)
    fit, direction = problem(rng, coefficient=0.5)
    tau = fit.predicted + fit._residual
    wrong = rng.random(tau.shape) < 0.1
    t = np.arange(len(tau)) / RATE
    dirty = RobustFit(fit._Y, tau + wrong * rng.normal(0.0, 100.0, tau.shape),
                      np.ones(tau.shape, bool), t)
    found, = dirty.added(direction[:, :, None])
    assert abs(found.value - 0.5) < 0.1 and found.exceeds(0.3)
    short, direction = problem(rng, (MIN_PIECES - 2) * CLUSTER_LENGTH, 0.5)
    assert not short.added(direction[:, :, None])[0].exceeds(0.0)


def test_rows_that_do_not_count_are_left_out():
    """So is a channel without any valid rows."""
    fit, direction = problem(np.random.default_rng(4), coefficient=0.5)
    tau, valid = fit.predicted + fit._residual, np.ones(fit.predicted.shape, bool)
    valid[:, 1] = False
    tau[:, 1] = 1e9
    found, = RobustFit(fit._Y, tau, valid, np.arange(len(tau)) / RATE).added(direction[:, :, None])
    assert abs(found.value - 0.5) < 0.05


@pytest.mark.parametrize("rows, noise", [(4, 0.1), (None, 1e-7)])
def test_a_channel_that_fits_exactly_does_not_spoil_the_others(rows, noise):
    """Whether it has no more rows than parameters of its own, or hardly any noise: its weight is
    none of the other channels' ridge."""
    rng = np.random.default_rng(5)
    fit, direction = problem(rng, coefficient=0.5)
    T, p = len(fit.tau), fit._Y.shape[2]
    own = rng.normal(size=(T, 2))
    Y, valid = np.zeros((T, 3, p + 2)), np.ones((T, 3), bool)
    Y[:, :2, :p], Y[:, 2, p:] = fit._Y, own
    if rows is not None:    # parameters that it shares would follow its noise
        Y[:, 2, :p] = rng.normal(size=(T, p))
        valid[rows:, 2] = False
    tau = np.column_stack([fit.tau, own @ [1.0, 2.0] + noise * rng.normal(size=T)])
    beside = RobustFit(Y, tau, valid, fit._t)
    np.testing.assert_allclose(beside.solution[:p], fit.solution, rtol=1e-3)
    found, = beside.added(np.column_stack([direction, np.zeros(T)])[:, :, None])
    alone, = fit.added(direction[:, :, None])
    assert found.value == pytest.approx(alone.value, rel=1e-3)


def test_rows_of_no_channel_are_a_fit_that_says_nothing():
    """As of a minute at rest, or of too few rows for the parameters."""
    rng = np.random.default_rng(6)
    fit = RobustFit(rng.normal(size=(8, 2, 20)), rng.normal(size=(8, 2)), np.ones((8, 2), bool),
                    np.arange(8.0))
    found, = fit.added(rng.normal(size=(8, 2, 1)))
    assert not fit.valid.any() and fit.cost == 0.0 and not found.exceeds(0.0)
    assert not fit.explains_more(fit, np.ones(2, bool), 0.0)
