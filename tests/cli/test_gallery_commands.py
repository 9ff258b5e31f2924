"""Tests of the gallery commands that need no model.

These commands are rename, recordings, forget, thresholds, info, backup, restore and reject --list.
"""

import contextlib
import json
import re

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Threshold
from keras_dml.gallery.records import Records

THRESHOLDS = [
    Threshold(far, value, (0.0, 0.2), 0.9, (0.8, 1.0), 5, 100, 300.0, 0.05, "counted")
    for far, value in ((0.01, 2.5), (0.1, 3.5))
]
ABOUT = {"model": "gait_lda", "fingerprint": "f" * 64, "created": "2026-01-31T12:00:00+00:00"}


@pytest.fixture
def family(tmp_path):
    """Creates a gallery of Alice and Bob, with stored recordings of imposters of Alice."""
    z = np.random.default_rng(0).random((7, 2, 3), "float32")
    with contextlib.closing(Records(tmp_path / "family.db")) as store:
        store.describe(ABOUT)
        store.add("alice", z[:3])
        store.add("bob", z[3:5])
        store.add("alice", z[5:], enrolled=False)
        for threshold in THRESHOLDS:
            store.set_threshold(threshold)
    return tmp_path / "family.db"


def run_json(command, *words):
    """Runs a command with `--json`, and returns the JSON object."""
    code, out, err = command(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def run_failing(command, *words):
    """Runs a command that must fail with status 2 and print only an error. Returns the error."""
    code, out, err = command(*words)
    assert (code, out) == (2, "") and "Traceback" not in err
    return " ".join(err.split())


def test_a_person_is_renamed(command, family):
    assert run_json(command, "rename", family, "alice", "Alice B.") == {
        "renamed": "alice",
        "name": "Alice B.",
    }
    assert galleries.people(family) == {"Alice B.": 3, "bob": 2}
    code, out, _ = command("rename", family, "Alice B.", "ann")
    assert code == 0 and "ann" in out
    for name in ("bob", "", "two\nlines"):
        assert (
            "NAME" in (text := run_failing(command, "rename", family, "ann", name))
            or "'bob'" in text
        )
    assert "'zoe'" in run_failing(command, "rename", family, "zoe", "carol")
    assert "`keras-dml people`" in run_failing(command, "rename", family, "zoe", "carol")
    assert galleries.people(family) == {"ann": 3, "bob": 2}


@pytest.mark.slow
def test_recordings_are_listed_and_removed(command, family):
    result = run_json(command, "recordings", family, "alice")
    ids = [each["id"] for each in result["recordings"]]
    assert result["person"] == "alice" and len(set(ids)) == 3
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT.*", each["enrolled"]) for each in result["recordings"]
    )
    code, out, _ = command("recordings", family, "alice")
    assert code == 0 and all(each in out for each in ids)
    for wrong in (["0" * 16], [ids[0], "x"]):
        assert "`keras-dml recordings` shows" in run_failing(
            command, "forget", family, "alice", *wrong
        )
    assert run_json(command, "forget", family, "alice", ids[1]) == {
        "person": "alice",
        "forgotten": [ids[1]],
        "enrolled": 2,
    }
    assert [
        each["id"] for each in run_json(command, "recordings", family, "alice")["recordings"]
    ] == [
        ids[0],
        ids[2],
    ]
    code, out, _ = command("forget", family, "alice", ids[0], ids[2])
    assert code == 0 and galleries.people(family) == {"bob": 2}
    for words in (("recordings", family, "alice"), ("forget", family, "alice", ids[0])):
        assert "Nobody named 'alice'" in run_failing(command, *words)


def test_marked_recordings_are_listed_and_their_marks_removed(command, family):
    result = run_json(command, "reject", family, "alice", "--list")
    first, second = (each["id"] for each in result["marked"])
    code, out, _ = command("reject", family, "alice", "--list")
    assert code == 0 and first in out and second in out
    enrolled_id = galleries.list_recordings(family, "alice")[0].id
    for wrong in (enrolled_id, "intruder.csv"):
        text = run_failing(command, "reject", family, "alice", "--undo", wrong)
        assert wrong in text and "`keras-dml reject --list`" in text
    assert run_json(command, "reject", family, "alice", "--undo", first) == {
        "person": "alice",
        "undone": [first],
        "marked": 1,
    }
    assert command("reject", family, "alice", second, "--undo")[0] == 0
    assert command("reject", family, "alice", "--list")[1] == "No imposter recording is stored.\n"
    assert galleries.people(family) == {"alice": 3, "bob": 2}
    for words in ((), ("--undo",), ("--list", "a.csv"), ("--list", "--undo")):
        assert command("reject", family, "alice", *words)[0] == 2


