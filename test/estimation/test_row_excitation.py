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

"""Which rows have new information: rows at rest stop counting, and motion is judged with the
present estimate."""
import numpy as np

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.row_excitation import RowExcitation
from uvms_adaptive_dynamics.model.robot import RobotModel

PERIOD = .02


def rows(robot, table, still_from, count=1500, seed=0):
    """Random smooth rows of one channel that stop changing at `still_from`."""
    rng = np.random.default_rng(seed)
    phase, speed = rng.uniform(0, 6, (table.channels, table.size)), rng.uniform(
        .5, 3, (table.channels, table.size))
    for k in range(count):
        yield np.sin(speed * PERIOD * min(k, still_from) + phase)


def seen_of(excitation, rows, pi, valid, noise_stddev):
    """The verdicts on rows whose efforts change with them."""
    return [excitation.add_row(Y, 10.0 * Y[:, 0], pi, valid, noise_stddev) for Y in rows]


def test_rows_at_rest_stop_counting():
    """After a few seconds at rest, rows neither count nor tell about the noise."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD, np.zeros(table.size))
    pi, valid, noise_stddev = np.array(table.scale), np.ones(table.channels,
                                                             bool), np.full(table.channels, .05)
    seen = seen_of(excitation, rows(robot, table, 700), pi, valid, noise_stddev)
    assert all(e.learnt.all() and e.in_motion.all() for e in seen[100:700])
    assert not any(e.learnt.any() or e.in_motion.any() for e in seen[1200:])


def test_a_row_counts_where_it_has_not_been_however_slowly_it_comes_there():
    """A tilt of 100 s hardly varies within a second, yet is new all the way; it tells nothing about
    the noise. At its end it is at rest."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD, np.zeros(table.size))
    pi, valid, noise_stddev = np.array(table.scale), np.ones(table.channels,
                                                             bool), np.full(table.channels, .05)
    first, *moving = rows(robot, table, 700, 700)
    moved = seen_of(excitation, (first, *moving), pi, valid, noise_stddev)
    assert all(e.learnt.all() for e in moved)
    place, far = moving[-1], moving[-400]
    rest = seen_of(excitation, [place] * 500, pi, valid, noise_stddev)
    assert not rest[-1].learnt.any()
    tilt = seen_of(excitation, (place + (far - place) * min(k / 5000, 1.0) for k in range(6000)),
                   pi, valid, noise_stddev)
    share = np.mean([e.learnt for e in tilt[:5000]], axis=0)
    assert np.median(share) > .03 and not np.any([e.in_motion for e in tilt[100:]])
    assert not any(e.learnt.any() for e in tilt[5200:])


def test_a_wrong_estimate_cannot_keep_a_row_at_rest():
    """With an estimate by which a motion needs no effort, the prior shows that it does; a row at
    rest is at rest by both."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    wrong, valid, noise = np.zeros(table.size), np.ones(table.channels, bool), np.full(
        table.channels, .05)
    excitation = RowExcitation(table, PERIOD, np.array(table.scale))
    seen = seen_of(excitation, rows(robot, table, 700, 2500), wrong, valid, noise)
    assert all(e.learnt.all() and e.in_motion.all() for e in seen[100:700])
    assert not any(e.learnt.any() or e.in_motion.any() for e in seen[2200:])


def test_a_wrong_estimate_cannot_hide_a_slow_tilt():
    """Not even a tilt too slow to be seen within a second, by the estimate or by the prior."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    wrong, valid, noise = np.zeros(table.size), np.ones(table.channels, bool), np.full(
        table.channels, .05)
    excitation = RowExcitation(table, PERIOD, 0.005 * np.array(table.scale))
    place, *_, far = rows(robot, table, 400, 400)
    rest = seen_of(excitation, [place] * 500, wrong, valid, noise)
    tilt = seen_of(excitation, (place + (far - place) * min(k / 5000, 1.0) for k in range(7000)),
                   wrong, valid, noise)
    assert not rest[-1].learnt.any() and not tilt[-1].learnt.any()
    assert np.median(np.mean([e.learnt for e in tilt[:5000]], axis=0)) > .03
    assert not np.any([e.in_motion for e in tilt])


