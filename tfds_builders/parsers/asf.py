"""Parser of skeletons in Acclaim's `.asf` files, as VICON writes them (HDM05, Mueller2007).

The name of a section begins with a colon. The section `:units` states the unit of length, and
`:root` states the order of the root's channels. `:bonedata` has a block for each bone, and
`:hierarchy` has lines `parent child child …`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import is_number, read_text

ROOT = "root"
ROTATIONS = ("rx", "ry", "rz")
ROOT_ORDER = ("TX", "TY", "TZ", "RX", "RY", "RZ")
LARGEST = 1e6  # largest allowed angle, length or position
METERS_PER_INCH = 0.0254
_SECTIONS = ("units", "root", "bonedata", "hierarchy")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."

Line = tuple[int, list[str]]  # number of the line in the file, and its words


@dataclasses.dataclass(frozen=True)
class Bone:
    """Bone of a skeleton. A bone begins at the end of its parent bone.

    Attributes:
        name: Name of the bone.
        parent: Name of the parent bone, or `"root"`.
        offset: Vector from the start to the end of the bone at rest, in meters, (3,) float64.
        axis: Rotation of the bone's axes at rest, as angles about x, y and z in degrees, (3,)
            float64.
        dof: Rotations that are possible for the bone, as elements of `ROTATIONS`. `dof` is empty if
            the bone is fixed to its parent.
    """

    name: str
    parent: str
    offset: np.ndarray
    axis: np.ndarray
    dof: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Skeleton:
    """Skeleton of one person.

    Attributes:
        meters: Unit of length of the file, in meters. Files with motions of the person have the
            same unit of length.
        position: Position of the root at rest, in meters, (3,) float64.
        orientation: Rotation of the root at rest, as angles about x, y and z in degrees, (3,)
            float64.
        bones: The bones, ordered so that each bone comes after its parent.
    """

    meters: float
    position: np.ndarray
    orientation: np.ndarray
    bones: tuple[Bone, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints. The first joint is the root. Each other joint is the end of a bone
        and has the name of the bone.
        """
        return (ROOT, *(bone.name for bone in self.bones))

    @property
    def widths(self) -> dict[str, int]:
        """Number of channels for the root and for each bone that can rotate."""
        turning = {bone.name: len(bone.dof) for bone in self.bones if bone.dof}
        return {ROOT: len(ROOT_ORDER)} | turning

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels of a motion, such as `root.TX` and `ltibia.rx`."""
        turning = (f"{bone.name}.{rotation}" for bone in self.bones for rotation in bone.dof)
        return (*(f"{ROOT}.{channel}" for channel in ROOT_ORDER), *turning)


def parse(file: BinaryIO, *, name: str) -> Skeleton:
    """Reads a skeleton.

    In this format, the unit of length is an inch divided by the value `length` in the section
    `:units`. In HDM05, `length` is 0.45, so the unit is 5.6 cm.

    Args:
        file: The open file. Comments in the file may have any encoding.
        name: Name of the file, for error messages.

    Returns:
        The skeleton. Every bone is a descendant of the root, and every number is finite.

    Raises:
        FormatError: If a line or a section does not have the expected form, if angles are in
            radians, or if the rotations are not in the order x, y and z. The error names the line
            or section.
    """
    sections = _sections(read_text(file, name, comments=True).split("\n"), name)
    units, root = (_fields(sections[key], f":{key}", name) for key in ("units", "root"))
    _expect(units, "angle", ("deg",), name)
    _expect(root, "order", ROOT_ORDER, name)
    _expect(root, "axis", ("XYZ",), name)
    (length,) = _numbers(units, "length", 1, name)
    if not 1e-3 < length < 1e3:
        received = f"`length` is {length:g}"
        raise FormatError(name, "section :units", received, "a value of about 0.45", _FIX)
    meters = METERS_PER_INCH / length
    position = np.array(_numbers(root, "position", 3, name))
    orientation = np.array(_numbers(root, "orientation", 3, name))
    parents = _parents(sections["hierarchy"], name)
    bones = [_bone(lines, parents, meters, name) for lines in _blocks(sections["bonedata"], name)]
    return Skeleton(meters, position * meters, orientation, _from_the_root(bones, parents, name))


def _sections(lines: list[str], name: str) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    current: list[Line] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if line.startswith(":"):
            key = words[0][1:].lower()
            if key in sections:
                received = f"the section :{quoted(key)} begins a second time"
                raise FormatError(name, f"line {number}", received, "each section once", _FIX)
            current = sections[key] = []
        elif words:
            current.append((number, words))
    for key in _SECTIONS:
        if not sections.get(key):
            received = f"the section :{key} is missing or empty"
            raise FormatError(name, "", received, "a section with lines", _FIX)
    return sections


def _fields(lines: Iterable[Line], where: str, name: str) -> dict[str, Line]:
    """Returns the lines of a section as a dictionary. The key of a line is the first word of the
    line.
    """
    fields: dict[str, Line] = {"": (0, [where])}
    for number, (key, *words) in lines:
        if key in fields:
            received = f"the line {quoted(key)} occurs a second time"
            raise FormatError(name, f"line {number}", received, "one line of this name", _FIX)
        fields[key] = (number, words)
    return fields


def _line(fields: dict[str, Line], key: str, name: str) -> Line:
    if key not in fields:
        received = f"the line `{key}` is missing"
        raise FormatError(name, fields[""][1][0], received, "one line of this name", _FIX)
    return fields[key]


def _expect(fields: dict[str, Line], key: str, words: Sequence[str], name: str) -> None:
    number, received = _line(fields, key, name)
    if tuple(received) != tuple(words):
        expected = f"`{key} {' '.join(words)}`"
        raise FormatError(name, f"line {number}", quoted(" ".join(received)), expected, _FIX)


def _numbers(fields: dict[str, Line], key: str, count: int, name: str) -> list[float]:
    number, words = _line(fields, key, name)
    good = len(words) == count and all(is_number(word) for word in words)
    values = [float(word) for word in words] if good else []
    if not good or max(map(abs, values)) > LARGEST:
        expected = f"{count} number(s) up to {LARGEST:g}"
        raise FormatError(name, f"line {number}", quoted(" ".join(words)), expected, _FIX)
    return values


def _blocks(lines: list[Line], name: str) -> list[list[Line]]:
    """Returns the lines between each `begin` and the next `end`."""
    blocks: list[list[Line]] = []
    inside = False
    for number, words in lines:
        if words == ["end" if inside else "begin"]:
            inside = not inside
            blocks += [[]] if inside else []
        elif inside:
            blocks[-1].append((number, words))
        else:
            raise FormatError(name, f"line {number}", quoted(" ".join(words)), "`begin`", _FIX)
    if inside:
        received = "the last bone has no end"
        raise FormatError(name, "section :bonedata", received, "a line `end`", _FIX)
    return blocks


def _bone(lines: list[Line], parents: dict[str, str], meters: float, name: str) -> Bone:
    where = f"line {lines[0][0]}" if lines else "section :bonedata"
    fields = _fields((line for line in lines if line[1][0][0] != "("), where, name)  # ( is a limit
    number, words = _line(fields, "name", name)
    bone = " ".join(words)
    if bone not in parents:
        raise FormatError(name, f"line {number}", quoted(bone), "a bone of :hierarchy", _FIX)
    number, words = _line(fields, "axis", name)
    if words[3:] != ["XYZ"]:
        raise FormatError(name, f"line {number}", quoted(" ".join(words)), "angles and XYZ", _FIX)
    axis = _numbers({"axis": (number, words[:3])}, "axis", 3, name)
    dof = fields.setdefault("dof", (0, []))[1]
    _expect(fields, "dof", [rotation for rotation in ROTATIONS if rotation in dof], name)
    direction = np.array(_numbers(fields, "direction", 3, name))
    (length,) = _numbers(fields, "length", 1, name)
    return Bone(bone, parents[bone], direction * length * meters, np.array(axis), tuple(dof))


def _parents(lines: list[Line], name: str) -> dict[str, str]:
    parents: dict[str, str] = {}
    for number, (parent, *children) in lines:
        for child in children:
            if child == ROOT or child in parents:
                received = f"the bone {quoted(child)} is the root or already has a parent"
                raise FormatError(name, f"line {number}", received, "one parent per bone", _FIX)
            parents[child] = parent
    return parents


def _from_the_root(bones: list[Bone], parents: dict[str, str], name: str) -> tuple[Bone, ...]:
    if sorted(bone.name for bone in bones) != sorted(parents):
        received = (
            f"the {len(bones)} bones in :bonedata are not the {len(parents)} bones in :hierarchy"
        )
        raise FormatError(name, "", received, "each bone once in each section", _FIX)
    children: dict[str, list[Bone]] = {}
    for bone in reversed(bones):
        children.setdefault(bone.parent, []).append(bone)
    placed, waiting = [], list(children.get(ROOT, []))
    while waiting:
        placed.append(waiting.pop())
        waiting += children.get(placed[-1].name, [])
    if len(placed) < len(bones):
        received = f"{len(bones) - len(placed)} bones have no path to the root"
        raise FormatError(name, "section :hierarchy", received, "a path for every bone", _FIX)
    return tuple(placed)
