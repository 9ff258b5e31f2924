"""From files to decisions by commands alone: speakers whom the zoo's model has never heard."""

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
    """Utterances to enroll and utterances observed later, by speaker."""
    return carried.unseen()


def write(folder, utterances):
    """Writes utterances as CSV files, as an app would that keeps what a phone has heard."""
    card = zoo.card(MODEL)["input"]
    folder.mkdir(parents=True)
    for i, frames in enumerate(utterances):
        times = np.arange(len(frames))[:, None] / card["rate_hz"]
        lines = [",".join(map(repr, row)) for row in np.hstack([times, frames]).tolist()]
        header = ",".join(["time_s", *card["channels"]])
        (folder / f"{i}.csv").write_text("\n".join([header, *lines]))


def test_a_person_gets_from_files_to_decisions_by_commands(
    command, speakers, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    earlier, later = speakers
    known, strangers = list(earlier)[:2], list(earlier)[2:]
    for name in earlier:
        write(tmp_path / "voices" / name, earlier[name][:ENROLLED])
        write(tmp_path / "new" / name, later[name][:OBSERVED])

    def told(*words, status=0):
        code, out, err = command(*words, "--json")
        assert code == status, err
        return json.loads(out)

    for name in known:
        found = told("enroll", "family.db", name, f"voices/{name}", "--model", MODEL)
        assert len(found["kept"]) == found["enrolled"] == ENROLLED and not found["refused"]
    _, _, err = command("calibrate", "family.db", "voices", "--far", "0.1")
    assert "It would take about" in err  # four people support no such rate
    threshold = told("calibrate", "family.db", "voices", "--far", "0.1", "--extrapolate")
    assert threshold["people"] == 4 and threshold["strictest"] > 0.1
    assert told("people", "family.db") == dict.fromkeys(known, ENROLLED)
    for name in known:
        assert told("verify", "family.db", name, f"new/{name}")["accepted"]
        assert told("identify", "family.db", f"new/{name}")["person"] == name
    for name in strangers:
        assert told("identify", "family.db", f"new/{name}", status=1)["person"] is None
        assert not told("verify", "family.db", known[0], f"new/{name}", status=1)["accepted"]
    written = told("export", "family.db", "--to", "tflite", "--out", "watch")
    assert written["people"] == 2 and written["model"]["quantization"] == "float16"
    device = _decide.Gallery("watch")
    for name in earlier:
        person = device.identify(*later[name][:OBSERVED])
        assert person == (name if name in known else None)
    assert told("remove", "family.db", known[0]) == {
        "removed": known[0],
        "people": 1,
        "remains": [],
    }
    assert told("identify", "family.db", f"new/{known[0]}", status=1)["person"] is None
