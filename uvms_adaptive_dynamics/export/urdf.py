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

"""Export as the arm's URDF with identified inertials and joint friction, below the vehicle's link.

An identified link comprises everything that moves with its joint. Bodies attached to it by joints
that the estimate holds still therefore lose their own inertial (docs/exports.md, "URDF").
"""
from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

import numpy as np

from ..config import Config
from ..disk.reading import read_text
from ..errors import RobotError, brief
from ..model.manipulator import ManipulatorModel
from ..model.parameters import FRICTION, LINK_PARAMETERS, RIGID
from ..model.pseudo_inertia import TENSOR_PLACES, central_inertia
from ..model.urdf import LARGEST_URDF
from ..model.urdf_address import resolve_urdf
from .identified import Draft, ExportError, Identified
from .vehicle_body import body_notes, vehicle_body
from .xml_text import element, find, numbers, parsed, value_of, written

URDF_EXPORT = "the URDF export"
# ixx, iyy, izz, ixy, ixz, iyz
TENSOR = tuple(entry.lower() for entry in LINK_PARAMETERS[RIGID][4:])
# Elements that a fixed joint does not need.
OF_MOTION = ("axis", "limit", "dynamics", "mimic", "safety_controller", "calibration")


def write(identified: Identified) -> Draft:
    """The whole robot; raises ExportError for a link with unphysical inertia."""
    identified.need_joints(URDF_EXPORT)
    settings, joints = identified.config.robot, identified.robot.joints
    root = _source(settings.urdf)
    jointed = {joint.get("name", ""): joint for joint in root.findall("joint")}
    links = {link.get("name", ""): link for link in root.findall("link")}
    held: list[str] = []
    for j, name in enumerate(joints):
        child = _end(jointed[name], "child")
        held += _make_part(_rigid_below(jointed, child, joints), links)
        values = identified.values[identified.robot.table.link_slice(j)]
        _set_inertial(links[child], *_body(values[RIGID], name))
        _set_friction(jointed[name], values[FRICTION], name)
    notes = [_about_links(identified)]
    if any(settings.rotor_inertia):
        notes.append("Not in a URDF: robot.rotor_inertia.")
    if settings.vehicle:
        top = next(name for name in links
                   if name not in {_end(joint, "child") for joint in jointed.values()})
        _remove(links[top], ("inertial",))
        held += _make_part(_rigid_below(jointed, top, joints), links)
        notes += _add_vehicle(identified, root, top, links, jointed)
    if held:
        notes.append(f"Fixed joints, held still by the estimate: {', '.join(held)}.")
    return Draft(written(root), tuple(notes))


def _body(rigid: np.ndarray, joint: str) -> tuple[float, np.ndarray, np.ndarray]:
    """(mass, centre (3,), inertia (3, 3) about it) from a link's rigid parameters (10,); raises
    ExportError if they are unphysical."""
    if rigid[0] > 0:
        body = central_inertia(rigid)
        moments = np.linalg.eigvalsh(body[2])
        if moments[0] > 0 and moments[2] <= moments[0] + moments[1]:
            return body
    raise ExportError(f"{URDF_EXPORT}: the link of '{joint}' is unphysical (mass {rigid[0]:.4g} "
                      "kg, or moments of inertia that violate the triangle inequality); expected "
                      "an estimate within the physical set. Save the parameters again.")


def _source(address: str) -> ET.Element:
    """The description including comments; the robot model has validated it already."""
    path = resolve_urdf(address)
    text = read_text(path, f"URDF {brief(path)}", LARGEST_URDF, RobotError, "the arm's description")
    return ET.fromstring(text, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))


def _rigid_below(jointed: dict[str, ET.Element], link: str,
                 moving: tuple[str, ...]) -> list[ET.Element]:
    """Joints that attach something rigidly to the link while only `moving` joints move."""
    found, waiting = [], [link]
    while waiting:
        parent = waiting.pop()
        held = [joint for name, joint in jointed.items()
                if name not in moving and _end(joint, "parent") == parent]
        found += held
        waiting += [_end(joint, "child") for joint in held]
    return found


