"""Sets of parameters beyond the paper's, by name, in the order of the parameter table: first those
of the vehicle, then those of the joints. Setting `robot.terms` chooses; docs/terms.md."""
from __future__ import annotations

from .declaration import Inequality, Instant, Parameter, Sizes, TermSet
from .joint_sets import DeadBand, FrictionByDirection, JointOffsets, Rotor
from .link_drag import LinkDrag
from .vehicle_sets import Current, OffAxisDamping, ThrustByDirection, VehicleOffsets

__all__ = ["TERM_SETS", "Inequality", "Instant", "Parameter", "Sizes", "TermSet"]

TERM_SETS: dict[str, TermSet] = {one.name: one for one in (
    VehicleOffsets(), OffAxisDamping(), ThrustByDirection(), Current(), Rotor(), JointOffsets(),
    FrictionByDirection(), DeadBand(), LinkDrag())}
