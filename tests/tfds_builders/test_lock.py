"""Tests that only one process at a time holds the lock.

The lock leaves no file, and the lock of a killed process does not stop other processes.
"""

import pathlib
import subprocess
import sys
import threading

import pytest

from tests.tfds_builders.test_registration import ROOT
from tfds_builders.common import lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="this system has no such locks")


def test_a_second_one_waits_says_so_and_then_has_it(tmp_path, caplog):
    path, order = tmp_path / "new" / ".lock", []

    def second():
        with lock.alone(path, "counts") as sure:
            order.append(("second", sure))

    with lock.alone(path, "counts") as sure:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        order.append(("first", sure))
    thread.join(10)
    assert order == [("first", True), ("second", True)]
    assert caplog.messages == ["Another run counts. This run waits until that run ends."]
    assert list(path.parent.iterdir()) == []


@pytest.mark.slow
def test_a_killed_process_locks_nobody_out(tmp_path):
    path = tmp_path / ".lock"
    code = (
        "import pathlib, sys, time\n"
        "from tfds_builders.common.lock import alone\n"
        "with alone(pathlib.Path(sys.argv[1]), 'counts'):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        process.kill()
    assert path.exists()
    with lock.alone(path, "counts") as sure:
        assert sure
    assert not path.exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    with pytest.raises(FileNotFoundError), lock.alone(pathlib.Path("a/.lock"), "counts"):
        pass


def test_without_locks_it_goes_on_unsure_and_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks here")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with lock.alone(tmp_path / ".lock", "counts") as sure:
        assert not sure
    monkeypatch.setattr(lock, "fcntl", None)
    with lock.alone(tmp_path / ".lock", "counts") as sure:
        assert not sure
    assert list(tmp_path.iterdir()) == []