def test_the_thresholds_of_the_card_are_shown_until_one_is_set(command, family, tmp_path):
    with contextlib.closing(Records(tmp_path / "new.db")) as store:
        store.describe(ABOUT)
    code, out, _ = command("info", tmp_path / "new.db")
    (line,) = [line for line in out.splitlines() if line.startswith("thresholds")]
    assert code == 0 and "card" in line and "FAR 1 %" in line
    code, out, _ = command("info", family)
    assert code == 0 and "card" not in out


def test_thresholds_are_listed(command, family, tmp_path):
    result = run_json(command, "thresholds", family)
    assert [(each["far"], each["value"]) for each in result["thresholds"]] == [
        (0.01, 2.5),
        (0.1, 3.5),
    ]
    assert [each["extrapolated"] for each in result["thresholds"]] == [True, False]
    assert result["boundaries"] == []
    code, out, _ = command("thresholds", family)
    assert code == 0 and out.splitlines() == [str(each) for each in THRESHOLDS]
    with contextlib.closing(Records(tmp_path / "new.db")) as store:
        store.describe(ABOUT)
    code, out, _ = command("thresholds", tmp_path / "new.db")
    assert code == 0 and "keras-dml calibrate" in out


def test_facts_of_a_gallery_are_shown_without_embeddings_and_names(command, family):
    result = run_json(command, "info", family)
    assert result["path"] == str(family)
    for name, value in {**ABOUT, "people": 2, "recordings": 5, "marked": 2}.items():
        assert result[name] == value
    assert result["encrypted"] is False and len(result["thresholds"]) == 2
    code, out, _ = command("info", family)
    for part in ("gait_lda", "2026-01-31T12:00:00+00:00", "FAR 1 %, FAR 10 %"):
        assert part in out
    assert code == 0 and "alice" not in out and "alice" not in json.dumps(result)


def test_an_encrypted_gallery_is_described_with_its_key(command, tmp_path):
    db, key = tmp_path / "secret.db", tmp_path / "secret.key"
    key.touch(mode=0o600)
    key.write_bytes(bytes(range(32)))
    with contextlib.closing(Records(db, key)) as store:
        store.describe(ABOUT)
        store.add("alice", np.ones((1, 2), "float32"))
    assert "--key" in run_failing(command, "info", db)
    assert run_json(command, "info", db, "--key", key)["encrypted"] is True
    assert len(run_json(command, "recordings", db, "alice", "--key", key)["recordings"]) == 1
    assert run_json(command, "rename", db, "alice", "ann", "--key", key)["name"] == "ann"


def test_a_gallery_is_copied_and_restored(command, family, tmp_path):
    copy, new = tmp_path / "copy.db", tmp_path / "new.db"
    assert run_json(command, "backup", family, copy) == {
        "gallery": str(family),
        "backup": str(copy),
    }
    assert "--replace" in run_failing(command, "backup", family, copy)
    assert command("backup", family, copy, "--replace")[0] == 0
    galleries.remove(family, "alice")
    assert "--replace" in run_failing(command, "restore", copy, family)
    assert galleries.people(family) == {"bob": 2}
    assert command("restore", copy, family, "--replace")[0] == 0
    assert run_json(command, "restore", copy, new) == {"backup": str(copy), "gallery": str(new)}
    for path in (family, new):
        assert galleries.people(path) == {"alice": 3, "bob": 2}
    url = "postgresql://me:secret@localhost/people"
    assert "pg_dump" in run_failing(command, "backup", url, tmp_path / "dump.db")
    assert "secret" not in run_failing(command, "restore", copy, url)


def test_a_missing_gallery_is_not_created(command, tmp_path):
    db = tmp_path / "gone.db"
    for words in (
        *(("rename", db, "a", "b"), ("recordings", db, "a"), ("forget", db, "a", "x")),
        *(("thresholds", db), ("info", db), ("backup", db, tmp_path / "copy.db")),
        *(("restore", db, tmp_path / "new.db"), ("reject", db, "a", "--list")),
    ):
        assert f"gallery {str(db)!r}" in run_failing(command, *words), words
    assert not any(tmp_path.iterdir())
