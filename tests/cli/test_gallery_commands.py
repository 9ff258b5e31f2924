"""Commands on a gallery that need no model: rename, recordings, forget, thresholds, info, backup,
restore, and the list of what was rejected."""

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
    """Path of a gallery of Alice, of whom one recording is marked as not hers, and Bob."""
    z = np.random.default_rng(0).random((7, 2, 3), "float32")
    with contextlib.closing(Records(tmp_path / "family.db")) as store:
        store.describe(ABOUT)
        store.add("alice", z[:3])
        store.add("bob", z[3:5])
        store.add("alice", z[5:], enrolled=False)
        for threshold in THRESHOLDS:
            store.set_threshold(threshold)
    return tmp_path / "family.db"


def answered(command, *words):
    """Returns the object that a command prints for programs."""
    code, out, err = command(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def failed(command, *words):
    """Returns the error of a command that changes nothing and prints nothing on stdout."""
    code, out, err = command(*words)
    assert (code, out) == (2, "") and "Traceback" not in err
    return " ".join(err.split())


def test_a_person_is_renamed(command, family):
    assert answered(command, "rename", family, "alice", "Alice B.") == {
        "renamed": "alice",
        "name": "Alice B.",
    }
    assert galleries.people(family) == {"Alice B.": 3, "bob": 2}
    code, out, _ = command("rename", family, "Alice B.", "ann")
    assert code == 0 and "ann" in out
    for name in ("bob", "", "two\nlines"):
        assert "NAME" in (said := failed(command, "rename", family, "ann", name)) or "'bob'" in said
    assert "'zoe'" in failed(command, "rename", family, "zoe", "carol")
    assert "`keras-dml people`" in failed(command, "rename", family, "zoe", "carol")
    assert galleries.people(family) == {"ann": 3, "bob": 2}


def test_recordings_are_listed_and_forgotten(command, family):
    found = answered(command, "recordings", family, "alice")
    ids = [each["id"] for each in found["recordings"]]
    assert found["person"] == "alice" and len(set(ids)) == 3
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT.*", each["enrolled"]) for each in found["recordings"]
    )
    code, out, _ = command("recordings", family, "alice")
    assert code == 0 and all(each in out for each in ids)
    for wrong in (["0" * 16], [ids[0], "x"]):
        assert "`keras-dml recordings` lists" in failed(command, "forget", family, "alice", *wrong)
    assert answered(command, "forget", family, "alice", ids[1]) == {
        "person": "alice",
        "forgotten": [ids[1]],
        "enrolled": 2,
    }
    assert [
        each["id"] for each in answered(command, "recordings", family, "alice")["recordings"]
    ] == [
        ids[0],
        ids[2],
    ]
    code, out, _ = command("forget", family, "alice", ids[0], ids[2])
    assert code == 0 and galleries.people(family) == {"bob": 2}
    for words in (("recordings", family, "alice"), ("forget", family, "alice", ids[0])):
        assert "Nobody named 'alice'" in failed(command, *words)


def test_marked_recordings_are_listed_and_their_marks_removed(command, family):
    found = answered(command, "reject", family, "alice", "--list")
    first, second = (each["id"] for each in found["marked"])
    code, out, _ = command("reject", family, "alice", "--list")
    assert code == 0 and first in out and second in out
    own = galleries.list_recordings(family, "alice")[0].id
    for wrong in (own, "intruder.csv"):
        said = failed(command, "reject", family, "alice", "--undo", wrong)
        assert wrong in said and "`keras-dml reject --list`" in said
    assert answered(command, "reject", family, "alice", "--undo", first) == {
        "person": "alice",
        "undone": [first],
        "marked": 1,
    }
    assert command("reject", family, "alice", second, "--undo")[0] == 0
    assert command("reject", family, "alice", "--list")[1] == "No recording is marked.\n"
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
    found = answered(command, "thresholds", family)
    assert [(each["far"], each["value"]) for each in found["thresholds"]] == [
        (0.01, 2.5),
        (0.1, 3.5),
    ]
    assert [each["extrapolated"] for each in found["thresholds"]] == [True, False]
    assert found["boundaries"] == []
    code, out, _ = command("thresholds", family)
    assert code == 0 and out.splitlines() == [str(each) for each in THRESHOLDS]
    with contextlib.closing(Records(tmp_path / "new.db")) as store:
        store.describe(ABOUT)
    code, out, _ = command("thresholds", tmp_path / "new.db")
    assert code == 0 and "keras-dml calibrate" in out


def test_facts_of_a_gallery_are_shown_without_embeddings_and_names(command, family):
    found = answered(command, "info", family)
    assert found["path"] == str(family)
    for name, value in {**ABOUT, "people": 2, "recordings": 5, "marked": 2}.items():
        assert found[name] == value
    assert found["encrypted"] is False and len(found["thresholds"]) == 2
    code, out, _ = command("info", family)
    for part in ("gait_lda", "2026-01-31T12:00:00+00:00", "FAR 1 %, FAR 10 %"):
        assert part in out
    assert code == 0 and "alice" not in out and "alice" not in json.dumps(found)


def test_an_encrypted_gallery_is_described_with_its_key(command, tmp_path):
    db, key = tmp_path / "secret.db", tmp_path / "secret.key"
    key.touch(mode=0o600)
    key.write_bytes(bytes(range(32)))
    with contextlib.closing(Records(db, key)) as store:
        store.describe(ABOUT)
        store.add("alice", np.ones((1, 2), "float32"))
    assert "--key" in failed(command, "info", db)
    assert answered(command, "info", db, "--key", key)["encrypted"] is True
    assert len(answered(command, "recordings", db, "alice", "--key", key)["recordings"]) == 1
    assert answered(command, "rename", db, "alice", "ann", "--key", key)["name"] == "ann"


def test_a_gallery_is_copied_and_restored(command, family, tmp_path):
    copy, new = tmp_path / "copy.db", tmp_path / "new.db"
    assert answered(command, "backup", family, copy) == {
        "gallery": str(family),
        "backup": str(copy),
    }
    assert "--replace" in failed(command, "backup", family, copy)
    assert command("backup", family, copy, "--replace")[0] == 0
    galleries.remove(family, "alice")
    assert "--replace" in failed(command, "restore", copy, family)
    assert galleries.people(family) == {"bob": 2}
    assert command("restore", copy, family, "--replace")[0] == 0
    assert answered(command, "restore", copy, new) == {"backup": str(copy), "gallery": str(new)}
    for path in (family, new):
        assert galleries.people(path) == {"alice": 3, "bob": 2}
    url = "postgresql://me:secret@localhost/people"
    assert "pg_dump" in failed(command, "backup", url, tmp_path / "dump.db")
    assert "secret" not in failed(command, "restore", copy, url)


def test_a_gallery_that_is_not_there_is_not_made(command, tmp_path):
    db = tmp_path / "gone.db"
    for words in (
        *(("rename", db, "a", "b"), ("recordings", db, "a"), ("forget", db, "a", "x")),
        *(("thresholds", db), ("info", db), ("backup", db, tmp_path / "copy.db")),
        *(("restore", db, tmp_path / "new.db"), ("reject", db, "a", "--list")),
    ):
        assert f"gallery {str(db)!r}" in failed(command, *words), words
    assert not any(tmp_path.iterdir())
