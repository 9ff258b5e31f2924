"""Tests that `rename` changes the name of a person and keeps everything else."""

import contextlib

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery import Gallery
from keras_dml.gallery.encryption import Keys
from keras_dml.gallery.records import Records


@pytest.fixture
def gallery(model, place, people):
    with Gallery(model=model, **place) as opened:
        opened.enroll("alice", people("alice"))
        opened.enroll("bob", people("bob"))
        opened.reject("alice", people("mallory", 1))
        yield opened


@pytest.mark.slow
def test_a_person_keeps_everything_but_the_name(gallery, place, model, people):
    probe, denied = people("alice", 1), people("mallory", 1)
    score = gallery.verify("alice", probe, threshold=1e9).score
    stored, marked = gallery.list_recordings("alice"), gallery.list_rejections("alice")
    gallery.rename("alice", "Zoë A.")
    assert list(gallery.people()) == ["Zoë A.", "bob"]
    assert gallery.verify("Zoë A.", probe, threshold=1e9).score == score
    assert gallery.verify("Zoë A.", denied, threshold=1e9).denied
    assert gallery.list_recordings("Zoë A.") == stored
    assert gallery.list_rejections("Zoë A.") == marked
    assert gallery.identify(probe, threshold=1e9).person == "Zoë A."
    with Gallery(model=model, **place) as again:
        assert again.identify(probe, threshold=1e9).person == "Zoë A."
        again.enroll("Zoë A.", people("alice", 1))
        again.remove("Zoë A.")
        assert again.people() == {"bob": 4}
    with pytest.raises(KeyError, match="alice"):
        gallery.verify("alice", probe, threshold=1e9)


@pytest.mark.slow
def test_the_old_name_is_free_for_another_person(gallery, people):
    gallery.rename("alice", "carol")
    gallery.rename("bob", "alice")
    probe = people("bob", 1)
    assert gallery.identify(probe, threshold=1e9).person == "alice"
    assert gallery.people() == {"alice": 4, "carol": 4}


@pytest.mark.slow
def test_a_name_that_somebody_has_is_refused(gallery, place):
    before = gallery.people()
    for name in ("bob", "alice"):
        with pytest.raises(ValueError, match=repr(name)):
            gallery.rename("alice", name)
    for name, error in (("", ValueError), ("a\nb", ValueError), (" a", ValueError), (3, TypeError)):
        with pytest.raises(error, match="`name`"):
            gallery.rename("alice", name)
        with pytest.raises(error, match="`name`"):
            galleries.rename(person="alice", name=name, **place)
    with pytest.raises(KeyError, match="Nobody named 'zoe'"):
        gallery.rename("zoe", "carol")
    with pytest.raises(KeyError, match="Nobody named 'zoe'"):
        galleries.rename(person="zoe", name="carol", **place)
    assert gallery.people() == before


def test_a_rename_needs_no_model(gallery, place, people):
    galleries.rename(person="alice", name="carol", **place)
    assert gallery.identify(people("alice", 1), threshold=1e9).person == "carol"


@pytest.mark.parametrize("place", ["file", "encrypted file"], indirect=True)
def test_a_rename_leaves_no_byte_of_the_old_name_in_a_file(gallery, place):
    gallery.enroll("wilhelmina", np.random.default_rng(0).normal(50, 1, (2, 30, 3)))

    def is_written():
        files = list(place["path"].parent.glob("people.db*"))
        assert files
        return any(b"wilhelmina" in file.read_bytes() for file in files)

    assert is_written()
    gallery.rename("wilhelmina", "w")
    assert not is_written()


@pytest.mark.parametrize("place", ["encrypted file", "encrypted server"], indirect=True)
def test_an_interrupted_rename_leaves_a_gallery_that_opens(gallery, place, people, monkeypatch):
    """The process is interrupted at the step that destroys the old key."""

    def killed(*_):
        raise KeyboardInterrupt

    probe = people("alice", 1)
    with monkeypatch.context() as patched:
        patched.setattr(Keys, "destroy", killed)
        with pytest.raises(KeyboardInterrupt):
            gallery.rename("alice", "carol")
    with contextlib.closing(Records(**place)) as store:
        names, enrolled, flat = store.templates()
    (name,) = set(names) - {"bob"}
    assert name in ("alice", "carol") and len(flat) == 9
    assert gallery.identify(probe, threshold=1e9).person == name
