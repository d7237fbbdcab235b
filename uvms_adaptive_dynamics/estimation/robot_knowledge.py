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

"""What is known of the robot: the present estimate, the information behind it, its uncertainty, and
where its values come from.

The estimator decides when this knowledge changes; each verb here changes all of it consistently
(docs/mathematics.md, "Restart from a saved estimate" and "Frozen parameters")."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..config import Config
from ..model.arguments import read_only
from ..model.covariance import semidefinite
from ..model.lacking_terms import LackingTerms
from ..model.parameter_set import ParameterSet
from ..model.physical_set import PhysicalSet
from ..model.prior import prior_stddev
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..model.scales import Scales
from ..solvers.problem import HorizonProblem
from ..uncertainty.channel_noise import NoiseStart
from ..uncertainty.identifiability import Identifiability, identifiability
from ..uncertainty.null_space import directions
from ..uncertainty.parameter_flags import at_least
from ..uncertainty.parameter_intervals import parameter_intervals
from .estimate_uncertainty import EstimateUncertainty, StatedUncertainty
from .free_set import FreeSet
from .information import InformationState
from .learned import known_directions, known_rows, learned_entries
from .low_pass import RowFilter
from .origin import Origin
from .prediction import parameter_stddev
from .prior_information import PriorInformation, prior_information
from .provenance import Provenance
from .saved_cost import cost_to_save


class RobotKnowledge:
    """The present estimate of a robot's parameters and all that describes it.

    pi (p,): the estimate, read-only; solved: whether a solve has succeeded since the start;
    provenance: what the estimate has come from. information, uncertainty, free_set: the parts, to
    be changed by the verbs of this class where there is one. Call `restart` before anything else.
    """

    pi: np.ndarray
    solved: bool
    provenance: Provenance

    def __init__(self, config: Config, robot: RobotModel, physical: PhysicalSet,
                 low_pass: RowFilter, presumed: np.ndarray):
        """low_pass: that of the rows; presumed (p,): typical parameters of such a robot."""
        self._config, self._robot, self._table = config, robot, robot.table
        self._physical, self._overlap = physical, low_pass.correlation_length
        self.free_set = FreeSet(robot.table, config.estimation.frozen)
        self.information = InformationState(config, physical, low_pass.kernel,
                                            robot.default_noise(config), presumed,
                                            LackingTerms(config, robot))
        self.uncertainty = EstimateUncertainty(config, physical, self.information, self.free_set)

    # --- changes ----------------------------------------------------------------------------------

    def restart(self, origin: Origin, adapt_intervals: bool) -> None:
        """Start again from a prior or a saved estimate, and from the width of its intervals if they
        adapt. If that raises, nothing has changed."""
        saved = origin.saved
        noise = NoiseStart(saved.noise_stddev, saved.row_noise_stddev, origin.rows_known,
                           origin.efforts, origin.interval_factors if adapt_intervals else None)
        self.information.restart(self._information_of(saved, origin.values), noise,
                                 saved.systematic, saved.residual_products)
        prior = origin.prior(self._robot)
        self.pi, self.solved = origin.values, False
        self.provenance = Provenance(prior, prior.known_from, origin.spans)
        known = self.information.prior
        self.free_set.restart(known.covariance)
        self._hold()
        self.uncertainty.restart(known.covariance, saved.systematic)

    def begin_again(self) -> None:
        """Drop all data and continue from the present estimate with its covariance and noise."""
        kept = self.uncertainty.keep()
        information, rows = self.information, self.information.rows_learned
        # (`prior_inflation` is for a file: between two dives the robot may have changed)
        known = PriorInformation.from_saved(
            self.pi, kept.covariance.matrix,
            prior_stddev(self.pi, self._robot, self._config.estimation.prior_stddev),
            self._overlap, 1.0, self.free_set.allowed)
        noise = NoiseStart(information.noise.lasting_stddev, information.noise.long_run,
                           (known_rows(self.prior) + rows) / self._table.channels,
                           information.noise.effort)
        information.restart(known, noise, kept.systematic,
                            information.gradient.autocovariance.products, rows)

    def note_data(self, sample: Sample) -> float | None:
        """Note a sample to learn from; the time [s] since which its data have been learnt before,
        None if they are new."""
        return self.provenance.spans.add(sample)

    def accept(self, problem: HorizonProblem, pi: np.ndarray) -> None:
        """Adopt a problem's solution pi (p,). Raises SolverError, with nothing changed, if it would
        have no covariance."""
        self.uncertainty.update(problem, self.pi, pi)
        self.pi = read_only(pi)
        self.information.note_solution(problem, pi)
        self.solved = True

    def revise(self, pi: np.ndarray, restarted: np.ndarray,
               restored: Provenance | None = None) -> None:
        """Go on from other values pi (p,), after a change of the robot that has revised the
        information, or a return to an earlier instant; restarted (k,): places of parameters that
        are estimated from the start; restored: the provenance at that instant.

        What the starting file says about restarted parameters is dropped. If they are all that are
        estimated, what it says about its data is dropped too: those were another robot's."""
        self.pi = pi
        if restored is not None:
            self.provenance = restored
        if restarted.size:
            everything = bool(np.isin(np.flatnonzero(self.free), restarted).all())
            self.provenance = self.provenance.without(restarted, everything)

    def set_free(self, free: np.ndarray | Iterable[str]) -> None:
        """See `Estimator.set_free`; in force after `apply_free_set`."""
        wanted = self.free_set.wanted(free)
        if not np.array_equal(wanted, self.free):
            self.free_set.change(wanted, self.covariance, self.known_from())

    def apply_free_set(self) -> None:
        """Put the set of free parameters in force. It is applied before a solve and not by
        `set_free`, so that freezing and freeing between two solves has no effect."""
        self.free_set.settle()
        self.uncertainty.note_free_set()
        self._hold()

    def _hold(self) -> None:
        if (held := self.free_set.held).any() or self.information.holds:
            self.information.hold(held, self.free_set.held_covariance())

    def _information_of(self, saved: ParameterSet, values: np.ndarray) -> PriorInformation:
        """The information of a prior or a saved estimate with these values (p,)."""
        return prior_information(saved, values, self._config.estimation, self._robot,
                                 self.free_set.allowed, self._overlap)

    # --- queries ----------------------------------------------------------------------------------

    @property
    def prior(self) -> ParameterSet:
        """What the estimate started from."""
        return self.provenance.prior

    @property
    def free(self) -> np.ndarray:
        """(p,) bool: parameters estimated now, read-only."""
        return self.free_set.free

    @property
    def recent(self) -> StatedUncertainty:
        """Of an estimate that may be some ticks old, which predictions use; see
        `EstimateUncertainty`."""
        return self.uncertainty.recent

    @property
    def covariance(self) -> np.ndarray:
        """(p, p) of the present estimate, read-only."""
        return self.uncertainty.present().covariance.matrix

    def known_from(self) -> tuple[str, ...]:
        """Where each parameter's value comes from: 'measured', 'weak', 'prior' or 'frozen'
        (docs/uncertainty.md)."""
        words, solved = self.uncertainty.known_from(self.pi)
        return self.free_set.flags(at_least(self.provenance.saved_words, words), solved)

    def limited(self, words: tuple[str, ...]) -> tuple[bool, ...]:
        """(p,) whether a parameter would be measured if the model were complete, and is not; words
        (p,): its `known_from`."""
        complete, _ = self.uncertainty.known_from(self.pi, complete=True)
        return tuple("measured" == word != now for word, now in zip(complete, words))

    def identifiability(self) -> Identifiability:
        """What the data so far determine: rank, conditioning, blocks, and a summary with warnings
        in words."""
        information = self.information
        return identifiability(self._table, self.free, information.data_information(self.pi),
                               information.rows_learned - information.rows_in_prior, self.pi,
                               self.covariance, self.uncertainty.present().systematic,
                               self.uncertainty.prior_stddev, self.known_from())

    def identifiable_rank(self) -> int:
        """Number of directions of the free parameters that the data so far determine, after the
        symmetry equalities."""
        return directions(self._table, self.free,
                          self.information.data_information(self.pi)).rank

    def parameter_set(self, wrong: np.ndarray, scales: Scales, adapt_intervals: bool,
                      described: bool) -> ParameterSet:
        """All that predictions with intervals and a restart need.

        wrong (C,) bool: channels that contradict the estimate; scales: factors on measurements;
        adapt_intervals: whether intervals have learnt factors; described: include the
        identifiability summary, which takes too long for a tick."""
        information, noise, present = (self.information, self.information.noise,
                                       self.uncertainty.present())
        words, summary = self.prior.known_from, self.prior.identifiability
        if information.rows_learned or not words:
            words = self.known_from()
            summary = {**self.identifiability().for_file(), "limited": [
                name for name, one in zip(self._table.names, self.limited(words)) if one]
                } if described else {}
        learned = learned_entries(
            known_rows(self.prior) + information.rows_learned,
            known_directions(self.covariance, information.prior.stddev), self._config,
            self.provenance.spans, self._robot.channels, wrong, scales, noise.effort,
            noise.interval_factor if adapt_intervals else None)
        stddev = parameter_stddev(present.covariance, present.systematic)
        found = ParameterSet(
            self._table.names, self.pi.copy(), semidefinite(self.covariance).copy(),
            noise.lasting_stddev, self.prior.robot, known_from=words, identifiability=summary,
            row_noise_stddev=information.row_noise, systematic=present.systematic, learned=learned,
            intervals=parameter_intervals(self._physical, self.pi, stddev))
        return self._with_cost(found) if self.solved else found

    def _with_cost(self, found: ParameterSet) -> ParameterSet:
        """The set with the cost that its values minimize, from which estimation can resume as if it
        had not been interrupted."""
        A, gradient, B = cost_to_save(self.information, self.pi)
        return replace(found, information=A, gradient=gradient, gradient_covariance=semidefinite(B),
                       residual_products=self.information.gradient.autocovariance.products)
