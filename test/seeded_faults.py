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

"""Faults seeded into the code: is each one caught by a unit test of its own room?

    python test/seeded_faults.py                     all of them, a few minutes
    python test/seeded_faults.py --room solvers      those of a room
    python test/seeded_faults.py --only stamp        those whose name contains a word
    python test/seeded_faults.py --list

Package and tests are copied to a temporary folder, one fault is seeded, and the tests named next to
it run until the first one fails. A fault that no test catches is missed: a test is lacking.
`test_seeded_faults.py` checks that the table fits the code.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "uvms_adaptive_dynamics"
LIMIT = 300     # [s] for the tests of one fault; an endless one counts as caught
SLOW = "hundred_thousand"   # in the names of long tests of rounding only


class Fault(NamedTuple):
    """`old` in `file` (of the package) is replaced by `new`; `tests` (of test/) must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def room(self) -> str:
        """The folder of the package that has the fault."""
        return self.file.split("/")[0]


ARRIVAL = "estimation/test_arrival.py"
INFORMATION = "estimation/test_information.py"
FORGETTING = "estimation/test_forgetting.py"
ESTIMATOR = "estimation/test_estimator.py"
CERTIFICATE = "solvers/native/test_certificate.py"
CONES = "solvers/native/test_cones.py"
GROUPS = "solvers/native/test_huber_groups.py"
OPTIMALITY = "solvers/native/test_optimality.py"

