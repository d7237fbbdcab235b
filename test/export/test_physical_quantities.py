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

"""Physical quantities: values by hand, deviations compared with draws, flags."""
import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from export_cases import CONFIG, estimate

from uvms_adaptive_dynamics.export.identified import ExportError
from uvms_adaptive_dynamics.export.physical_quantities import _formulas, physical_quantities
from uvms_adaptive_dynamics.export.quantity_table import saved, shown
from uvms_adaptive_dynamics.model.covariance import deviations
from uvms_adaptive_dynamics.model.parameters import LINK_PARAMETERS, RIGID
from uvms_adaptive_dynamics.model.prior import prior_stddev

WEIGHED = CONFIG.with_values({"robot.dry_mass": 13.0})


def with_covariance(identified, share=0.01, words=None, systematic=None):
    """The same estimate with correlated deviations of about that share of each parameter."""
    rng, p = np.random.default_rng(0), identified.values.size
    size = share * (np.abs(identified.values) + 0.01)
    root = rng.normal(size=(p, p)) / np.sqrt(p) * size[:, None]
    return replace(identified, parameters=replace(
        identified.parameters, covariance=root @ root.T, known_from=words or (),
        systematic=systematic))


def by_name(identified):
    return {q.name: q for q in physical_quantities(identified)}


def test_values_of_the_vehicle():
    """Values of a weighed robot match those by hand."""
    identified = estimate(1, WEIGHED)
    found, pick = by_name(identified), lambda *names: identified.pick(names)
    mass = 13.0 - pick(*(f"{joint}.m" for joint in CONFIG.robot.joints)).sum()
    g, (W, B) = CONFIG.robot.gravity, pick("W", "B")
    buoyancy = mass * g - (W - B)
    expected = {
        "net_weight": W - B, "net_mass": (B - W) / g, "mass": mass, "buoyancy": buoyancy,
        "volume": buoyancy / 1000 / g, "added_mass_y": pick("m_Y_dv")[0] - mass,
        "mass_with_added_x": pick("m_X_du")[0], "inertia_with_added_z": pick("Iz_N_dr")[0],
        "gravity_from_buoyancy_y": pick("ygW_ybB")[0] / mass / g}
    for name, value in expected.items():
        assert np.isclose(found[f"vehicle.{name}"].value, value, rtol=1e-12), name


def test_values_of_a_known_body():
    """Centre and inertia of a link made of two point masses match those by hand."""
    config = CONFIG.with_values({"robot.joints": ["axis_e"]})
    a, b, masses = np.array([0.1, 0.0, 0.2]), np.array([-0.1, 0.3, 0.0]), (1.0, 3.0)
    rigid = sum(m * np.array([1, *r, r @ r - r[0] ** 2, r @ r - r[1] ** 2, r @ r - r[2] ** 2,
                              -r[0] * r[1], -r[0] * r[2], -r[1] * r[2]])
                for m, r in zip(masses, (a, b)))
    found = by_name(estimate(0, config, **dict(zip(
        [f"axis_e.{entry}" for entry in LINK_PARAMETERS[RIGID]], rigid))))
    centre, d = (a + 3 * b) / 4, a - b
    about = 0.75 * (d @ d * np.eye(3) - np.outer(d, d))     # reduced mass 3/4
    assert found["axis_e.mass"].value == 4.0 and "arm.mass" not in found
    assert np.allclose([found[f"axis_e.centre_{k}"].value for k in "xyz"], centre)
    assert np.allclose([found[f"axis_e.{e}_about_centre"].value for e in ("Ixx", "Iyz", "Ixz")],
                       [about[0, 0], about[1, 2], about[0, 2]])


def test_deviations_are_those_of_drawn_parameters():
    """Deviations match 20,000 draws, small enough for the delta method; the tolerance of 2 % is
    four standard errors."""
    identified = with_covariance(estimate(2, WEIGHED), 0.003)
    quantities = physical_quantities(identified)
    rng = np.random.default_rng(1)
    names = ("vehicle.gravity_centre_z", "axis_d.centre_x", "axis_b.Ixx_about_centre",
             "vehicle.net_weight", "arm.mass")
    root = np.linalg.cholesky(identified.parameters.covariance + 1e-18 * np.eye(75))
    formulas = {f.name: f for f in _formulas(identified)}
    draws = identified.values + rng.normal(size=(20_000, 75)) @ root.T
    for quantity in quantities:
        if quantity.name in names:
            drawn = np.std([formulas[quantity.name].of(pi) for pi in draws])
            assert np.isclose(quantity.stddev, drawn, rtol=0.02), quantity.name


