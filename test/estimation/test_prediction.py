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

"""A prediction: what is added to Y pi, and where its variance comes from."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.low_pass import Row
from uvms_adaptive_dynamics.estimation.prediction import predict
from uvms_adaptive_dynamics.uncertainty.channel_noise import ChannelNoise
from uvms_adaptive_dynamics.uncertainty.parameter_covariance import MatrixCovariance

C, P = 3, 5


class HalfByNoise(MatrixCovariance):
    """A covariance, half of which is due to the noise of the rows learnt."""

    def by_noise(self, Y):
        """(C,) that half of the variance of Y pi."""
        return 0.5 * np.diagonal(self.of_rows(Y))


@pytest.fixture
def row():
    rng = np.random.default_rng(0)
    return Row(3.0, rng.normal(size=(C, P)), rng.normal(size=C), rng.normal(size=C),
               np.ones(C, bool))


def predicted(row, covariance=HalfByNoise):
    """(prediction of the row, parameters, their covariance)."""
    rng = np.random.default_rng(1)
    pi, root = rng.normal(size=P), rng.normal(size=(P, P))
    noise = ChannelNoise(np.array([.1, .2, .3]), .02, 5.0, 5000.0, adapt=False)
    return predict(row, pi, covariance(root @ root.T), noise, np.zeros(C, int)), pi, root @ root.T


def test_known_efforts_are_part_of_it(row):
    """An external force or a tilt of the base counts besides Y pi, once."""
    found, pi, _ = predicted(row)
    np.testing.assert_allclose(found.predicted, row.Y @ pi + row.tau_known)
    np.testing.assert_allclose(found.residual, row.tau - row.Y @ pi - row.tau_known)


def test_its_variance_is_that_of_parameters_and_noise(row):
    """Y Sigma Y^T plus the noise of each channel; what rows learnt explain of it is not unlearnt.
    """
    found, _, covariance = predicted(row)
    whole = row.Y @ covariance @ row.Y.T
    np.testing.assert_allclose(found.predicted_covariance, whole + np.diag([.01, .04, .09]))
    np.testing.assert_allclose(found.predicted_stddev ** 2, np.diag(whole) + [.01, .04, .09])
    np.testing.assert_allclose(found.unlearnt_variance, np.diag(whole) / 2)