FAULTS = (
    # --- estimation ---
    Fault("rows are forgotten twice: the map without its square root", "estimation/forgetting.py",
          "(1 - np.sqrt(1 - taken), taken)", "(taken, taken)", FORGETTING),
    Fault("a direction loses its full share whatever new data bring", "estimation/forgetting.py",
          "np.minimum(gained, share)", "np.full_like(gained, share)", FORGETTING),
    Fault("the Schur complement with the wrong sign", "estimation/forgetting.py",
          "A[np.ix_(rest, places)] = -cho_solve", "A[np.ix_(rest, places)] = cho_solve",
          FORGETTING),
    Fault("the gradient's noise is not mapped with its rows", "estimation/information.py",
          "self.gradient.mapped(row_map.gradient, close)", "iter(())", INFORMATION),
    Fault("the prior's noise is not mapped", "estimation/arrival.py",
          "self._prior_noise = T @ self._prior_noise @ T.T", "pass", ARRIVAL),
    Fault("what is re-estimated begins without noise of its gradient", "estimation/arrival.py",
          "self._prior_noise = self._prior_noise + rows[:, :-1].T @ rows[:, :-1]", "pass",
          ARRIVAL),
    Fault("rows leave the window's sum without their age", "estimation/window.py",
          "-self._decay ** gone.age * self._weights", "-self._weights", INFORMATION),
    Fault("rows enter the old data without their age", "estimation/information.py",
          "self.arrival.decay ** leaving.age", "1.0", INFORMATION),
    Fault("old data grow where they should fade", "estimation/arrival.py",
          "part *= self.decay", "part /= self.decay", INFORMATION),
    Fault("old data keep the weights of the noise they came with", "estimation/information.py",
          "self.arrival.reweigh(self.scale ** 2)", "pass", INFORMATION),
    Fault("a restart keeps the noise", "estimation/information.py",
          "self.noise.restart(noise.stddev, noise.long_run, noise.rows_known, noise.effort)",
          "pass", INFORMATION),
    Fault("a saved cost keeps the noise of what it has forgotten", "estimation/saved_cost.py",
          "B + T @ noise @ T.T - noise)", "B)", INFORMATION),
    Fault("a gap does not reach the gradient", "estimation/information.py",
          "self.gradient.break_off()\n        self.systematic.break_off()\n        if close",
          "self.systematic.break_off()\n        if close", INFORMATION),
    Fault("the threshold of an instant is that of one row", "estimation/robust_weight.py",
          "huber_threshold(int(np.count_nonzero(valid)), *self._threshold)",
          "huber_threshold(1, *self._threshold)",
          "estimation/test_robust_weight.py"),
    Fault("leverage is not bounded", "estimation/sample_check.py", "~(surprise <= INCONSISTENT)",
          "~(surprise <= 1e9)", ESTIMATOR + "::test_one_absurd_sample_does_not_move_the_estimate"),
    Fault("the arm's reaction is added to the vehicle's efforts", "estimation/coupling.py",
          "tau[..., :6] -= ", "tau[..., :6] += ", INFORMATION),
    Fault("a saved covariance counts like independent rows", "estimation/prior_information.py",
          "overlap * root.T @ root", "root.T @ root", INFORMATION),
    Fault("frozen parameters are inflated too", "estimation/prior_information.py",
          "grown = np.where(free, np.sqrt(inflation), 1.0)\n"
          "        covariance = covariance * np.outer(grown, grown)\n        variance",
          "grown = np.sqrt(inflation) * np.ones(free.size)\n"
          "        covariance = covariance * np.outer(grown, grown)\n        variance",
          INFORMATION),
    Fault("low-passed rows count as independent", "model/kernel.py",
          "return float(kernel.sum() ** 2 / (kernel @ kernel))", "return 1.0",
          "model/test_kernel.py"),
    Fault("the low-pass reaches over a gap", "estimation/low_pass.py",
          "self._filled = self._place = 0", "self._place = 0", "estimation/test_low_pass.py"),
    Fault("the covariance of predictions is never refreshed",
          "estimation/estimate_uncertainty.py",
          "information.gradient.covariance is not self._of_rows\n"
          "                or grown > REFRESHED_GROWTH * min(", "False and min(",
          "estimation/test_estimate_uncertainty.py"),
    Fault("the covariance that is saved is an earlier one", "estimation/estimate_uncertainty.py",
          "            self._solved = solved", "            self._solved = None",
          "estimation/test_estimate_uncertainty.py"),
    Fault("rows at rest count for ever", "estimation/row_excitation.py",
          "self._still = np.where(fresh, 0, self._still + valid)",
          "self._still = np.where(fresh, 0, 0)", "estimation/test_row_excitation.py"),
    Fault("any change is believed", "estimation/changes.py",
          "CHANGE_EVIDENCE_NATS = 30.0", "CHANGE_EVIDENCE_NATS = -1e9",
          "estimation/test_changes.py"),
    Fault("what was known is kept with the noise of the change", "estimation/accepted_change.py",
          "information.return_noise(self.noise)", "pass", "estimation/test_accepted_change.py"),
    Fault("a change is judged by the noise that it made", "estimation/changes.py",
          "self._quiet[0] if self._quiet else _noise_of(information)", "_noise_of(information)",
          "estimation/test_changes.py::test_a_change_is_judged_by_the_noise_from_before_it"),
    Fault("a burst of garbage confirms itself", "estimation/changes.py",
          "whole > max(first + CONFIRMED_NATS, *later)", "True",
          "estimation/test_changes.py::test_garbage_that_ends_is_not_believed"),
    Fault("a change waits for a third check", "estimation/changes.py",
          "ceil((CONFIRMING * self", "ceil(((CONFIRMING + 1) * self",
          "estimation/test_changes.py::"
          "test_a_payload_is_found_as_soon_whenever_the_next_check_comes"),
    Fault("a suspected change waits like any other", "estimation/changes.py",
          "self._due -= self._check_ticks // 2", "pass", "estimation/test_changes.py::"
          "test_a_suspected_change_is_checked_for_twice_as_often"),
    Fault("outliers are evidence of a change", "estimation/changes.py",
          "if not cause.is_certain(then):", "if False:",
          "estimation/test_changes.py::test_outliers_that_pass_the_gates_are_no_change"),
    Fault("thrust that is a little off is a failed thruster", "estimation/changes.py",
          " and self.beats_curves(then)", "", "estimation/test_changes.py::"
          "test_a_manoeuvre_whose_thrust_is_a_third_off_is_no_failed_thruster"),
    Fault("a thrust in its dead zone is a failed thruster", "estimation/thruster_hypotheses.py",
          "missing[:, :6] = -change[:, None] * self.allocation", "pass",
          "estimation/test_changes.py::"
          "test_a_thrust_that_enters_its_dead_zone_is_no_failed_thruster"),
    Fault("dead zones scale the thrust", "review/arm_check.py",
          "across = np.concatenate([across, zones], axis=2)", "pass",
          "review/test_arm_check.py::test_thrust_that_its_dead_zone_takes_away_is_no_scale"),
    Fault("joints at rest are exchanged", "review/arm_exchange.py",
          "if moves[here[i]] or moves[here[j]]:", "if True:",
          "review/test_arm_check.py::test_joints_at_rest_are_not_exchanged_with_each_other"),
    Fault("a change since is the arm's mount", "review/review.py",
          "if sample.t < seen.changed_since]", "if True]",
          "review/test_arm_check.py::test_an_arm_is_judged_by_what_came_before_a_change"),
    Fault("two rows outweigh all others", "uncertainty/added_direction.py",
          "valid & (valid.sum(axis=0) > Y.shape[2])", "valid",
          "uncertainty/test_added_direction.py::"
          "test_a_channel_that_fits_exactly_does_not_spoil_the_others"),
    Fault("a pull is another order of the commands", "estimation/changes.py",
          "return (self.beats_pull and ", "return (", "estimation/test_changes.py::"
          "test_another_wiring_must_be_far_likelier_than_a_pull"),
    Fault("a pull may be of any size along an axis that nothing drives",
          "estimation/hypotheses.py", "residual=without_load(rows), weight=weight",
          "residual=without_load(rows)", "estimation/test_changes.py::"
          "test_a_pull_is_no_larger_than_an_axis_that_nothing_drives_allows"),
    Fault("a cause is as simple as any", "estimation/changes.py",
          "(one.preference, one.stddev.size)", "one.preference",
          "estimation/test_changes.py::test_of_causes_that_are_alike_the_simplest_is_accepted"),
    Fault("a channel whose noise is unknown is evidence", "estimation/recent_rows.py",
          "counts = counts & settled", "pass",
          "estimation/test_changes.py::test_a_joint_that_has_hardly_moved_is_no_evidence"),
    Fault("the residuals of a change colour the noise after it", "estimation/information.py",
          "self.gradient.autocovariance.go_on_from(noise.residual_products)", "pass",
          "estimation/test_accepted_change.py"),
    Fault("grown noise costs nothing", "estimation/change_evidence.py",
          "np.outer(self.number + 2, np.log(growth))", "np.outer(self.number, np.log(growth))",
          "estimation/test_change_evidence.py"),
    Fault("products reach back behind an earlier instant",
          "uncertainty/residual_autocovariance.py",
          "self._variances[:] = np.nan\n        self.break_off()",
          "self._variances[:] = np.nan", "uncertainty/test_residual_autocovariance.py"),
    Fault("the next change returns to the noise of this one", "estimation/changes.py",
          "if change is None:      # else", "if True:      # else",
          "estimation/test_changes.py::"
          "test_a_payload_is_found_in_seconds_and_forgotten_when_it_is_put_down"),
    Fault("noise of the motion is evidence of a change", "estimation/recent_rows.py",
          "+ self.by_motion(len(counts)) / self.row", "", "estimation/test_changes.py::"
          "test_what_noise_of_the_motion_explains_is_no_change"),
    Fault("a burst of noise becomes usual", "uncertainty/motion_noise.py",
          "if self._blocks > FIRST else square", "if self._blocks < 0 else square",
          "uncertainty/test_motion_noise.py"),
    Fault("what was known is judged by measurements corrected since", "estimation/changes.py",
          "rows.residual_of(predicted, known.scales, scales)",
          "rows.residual_of(predicted, scales, scales)", "estimation/test_changes.py::"
          "test_what_was_known_is_restored_with_its_factors_on_measurements"),
    Fault("a burst of changes displaces what was known before it", "estimation/changes.py",
          "del self._known[-2]", "del self._known[-1]",
          "estimation/test_changes.py::test_the_oldest_knowledge_is_kept"),
    Fault("another driver's joints stand for the own", "signals/decode/readings.py",
          "self._joints_received > self._joints.timeout", "self._joints_received > 1e9",
          "signals/decode/test_readings.py"),
    Fault("the next value enters a spike's scale", "signals/gates/spikes.py",
          "self._scale.add(curvature)", "self._scale.add(size)", "signals/gates/test_spikes.py"),
    Fault("another robot's factors are kept", "estimation/accepted_change.py",
          "followed is None or not scales.any", "True", "estimation/test_changes.py::"
          "test_a_start_from_another_robots_estimate_is_named_and_given_up"),
    Fault("another robot's file still counts", "estimation/provenance.py",
          "if not everything:", "if True:",
          "estimation/test_changes.py::"
          "test_a_start_from_another_robots_estimate_is_named_and_given_up"),
    Fault("a hypothesis pays nothing for its parameters", "estimation/change_evidence.py",
          "- np.log(L.diagonal()).sum()", "", "estimation/test_changes.py"),
    Fault("a stamp that comes twice is a jump of time", "estimation/estimator.py",
          "SAME_INSTANT = 0.5", "SAME_INSTANT = 0.0",
          f"{ESTIMATOR}::test_a_stamp_that_comes_twice_is_refused_and_costs_nothing"),
    Fault("the first success does not end a row of failures", "estimation/progress.py",
          "self._solve_age, self._failed_in_a_row = 0.0, 0", "self._solve_age = 0.0",
          "estimation/test_restarts.py"),
    Fault("a restart forgets that there was no row yet", "estimation/estimator.py",
          "self._low_pass.reset()\n        self._last_t",
          "pass\n        self._last_t",
          "estimation/test_restarts.py"),
    Fault("the least share of valid instants is ignored", "estimation/low_pass.py",
          "(share >= self.minimum_share) & valid", "valid.copy()", "estimation/test_low_pass.py"),
    Fault("the window keeps the rounding of rows that have left", "estimation/window.py",
          "elif self._tick % REFORM == 0:", "elif False:", "estimation/test_window.py"),
    Fault("rows of a stack leave as inliers", "estimation/robust_weight.py",
          "self._of_stack = float(huber_weight(norms, rho)[0])", "self._of_stack = 1.0",
          "estimation/test_robust_weight.py"),
    Fault("an arm does not drive the vehicle", "estimation/row_excitation.py",
          "(change ** 2 + varied_by_arm)", "(change ** 2)", "estimation/test_row_excitation.py"),
    Fault("the variance of frozen parameters remembers for ever", "estimation/frozen_variance.py",
          "np.minimum(self._rows + learnt, self._memory)", "self._rows + learnt",
          "estimation/test_frozen_variance.py"),
    Fault("the noise of a fading prior fades like its information", "estimation/arrival.py",
          "self._share ** 2 * self._given", "self._share * self._given", ARRIVAL),
    Fault("a fading prior has no floor", "estimation/arrival.py",
          "max(self._share * self.decay, self._lowest)", "self._share * self.decay", ARRIVAL),
    Fault("what wanders gains half of its variance", "estimation/forgetting.py",
          "-np.expm1(-2 * rows / self.rows)", "-np.expm1(-rows / self.rows)", FORGETTING),
    Fault("all doubt of a prediction is unlearnt", "estimation/prediction.py",
          "of_rows.diagonal() - covariance.by_noise(row.Y)", "of_rows.diagonal()",
          "estimation/test_prediction.py"),
    Fault("a prediction leaves out the known load", "estimation/prediction.py",
          "predicted = row.Y @ pi + row.tau_known", "predicted = row.Y @ pi",
          "estimation/test_prediction.py"),
    Fault("a parameter near zero is held by its size", "estimation/increment_arrival.py",
          "np.maximum(np.abs(pi), self._smallest)", "np.maximum(np.abs(pi), 1e-12)",
          "estimation/test_increment_arrival.py"),
    Fault("a likelihood ratio without its half", "estimation/change_evidence.py",
          "return 0.5 * float(np.sum(rows.weight", "return float(np.sum(rows.weight",
          "estimation/test_change_evidence.py"),
    Fault("the newest row is not among the recent ones", "estimation/recent_rows.py",
          "return (self._next - rows + np.arange", "return (self._next - rows - 1 + np.arange",
          "estimation/test_recent_rows.py"),
    Fault("an estimate is as certain as when it had learnt the rows", "estimation/recent_rows.py",
          "np.maximum(parameter_variance, between)", "parameter_variance",
          "estimation/test_recent_rows.py"),
    Fault("a change is judged by the estimate that absorbs it", "estimation/recent_rows.py",
          "self._pi[(self._next - rows) % self._length]",
          "self._pi[(self._next - 1) % self._length]", "estimation/test_recent_rows.py"),
    Fault("a jump back keeps the window", "estimation/estimator.py",
          "close_window=not 0 < passed < self.config.filter.gap",
          "close_window=not passed < self.config.filter.gap", "estimation/test_restarts.py"),
    Fault("a recovery keeps the rows watched for a change", "estimation/estimator.py",
          "self.knowledge.begin_again()\n        self._robot_changes.break_off()",
          "self.knowledge.begin_again()", "estimation/test_restarts.py"),
    Fault("rows from before and after a pause are mixed", "estimation/estimator.py",
          "if learn and not self.learn:", "if False:", "estimation/test_restarts.py"),
    Fault("a revised estimate is still known from the file", "estimation/provenance.py",
          'word if word == "frozen" or k not in restarted else "prior"', "word",
          "estimation/test_robot_knowledge.py"),
    Fault("a robot that is back has no file", "estimation/robot_knowledge.py",
          "if restored is not None:", "if False:", "estimation/test_robot_knowledge.py"),
    Fault("a recovery forgets how residuals follow one another", "estimation/robot_knowledge.py",
          "information.gradient.autocovariance.products, rows)", "None, rows)",
          "estimation/test_robot_knowledge.py"),
    Fault("a backup saved in 1970 is the oldest", "estimation/saved_state.py",
          "not newest or name > newest[0].name", "True", "estimation/test_saved_state.py"),
    Fault("what is seen at rest alone is no noise later", "uncertainty/channel_noise.py",
          "np.maximum(self._lasting.stddev, self._any_time.stddev)", "self._lasting.stddev",
          "uncertainty/test_channel_noise.py"),
    Fault("a sample may be described by NaN", "estimation/sample_check.py",
          "if not np.isfinite(value).all():", "if False:",
          ESTIMATOR + "::test_a_sample_of_another_form_is_refused"),
    Fault("an estimate without a covariance ends the run", "estimation/estimate_uncertainty.py",
          "except np.linalg.LinAlgError as error:", "except ZeroDivisionError as error:",
          ESTIMATOR + "::test_without_gates_an_absurd_sample_ends_in_recovery"),
    # --- uncertainty ---
    Fault("a gap does not reach the autocovariance", "uncertainty/gradient_covariance.py",
          "self.autocovariance.break_off()", "pass",
          f"{INFORMATION} uncertainty/test_gradient_covariance.py"),
    Fault("weights of rows enter their noise once", "uncertainty/gradient_covariance.py",
          "weights[self._channel] ** 2", "weights[self._channel]",
          "uncertainty/test_gradient_covariance.py"),
    Fault("the gradient's noise fades like its rows", "uncertainty/gradient_covariance.py",
          "self._decay ** (2 * len(self._slices))", "self._decay ** len(self._slices)",
          "uncertainty/test_gradient_covariance.py"),
    Fault("a batch counts for one tick each", "uncertainty/gradient_covariance.py",
          "np.matmul(LAG_STRIDE * z, z.transpose(0, 2, 1))", "np.matmul(z, z.transpose(0, 2, 1))",
          "uncertainty/test_gradient_covariance.py"),
    Fault("residuals before a gap are neighbours of those after it",
          "uncertainty/residual_autocovariance.py", "self._ring[:] = 0.0", "pass",
          "uncertainty/test_residual_autocovariance.py"),
    Fault("a bound narrows by another law", "uncertainty/constrained_inverse.py",
          "1 + z ** 2 - z * hazard", "1 / (1 + z ** 2)",
          "uncertainty/test_constraints_and_frozen.py"),
    Fault("an error of frozen values moves the estimate the wrong way",
          "uncertainty/parameter_covariance.py", "self._J = -inverse.times",
          "self._J = inverse.times",
          "uncertainty/test_constraints_and_frozen.py"),
    Fault("the paper's factor without its one", "uncertainty/parameter_covariance.py",
          "(2 / self._alpha - 1)", "(2 / self._alpha)", "uncertainty/test_parameter_covariance.py"),
    Fault("clipping narrows what was measured", "uncertainty/noise_scale.py",
          "WINSOR_MEAN = 0.9205", "WINSOR_MEAN = 1.0", "uncertainty/test_noise_scale.py"),
    Fault("the scale of all residuals is solved for in the wrong bin",
          "uncertainty/noise_scale.py", "np.flatnonzero(excess >= 0)[-1]",
          "np.flatnonzero(excess >= 0)[0]", "uncertainty/test_noise_scale.py"),
    Fault("noise of earlier rows takes a share of a residual", "uncertainty/channel_noise.py",
          "unlearnt = parameter_variance if unlearnt is None else unlearnt",
          "unlearnt = parameter_variance", "uncertainty/test_channel_noise.py"),
    Fault("a noise estimated too large once stays", "estimation/information.py",
          "(prediction.unlearnt_variance <", "(prediction.parameter_variance <", INFORMATION),
    Fault("new residuals outweigh the old ones", "uncertainty/noise_scale.py",
          "self._histogram *= (1 - rate)[:, None]", "self._histogram *= rate[:, None]",
          "uncertainty/test_noise_scale.py"),
    Fault("intervals do not follow their coverage", "uncertainty/channel_noise.py",
          "((share > Z95) - (1 - COVERED))", "((share > Z95) - 0.5)",
          "uncertainty/test_channel_noise.py"),
    # --- solvers ---
    Fault("the certificate is half of what it must be", "solvers/native/robust_cost.py",
          "QUARTER = 0.25", "QUARTER = 0.125", CERTIFICATE),
    Fault("bounds and their multipliers are left out of the certificate",
          "solvers/native/optimality.py", "abs(float(z @ cones.slacks(slope.x))) + product",
          "product", CERTIFICATE),
    Fault("inequalities and their multipliers are left out of the certificate",
          "solvers/native/optimality.py",
          "product = abs(float(Z.ravel() @ cones.matrices(slope.x).ravel()))", "product = 0.0",
          CERTIFICATE),
    Fault("the local bound holds everywhere", "solvers/native/huber_groups.py",
          "(ENTER - NORM_ROUNDING) * root - gone", "1e9", "solvers/native/test_local_bound.py"),
    Fault("a rise of the cost inside the cones is not in the gap",
          "solvers/native/interior_point.py",
          "gap = bound + max(inside.value - slope.value, 0.0)", "gap = 1e-3 * bound", CERTIFICATE),
    Fault("the last iterate answers, not the best", "solvers/native/interior_point.py",
          "nearly is None or bound < nearly[0]", "True", "estimation/test_random_robots.py"),
    Fault("the curvature of the constraints counts half", "solvers/native/optimality.py",
          "cones.scattered(curvature + curvature.transpose(0, 2, 1))",
          "cones.scattered(curvature)", OPTIMALITY),
    Fault("an off-diagonal condition counts once", "solvers/native/faces.py",
          "np.where(i == j, 1.0, 2.0)", "np.where(i == j, 1.0, 1.0)", OPTIMALITY),
    Fault("the curvature of outliers counts half", "solvers/native/huber_groups.py",
          "2 * outliers.rho[chosen]", "outliers.rho[chosen]", GROUPS),
    Fault("rows are not weighed anew when the noise changes", "solvers/native/huber_groups.py",
          "bool((problem.scale == self._scale).all())", "True", GROUPS),
    Fault("masked rows count in the threshold", "solvers/native/huber_groups.py",
          "problem.thresholds(self._rows_a_group)[counts]",
          "problem.thresholds(self._rows_a_group)[0 * counts + self._rows_a_group]",
          GROUPS),
    Fault("outliers keep their weight while they age", "solvers/native/huber_groups.py",
          "outliers.fade(problem.weight[stays] / self._slot_weight[stays])", "pass",
          "solvers/native/test_aging_groups.py"),
    Fault("no step asks for a refresh", "solvers/native/huber_groups.py",
          "< (ENTER - NORM_ROUNDING) * root", "< 1e9", GROUPS),
    Fault("cones are told apart by what is free alone", "solvers/native/cones.py",
          "physical is self.physical", "True", f"{CONES} solvers/test_solver_room.py"),
    Fault("cones do not follow frozen values", "solvers/native/cones.py",
          "np.array_equal(pi[~free], self._frozen_pi)", "True",
          f"{CONES} solvers/test_solver_room.py"),
    Fault("of tied parameters one counts", "solvers/native/cones.py",
          "self.basis[k, q, :d, :d] += at.scale[variable] * matrix",
          "self.basis[k, q, :d, :d] = at.scale[variable] * matrix", CONES),
    Fault("of two bounds of a variable one counts", "solvers/native/cones.py",
          "np.add.at(pulled, self.places, self.sign * z)", "pulled[self.places] += self.sign * z",
          CONES),
    Fault("a deadline never passes", "solvers/native/answer.py",
          "return time.perf_counter() > self._end", "return False", "solvers/test_solver_room.py"),
    Fault("Clarabel is not told of the deadline", "solvers/clarabel_solver.py",
          "settings.time_limit = seconds", "pass", "solvers/test_clarabel_deadline.py"),
    Fault("a lost licence is an error like any other", "solvers/guarded.py",
          'if error.status != "licence" or self.substitute is None:', "if True:",
          "solvers/test_solver_room.py"),
    Fault("an expired licence is called refused", "solvers/mosek_licence.py",
          "if name in LICENCE_SENTENCES:", "if False:", "solvers/test_mosek.py"),
    Fault("one failed guess after the other is deferred", "solvers/native/solver.py",
          "if active is None or self.warm.deferred:", "if active is None:",
          "solvers/test_solvers.py"),
    Fault("a tick with a deadline pays for two methods", "solvers/native/solver.py",
          "if not (near or self.clock.limited):", "if not near:",
          "solvers/test_solvers.py"),
    Fault("lambda^age is left out of the norm of the stack", "solvers/problem.py",
          'np.einsum("k,kc,kc->", self.weight, residuals, residuals)',
          'np.einsum("kc,kc->", residuals, residuals)', "solvers/test_problem.py"),
    Fault("kept curvature does not fade", "solvers/native/outlier_set.py",
          "self.curvature *= factor", "pass", "solvers/native/test_aging_groups.py"),
    Fault("rounding is curvature", "solvers/native/robust_cost.py",
          "scaled.flat[::len(r) + 1] -= UNIT_ROUNDING * len(r)", "pass",
          "solvers/native/test_local_bound.py"),
    Fault("a panic of Clarabel ends the node", "solvers/clarabel_solver.py",
          "if not is_panic(error):", "if True:",
          "solvers/test_solver_room.py::test_a_panic_of_clarabel_is_a_failed_solve"),
    Fault("an answer with too large a gap is not improved", "solvers/condensed.py",
          "found.gap < NEAR_OPTIMAL_GAP or about is not problem", "True",
          "solvers/test_solver_room.py"),
    Fault("a panic below CVXPY ends the node", "solvers/cvxpy_solver.py",
          "if is_panic(error):", "if False:",
          "solvers/test_solver_room.py::test_a_panic_below_cvxpy_is_a_failed_solve"),
    Fault("a substitute has the whole deadline once more", "solvers/guarded.py",
          "self._solve(problem, clock.left)", "self._solve(problem, deadline)",
          "solvers/test_solver_room.py"),
    # --- signals ---
    Fault("a rate that has just risen is taken for a second node",
          "signals/decode/stamp_intervals.py",
          "risen and not _are_even(list(self._of_stamps)[-JITTER_INTERVALS // 4:])", "risen",
          "signals/decode/test_sensor_clock.py"),
    Fault("a settling attitude is concluded although neither sensor fits",
          "signals/filters/settling.py",
          " and worse > by_gyro - expected", "", "signals/filters/test_settling.py"),
    Fault("a drift keeps the bias that it has already spoilt", "signals/filters/settling.py",
          "bias = self.bias if self.drifts else", "bias =", "signals/filters/test_settling.py"),
    Fault("an attitude that is upside down settles", "signals/filters/settling.py",
          "upright = float((rest[-1] - rest[0]) @ mean) > 0.0", "upright = True",
          "signals/filters/test_settling.py"),
    Fault("velocities of a wrong scale blame the attitude", "signals/filters/settling.py",
          "0.0 if self.drifts else VELOCITY_SCALE_STDDEV", "0.0",
          "signals/filters/test_settling.py"),
    Fault("the bias before a drift is as uncertain as at first", "signals/filters/settling.py",
          "self.bias_variance = rows[0, BIAS_VARIANCE].item()", "pass",
          "signals/filters/test_settling.py"),
    Fault("a reversed thruster is said to have a rope in it", "estimation/accepted_change.py",
          "if (np.abs(self.share) > REVERSED_SHARE).any()", "if False",
          "estimation/test_accepted_change.py"),
    Fault("a thruster may lose half more than all of its thrust", "estimation/accepted_change.py",
          "forward = (factor >= -CURVE_ERROR)", "forward = (factor >= -1.0)",
          "estimation/test_accepted_change.py"),
    Fault("what cannot have happened is named beside what explains it as well",
          "estimation/changes.py", "        if len(alike) > 1:\n", "        if False:\n",
          "estimation/test_changes.py"),
    Fault("a delay that noise hides counts as excluded", "signals/checks/dvl_check.py",
          "excluded = lag + Z999 * fit.errors[12] < 2 * MIN_DVL_LAG", "excluded = True",
          "signals/checks/test_consistency.py"),
    Fault("a delay that no check excluded has begun under way", "signals/checks/frames.py",
          "if finding.setting in self._open.get(name, ()):", "if False:",
          "signals/checks/test_late_faults.py"),
    Fault("errors of the predictions are a scale", "uncertainty/trust_cause.py",
          "smaller = (shared > 0) & (slope < 1)", "smaller = slope < -1e9",
          "uncertainty/test_trust_cause.py"),
    Fault("a jump of the bias that the gate follows is not told",
          "signals/filters/velocity_offset.py",
          "self.jumped = before", "pass", "signals/filters/test_velocity_offset.py"),
    Fault("a bias that has jumped is as certain as before", "signals/filters/velocity_offset.py",
          "            self._know(self.bias, BIAS_STDDEV ** 2)", "            pass",
          "signals/filters/test_velocity_offset.py"),
    Fault("a jump of the bias is taken for a fast walk", "signals/filters/velocity_offset.py",
          "if not self.contradictions.is_open:\n            self._choose",
          "if True:\n            self._choose",
          "signals/filters/test_velocity_offset.py"),
    Fault("a row of a bias that has just jumped counts", "signals/filters/dvl_fusion.py",
          "if self.offset.contradictions.cover(t, t):", "if False:",
          "signals/filters/test_inertial.py"),
    Fault("a bias that wanders is followed as one that hardly walks",
          "signals/filters/velocity_offset.py",
          "if score >= max(scores) - FASTER_LOG_ODDS", "if True",
          "signals/filters/test_velocity_offset.py"),
    Fault("an attitude that wanders at any time settles", "signals/filters/settling.py",
          "math.hypot(error, wander)", "error", "signals/filters/test_settling.py"),
    Fault("a joint that holds its load is stalled", "signals/filters/joints.py",
          "STALL_EFFORT = 0.9", "STALL_EFFORT = 0.5", "signals/filters/test_joint_filter.py"),
    Fault("a second sensor widens the scale of the first", "signals/gates/innovations.py",
          "if not self._crowded:\n            for error", "if True:\n            for error",
          "signals/gates/test_innovations.py"),
    Fault("a shaken stretch determines the thrusters' delay", "signals/checks/delay.py",
          "for _ in range(LEVERAGE_STEPS):", "for _ in range(0):",
          "signals/checks/test_delay.py"),
    Fault("a delay that half of the time denies is told", "signals/checks/delay.py",
          "if found is None or not found.steady:", "if found is None:",
          "signals/checks/test_delay.py"),
    Fault("one regression alone tells of a delay", "signals/checks/delay.py",
          "min(abs(least), abs(reverse)) if least * reverse > 0.0 else 0.0", "abs(least)",
          "signals/checks/test_delay.py"),
    Fault("a delay of which little is certain puts the commands off", "signals/checks/delay.py",
          "2.0 * self._certain < abs(found.delay)", "False", "signals/checks/test_delay.py"),
    Fault("a delay has been there from the start", "signals/checks/delay.py",
          "self._began = self._beginning(self._rows, recent)", "pass",
          "signals/checks/test_delay.py"),
    Fault("commands that act later hurry the samples", "signals/replay.py",
          "max([0.0, *waits])", "max(waits, default=0.0)", "signals/test_replay.py"),
    Fault("the checks take a shaken IMU's integral for exact", "signals/filters/dvl_fusion.py",
          "self._walk() * HALF_BRIDGE > self._stddev", "False",
          "signals/checks/test_noisy_imu.py"),
    Fault("a rotation is judged as a figure with a sign", "signals/checks/dvl_check.py",
          "if angle - CERTAIN_SIZE * error < MIN_TILT", "if angle - Z999 * error < MIN_TILT",
          "signals/checks/test_late_faults.py"),
    Fault("messages of a batch keep the stamp of its arrival", "signals/decode/stamp_intervals.py",
          "min(max(after, self._batch_before), stamp)", "stamp",
          "signals/decode/test_sensor_clock.py"),
    Fault("messages of a batch are dated before the one before",
          "signals/decode/stamp_intervals.py",
          "min(max(after, self._batch_before), stamp)", "min(after, stamp)",
          "signals/decode/test_sensor_clock.py"),
    Fault("a drifting clock keeps the delay that it drifted to", "signals/decode/clocks.py",
          "else median((first, last, usual))", "else last", "signals/decode/test_clock_drift.py"),
    Fault("times of reception tell of batches", "signals/decode/stamp_intervals.py",
          "if of_stamps:", "if True:", "signals/decode/test_stamp_intervals.py"),
    Fault("velocities without a force correct an integral", "signals/filters/velocity_use.py",
          "(BesideForce if config.imu.measures_force else WithoutForce)", "BesideForce",
          "signals/filters/test_velocity_use.py"),
    Fault("a correction is applied at once", "signals/decode/sensor_clock.py",
          "else min(max(gap, -most), most)", "else gap",
          "signals/decode/test_sensor_clock.py"),
    Fault("a drifting clock waits for the next comparison", "signals/decode/sensor_clock.py",
          " + self._growth * (at - self._right_at)", "", "signals/decode/test_clocks.py"),
    Fault("the first messages of a burst are not waited for", "signals/decode/sensor_clock.py",
          "max(difference, most))", "most)", "signals/decode/test_sensor_clock.py"),
    Fault("an orientation that repeats the last one counts again",
          "signals/filters/attitude_source.py", "self._repeats(t, published):", "False:",
          "signals/filters/test_attitude_source.py"),
    Fault("an orientation that comes slowly is frozen", "signals/gates/frozen.py",
          "not self._attitudes.is_due(t, OVERDUE_INTERVALS)", "False",
          "signals/gates/test_frozen.py"),
    Fault("two publishers are a batch", "signals/decode/stamp_intervals.py",
          "self._even > RATE_RATIO * mean", "False", "signals/decode/test_sensor_clock.py"),
    Fault("pairs whose values alternate are a batch", "signals/decode/stamp_intervals.py",
          "if risen or self.alternates or", "if risen or", "signals/decode/test_sensor_clock.py"),
    Fault("two nodes whose stamps have been spread are one", "signals/gates/two_publishers.py",
          "elif spread or", "elif", "signals/gates/test_two_publishers.py"),
    Fault("a law of thrust is believed for a few stretches of time",
          "signals/checks/response_check.py", "as_set - best.cost < certain + doubt",
          "as_set - best.cost < certain", "signals/checks/test_response_check.py"),
    Fault("wrong velocities judge the depth", "signals/checks/depth_check.py",
          " and fit.blames_dvl(of_imu)", " and False",
          "signals/checks/test_consistency.py"),
    Fault("wrong values that wander across the truth are right", "signals/gates/innovations.py",
          "if self._may_begin(back) and", "if", "signals/gates/test_innovations.py"),
    Fault("a second jump brings nothing back", "signals/gates/innovations.py",
          "if self._jump and not back.jumped:", "if self._jump:",
          "signals/gates/test_innovations.py"),
    Fault("a line is begun on smooth motion", "signals/gates/innovations.py",
          "and spread < max(DRIFT_FLOORS * self._floor, WHITE * of_noise)", "",
          "signals/gates/test_innovations.py"),
    Fault("a delay that wanders is a drift", "signals/decode/clock_drift.py",
          "certain and abs(rate)", "abs(rate)", "signals/decode/test_clock_drift.py"),
    Fault("a drift moves the offset to the middle of its window", "signals/decode/sensor_clock.py",
          "b.least + gained for", "b.least for",
          "signals/decode/test_clock_drift.py"),
    Fault("copies of a message are measurements", "signals/decode/shared_stamps.py",
          " and not copy", "", "signals/decode/test_shared_stamps.py"),
    Fault("parts of a measurement have no time", "signals/decode/shared_stamps.py",
          "s for s, same in self._last if same", "s for s, same in self._last",
          "signals/decode/test_shared_stamps.py"),
    Fault("a wrong unit hides wrong signs", "signals/checks/joint_check.py",
          "effort * factors if", "effort if", "signals/checks/test_joint_check.py"),
    Fault("efforts whose unit changed are compared with the speed", "signals/checks/joint_check.py",
          "if ((at_first != 1.0) == (factors != 1.0)).all() else effort", "",
          "signals/checks/test_joint_check.py"),
    Fault("a likelier wiring that is not near enough is not thought of",
          "signals/checks/thruster_check.py",
          "found = sorted(wirings(allocation, fit),",
          "found = sorted((one for one in wirings(allocation, fit)\n"
          "                    if one.certain < 46.0 or one.deviation.squared < 9.0),",
          "signals/checks/test_thruster_check.py"),
    Fault("orders that are nearly as likely as the best one are not thought of",
          "signals/checks/wirings.py", "if total < best + certain_gain(1))]",
          "if total < best)]", "signals/checks/test_thruster_check.py"),
    Fault("the IMU is turned if that fits better, however badly",
          "signals/checks/thruster_check.py",
          "min(as_dvl - certain_gain(1), explained(fits[1]))", "as_dvl - certain_gain(1)",
          "signals/checks/test_consistency.py"),
    Fault("an altitude that is not known is near the floor", "signals/decode/decoder.py",
          "altitude if altitude > 0.0 else math.nan", "altitude",
          "signals/filters/test_altitude.py"),
    Fault("a check with fewer data withdraws a finding", "signals/checks/frames.py",
          "all(map(ge, windows, self._found_in.get(name, windows)))", "True",
          "signals/checks/test_late_faults.py"),
    Fault("a velocity from a gap of the IMU is used", "signals/filters/dvl_fusion.py",
          " or t < self._gap_end", "", "signals/filters/test_inertial.py"),
    Fault("a mixture of two mounts is a mount", "signals/checks/frames.py",
          "cuts = [turned_at]", "pass", "signals/checks/test_late_faults.py"),
    Fault("thrusters are judged by the DVL alone", "signals/checks/suite.py",
          'logs["dvl"] = fused(rows, place)', "pass",
          "signals/checks/test_late_faults.py"),
    Fault("thirty seconds of a slow DVL judge no thruster", "signals/checks/thruster_windows.py",
          "MIN_THRUST_WINDOWS * lag", "10 * MIN_THRUST_WINDOWS",
          "signals/checks/test_consistency.py"),
    Fault("a lag of the DVL is fitted to first order", "signals/checks/velocity_map.py",
          "then = log.earlier(lag)", "then = log", "signals/checks/test_consistency.py"),
    Fault("a fault is as old as its confirmation", "signals/checks/frames.py",
          "first_seen = self._begin + self._since[finding.setting][0]", "first_seen = t",
          "signals/checks/test_late_faults.py"),
    # --- model ---
    Fault("a factor of zero is used", "model/scales.py",
          "LEAST_CORRECTION <= value", "0.0 <= value", "model/test_scales.py"),
    Fault("thrusters have no largest factor", "model/scales.py",
          "_is_number(one) and abs(one) <= LARGEST_CORRECTION", "_is_number(one)",
          "model/test_scales.py"),
    # --- simulation ---
    Fault("joint friction from one Newton step", "simulation/physics.py",
          "for _ in range(FRICTION_ROUNDS):", "for _ in range(1):", "simulation/test_physics.py"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen faults; returns 0 if every one is caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", help="only the faults of this folder of the package")
    parser.add_argument("--only", metavar="WORD", help="only faults whose name contains WORD")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="begin after N faults")
    parser.add_argument("--source", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--list", action="store_true", help="print the table and end")
    options = parser.parse_args(arguments)
    chosen = [fault for fault in FAULTS if options.room in (None, fault.room)
              and (options.only or "") in fault.name][options.skip:]
    if options.list:
        print("\n".join(f"{fault.file:<42}{fault.name}" for fault in chosen))
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in (PACKAGE, "test", "config"):
            shutil.copytree(options.source / part, Path(folder) / part,
                            ignore=shutil.ignore_patterns("__pycache__"))
        for fault in chosen:
            begin = time.perf_counter()
            ended = run(fault, Path(folder))
            missed += not ended.startswith("caught")
            print(f"{ended:<44}{time.perf_counter() - begin:>5.0f} s  {fault.room}: {fault.name}",
                  flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults caught")
    return int(missed > 0)


def run(fault: Fault, folder: Path) -> str:
    """'caught by <test>', 'missed', or why the fault could not be tried; restores the folder."""
    file = folder / PACKAGE / fault.file
    right = file.read_text()
    if right.count(fault.old) != 1:
        return f"NOT TRIED: the text is there {right.count(fault.old)} times"
    file.write_text(right.replace(fault.old, fault.new))
    try:
        return verdict(fault, folder)
    finally:
        file.write_text(right)


def verdict(fault: Fault, folder: Path) -> str:
    """The result of the tests with the fault in place."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no",
               "-k", f"not {SLOW}",
               *(f"test/{test}" for test in fault.tests.split())]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                   "UVMS_SHARED": os.environ.get("UVMS_SHARED", str(ROOT.parent / "shared"))}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"caught: no end within {LIMIT} s"
    if done.returncode == 0:
        return "MISSED"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode != 1 or not failed:
        return f"NOT TRIED: pytest ended with {done.returncode}"
    return "caught by " + failed[0].split("::")[-1].split(" ")[0].split("[")[0][:34]


if __name__ == "__main__":
    sys.exit(main())
