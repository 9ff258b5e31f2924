"""Tests that a training whose process was killed resumes to the same model."""

import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import zoo
from keras_dml._backend import ops
from keras_dml.training._fit import Checkpoint
from keras_dml.training.own import exports, kinds
from tests.training.own import conftest

EPOCHS = 2 * (3 + 3 + 1)  # trainings without 3 groups, without 3 pairs of groups, on all people
KILLED = """
import os, signal, sys

from keras_dml.training._fit import Checkpoint
from keras_dml.training.own import kinds
from tests.training.own import conftest

save, saved = Checkpoint.on_epoch_end, []


def killed(*given):
    save(*given)
    saved.append(given)
    if len(saved) == 9:
        os.kill(os.getpid(), signal.SIGKILL)


Checkpoint.on_epoch_end = killed
kinds._METHODS["sequences"] = lambda task: [conftest.NETWORK]
conftest.small_training(sys.argv[1], people=6, steps=4)
"""


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_model(tmp_path, monkeypatch):
    """The process is killed after nine epochs, while it trains a model without the people of groups
    1 and 3.
    """
    out, root = tmp_path / "killed" / "phone", pathlib.Path(__file__).parents[3]
    found = subprocess.run(
        [sys.executable, "-c", KILLED, str(out)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        timeout=600,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr.decode()[-2000:]
    assert sorted(path.name for path in (out / "unfinished").iterdir()) == [
        *("fold_1", "fold_1_2", "fold_1_3", "fold_2", "fold_3"),
        "plan.json",
    ]
    monkeypatch.setattr(exports, "QUANTIZATIONS", {})
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: [conftest.NETWORK])
    whole = conftest.small_training(tmp_path / "whole" / "phone", people=6, steps=4)
    saved, save = [], Checkpoint.on_epoch_end
    monkeypatch.setattr(
        Checkpoint, "on_epoch_end", lambda *given: saved.append(given) or save(*given)
    )
    resumed = conftest.small_training(out, people=6, steps=4, resume=True)
    assert len(saved) == EPOCHS - 9 and not (out / "unfinished").exists()
    for one, other in zip(resumed.leaderboard, whole.leaderboard, strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    assert resumed.card["headline"] == whole.card["headline"]
    for one, other in zip(_weights(resumed), _weights(whole), strict=True):
        np.testing.assert_array_equal(one, other)


def _weights(done):
    return [ops.convert_to_numpy(one) for one in zoo.load(str(done.folder)).weights]