def test_calm_start_tells_nothing_of_the_noise():
    """Before anything has moved, no residual is taken as noise, and rows count only for the first
    second."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD, np.zeros(table.size))
    seen = seen_of(excitation, rows(robot, table, 0, 300), np.array(table.scale),
                   np.ones(table.channels, bool), np.full(table.channels, .05))
    assert not any(e.in_motion.any()
                   for e in seen) and seen[0].learnt.all() and not seen[-1].learnt.any()


def test_the_reference_is_seen_with_the_present_estimate():
    """A prior many times too large makes the first seconds look like more motion than any later
    one, and its correction like a jump; the same motion nevertheless keeps counting."""
    robot = RobotModel.from_config(Config())
    table = robot.table
    excitation = RowExcitation(table, PERIOD, np.zeros(table.size))
    valid, noise_stddev = np.ones(table.channels, bool), np.full(table.channels, .05)
    seen = [
        excitation.add_row(Y, 10.0 * Y[:, 0],
                           np.array(table.scale) * (30.0 if k < 200 else 1.0), valid,
                           noise_stddev) for k, Y in enumerate(rows(robot, table, 700, 700))
    ]
    assert all(e.learnt.all() and e.in_motion.all() for e in seen[100:200] + seen[230:])


def test_motion_that_no_effort_causes_does_not_count():
    """A swell moves the undriven vehicle: rows count only for the first second, even at new places.
    The same motion counts while the arm moves, and after a thrust until its effect has died away.
    """
    robot = RobotModel.from_config(Config())
    table = robot.table
    valid, noise = np.ones(table.channels, bool), np.full(table.channels, .05)
    vehicle = np.arange(table.size) < table.vehicle_slice.stop
    pi = np.array(table.scale)
    moving = list(rows(robot, table, 3000, 1500))
    zero = np.zeros(table.channels)

    swell, with_arm, thrust = (RowExcitation(table, PERIOD, np.zeros(table.size)) for _ in range(3))
    alone = [swell.add_row(Y * vehicle, zero, pi, valid, noise) for Y in moving]
    assert not np.any([e.learnt[:6] for e in alone[60:]])
    assert not np.any([e.in_motion for e in alone])
    carried = [with_arm.add_row(Y, zero, pi, valid, noise) for Y in moving]
    assert all(e.learnt[:6].all() for e in carried) and not any(
        e.learnt[6:].any() for e in carried[60:])
    # its residuals inform the noise too
    assert np.mean([e.in_motion[:6] for e in carried[60:]]) > .9
    pushed = [thrust.add_row(Y * vehicle, zero + 0.3 * (500 < k < 550), pi, valid, noise)
              for k, Y in enumerate(moving)]
    counts = np.array([e.learnt[0] for e in pushed])
    assert counts[510:700].all() and not counts[60:500].any() and not counts[-100:].any()


def ahead(table, surge_share, count):
    """A hull that thrust of 40 N drives ahead while it sways and yaws by something else; in the
    first half the thrusters also turn it. surge_share: of the surge effort that is known thrust.
    Yields regressors and efforts (C,)."""
    place = table.index
    for k in range(count):
        t = PERIOD * k
        v, r = 0.3 * np.sin(1.1 * t), 0.4 * np.sin(0.7 * t)
        Y, effort = np.zeros((table.channels, table.size)), np.zeros(table.channels)
        Y[0, place["X_u"]], Y[1, place["m_X_du"]] = 1.0, r
        Y[5, place["m_X_du"]], Y[5, place["m_Y_dv"]] = -v, v
        Y[5, place["Iz_N_dr"]], Y[5, place["N_r"]] = 0.28 * np.cos(0.7 * t), r
        effort[0] = 40.0 * surge_share
        effort[5] = 5.0 * np.sin(0.7 * t) * (k < count // 2)
        yield Y, effort


def test_momentum_along_a_driven_axis_drives_the_others():
    """Thrust ahead alone: its momentum turns the hull, so yaw's rows count, as many as thrusters
    have turned before; not if something else moves the hull ahead. Sway, which no thruster drives
    at any time, never counts."""
    table = RobotModel.from_config(Config()).table
    pi = np.array(table.scale)
    pi[table.index["X_u"]], pi[table.index["m_Y_dv"]] = 40.0, 35.0
    valid, noise = np.ones(table.channels, bool), np.full(table.channels, .5)
    share, sway = {}, {}
    for thrust in (1.0, 0.02):
        excitation = RowExcitation(table, PERIOD, np.zeros(table.size))
        learnt = np.array([excitation.add_row(Y, effort, pi, valid, noise).learnt
                           for Y, effort in ahead(table, thrust, 6000)])
        share[thrust] = learnt[4000:, 5].mean()     # the turns have died away
        sway[thrust] = learnt[60:, 1].mean()
    assert share[1.0] > .95 and share[0.02] == 0.0 and not any(sway.values())