def test_timing_and_calibration_count():
    """Timing and calibration errors are added to the covariance, as for parameters."""
    identified = estimate(3)
    systematic = np.zeros((4, 75))
    systematic[2, identified.robot.table.index["m_X_du"]] = 0.7
    found = by_name(with_covariance(identified, 1e-9, systematic=systematic))
    assert np.isclose(found["vehicle.mass_with_added_x"].stddev, 0.7)
    assert by_name(identified)["vehicle.net_weight"].stddev is None


def flagged(words, share=0.001, config=CONFIG, **parts):
    identified = estimate(4, config)
    table = identified.robot.table
    known = dict.fromkeys(table.names, words) | parts
    return {name: q.known_from for name, q in by_name(with_covariance(
        identified, share, tuple(known[name] for name in table.names))).items()}


def test_a_single_parameter_keeps_its_word():
    found = flagged("weak", **{"m_X_du": "measured", "axis_d.m": "prior"})
    assert found["vehicle.mass_with_added_x"] == "measured"
    assert found["vehicle.mass_with_added_y"] == "weak" and found["axis_d.mass"] == "prior"


def test_a_sum_may_be_known_better_than_its_parts():
    """W - B is measured although neither W nor B is: the remaining share of the prior's deviation
    decides."""
    identified = estimate(5)
    table = identified.robot.table
    before = prior_stddev(identified.values, identified.robot, CONFIG.estimation.prior_stddev)
    covariance, W, B = np.diag(before ** 2), *table.places(("W", "B"))
    covariance[W, B] = covariance[B, W] = before[W] * before[B] * 0.9999
    for covariances, word in ((covariance, "measured"), (np.diag(before ** 2), "prior"),
                              (np.diag((0.5 * before) ** 2), "weak")):
        found = by_name(replace(identified, parameters=replace(
            identified.parameters, covariance=covariances, known_from=("prior",) * 75)))
        assert found["vehicle.net_weight"].known_from == word
        assert found["vehicle.mass"].known_from == "prior"
    assert np.isclose(found["vehicle.mass"].stddev,
                      deviations(covariances)[W] / CONFIG.robot.gravity)


def test_a_quotient_is_known_no_better_than_what_decides_it():
    """Covers the centre of mass of a link whose mass is the prior's, and quantities that are not
    estimated."""
    found = flagged("measured", **{"axis_c.m": "prior"})
    assert found["axis_c.centre_x"] == "prior" and found["axis_d.centre_x"] == "measured"
    assert found["vehicle.mass"] == "measured"
    identified = with_covariance(estimate(4, mass=9.0), words=("measured",) * 75)
    assert by_name(identified)["vehicle.mass"].known_from == "stated"


def test_an_arm_on_a_fixed_base_has_links_alone():
    fixed = CONFIG.with_values({"robot.vehicle": False, "imu.enabled": False, "dvl.enabled": False,
                                "depth.enabled": False, "thrusters.source": "zero"})
    assert not any(name.startswith("vehicle") for name in by_name(estimate(0, fixed)))


def test_the_table_is_shown_and_saved():
    """People get one line per quantity, programs all digits; None stays empty."""
    quantities = physical_quantities(with_covariance(estimate(6)))
    text = shown(quantities)
    assert text.count("\n") == len(quantities) and "vehicle.net_weight" in text
    content = json.loads(saved(quantities, Path("x.json")))
    assert [row["value"] for row in content["quantities"]] == [q.value for q in quantities]
    assert content["schema"] == 1
    rows = list(csv.DictReader(io.StringIO(saved(physical_quantities(estimate(6)), Path("x.csv")))))
    assert rows[0]["name"] == "vehicle.net_weight" and rows[0]["stddev"] == ""
    assert float(rows[0]["value"]) == quantities[0].value
    with pytest.raises(ExportError, match=r"ending in \.json or \.csv"):
        saved(quantities, Path("x.txt"))
