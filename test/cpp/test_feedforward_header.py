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

"""The C++ header against the golden evaluations and the Python regressors; skipped where there is
no compiler or no Eigen."""
import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from uvms_adaptive_dynamics.model.equations_of_motion import smooth_sign
from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel, Mount
from uvms_adaptive_dynamics.model.parameters import LINK_PARAMETERS, VEHICLE_PARAMETERS
from uvms_adaptive_dynamics.model.rotations import from_rpy

ROOT = Path(__file__).resolve().parents[2]
INCLUDE, HERE = ROOT / "include", Path(__file__).parent
# the golden files' order of parameters (golden/README.md)
OURS_FROM_GOLDEN = np.r_[0:10, 15:27, 10:15]
NAMES = [name for name, _, _ in VEHICLE_PARAMETERS]


def eigen():
    """The folder that holds Eigen/Core: of EIGEN3_INCLUDE_DIR, pip's cmeel-eigen or apt."""
    places = [os.environ.get("EIGEN3_INCLUDE_DIR", ""),
              f"{sysconfig.get_path('purelib')}/cmeel.prefix/include/eigen3",
              "/usr/include/eigen3", "/usr/local/include/eigen3"]
    return next((place for place in places if place and (Path(place) / "Eigen/Core").is_file()),
                None)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Answers of the compiled program to a list of questions."""
    compiler, headers = shutil.which("c++") or shutil.which("g++"), eigen()
    if compiler is None or headers is None:
        pytest.skip("the header is not compiled: no C++ compiler, or no Eigen (apt install "
                    "libeigen3-dev, pip install cmeel-eigen, or set EIGEN3_INCLUDE_DIR)")
    program = tmp_path_factory.mktemp("cpp") / "evaluate"
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                    str(INCLUDE), "-isystem", headers, str(HERE / "evaluate_feedforward.cpp"),
                    "-o", str(program)], check=True)

    def ask(questions):
        lines = [" ".join(map(str, question)) for question in questions]
        return subprocess.run([str(program)], input="\n".join(lines) + "\n", text=True, check=True,
                              stdout=subprocess.PIPE).stdout.splitlines()
    return ask


def numbers(line):
    return np.array(line.split(), float)


def close(got, expected, tolerance):
    """Whether all is there and none of it further off than this share of the largest."""
    return got.shape == expected.shape and np.max(
        np.abs(got - expected)) <= tolerance * max(np.max(np.abs(expected)), 1e-12)


def test_the_vehicle_equals_every_golden_evaluation(answers, shared):
    """Y_v and Y_v pi_v on all 200 samples, to 1e-9; parameters come by name in any order."""
    samples = json.loads((shared / "golden" / "vehicle_golden.json").read_text())["samples"]
    assert len(samples) == 200
    questions = []
    for sample in samples:
        pi = list(zip(NAMES, np.array(sample["pi_v"])[OURS_FROM_GOLDEN]))
        questions.append(["vehicle", *sample["nu"], *sample["nudot"],
                          *from_rpy(*sample["eta"][3:])[2],
                          *(word for pair in reversed(pi) for word in pair)])
    for sample, line in zip(samples, answers(questions), strict=True):
        got = numbers(line)
        assert close(got[:162].reshape(6, 27), np.array(sample["Y_v"])[:, OURS_FROM_GOLDEN], 1e-9)
        assert close(got[162:], np.array(sample["tau"]), 1e-9)


def chain_urdf(joints):
    """URDF text of a serial chain; joints: (type, axis, xyz, rpy)."""
    def text(values):
        return " ".join(map(repr, map(float, values)))
    links = "".join(f'<link name="l{k}"/>' for k in range(len(joints) + 1))
    return f'<robot name="chain">{links}' + "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{text(xyz)}" rpy="{text(rpy)}"/><axis xyz="{text(axis)}"/>'
        '<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        for k, (kind, axis, xyz, rpy) in enumerate(joints)) + "</robot>"


def test_the_arm_equals_the_python_regressors(answers):
    """Random chains of revolute and prismatic joints on a moving, tilted vehicle, to 1e-9; Coulomb
    friction smooth through rest."""
    rng, questions, expected = np.random.default_rng(1), [], []
    for case in range(40):
        n = 1 + case % 5
        joints = [(rng.choice(["revolute", "prismatic"]), np.eye(3)[rng.integers(3)] * rng.choice(
            [-1, 1]), rng.normal(size=3) * .3, rng.uniform(-2, 2, 3)) for _ in range(n)]
        xyz, rpy = rng.normal(size=3) * .2, rng.uniform(-2, 2, 3)
        mu, mu_dot, mu_ddot = rng.uniform(-2, 2, n), rng.normal(size=n) * .1, rng.normal(size=n)
        R, nu, nu_dot = from_rpy(*rng.uniform(-1, 1, 3)), rng.normal(size=6), rng.normal(size=6)
        questions.append(["arm", n, *xyz, *rpy] + [word for kind, axis, at, turned in joints
                                                   for word in (*at, *turned, *axis,
                                                                int(kind == "prismatic"))]
                         + [*mu, *mu_dot, *mu_ddot, *R[2], *nu, *nu_dot, 9.81])
        arm = ManipulatorModel.from_urdf(chain_urdf(joints), tuple(f"j{k}" for k in range(n)),
                                         Mount(tuple(xyz), tuple(rpy)), 9.81)
        Y, wrench = arm.regressors(mu, mu_dot, mu_ddot, R, nu, nu_dot)
        Y[np.arange(n), 12 * np.arange(n) + LINK_PARAMETERS.index("fs")] = smooth_sign(mu_dot)
        expected.append(np.concatenate([wrench.ravel(), Y.ravel()]))
    for line, values in zip(answers(questions), expected, strict=True):
        assert close(numbers(line), values, 1e-9)


@pytest.mark.parametrize("given, part", [
    (["W", 100.0], "parameter 'm_X_du' is missing"),
    ([word for name in NAMES for word in (name, "nan" if name == "B" else 1.0)], "")])
def test_what_is_no_parameter_set_is_refused(answers, given, part):
    """By name; a NaN ends the reading, so that B is missing."""
    said, = answers([["vehicle", *np.zeros(12), 0, 0, 1, *given]])
    assert "parameter '" in said and part in said


def test_its_names_are_the_tables():
    """The header's lists of names are those of the parameter table."""
    text = (INCLUDE / "uvms_adaptive_dynamics" / "feedforward.hpp").read_text()
    for constant, names in (("kVehicleNames", NAMES), ("kLinkNames", LINK_PARAMETERS)):
        listed = text[text.index(f"{constant} = {{") :]
        listed = listed[listed.index("{") + 1:listed.index("}")]
        assert [word.strip().strip('"') for word in listed.split(",")] == list(names)
