"""Estimated masses against the weighed one: added mass is positive, so none can be below it."""
from __future__ import annotations

import numpy as np

from ..model.parameters import ParameterTable

EVIDENCE = 3.09         # standard errors of a one-sided claim of 99.9 %
TRANSLATION = (("m_X_du", "surge"), ("m_Y_dv", "sway"), ("m_Z_dw", "heave"))


def mass_findings(table: ParameterTable, pi: np.ndarray, covariance: np.ndarray, dry_mass: float,
                  coupling: str) -> list[str]:
    """A sentence for each axis on which the robot accelerates more easily than in air.

    pi (p,) with covariance (p, p); dry_mass [kg] of vehicle and arm, 0 for unknown. The links' mass
    is part of what accelerates but with coupling 'none', where the vehicle's holds it."""
    if not table.vehicle or dry_mass <= 0:
        return []
    links = [] if coupling == "none" else [f"{joint}.m" for joint in table.joints]
    found = []
    for name, axis in TRANSLATION:
        places = [table.names.index(each) for each in (name, *links)]
        mass = float(pi[places].sum())
        stddev = float(np.sqrt(max(covariance[np.ix_(places, places)].sum(), 0.0)))
        if mass + EVIDENCE * stddev < dry_mass:
            found.append(
                f"{axis}: mass and added mass are estimated as {mass:.3g} +- {stddev:.2g} kg, less "
                f"than robot.dry_mass ({dry_mass:.3g} kg), and added mass is positive: the thrust "
                "is probably larger than its curve says (thrusters.voltage, battery), or the "
                "acceleration smaller than measured (imu, DVL's scale)")
    return found
