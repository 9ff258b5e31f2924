"""Tests the parsers of motion capture and the kinematics.

The expected values come from calculations by hand and from SciPy.
"""

import io

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.tfds_builders import samples
from tests.tfds_builders.mutations import check_parser
from tfds_builders.common.errors import FormatError
from tfds_builders.hdm05_mocap import kinematics
from tfds_builders.hdm05_mocap.clips import ANGLES, JOINTS, TURNS
from tfds_builders.parsers import amc, asf

LEG = {"hip": "", "femur": "xyz", "tibia": "x"}  # along y, z and x; 1, 2 and 3 tenths long
TREE = ("root hip", "hip femur", "femur tibia")
LEG_FILE = samples.skeleton(LEG, TREE, length=0.0254)  # the unit of length is a meter
STEP = samples.motion(bones=LEG, frames=4)


def skeleton(data=LEG_FILE):
    return asf.parse(io.BytesIO(data), name="HDM_bd.asf")


def motion(data=STEP, bones=LEG_FILE):
    return amc.parse(io.BytesIO(data), skeleton(bones), name="a.amc")


def still(**turned):
    """Returns a motion of one frame. All channels are 0 except the given channels, such as
    `root_RX=90`.
    """
    values = {channel: 0.0 for channel in skeleton().channels}
    values |= {name.replace("_", "."): value for name, value in turned.items()}
    return amc.Motion(np.array([list(values.values())]))


def test_a_skeleton_has_the_bones_of_its_file_in_meters():
    found = skeleton()
    assert found.joints == ("root", "hip", "femur", "tibia")
    assert found.channels[6:] == ("femur.rx", "femur.ry", "femur.rz", "tibia.rx")
    assert [bone.parent for bone in found.bones] == ["root", "hip", "femur"]
    offsets = [bone.offset.tolist() for bone in found.bones]
    np.testing.assert_allclose(offsets, [[0, 0.1, 0], [0, 0, 0.2], [0.3, 0, 0]])
    assert skeleton(samples.skeleton(LEG, TREE)).meters == pytest.approx(0.0254 / 0.45)


def test_bones_come_after_their_parents_whatever_the_order_of_the_file():
    turned = samples.skeleton(dict(reversed(LEG.items())), TREE)
    assert skeleton(turned).joints == ("root", "hip", "femur", "tibia")


def test_the_hand_made_skeleton_is_that_of_the_data_set():
    found = skeleton(samples.skeleton())
    assert (found.joints, found.channels) == (JOINTS, ANGLES)
    assert (len(JOINTS), len(ANGLES)) == (31, 62)


def test_a_motion_has_the_values_of_its_lines_despite_mixed_line_ends_and_latin_1():
    values = motion().values
    assert values.shape == (4, 10) and values.dtype == np.float64
    np.testing.assert_allclose(values[:, 0], 9.64106e-15)
    np.testing.assert_allclose(values[2, 7:9], [float(samples._angle(3, c)) for c in (7, 8)])


def test_columns_follow_the_skeleton_whatever_the_order_of_the_lines():
    lines = STEP.split(b"\r\n")
    swapped = []
    for line in lines:
        if line.startswith(b"tibia"):
            swapped.insert(-1, line)
        else:
            swapped.append(line)
    assert swapped != lines
    np.testing.assert_array_equal(motion(b"\r\n".join(swapped)).values, motion().values)


@pytest.mark.parametrize(
    ("turned", "tibia"),
    [
        ({}, [0.3, 0.1, 0.2]),
        ({"root_TX": 5.0}, [5.3, 0.1, 0.2]),
        ({"root_RZ": 90.0}, [-0.1, 0.3, 0.2]),
        ({"root_RX": 90.0, "root_RZ": 90.0}, [0.2, 0.3, 0.1]),
        ({"femur_ry": 90.0}, [0.2, 0.1, -0.3]),
        ({"tibia_rx": 90.0}, [0.3, 0.1, 0.2]),
    ],
)
def test_the_end_of_the_leg_is_where_one_finds_it_by_hand(turned, tibia):
    places = kinematics.joint_positions(skeleton(), still(**turned))
    np.testing.assert_allclose(places[0, -1], tibia, rtol=0, atol=1e-12)


def test_a_bone_turns_about_its_own_axes():
    tilted = skeleton(samples.skeleton(LEG, TREE, length=0.0254, axis="0 0 90"))
    places = kinematics.joint_positions(tilted, still(femur_rx=90.0))  # about the global y axis
    np.testing.assert_allclose(places[0, -1], [0.2, 0.1, -0.3], rtol=0, atol=1e-12)


def test_rotations_are_those_of_scipy_about_fixed_axes(rng):
    angles = rng.uniform(-400, 400, (50, 3))
    expected = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    np.testing.assert_allclose(kinematics.rotation(angles), expected, rtol=0, atol=1e-12)


