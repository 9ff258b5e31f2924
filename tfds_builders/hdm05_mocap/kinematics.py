"""Forward kinematics, which computes the positions of joints from their angles."""

from __future__ import annotations

import numpy as np

from tfds_builders.parsers.amc import Motion
from tfds_builders.parsers.asf import ROOT, ROTATIONS, Skeleton


def joint_positions(skeleton: Skeleton, motion: Motion) -> np.ndarray:
    """Computes the position of the root, and the position of the end of each bone.

    Each bone has its own axes C, and the motion rotates the bone by M about C. The orientation of
    the bone is the matrix product `R_parent C M C'`, in which `R_parent` is the orientation of the
    parent bone. The end of the bone is the end of the parent bone plus the orientation times the
    bone's offset at rest. Rotations are about the fixed axes x, y and z, in this order.

    Args:
        skeleton: Bones of the person.
        motion: Angles of the joints in each frame.

    Returns:
        Positions in meters, shape (frames, joints, 3), float64. The joints are in the order of
        `skeleton.joints`.
    """
    values = dict(zip(skeleton.channels, motion.values.T, strict=True))  # name: (frames,)
    place = np.stack([values[f"{ROOT}.T{axis}"] for axis in "XYZ"], axis=-1) * skeleton.meters
    turn = np.stack([values[f"{ROOT}.R{axis}"] for axis in "XYZ"], axis=-1)  # (frames, 3)
    places = {ROOT: skeleton.position + place}
    frames = {ROOT: _about(skeleton.orientation, turn)}
    for bone in skeleton.bones:
        frames[bone.name] = frames[bone.parent]
        if bone.dof:
            still = np.zeros(len(motion.values))
            turn = np.stack([values.get(f"{bone.name}.{r}", still) for r in ROTATIONS], axis=-1)
            frames[bone.name] = frames[bone.parent] @ _about(bone.axis, turn)
        places[bone.name] = places[bone.parent] + frames[bone.name] @ bone.offset
    return np.stack([places[joint] for joint in skeleton.joints], axis=1)


def _about(axis: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Returns the matrix product C M C' for each frame, shape (frames, 3, 3). The rotation C has
    the angles `axis`, shape (3,). The rotations M have the angles `turn`, shape (frames, 3).
    """
    frame = rotation(axis)
    return frame @ rotation(turn) @ frame.T


def rotation(degrees: np.ndarray) -> np.ndarray:
    """Returns matrices (..., 3, 3) that rotate about the fixed axes x, y and z, in this order.

    Args:
        degrees: Angles in degrees, shape (..., 3).
    """
    (sx, sy, sz), (cx, cy, cz) = (
        f(np.radians(np.moveaxis(degrees, -1, 0))) for f in (np.sin, np.cos)
    )
    rows = [
        [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
        [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
        [-sy, sx * cy, cx * cy],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
