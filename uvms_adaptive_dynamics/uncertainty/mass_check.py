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

"""Check of the estimated masses: added mass is positive, so none can be below the weighed mass
(docs/uncertainty.md, "Trust")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..config import Config
from ..model.normal import Z999_ABOVE
from ..model.parameters import ParameterTable
from ..model.vehicle_size import least_mass, weight_limits
from .parameter_covariance import ParameterCovariance

# (Mass + added mass) / mass in air. The added mass of open-frame vehicles is .4 to 3 times the mass
# (BlueROV2 .5 to 1.3, Falcon, work-class ones in heave up to 2.5), a flat plate's up to 4 times.
MOST_WITH_WATER = 6.0
TRANSLATION = (("m_X_du", "surge"), ("m_Y_dv", "sway"), ("m_Z_dw", "heave"))


def mass_findings(table: ParameterTable, pi: np.ndarray, covariance: ParameterCovariance,
                  config: Config, explained: Sequence[bool] = (True,) * len(TRANSLATION),
                  thrust: Sequence[float] = (0.0,) * len(TRANSLATION),
                  systematic: np.ndarray | None = None) -> list[tuple[str, str]]:
    """(setting, sentence) for each axis whose mass is below the robot's mass in air, and one for
    all axes whose mass or, failing that, whose thrust is too large for the weight allowed.

    pi (p,) with its covariance and systematic (CAUSES, p), its shift by errors that no residual
    shows; thrust (3,): standard deviation of the measured force [N]; explained (3,): axes whose
    efforts the estimate explains, since an axis that a tether moves seems to need no effort. The
    mass in air is `robot.dry_mass` or, without it, that of the lightest vehicle allowed
    (`weight_limits`). The links' mass is added, except with coupling 'none', where the vehicle's
    parameters include it."""
    if not table.vehicle:
        return []
    dry_mass, source, lighter = config.robot.dry_mass, "robot.dry_mass", ""
    if dry_mass <= 0:
        dry_mass = least_mass(config)
        source, lighter = (("estimation.weight_min allows",
                            ", or the vehicle lighter than that setting says")
                           if config.estimation.weight_max > 0 else
                           ("is assumed without robot.dry_mass",
                            ", or the vehicle lighter: set robot.dry_mass"))
    coupling = config.estimation.coupling
    links = [] if coupling == "none" else [f"{joint}.m" for joint in table.joints]
    sums = np.zeros((len(TRANSLATION), table.size))
    for row, (name, _) in zip(sums, TRANSLATION):
        row[table.places([name, *links])] = 1.0
    masses = sums @ pi
    variances = np.maximum(np.diagonal(covariance.of_rows(sums)), 0.0)
    if systematic is not None:
        variances = variances + np.sum((sums @ systematic.T) ** 2, axis=1)
    stddevs = np.sqrt(variances)
    return [*_too_heavy(masses, stddevs, thrust, config), *((
        "robot.dry_mass",
        f"{axis}: mass plus added mass is estimated as {mass:.3g} +- {stddev:.2g} kg, less than "
        f"{source} ({dry_mass:.3g} kg), although added mass is positive: the true thrust "
        "is probably larger than the thrust curve says (thrusters.voltage, battery), the true "
        "acceleration smaller than measured (imu, DVL's scale), or a force that the model lacks "
        "(a tether, a current) goes with the thrust" + lighter)
        for (_, axis), mass, stddev, usable in zip(TRANSLATION, masses, stddevs, explained)
        if usable and mass + Z999_ABOVE * stddev < dry_mass)]


def _too_heavy(masses: np.ndarray, stddevs: np.ndarray, thrust: Sequence[float],
               config: Config) -> list[tuple[str, str]]:
    """One sentence for all axes, since one setting causes it.

    An estimate whose prior is far too small may not learn the mass, because it takes the misfit for
    noise. The thrust needs no estimate: no vehicle's thrusters lift it in air, let alone on
    average."""
    weight = weight_limits(config)[1]
    allowed = weight / config.robot.gravity
    found = [f"{mass:.3g} +- {stddev:.2g} kg in {axis}"
             for (_, axis), mass, stddev in zip(TRANSLATION, masses, stddevs)
             if mass - Z999_ABOVE * stddev > MOST_WITH_WATER * allowed]
    strong = [f"{force:.3g} N in {axis}" for (_, axis), force in zip(TRANSLATION, thrust)
              if force > weight]
    source, remedy = _limit_on_weight(config)
    if found:
        excess = (f"mass plus added mass is estimated as {', '.join(found)}, more than "
                  f"{MOST_WITH_WATER:g} times what {source} ({allowed:.3g} kg)")
    elif strong:
        excess = (f"the thrust's standard deviation is {', '.join(strong)}, more than what {source}"
                  f" ({weight:.3g} N), although no vehicle's thrusters lift it in air")
    else:
        return []
    return [("estimation.weight_max", f"{excess}: {remedy}, which scales the prior, or check the "
                                      "thrust (thrusters.curve)")]


def _limit_on_weight(config: Config) -> tuple[str, str]:
    """What limits the vehicle's weight, and how to set it, as parts of a sentence."""
    if config.estimation.weight_max > 0:
        return ("estimation.weight_max allows the vehicle",
                "set estimation.weight_min and weight_max around its weight in air")
    if config.robot.dry_mass > 0:
        return "robot.dry_mass allows the vehicle", "correct robot.dry_mass"
    return ("the vehicle is assumed to weigh at most without robot.dry_mass",
            "set robot.dry_mass to the mass of vehicle and arm in air")
