"""Tests that each name of `evaluation` is imported at its first use, and that metrics do not import
Keras."""

import subprocess
import sys

import pytest

from keras_dml import evaluation


@pytest.mark.parametrize("name", evaluation.__all__)
def test_every_public_name_is_available_repeatedly(name):
    assert getattr(evaluation, name) is getattr(evaluation, name)
    assert callable(getattr(evaluation, name)) or name in ("attacks", "protocol", "splits")
    assert name in dir(evaluation)


def test_an_unknown_name_raises():
    with pytest.raises(AttributeError, match="verify"):
        evaluation.verify  # noqa: B018


@pytest.mark.slow
def test_figures_are_made_without_keras():
    code = (
        "import sys; from keras_dml import evaluation; early = "
        "set(sys.modules);print(evaluation.verification([0.1, 0.9], [True, False]).auc);loaded = "
        "{name.split('.')[0] for name in sys.modules};assert not loaded & "
        "{'keras', 'tensorflow', 'jax'};assert 'sklearn' not in early"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "1.0"
