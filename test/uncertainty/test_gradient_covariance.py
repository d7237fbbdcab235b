"""Covariance of the gradient's noise against noise drawn many times; colours against their definition; rows at rest."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.residual_autocovariance import ResidualColours
from uvms_adaptive_dynamics.config import Config, Filter
from uvms_adaptive_dynamics.estimation.row_excitation import RowExcitation
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.estimation.low_pass import gaussian_kernel
from uvms_adaptive_dynamics.uncertainty.gradient_covariance import Score

PERIOD, KERNEL = .02, gaussian_kernel(Filter())


def noise(rng, count, colour, draws=1):
    """(draws, count) AR(1) noise of unit variance behind the low-pass."""
    e = rng.normal(size=(draws, count + 400)) * np.sqrt(1 - colour ** 2)
    for k in range(1, e.shape[1]):
        e[:, k] += colour * e[:, k - 1]
    low = np.array([np.convolve(row, KERNEL, "same") for row in e])[:, 200:200 + count]
    return low / np.std(low)


@pytest.mark.parametrize("colour, bound", [(0.0, .15), (.9, .25), (.98, .45)])
def test_covariance_is_that_of_many_draws(colour, bound):
    """Regressors constant, slow (0.1 Hz) and fast (1.5 Hz): the estimate from one minute of one noise equals the spread of 400 sums."""
    rng, n = np.random.default_rng(0), 3000
    t = PERIOD * np.arange(n)
    Y = np.stack([np.ones(n), np.sin(2 * np.pi * .1 * t), np.sin(2 * np.pi * 1.5 * t)], axis=1)
    drawn = noise(rng, n, colour, 400) @ Y
    true = np.sqrt(np.mean(drawn ** 2, axis=0))
    found = []
    for e in noise(rng, n, colour, 8):
        score = Score(1, 3, KERNEL, PERIOD, 1.0, 1.0)
        for y, r in zip(Y, e):
            score.push(y[None], np.array([r]), np.ones(1))
        found.append(np.diag(score.covariance))
    np.testing.assert_allclose(np.sqrt(np.mean(found, axis=0)), true, rtol=bound)


def test_white_noise_is_called_white():
    """Chance does not make a white noise slow: in a minute of it hardly any share is given to the slow colours."""
    rng = np.random.default_rng(1)
    colours = ResidualColours(40, KERNEL, PERIOD, 1.0)
    for e in noise(rng, 3000, 0.0, 40).T:
        colours.push(e, np.ones(40))
    slow = colours._shares[:, 1:].sum(axis=1)
    assert np.mean(slow) < .03 and np.mean(colours._shares.sum(axis=1)) == pytest.approx(1, abs=.1)


def test_no_row_after_a_gap_is_a_neighbour_of_one_before():
    """Products across a gap are not formed."""
    colours = ResidualColours(1, KERNEL, PERIOD, 1.0)
    for k in range(600):
        if k % 3 == 0:
            colours.break_off()
        colours.push(np.array([1.0]), np.ones(1))
    assert np.all(colours._sum[1, colours._lags > 2] == 0)


def rows(robot, table, still_from, count=1500, seed=0):
    """Random smooth rows of one channel that stop changing at `still_from`."""
    rng = np.random.default_rng(seed)
    phase, speed = rng.uniform(0, 6, (table.channels, table.size)), rng.uniform(.5, 3, (table.channels, table.size))
    for k in range(count):
        yield np.sin(speed * PERIOD * min(k, still_from) + phase)


def test_rows_at_rest_stop_counting_and_surprises_count_again():
    """Within a few seconds of standing still rows no longer count nor tell of noise; one that is far off counts."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD)
    pi, valid, noise_stddev = np.array(table.scale), np.ones(table.channels, bool), np.full(table.channels, .05)
    seen = [excitation.push(Y, pi, valid, np.zeros(table.channels), noise_stddev) for Y in rows(robot, table, 700)]
    assert all(e.counts.all() and e.moves.all() for e in seen[100:700])
    assert not any(e.counts.any() or e.moves.any() for e in seen[1200:])
    surprised = excitation.push(next(rows(robot, table, 0)), pi, valid, np.eye(1, table.channels)[0], noise_stddev)
    assert surprised.counts[0]


def test_calm_start_tells_nothing_of_the_noise():
    """Before anything has moved no residual is taken for the noise, and rows count for the first second only."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD)
    seen = [excitation.push(Y, np.array(table.scale), np.ones(table.channels, bool), np.zeros(table.channels), np.full(table.channels, .05))
            for Y in rows(robot, table, 0, 300)]
    assert not any(e.moves.any() for e in seen) and seen[0].counts.all() and not seen[-1].counts.any()


def test_what_is_usual_is_seen_with_the_estimate_of_now():
    """A prior many times too large makes the first seconds look like far more motion than there ever is again, and its correction
    like a jump: the same motion goes on counting."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD)
    valid, nothing, noise_stddev = np.ones(table.channels, bool), np.zeros(table.channels), np.full(table.channels, .05)
    seen = [excitation.push(Y, np.array(table.scale) * (30.0 if k < 200 else 1.0), valid, nothing, noise_stddev)
            for k, Y in enumerate(rows(robot, table, 700, 700))]
    assert all(e.counts.all() and e.moves.all() for e in seen[100:200] + seen[230:])
