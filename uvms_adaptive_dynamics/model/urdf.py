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

"""Checks of an arm's URDF: a tree of named links, finite numbers, joints that can be estimated.

Pinocchio's reader checks little: it drops an inertial whose mass is not a number, keeps a joint
with a zero axis at rest, and moves a mimic joint as if it were free.
"""
from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import NamedTuple

from ..disk.reading import read_text
from ..errors import PATH, RobotError, brief

# [bytes] 20 times the size of a humanoid's URDF; meshes are separate files.
LARGEST_URDF = 4_000_000
# No real length [m], mass [kg] or inertia [kg m^2] is larger, and squares would overflow.
LARGEST_URDF_VALUE = 1e12
JOINT_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
ESTIMATED_KINDS = JOINT_KINDS[:3]
# A number for the C++ readers of URDFs; float() accepts more, such as nan and 1_000.
URDF_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
# Pinocchio's name for the world, which it treats as a joint.
WORLD = "universe"
LINK_PREFIX = "link "


class Joint(NamedTuple):
    """A joint of the URDF; mimics: name of the joint it follows, or ''."""

    name: str
    kind: str
    parent: str
    child: str
    mimics: str


def urdf_text(urdf: str, joints: Iterable[str]) -> str:
    """The XML of an arm's URDF (a path, or the XML itself), checked for these moving joints.

    LINK_PREFIX is put before link names, since Pinocchio has one namespace for links and joints.
    Raises RobotError that names whatever cannot be used.
    """
    if urdf.lstrip().startswith("<"):
        text, what = urdf, "URDF of the robot's description"
        if len(text) > LARGEST_URDF:
            raise RobotError(f"{what} is longer than {LARGEST_URDF / 1e6:g} MB; expected an arm's "
                             "URDF.")
    else:
        what = f"URDF {brief(urdf, PATH)}"
        text = read_text(urdf, what, LARGEST_URDF, RobotError,
                         "the arm's description in robot.urdf")
    try:
        root = _parse(text)
        _check(root, tuple(joints))
    except _Fault as fault:
        raise RobotError(f"{what}: {fault}") from None
    for element in root.findall("link"):
        element.set("name", LINK_PREFIX + element.get("name", ""))
    for element in (*root.findall("joint/parent"), *root.findall("joint/child")):
        element.set("link", LINK_PREFIX + element.get("link", ""))
    return ET.tostring(root, "unicode")


class _Fault(Exception):
    """A fault of the URDF; its message continues after the file's name."""


def _parse(text: str) -> ET.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise _Fault("it declares entities (<!DOCTYPE ...>), which no URDF needs; remove them.")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise _Fault(f"it is not well-formed XML ({error}); correct it, or regenerate it from its "
                     "source.") from None
    if root.tag != "robot":
        raise _Fault(f"its outermost element is <{brief(root.tag)[1:-1]}>; expected <robot>.")
    return root


def _check(root: ET.Element, estimated: tuple[str, ...]) -> None:
    links = _unique(root.findall("link"), "link")
    elements = root.findall("joint")
    _unique(elements, "joint")
    joints = {joint.name: joint for joint in map(_joint, elements)}
    _check_tree(links, joints)
    for link in root.findall("link"):
        _check_link(link)
    for element in elements:
        _check_numbers(element, joints[element.get("name", "")])
    _check_moving(joints, estimated)


def _unique(elements: list[ET.Element], kind: str) -> list[str]:
    names = [element.get("name", "") for element in elements]
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise _Fault(f"a {kind} has no name; give it one.")
        if name == WORLD and kind == "joint":
            raise _Fault(f"a {kind} is named '{name}', which is reserved; rename it.")
        if name in seen:
            raise _Fault(f"{kind} {brief(name)} occurs twice; rename one of them.")
        seen.add(name)
    return names


def _joint(element: ET.Element) -> Joint:
    name, kind = element.get("name", ""), element.get("type", "")
    if kind not in JOINT_KINDS:
        raise _Fault(f"joint {brief(name)} is of type {brief(kind)}; expected one of "
                     f"{', '.join(JOINT_KINDS)}.")
    parent, child, mimic = (element.find(tag) for tag in ("parent", "child", "mimic"))
    return Joint(name, kind, "" if parent is None else parent.get("link", ""),
                 "" if child is None else child.get("link", ""),
                 "" if mimic is None else mimic.get("joint", "") or "?")


