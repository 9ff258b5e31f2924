"""Tests that galleries stay safe if files are moved, shared or left by killed processes."""

import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.gallery.records import Records

ROOT = pathlib.Path(__file__).parents[2]
KEY = bytes(range(32))


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


@contextlib.contextmanager
def opened(path, key=None):
    with contextlib.closing(Records(path, key)) as store:
        store.describe({"model": "m", "fingerprint": "f"})
        yield store


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.db"
    with opened(path) as store:
        store.add("alice", embeddings(2))
    return path


def moved(path):
    path.rename(path.with_name("elsewhere.db"))


def removed(path):
    path.unlink()


def replaced(path):
    shutil.copy(path, path.with_name("copy.db"))
    os.replace(path.with_name("copy.db"), path)


def replaced_by_a_link(path):
    moved(path)
    path.symlink_to(path.with_name("elsewhere.db"))
    shutil.copy(path.with_name("elsewhere.db"), path.with_name("other.db"))
    path.unlink()
    path.symlink_to(path.with_name("other.db"))


def without_log(path):
    path.with_name("people.db-wal").unlink()


def with_another_log(path):
    log = path.with_name("people.db-wal")
    shutil.copy(log, path.with_name("log"))
    os.replace(path.with_name("log"), log)


def without_index_of_the_log(path):
    path.with_name("people.db-shm").unlink()


def in_a_moved_folder(path):
    path.parent.rename(path.parent.with_name("moved folder"))


@pytest.mark.parametrize(
    "attack",
    [
        *(moved, removed, replaced, replaced_by_a_link, without_log, with_another_log),
        *(without_index_of_the_log, in_a_moved_folder),
    ],
)
def test_files_that_are_moved_under_an_open_gallery_are_an_error(path, attack):
    with opened(path) as store:
        attack(path)
        uses = (
            lambda: store.add("bob", embeddings(1)),
            lambda: store.remove("alice"),
            lambda: store.templates(["alice"]),
            store.thresholds,
            store.changes,
        )
        for use in uses:
            with pytest.raises(OSError, match="was moved, removed or replaced"):
                use()


def test_a_change_to_a_file_that_is_moved_meanwhile_is_an_error(path):
    with opened(path) as store:
        with pytest.raises(OSError, match="was moved, removed or replaced"):
            with store._writing() as run:
                run("INSERT INTO people VALUES (7, 'bob')")
                moved(path)
    assert galleries.people(path.with_name("elsewhere.db")) == {"alice": 2}


def test_a_gallery_stays_usable_when_the_working_folder_changes(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with opened("people.db") as store:
        monkeypatch.chdir(tmp_path / "other")
        store.add("bob", embeddings(1))
    assert galleries.people(path) == {"alice": 2, "bob": 1}


def test_restores_and_writers_at_once_lose_nothing_that_was_added_after(path, tmp_path):
    copy = tmp_path / "copy.db"
    galleries.backup(path, copy)
    with opened(path) as store:
        for i in range(5):
            store.add(f"before {i}", embeddings(1, i))
            galleries.restore(copy, path, replace=True)
            store.add(f"after {i}", embeddings(1, i))
            assert store.people() == galleries.people(path) == {"alice": 2, f"after {i}": 1}


def test_other_openings_in_this_process_keep_the_locks(path):
    """Tests a process that opens a gallery twice and closes it once. The gallery must stay locked.

    Closing any descriptor of a file releases all locks of the process on this file (POSIX). Another
    process would then remove the log that this process still uses.
    """
    with opened(path) as store:
        Records(path).close()
        code = f"from keras_dml.gallery.records import Records; Records({str(path)!r}).close()"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
        store.add("bob", embeddings(1))
    assert galleries.people(path) == {"alice": 2, "bob": 1}


KILLED = """
import os, signal, sys
from keras_dml.gallery.records import Records
store = Records(sys.argv[1])
store._store.cut_log = lambda wait: os.kill(os.getpid(), signal.SIGKILL)
store.remove("alice")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_removal_that_was_killed_before_the_log_was_cut_is_finished(path):
    secret = embeddings(2)[0].tobytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL
    files = list(path.parent.glob("people.db*"))
    assert any(
        secret in file.read_bytes() for file in files
    )  # data that an attacker would find on the disk
    with opened(path) as store:
        files = list(path.parent.glob("people.db*"))
        assert len(files) == 3 and not any(secret in file.read_bytes() for file in files)
        assert not any(b"alice" in file.read_bytes() for file in files)
        assert store.people() == {}


def test_a_gallery_opens_while_another_process_reads_its_log(path):
    with contextlib.closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM people").fetchall()
        with opened(path) as store:
            store.add("bob", embeddings(1))
        assert galleries.people(path) == {"alice": 2, "bob": 1}


posix = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620, 0o601])
def test_a_key_file_that_others_may_use_is_refused(tmp_path, mode):
    key = tmp_path / "family.key"
    key.write_bytes(KEY)
    key.chmod(mode)
    with pytest.raises(PermissionError, match="chmod 600") as error:
        Records(tmp_path / "people.db", key)
    assert str(key) not in str(error.value)  # the text may be a key
    assert not (tmp_path / "people.db").exists()
    key.chmod(0o600)
    Records(tmp_path / "people.db", key).close()
    key.chmod(0o400)
    Records(tmp_path / "people.db", key).close()


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_gallery_that_others_may_read_gives_a_warning(path, mode, recwarn):
    galleries.people(path)
    assert not recwarn.list
    path.chmod(mode)
    with pytest.warns(UserWarning, match="chmod 600"):
        assert galleries.people(path) == {"alice": 2}


@posix
def test_all_files_of_a_gallery_are_for_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        key = tmp_path / "family.key"
        key.touch(mode=0o600)
        key.write_bytes(KEY)
        with opened(tmp_path / "people.db", key) as store:
            store.add("alice", embeddings(1))
            store.check()
            files = list(tmp_path.iterdir())
            assert len(files) > 4 and not [file_ for file_ in files if file_.stat().st_mode & 0o077]
    finally:
        os.umask(before)
