"""Tests of `hdm05_mocap`: joint positions, angles, covariances, and one split per actor.

Further tests read the oddities of the official files.
"""

import io

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.records import everything
from tests.tfds_builders.samples import zipped
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.hdm05_mocap import kinematics
from tfds_builders.hdm05_mocap.clips import ANGLES, JOINTS
from tfds_builders.parsers import amc, asf

pytestmark = pytest.mark.usefixtures("quiet")
FILES = samples.mocap_files()
CLIP = "HDM05_cut_amc/squat1Reps/HDM_bd_squat1Reps_002_120.amc"
BODY = "HDM05_cut_amc/squat1Reps/HDM_bd.asf"


def prepared(folder, files, name="hdm05_mocap"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def places_of(clip=CLIP):
    body = asf.parse(io.BytesIO(FILES[BODY]), name="b")
    return kinematics.joint_positions(body, amc.parse(io.BytesIO(FILES[clip]), body, name="a"))


def test_a_record_has_places_angles_and_whose_motion_it_is(tmp_path):
    builder = prepared(tmp_path, FILES)
    record = everything(builder)["bd/squat1Reps/002"]
    assert record["sequence"].shape == (4, 93) and record["sequence"].dtype == np.float32
    np.testing.assert_allclose(record["sequence"], places_of().reshape(4, 93), rtol=0, atol=1e-6)
    assert record["angles"].shape == (4, 62)
    np.testing.assert_allclose(
        record["angles"][:, :3], record["sequence"][:, :3], rtol=0, atol=1e-6
    )
    assert record["angles"][0, ANGLES.index("root.RY")] == float(samples._angle(13, 4))
    assert (record["subject"], record["device"]) == (b"bd", b"Vicon")
    assert (record["session"], record["day"]) == (-1, -1)
    assert (record["motion"], record["take"]) == (b"squat1Reps", 2)
    metadata = builder.info.metadata
    assert metadata["channels"][:4] == ["root.x", "root.y", "root.z", f"{JOINTS[1]}.x"]
    assert (metadata["rate_hz"], metadata["motions"]) == (120, ["squat1Reps"])


@pytest.mark.slow
def test_a_matrix_is_the_covariance_of_the_places_made_definite(tmp_path):
    record = everything(prepared(tmp_path, FILES, "hdm05_mocap/spd93"))["bd/squat1Reps/002"]
    expected = np.cov(places_of().reshape(4, 93).T)
    expected += 1e-6 * np.trace(expected) / 93 * np.eye(93)
    assert record["matrix"].dtype == np.float64 and record["frames"] == 4
    np.testing.assert_allclose(record["matrix"], expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(record["matrix"], record["matrix"].T)
    assert np.linalg.eigvalsh(record["matrix"]).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("config", ["sequences", "spd93"])
def test_there_is_a_split_an_actor(config, tmp_path, caplog):
    builder = prepared(tmp_path, FILES, f"hdm05_mocap/{config}")
    for split, source in builder.as_data_source().items():
        assert len(source) == 2
        assert {f"actor_{record['subject'].decode()}" for record in source} == {split}
    assert builder.info.metadata["subjects"] == {"actor_bd": ["bd"], "actor_mm": ["mm"]}
    assert "holds 4 of 2,337 clips, 1 of 130 motions and 2 of 5 actors" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"HDM05_cut_amc.zip": zipped(FILES)},
        {"hdm05/HDM05_cut_amc_bd_bk_dg_mm.tar.xz": samples.tar(FILES)},
        {f"hdm05_mocap/{name}": content for name, content in FILES.items()},
        samples.mocap_files(folder="HDM05_cut_amc_tr/"),
    ],
    ids=["zip", "tar in hdm05", "folder in hdm05_mocap", "folder of one actor's name"],
)
def test_every_form_of_the_archive_gives_the_same(files, tmp_path):
    assert sorted(everything(prepared(tmp_path, files))) == [
        "bd/squat1Reps/001", "bd/squat1Reps/002", "mm/squat1Reps/003", "mm/squat1Reps/004"
    ]  # fmt: skip


@pytest.mark.slow
def test_each_actor_moves_in_his_own_skeleton(tmp_path):
    longer = FILES | {BODY: samples.skeleton(length=0.225)}  # all bones are twice as long
    one = everything(prepared(tmp_path / "one", FILES))
    two = everything(prepared(tmp_path / "two", longer))
    for key, record in one.items():
        times = 2 if record["subject"] == b"bd" else 1
        np.testing.assert_allclose(two[key]["sequence"], times * record["sequence"], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"HDM05_cut_amc.zip": b"<html>"}, "neither a zip nor a tar"),
        ({"HDM05_cut_amc.zip": zipped(FILES)[:2000]}, "damaged or incomplete"),
        ({"HDM05_cut_amc.zip": zipped({"a.c3d": b""})}, "holds no HDM_.*. It holds a.c3d"),
        (
            {k: v for k, v in FILES.items() if k != BODY},
            "HDM_bd_squat1Reps_001_120.amc has no skeleton HDM_bd.asf in its folder",
        ),
        (FILES | {CLIP.replace("120", "30"): b""}, "has 30 frames per second, expected 120"),
        (FILES | {CLIP.replace("squat1Reps/", "squats/"): b""}, "the same recording twice"),
        (
            FILES | {CLIP.replace("bd", "mm"): FILES[CLIP]},
            r"bd/squat1Reps/002 \(actor bd\) and mm/squat1Reps/002 \(actor mm\) have the same",
        ),
        (FILES | {CLIP: FILES[CLIP][:-30]}, "HDM_bd_squat1Reps_002_120.amc.*incomplete"),
        (
            FILES | {BODY: FILES[BODY].replace(b"lthumb", b"lpinky")},
            "the skeleton differs in 'lpinky, lpinky.rx",
        ),
    ],
)
def test_a_missing_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.parametrize("frames", [1, 2])
def test_a_clip_in_which_nothing_moves_has_no_covariance(frames, tmp_path):
    one = samples.motion(frames=1)
    still = one + one[one.index(b"1\nroot") :].replace(b"1\n", b"2\n", 1) * (frames - 1)
    with pytest.raises(FormatError, match=f"all channels are constant over {frames} steps"):
        prepared(tmp_path, FILES | {CLIP: still}, "hdm05_mocap/spd93")


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir):
    builder = reading.prepared("hdm05_mocap", data_dir)
    counts = {split: info.num_examples for split, info in builder.info.splits.items()}
    assert counts == {"actor_bd": 62, "actor_bk": 66, "actor_dg": 61, "actor_mm": 44}
    records = everything(builder)
    lengths = [len(record["sequence"]) for record in records.values()]
    assert (sum(lengths), min(lengths), max(lengths)) == (57_023, 56, 901)
    assert sum(length < 94 for length in lengths) == 26
    assert len(builder.info.metadata["motions"]) == 11
    assert "bk/sneak2StepsLStart/006" in records  # its file name ends in .AMC
    first = records["bd/depositFloorR/001"]["angles"][0]
    np.testing.assert_allclose(first[:2], np.array([5.19708, 17.2839]) * 0.0254 / 0.45, rtol=1e-6)
    np.testing.assert_allclose(first[[3, ANGLES.index("ltoes.rx")]], [248.435, -6.54428], rtol=1e-6)
    height, head = 1, 3 * JOINTS.index("head") + 1
    standing = np.concatenate([r["sequence"] for k, r in records.items() if "grabHigh" in k])
    assert 0.8 < np.median(standing[:, height]) < 1.1 and 1.5 < np.median(standing[:, head]) < 1.8
