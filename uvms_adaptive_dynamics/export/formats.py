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

"""All formats by name, and the export itself: write, read back, and report what is lost."""
from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from ..config import Config
from ..errors import require
from ..model.parameters import LINK_PARAMETERS, ParameterTable
from . import (
    fossen_simulator,
    gazebo,
    hippocampus,
    holoocean,
    marinegym,
    rdml,
    stonefish,
    urdf,
    uvms_simlab,
    xml_text,
    yaml_parts,
)
from .identified import Draft, ExportError, Identified, correction_notes

# Relative difference of a number read back above which it is a loss, not rounding.
READ_BACK_ROUNDING = 1e-9
# Only the difference of W and B acts, so it alone is compared; scale [N] of W and B.
NET, REFERENCE_FORCE = "W - B", 100.0


class Format(NamedTuple):
    """write(identified); read(text, config): parameters by name; commented(text, lines); meaning:
    a short description."""

    write: Callable[[Identified], Draft]
    read: Callable[[str, Config], dict[str, float]]
    commented: Callable[[str, Iterable[str]], str]
    meaning: str


FORMATS: Mapping[str, Format] = {
    "urdf": Format(urdf.write, urdf.read, xml_text.commented, "robot description"),
    "rdml": Format(rdml.write, rdml.read, xml_text.commented,
                   "<hydrodynamics> of the Robotic Decision Making Lab's auv_controllers"),
    "gazebo": Format(gazebo.write, gazebo.read, xml_text.commented,
                     "model for Gazebo Harmonic (SDF)"),
    "uvms-simlab": Format(uvms_simlab.write, uvms_simlab.read, uvms_simlab.commented,
                          "dynamics profile (JSON)"),
    "hippocampus": Format(hippocampus.write, hippocampus.read, yaml_parts.commented,
                          "model_params.yaml of HippoCampus' uvms"),
    "marinegym": Format(marinegym.write, marinegym.read, yaml_parts.commented,
                        "vehicle of MarineGym (YAML)"),
    "stonefish": Format(stonefish.write, stonefish.read, xml_text.commented,
                        "scenario for Stonefish, a fit"),
    "fossen": Format(fossen_simulator.write, fossen_simulator.read, yaml_parts.commented,
                     "vehicle class for Fossen's PythonVehicleSimulator"),
    "holoocean": Format(holoocean.write, holoocean.read, yaml_parts.commented,
                        "callable for HoloOcean's custom dynamics (Python)"),
}


class Exported(NamedTuple):
    """The file's text, with `notes` (assumptions and losses) in its comment; held: names of the
    parameters that it holds to 1e-9."""

    text: str
    notes: tuple[str, ...]
    held: tuple[str, ...]


def export_as(identified: Identified, name: str) -> Exported:
    """Export an estimate; raises ExportError if the format cannot represent it."""
    require("identified", identified, Identified)
    form = chosen(name)
    draft = form.write(identified)
    table = identified.robot.table
    own = _net(dict(zip(table.names, identified.values.tolist())))
    size = dict(zip(table.names, table.scale.tolist())) | {NET: REFERENCE_FORCE}
    found = _net(form.read(draft.text, identified.config))
    changed = {key: (own[key], value) for key, value in found.items()
               if abs(value - own[key]) > READ_BACK_ROUNDING * max(abs(own[key]), size[key])}
    notes = (*draft.notes, *correction_notes(identified), *_changes(changed),
             *_absences(table, own, set(own) - set(found)), *_unmeasured(identified, found))
    head = f"{form.meaning}, by uvms_adaptive_dynamics {identified.parameters.version}"
    return Exported(form.commented(draft.text, (head, *notes)), notes,
                    tuple(key for key in found if key not in changed))


def read_export(name: str, text: str, config: Config) -> dict[str, float]:
    """The parameters in a file of that format, by name, for the robot of `config`.

    W and B are the file's own; only W - B belongs to the estimate. Raises ExportError or RobotError
    for a text that is not of the format.
    """
    require("text", text, str, expected="the text of a file")
    require("config", config, Config)
    return chosen(name).read(text, config)


def chosen(name: str) -> Format:
    """The format of that name; raises ExportError for an unknown one."""
    if not isinstance(name, str) or name not in FORMATS:
        raise ExportError(f"format '{name}' does not exist; expected one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def _net(values: dict[str, float]) -> dict[str, float]:
    if "W" in values:
        values[NET] = values.pop("W") - values.pop("B")
    return values


def _changes(changed: Mapping[str, tuple[float, float]]) -> list[str]:
    listed = ", ".join(f"{key} {own:.4g} becomes {value:.4g}"
                       for key, (own, value) in changed.items())
    return [f"Lost, since the format cannot hold it: {listed}."] if changed else []


def _absences(table: ParameterTable, own: Mapping[str, float], absent: set[str]) -> list[str]:
    """A sentence on what the file does not hold; a missing parameter of zero is not a loss."""
    wholes = {
        "the vehicle's added mass, damping and weight in water (other formats have them)":
            {*table.names[table.paper_slice], NET} & set(own),
        "the arm (urdf and uvms-simlab have it)":
            {f"{joint}.{entry}" for joint in table.joints for entry in LINK_PARAMETERS}}
    parts = []
    for words, names in wholes.items():
        if names and names <= absent:
            parts.append(words)
            absent = absent - names
    parts += [f"{key} = {own[key]:.4g}" for key in own if key in absent and own[key] != 0.0]
    return [f"Not in this file: {', '.join(parts)}."] if parts else []


def _unmeasured(identified: Identified, held: Container[str]) -> list[str]:
    """Sentences on the parameters in the file that the data do not determine. Of W and B only the
    difference is in it."""
    flagged = [(name, word) for name, word in zip(identified.robot.table.names,
                                                  identified.parameters.known_from) if name in held]
    sentences = (("prior", "Determined by the prior, not by data"),
                 ("weak", "Known in part, to be used only with the covariance, which is not in "
                          "this file"))
    listed = ((sentence, ", ".join(name for name, word in flagged if word == flag))
              for flag, sentence in sentences)
    return [f"{sentence}: {names}." for sentence, names in listed if names]