def _check_tree(links: list[str], joints: dict[str, Joint]) -> None:
    """Every link except the root is the child of exactly one joint."""
    known = set(links)
    above: dict[str, Joint] = {}
    for joint in joints.values():
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise _Fault(f"joint {brief(joint.name)} has the {end} {brief(link)}, which is not "
                             "a link of the file; correct its name, or add the link.")
        if joint.child in above:
            raise _Fault(f"link {brief(joint.child)} is the child of two joints, "
                         f"{brief(above[joint.child].name)} and {brief(joint.name)}; expected one, "
                         "since a URDF cannot describe closed chains.")
        above[joint.child] = joint
    roots = [link for link in links if link not in above]
    if not links:
        raise _Fault("it has no links; expected the arm's.")
    carried, waiting = set(roots), list(roots)
    below: dict[str, list[str]] = {}
    for joint in joints.values():
        below.setdefault(joint.parent, []).append(joint.child)
    while waiting:
        waiting += below.get(link := waiting.pop(), [])
        carried.update(below.get(link, []))
    circling = [link for link in links if link not in carried]
    if circling:
        raise _Fault(f"link {brief(circling[0])} cannot be reached from a root link, since its "
                     "joints form a loop; expected a tree from one root link.")
    if len(roots) > 1:
        raise _Fault(f"links {brief(roots[0])} and {brief(roots[1])} both have no parent joint; "
                     "expected one root link. Join them by a fixed joint, or remove one.")


def _check_link(link: ET.Element) -> None:
    for inertial in link.findall("inertial"):
        what = f"link {brief(link.get('name'))}"
        _origin(inertial, what)
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        if mass is None or inertia is None:
            raise _Fault(f"{what} has an inertial without mass or inertia; expected both.")
        if _number(mass, "value", f"{what}: mass") < 0:
            raise _Fault(f"{what} has the mass {mass.get('value')} kg; expected zero or more.")
        for entry in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
            value = _number(inertia, entry, f"{what}: inertia {entry}")
            if value < 0 and entry[1] == entry[2]:
                raise _Fault(f"{what} has the inertia {entry} = {value:g} kg m^2; expected zero or "
                             "more.")


def _check_numbers(element: ET.Element, joint: Joint) -> None:
    what = f"joint {brief(joint.name)}"
    _origin(element, what)
    axis, limit = element.find("axis"), element.find("limit")
    if axis is not None and joint.kind not in ("fixed", "floating"):
        xyz = _numbers(axis.get("xyz", ""), 3, f"{what}: axis")
        if not any(xyz):
            raise _Fault(f"{what} has the axis {axis.get('xyz')}; expected a non-zero direction.")
    for entry in ("lower", "upper", "effort", "velocity"):
        if limit is not None and limit.get(entry) is not None:
            _number(limit, entry, f"{what}: limit {entry}", sys.float_info.max)


def _check_moving(joints: dict[str, Joint], estimated: tuple[str, ...]) -> None:
    movable = [joint.name for joint in joints.values() if joint.kind != "fixed"]
    for name in estimated:
        if name not in movable:
            it = "is fixed in the URDF" if name in joints else "is not in the URDF"
            raise _Fault(f"joint {brief(name)} {it}; its movable joints are "
                         f"{brief(', '.join(movable))[1:-1] or 'none'}. Correct robot.joints.")
        if joints[name].kind not in ESTIMATED_KINDS:
            raise _Fault(f"joint {brief(name)} is {joints[name].kind}; robot.joints can hold only "
                         f"{', '.join(ESTIMATED_KINDS)} joints.")
        if joints[name].mimics:
            raise _Fault(f"joint {brief(name)} mimics {brief(joints[name].mimics)} and has no "
                         "motion of its own; remove it from robot.joints.")
    carrying = _carrying(joints, estimated)
    for joint in joints.values():
        if joint.mimics in estimated:
            raise _Fault(f"joint {brief(joint.name)} mimics {brief(joint.mimics)}, which is among "
                         "robot.joints, but all joints outside robot.joints are locked; remove "
                         "<mimic> and make it fixed.")
        if joint.kind in ("floating", "planar") and joint.name not in carrying:
            raise _Fault(f"joint {brief(joint.name)} is {joint.kind}, so its child link is not "
                         "carried by the arm. Make it fixed, or remove it from the file.")


def _carrying(joints: dict[str, Joint], estimated: tuple[str, ...]) -> set[str]:
    """Joints between the root and the first moving joint; they may be of any type, e.g. the
    floating joint of a vehicle that carries the arm."""
    above = {joint.child: joint for joint in joints.values()}
    found: set[str] = set()
    link = joints[estimated[0]].parent if estimated else ""
    while link in above:
        found.add(above[link].name)
        link = above[link].parent
    return found


def _origin(element: ET.Element, what: str) -> None:
    origin = element.find("origin")
    for entry in ("xyz", "rpy"):
        if origin is not None and origin.get(entry) is not None:
            _numbers(origin.get(entry, ""), 3, f"{what}: origin {entry}")


def _number(element: ET.Element, entry: str, what: str,
            largest: float = LARGEST_URDF_VALUE) -> float:
    return _numbers(element.get(entry, ""), 1, what, largest)[0]


def _numbers(text: str, count: int, what: str, largest: float = LARGEST_URDF_VALUE) -> list[float]:
    words = text.split()
    plain = all(URDF_NUMBER.fullmatch(word) for word in words)
    values = [float(word) for word in words] if plain else []
    if len(values) != count or not all(abs(value) <= largest for value in values):
        expected = f"{count} numbers" if count > 1 else "a number"
        hint = " Expand it with xacro first." if "${" in text else ""
        raise _Fault(f"{what} is {brief(text)}; expected {expected} of size up to {largest:g}."
                     f"{hint}")
    return values
