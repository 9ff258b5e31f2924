"""Tests all steps from files to decisions, on speakers who were not used to train the model."""

import json

import numpy as np
import pytest

from keras_dml import zoo
from keras_dml.gallery import _decide
from tests import speakers as carried
from tests.speakers import MODEL

ENROLLED, OBSERVED = 8, 6  # utterances of one vowel


@pytest.fixture(scope="module")
def speakers():
    """Returns utterances to enroll and later utterances, each as `{speaker: utterances}`."""
    return carried.unseen()


def write(folder, utterances):
    """Writes utterances as CSV files."""
    card = zoo.card(MODEL)["input"]
    folder.mkdir(parents=True)
    for i, frames in enumerate(utterances):
        times = np.arange(len(frames))[:, None] / card["rate_hz"]
        lines = [",".join(map(repr, row)) for row in np.hstack([times, frames]).tolist()]
        header = ",".join(["time_s", *card["channels"]])
        (folder / f"{i}.csv").write_text("\n".join([header, *lines]))


def test_commands_lead_from_files_to_decisions(command, speakers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    earlier, later = speakers
    expected, strangers = list(earlier)[:2], list(earlier)[2:]
    for name in earlier:
        write(tmp_path / "voices" / name, earlier[name][:ENROLLED])
        write(tmp_path / "new" / name, later[name][:OBSERVED])

    def run_json(*words, status=0):
        code, out, err = command(*words, "--json")
        assert code == status, err
        return json.loads(out)

    for name in expected:
        result = run_json("enroll", "family.db", name, f"voices/{name}", "--model", MODEL)
        assert len(result["kept"]) == result["enrolled"] == ENROLLED and not result["refused"]
    _, _, err = command("calibrate", "family.db", "voices", "--far", "0.1")
    assert "would need about" in err  # four people are too few for this rate
    threshold = run_json("calibrate", "family.db", "voices", "--far", "0.1", "--extrapolate")
    assert threshold["people"] == 4 and threshold["strictest"] > 0.1
    assert run_json("people", "family.db") == dict.fromkeys(expected, ENROLLED)
    for name in expected:
        assert run_json("verify", "family.db", name, f"new/{name}")["accepted"]
        assert run_json("identify", "family.db", f"new/{name}")["person"] == name
    for name in strangers:
        assert run_json("identify", "family.db", f"new/{name}", status=1)["person"] is None
        assert not run_json("verify", "family.db", expected[0], f"new/{name}", status=1)["accepted"]
    file = run_json("export", "family.db", "--to", "tflite", "--out", "watch")
    assert file["people"] == 2 and file["model"]["quantization"] == "float16"
    device = _decide.Gallery("watch")
    for name in earlier:
        person = device.identify(*later[name][:OBSERVED])
        assert person == (name if name in expected else None)
    assert run_json("remove", "family.db", expected[0]) == {
        "removed": expected[0],
        "people": 1,
        "remains": [],
    }
    assert run_json("identify", "family.db", f"new/{expected[0]}", status=1)["person"] is None