def test_no_bone_changes_its_length_and_fixed_bones_stay_fixed():
    body = skeleton(samples.skeleton(axis="10 -20 30"))
    moved = amc.parse(io.BytesIO(samples.motion(frames=6)), body, name="a.amc")
    places = kinematics.joint_positions(body, moved)
    assert places.shape == (6, 31, 3)
    at = {joint: places[:, column] for column, joint in enumerate(body.joints)}
    for bone in body.bones:
        lengths = np.linalg.norm(at[bone.name] - at[bone.parent], axis=-1)
        np.testing.assert_allclose(lengths, np.linalg.norm(bone.offset), rtol=1e-10)
    hips = np.linalg.norm(at["lhipjoint"] - at["rhipjoint"], axis=-1)
    np.testing.assert_allclose(hips, hips[0], rtol=1e-10)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b":units", b":unity", "the section :units is missing or empty"),
        (b":version 1.10", b":root", "the section :'root' begins a second time"),
        (b"angle deg", b"angle rad", "line 7: 'rad', expected `angle deg`"),
        (b"length 0.0254", b"length 0", "`length` is 0, expected a value of about 0.45"),
        (b"RX RY RZ", b"RZ RY RX", "expected `order TX TY TZ RX RY RZ`"),
        (b"axis XYZ", b"axis ZYX", "expected `axis XYZ`"),
        (b"position 0 0 0", b"position 0 0", r"'0 0', expected 3 number\(s\)"),
        (b"length 0.2", b"length nan", "line 27: 'nan', expected 1 number"),
        (b"direction 0 1 0", b"direction 0 1e9 0", "expected 3 number"),
        (b"axis 0 0 0  XYZ", b"axis 0 0 0  ZYX", "expected angles and XYZ"),
        (b"axis 0 0 0  XYZ", b"axis", "expected angles and XYZ"),
        (b"axis 0 0 0  XYZ", b"angles 0", "line 17: the line `axis` is missing"),
        (b"dof rx ry rz", b"dof rz rx", "'rz rx', expected `dof rx rz`"),
        (b"name hip", b"name shin", "'shin', expected a bone of :hierarchy"),
        (b"name femur", b"name hip", "the 3 bones in :bonedata are not the 3 bones in :hierarchy"),
        (b"name femur", b"name femur\n name femur", "the line 'name' occurs a second time"),
        (b"hip femur", b"hip hip", "one parent per bone"),
        (b"root hip", b"tibia hip", "3 bones have no path"),
        (b"  end\r\n:hier", b":hier", "the last bone has no end"),
        (b"  begin\r\n     id 2", b"  start\r\n     id 2", "'start', expected `begin`"),
        (b":units", b":un\xfcts", "the byte 0xfc, expected plain ASCII text"),
    ],
)
def test_a_damaged_skeleton_is_refused(old, new, message):
    assert old in LEG_FILE
    with pytest.raises(FormatError, match=message):
        skeleton(LEG_FILE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b":DEGREES", b":RADIANS", "':FULLY-SPECIFIED :RADIANS', expected :FULLY-SPECIFIED"),
        (b"\n1\n", b"\none\n", "and frame 1"),
        (b"\n2\n", b"\n3\n", "line 8: '3', expected frame 2"),
        (b"\r\ntibia", b"\r\nshin", "frame 1: the channels differ for 'shin, tibia'"),
        (b"root 9.64106e-015", b"root nan", "line 5: 'root nan .*, expected `root` and 6 numbers"),
        (b"root 9.64106e-015", b"root 1e7", "line 5"),
        (b"root 9.64106e-015", b"root 1_0", "line 5"),
        (b"root 9.64106e-015 ", b"root ", "frame 1: the channels differ for 'root'"),
    ],
)
def test_a_damaged_motion_is_refused_by_line(old, new, message):
    assert old in STEP
    with pytest.raises(FormatError, match=message):
        motion(STEP.replace(old, new, 1))


def test_a_motion_that_ends_within_a_frame_is_refused():
    with pytest.raises(FormatError, match="the last frame is incomplete"):
        motion(STEP[: STEP.rindex(b"tibia")])


def test_a_motion_whose_last_number_is_cut_is_refused():
    with pytest.raises(FormatError, match="the file ends with .*, expected a line end"):
        motion(STEP.rstrip()[:-1])


def test_a_motion_of_another_skeleton_is_refused():
    with pytest.raises(
        FormatError, match="the channels differ for '.*', expected the skeleton's channels"
    ):
        motion(samples.motion(bones=TURNS))


def _skeleton_holds(found):
    numbers = [found.position, found.orientation]
    numbers += [part for bone in found.bones for part in (bone.offset, bone.axis)]
    assert np.isfinite(numbers).all() and 0 < found.meters < 100
    known = {"root"}
    for bone in found.bones:
        assert bone.parent in known and bone.name not in known
        known.add(bone.name)


def _motion_holds(found):
    assert found.values.shape[1] == 10 and len(found.values)
    places = kinematics.joint_positions(skeleton(), found)
    assert np.isfinite(places).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "data", "check"),
    [(skeleton, LEG_FILE, _skeleton_holds), (motion, STEP, _motion_holds)],
    ids=["skeleton", "motion"],
)
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(run, data, check):
    check_parser(run, data, check)