def _make_part(held: list[ET.Element], links: dict[str, ET.Element]) -> list[str]:
    """Remove the inertials of the links below these joints and fix the joints; returns the names
    of joints that were not fixed before."""
    loose = []
    for joint in held:
        _remove(links[_end(joint, "child")], ("inertial",))
        if joint.get("type") != "fixed":
            loose.append(joint.get("name", ""))
            joint.set("type", "fixed")
            _remove(joint, OF_MOTION)
    return loose


def _end(joint: ET.Element, tag: str) -> str:
    return find(joint, tag, URDF_EXPORT).get("link", "")


def _remove(parent: ET.Element, tags: Iterable[str]) -> None:
    for tag in tags:
        for child in parent.findall(tag):
            parent.remove(child)
    if not len(parent):
        parent.text = None


def _set_inertial(link: ET.Element, mass: float, centre: np.ndarray, inertia: np.ndarray) -> None:
    _remove(link, ("inertial",))
    inertial = element(link, "inertial")
    element(inertial, "origin", xyz=numbers(centre), rpy="0 0 0")
    element(inertial, "mass", value=mass)
    element(inertial, "inertia", **{key: float(inertia[place])
                                    for key, place in zip(TENSOR, TENSOR_PLACES)})


def _set_friction(joint: ET.Element, friction: np.ndarray, name: str) -> None:
    if min(friction) < 0:
        raise ExportError(f"{URDF_EXPORT}: friction of '{name}' is {min(friction):.4g}; expected "
                          "no negative number, which would drive the joint. Save the parameters "
                          "again.")
    _remove(joint, ("dynamics",))
    element(joint, "dynamics", damping=float(friction[0]), friction=float(friction[1]))


def _add_vehicle(identified: Identified, root: ET.Element, top: str, links: dict[str, ET.Element],
                 jointed: dict[str, ET.Element]) -> list[str]:
    """Add the vehicle's link above the link `top`, with an inertial if the estimate allows one;
    returns notes."""
    settings = identified.config.robot
    base = identified.config.output.base_frame
    while base in links:
        base += "_identified"
    link = element(root, "link", name=base)
    joint = element(root, "joint", name=_free_name(jointed, f"{base}_to_{top}"), type="fixed")
    element(joint, "parent", link=base)
    element(joint, "child", link=top)
    element(joint, "origin", xyz=numbers(settings.mount_xyz), rpy=numbers(settings.mount_rpy))
    try:
        body = vehicle_body(identified, URDF_EXPORT).flipped()
    except ExportError as error:
        return [f"'{base}' has no inertial: {error}"]
    _set_inertial(link, body.mass, body.gravity_centre, np.diag(body.inertia))
    return [f"'{base}' is the vehicle (FLU) with its rigid part only: a URDF cannot hold added "
            "mass, damping and buoyancy. Bodies fixed to it below the first joint are part of it "
            "and have no inertial.", *body_notes(identified)]


def _free_name(taken: Iterable[str], name: str) -> str:
    while name in taken:
        name += "_"
    return name


def _about_links(identified: Identified) -> str:
    if identified.config.robot.link_volumes:
        return ("Link masses are those in air; a URDF cannot hold the buoyancy of "
                "robot.link_volumes.")
    return ("Links are effective: one mass and centre fit both weight in water and inertia, and "
            "are not what a scale shows (robot.link_volumes is empty).")


def read(text: str, config: Config) -> dict[str, float]:
    """The links' parameters and joint friction by name, for the joints of `config`."""
    root, names = parsed(text, "robot", URDF_EXPORT), config.robot.joints
    rigid = ManipulatorModel.from_urdf(text, names).inertials()
    found = {f"{joint}.{entry}": float(value)
             for joint, values in zip(names, rigid)
             for entry, value in zip(LINK_PARAMETERS[RIGID], values)}
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        if name in names:
            friction = find(joint, "dynamics", URDF_EXPORT)
            for entry, key in zip(LINK_PARAMETERS[FRICTION], ("damping", "friction")):
                found[f"{name}.{entry}"] = value_of(friction.get(key), f"{name}: {key}")
    return found
