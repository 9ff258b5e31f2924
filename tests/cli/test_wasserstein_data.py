"""What `keras-dml reproduce wasserstein` reads of each data set."""

import numpy as np
import pytest

from keras_dml.cli import _wasserstein_data as data

pytest.importorskip("tensorflow_datasets")


def test_walks_are_windows_between_the_first_and_the_last_step():
    record = {
        "sequence": np.arange(1500.0)[:, None].repeat(6, axis=1),
        "left_steps": np.array([[100, 150], [1150, 1190]]),
        "right_steps": np.array([[120, 170]]),
        "subject": b"7",
        "trial": 3,
    }
    found = data._ipol([record])
    assert [one[0, 0] for one in found["signals"]] == [100, 612]
    assert (found["subjects"], found["blocks"]) == (["7", "7"], [3, 3])
    assert found["gaze"] is None and found["rate_hz"] == 100


def test_trials_are_halved_in_the_order_of_their_numbers():
    records = [
        {"sequence": np.zeros((256, 2)), "subject": name, "trial": trial}
        for name, trial in ((b"a", 9), (b"a", 2), (b"b", 5), (b"a", 4), (b"b", 3), (b"a", 7))
    ]
    assert data._eeg(records)["blocks"].tolist() == [1, 0, 1, 0, 0, 1]


def diem(**changed):
    steps = 2 * data.DIEM_WINDOW + 5
    sequence = np.tile([640.0, 480, 640, 480, 900, 950], (steps, 1)).astype("float32")
    event = np.ones((steps, 2), "int8")
    return {"sequence": sequence, "event": event, "video": b"b", "subject": b"s", **changed}


def test_gaze_is_the_mean_of_both_eyes_in_degrees_with_lines_over_lost_frames():
    record = diem()
    record["sequence"][:, [0, 2]] += 640  # half a screen to the right
    record["sequence"][10:12, :2] = 0  # lost, said by the position
    record["sequence"][20, 2:4] = 3270  # overflow
    record["event"][30, 1] = -1  # lost, said by the event
    record["sequence"][30, 2:4] = 5
    found = data._diem([record, diem(video=b"a")])
    assert len(found["signals"]) == 4 and found["blocks"] == [1, 1, 0, 0] and found["films"]
    degrees = np.rad2deg(np.arctan(0.2 / 0.9))
    np.testing.assert_allclose(found["gaze"][0], [[degrees, 0]] * data.DIEM_WINDOW, rtol=1e-6)
    np.testing.assert_allclose(found["signals"][0][:, 0], 1280, rtol=1e-6)
    assert found["rate_hz"] == 30


def test_a_recording_that_is_mostly_lost_is_left_out():
    record = diem()
    record["event"][: len(record["event"]) * 2 // 3, 0] = 0
    assert data._diem([record])["signals"] == []


def test_pixels_of_a_movie_become_degrees():
    sequence = np.tile([640.0, 360.0], (data.GAZECOM_WINDOW, 1))
    sequence[100:] += [640, 0]
    sequence[50] = np.nan
    record = {
        "sequence": sequence,
        "movie": b"beach",
        "subject": b"AAF",
        "width": 1280,
        "height": 720,
        "distance_m": 0.45,
        "screen_width_m": 0.4,
        "screen_height_m": 0.225,
    }
    (gaze,) = data._gazecom([record])["gaze"]
    np.testing.assert_allclose(gaze[:100], 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gaze[100:], [[np.rad2deg(np.arctan(0.2 / 0.45)), 0]] * 924)


@pytest.fixture
def archives(monkeypatch):
    """Data sets whose archive is there, with the records that they have."""
    from tfds_builders import reading
    from tfds_builders.common.errors import MissingArchiveError

    there = {}

    def records(name, manual_dir, data_dir):
        if name not in there:
            raise MissingArchiveError(f"{name}: no archive.")
        return {"train": there[name], "test": there[name]}

    monkeypatch.setattr(reading, "records", records)
    return there


def eeg_trials(people):
    return [
        {"sequence": np.zeros((256, 2)), "subject": str(person).encode(), "trial": 1}
        for person in range(people)
    ]


def test_the_papers_data_comes_first_and_a_part_of_it_is_called_one(archives, tmp_path):
    archives["uci_eeg/large"] = eeg_trials(17)
    found = data.read("eeg", tmp_path)
    assert found.relation == "a part of the paper's data (17 of 121 people)"
    archives["uci_eeg/full"] = eeg_trials(122)
    found = data.read("eeg", tmp_path)
    assert (found.relation, found.people) == (data.OWN, 121)
    assert len(found.arrays["signals"]) == 244


def test_without_any_archive_all_are_named(archives, tmp_path):
    with pytest.raises(ValueError, match="neither ltmm_gait nor ipol_gait. ipol_gait/left_foot"):
        data.read("gait", tmp_path)
