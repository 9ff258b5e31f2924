"""Tests which recordings `python -m zoo.papers wasserstein` reads from each data set."""

import numpy as np
import pytest

from zoo.papers.wasserstein import data_sets

pytest.importorskip("tensorflow_datasets")


def test_walks_are_cut_into_windows_between_the_first_and_the_last_step():
    record = {
        "sequence": np.arange(1500.0)[:, None].repeat(6, axis=1),
        "left_steps": np.array([[100, 150], [1150, 1190]]),
        "right_steps": np.array([[120, 170]]),
        "subject": b"7",
        "trial": 3,
    }
    arrays = data_sets.ipol_arrays([record])
    assert [signal[0, 0] for signal in arrays["signals"]] == [100, 612]
    assert (arrays["subjects"], arrays["blocks"]) == (["7", "7"], [3, 3])
    assert arrays["gaze"] is None and arrays["rate_hz"] == 100


def test_trials_of_eeg_are_halved_in_the_order_of_their_numbers():
    records = [
        {"sequence": np.zeros((256, 2)), "subject": name, "trial": trial}
        for name, trial in ((b"a", 9), (b"a", 2), (b"b", 5), (b"a", 4), (b"b", 3), (b"a", 7))
    ]
    assert data_sets.eeg_arrays(records)["blocks"].tolist() == [1, 0, 1, 0, 0, 1]


def diem_record(**changes):
    steps = 2 * data_sets.DIEM_WINDOW + 5
    sequence = np.tile([640.0, 480, 640, 480, 900, 950], (steps, 1)).astype("float32")
    event = np.ones((steps, 2), "int8")
    return {"sequence": sequence, "event": event, "video": b"b", "subject": b"s", **changes}


def test_gaze_is_the_mean_of_both_eyes_in_degrees_and_lost_frames_are_interpolated():
    record = diem_record()
    record["sequence"][:, [0, 2]] += 640  # half a screen to the right
    record["sequence"][10:12, :2] = 0  # lost, according to the position
    record["sequence"][20, 2:4] = 3270  # overflow
    record["event"][30, 1] = -1  # lost, according to the event
    record["sequence"][30, 2:4] = 5
    arrays = data_sets.diem_arrays([record, diem_record(video=b"a")])
    assert len(arrays["signals"]) == 4 and arrays["blocks"] == [1, 1, 0, 0] and arrays["films"]
    degrees = np.rad2deg(np.arctan(0.2 / 0.9))
    window = [[degrees, 0]] * data_sets.DIEM_WINDOW
    np.testing.assert_allclose(arrays["gaze"][0], window, rtol=1e-6)
    np.testing.assert_allclose(arrays["signals"][0][:, 0], 1280, rtol=1e-6)
    assert arrays["rate_hz"] == 30


def test_a_recording_that_is_mostly_lost_is_left_out():
    record = diem_record()
    record["event"][: len(record["event"]) * 2 // 3, 0] = 0
    assert data_sets.diem_arrays([record])["signals"] == []


def test_pixels_of_a_movie_become_degrees():
    sequence = np.tile([640.0, 360.0], (data_sets.GAZECOM_WINDOW, 1))
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
    (gaze,) = data_sets.gazecom_arrays([record])["gaze"]
    np.testing.assert_allclose(gaze[:100], 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gaze[100:], [[np.rad2deg(np.arctan(0.2 / 0.45)), 0]] * 924)


@pytest.fixture
def archives(monkeypatch):
    """Returns records by the name of the data set. Other data sets have no archive."""
    from tfds_builders import reading
    from tfds_builders.common.errors import MissingArchiveError

    records_by_name = {}

    def records(name, manual_dir, data_dir):
        if name not in records_by_name:
            raise MissingArchiveError(f"{name}: no archive.")
        return {"train": records_by_name[name], "test": records_by_name[name]}

    monkeypatch.setattr(reading, "records", records)
    return records_by_name


def eeg_trials(people):
    return [
        {"sequence": np.zeros((256, 2)), "subject": str(person).encode(), "trial": 1}
        for person in range(people)
    ]


def test_the_papers_data_set_is_read_first_and_a_part_of_it_is_called_a_part(
    archives, tmp_path, capsys
):
    archives["uci_eeg/large"] = eeg_trials(17)
    data = data_sets.read("eeg", tmp_path)
    assert data.relation == "a part of the paper's data (17 of 121 people)"
    archives["uci_eeg/full"] = eeg_trials(122)
    data = data_sets.read("eeg", tmp_path, tmp_path / "prepared")
    assert (data.relation, data.people) == (data_sets.PAPER_DATA, 121)
    assert len(data.arrays["signals"]) == 244
    assert f"prepared data in {tmp_path / 'prepared'}" in capsys.readouterr().err


def test_error_without_any_archive_names_all_data_sets(archives, tmp_path):
    with pytest.raises(ValueError, match="neither ltmm_gait nor ipol_gait. ipol_gait/left_foot"):
        data_sets.read("gait", tmp_path)
