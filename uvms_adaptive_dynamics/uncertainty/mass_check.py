"""Estimated masses against the weighed one: added mass is positive, so none can be below it."""
from __future__ import annotations

import numpy as np

from ..model.normal import Z999_ABOVE
from ..model.parameters import ParameterTable
from .parameter_covariance import ParameterCovariance

TRANSLATION = (("m_X_du", "surge"), ("m_Y_dv", "sway"), ("m_Z_dw", "heave"))


def mass_findings(table: ParameterTable, pi: np.ndarray, covariance: ParameterCovariance,
                  dry_mass: float, coupling: str) -> list[str]:
    """A sentence for each axis on which the robot accelerates more easily than in air.

    pi (p,) with its covariance; dry_mass [kg] of vehicle and arm, 0 for unknown. The links' mass
    is part of what accelerates but with coupling 'none', where the vehicle's holds it."""
    if not table.vehicle or dry_mass <= 0:
        return []
    links = [] if coupling == "none" else [f"{joint}.m" for joint in table.joints]
    sums = np.zeros((len(TRANSLATION), table.size))
    for row, (name, _) in zip(sums, TRANSLATION):
        row[table.places([name, *links])] = 1.0
    masses = sums @ pi
    stddevs = np.sqrt(np.maximum(np.diagonal(covariance.of_rows(sums)), 0.0))
    return [
        f"{axis}: mass and added mass are estimated as {mass:.3g} +- {stddev:.2g} kg, less "
        f"than robot.dry_mass ({dry_mass:.3g} kg), and added mass is positive: the thrust "
        "is probably larger than its curve says (thrusters.voltage, battery), or the "
        "acceleration smaller than measured (imu, DVL's scale)"
        for (_, axis), mass, stddev in zip(TRANSLATION, masses, stddevs)
        if mass + Z999_ABOVE * stddev < dry_mass]
