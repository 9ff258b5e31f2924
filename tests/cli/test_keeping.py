"""Tests of the commands `proposals` and `strangers`, which manage kept recordings."""

import base64
import json

import pytest

from keras_dml import edge
from keras_dml import gallery as galleries
from tests.gallery import kept


@pytest.fixture
def family(tmp_path, monkeypatch):
    """Path of an encrypted gallery that keeps a proposal for Alice and two strangers."""
    monkeypatch.setenv("KERAS_DML_GALLERY_KEY", base64.b64encode(kept.KEY).decode())
    with kept.gallery(tmp_path / "family.db") as gallery:
        return gallery.path


def run_json(command, *words):
    code, out, err = command(*words, "--json")
    assert code in (0, 1), err
    return code, json.loads(out)


def test_a_proposal_is_listed_added_and_undone(command, family):
    code, result = run_json(command, "proposals", family)
    (proposal,) = result["proposals"]
    assert (code, result["days"], proposal["person"]) == (0, 30, "alice")
    code, result = run_json(command, "proposals", family, proposal["id"], "--accept")
    assert code == 0 and result["added"] == [proposal["id"]] and result["proposals"] == []
    _, result = run_json(command, "recordings", family, "alice")
    assert [each["proposed"] for each in result["recordings"]] == [False, True]
    code, out, _ = command("proposals", family, proposal["id"], "--undo")
    assert code == 0 and "No recording is proposed. Recordings are kept for 30 days." in out
    assert galleries.people(family) == {"alice": 1}
    code, out, err = command("proposals", family, proposal["id"], "--undo")
    assert code == 2 and "`keras-dml recordings`" in " ".join(err.split())


def test_strangers_are_listed_named_and_destroyed(command, family):
    code, out, _ = command("strangers", family)
    assert code == 0 and "recordings" in out
    _, result = run_json(command, "strangers", family)
    twice, once = result["strangers"]
    assert (len(twice["recordings"]), len(once["recordings"])) == (2, 1)
    code, out, _ = command("strangers", family, twice["id"], "--name", "dora")
    assert code == 0 and "dora: 2 recordings enrolled" in out
    assert galleries.people(family) == {"alice": 1, "dora": 2}
    code, result = run_json(command, "strangers", family, once["id"], "--destroy")
    assert (code, result["destroyed"], result["strangers"]) == (0, 1, [])
    code, _, err = command("strangers", family, once["id"], "--destroy")
    assert code == 2 and "`keras-dml strangers`" in " ".join(err.split())
    assert run_json(command, "strangers", family, "--off")[1]["days"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("proposals", "--accept"),
        ("proposals", "0f", "--accept", "--destroy"),
        ("proposals", "0f"),
        ("strangers", "--keep", "3", "--off"),
        ("strangers", "--keep", "0"),
        ("proposals", "--keep", "1e7"),
    ],
)
def test_wrong_options_are_refused(command, family, words):
    name, *rest = words
    code, out, err = command(name, family, *rest)
    assert (code, out) == (2, "") and "--" in err and "Traceback" not in err


def test_an_unencrypted_gallery_is_refused(command, tmp_path):
    with edge.Gallery(tmp_path / "family.db", kept.MODEL):
        pass
    code, _, err = command("strangers", tmp_path / "family.db", "--keep", "3")
    assert code == 2 and "not encrypted" in err and "--key" in err


def test_no_proposal_is_added_if_one_id_is_unknown(command, family):
    _, result = run_json(command, "proposals", family)
    (proposal,) = result["proposals"]
    code, _, err = command("proposals", family, proposal["id"], "0123", "--accept")
    assert code == 2 and "0123" in err
    assert galleries.people(family) == {"alice": 1}
