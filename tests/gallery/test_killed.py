"""Tests that confirmed changes survive killed processes, with a short run of the benchmark."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "times"), [("file", 12), ("encrypted file", 12), ("server", 2)])
def test_kills_at_random_moments_lose_nothing(request, place, times):
    if place == "server":
        request.getfixturevalue("has_server")
    command = [sys.executable, "-m", "tests.bench.gallery_killed"]
    command += ["--place", place, "--times", str(times), "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{times} kills" in done.stdout and " 0 lost, 0 not whole" in done.stdout
    acknowledged = int(
        done.stdout.split(" enrollments acknowledged")[0].split()[-1].replace(",", "")
    )
    assert acknowledged > 0
