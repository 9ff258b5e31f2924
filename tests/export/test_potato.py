"""Tests the export of the Riemannian potato, an online detector, as a SavedModel with state."""

import numpy as np
import pytest
import tensorflow as tf

from keras_dml import export
from keras_dml.potato import Potato


def windows(rng, count, n=3):
    x = rng.normal(size=(count, 20, n)) * np.where(np.arange(count) % 4 == 3, 8, 1)[:, None, None]
    return np.swapaxes(x, 1, 2) @ x / 20


def loaded(path):
    """Loads a SavedModel and returns it with its two signatures as functions of NumPy matrices."""
    model = tf.saved_model.load(str(path))
    ask = {
        name: lambda matrix, f=f: {k: v.numpy() for k, v in f(matrix=tf.constant(matrix)).items()}
        for name, f in model.signatures.items()
    }
    return model, ask["update"], ask["z_score"]


@pytest.mark.parametrize("options", [{"update_rate": 0.05}, {"scale": "arithmetic"}])
def test_update_moves_the_state_as_the_potato_moves(rng, tmp_path, options):
    potato = Potato(2.5, **options).fit(windows(rng, 40))
    model, update, z_score = loaded(export.potato(potato, tmp_path / "potato"))
    count = potato.count_
    new = [*windows(rng, 8), np.diag([1.0, 1, 0]), np.full((3, 3), np.nan)]
    for matrix in new:
        still = z_score(matrix)
        answer = update(matrix)
        assert answer == still
        accepted = potato.predict(matrix[None])[0] == 1
        np.testing.assert_allclose(answer["z"], potato.update(matrix), rtol=1e-9, atol=1e-9)
        assert answer["accepted"] == accepted
    assert model.count.numpy() == potato.count_ < count + len(new)
    np.testing.assert_allclose(model.center.numpy(), potato.center_, rtol=1e-9)
    np.testing.assert_allclose(model.mean.numpy(), potato.mean_, rtol=1e-9)
    np.testing.assert_allclose(model.stddev.numpy(), potato.stddev_, rtol=1e-9)


def test_a_checkpoint_keeps_the_state(rng, tmp_path):
    potato = Potato(2.5).fit(windows(rng, 40))
    path = export.potato(potato, tmp_path / "potato")
    model, update, _ = loaded(path)
    for matrix in windows(rng, 3):
        update(matrix)
    file = tf.train.Checkpoint(potato=model).write(str(tmp_path / "state"))
    fresh, again, _ = loaded(path)
    assert fresh.count.numpy() < model.count.numpy()
    tf.train.Checkpoint(potato=fresh).read(file).assert_consumed()
    assert sum(part.stat().st_size for part in tmp_path.glob("state*")) < 5000
    for matrix in windows(rng, 4):
        assert update(matrix) == again(matrix)


def test_an_unfitted_potato_and_a_foreign_folder_are_refused(rng, tmp_path):
    with pytest.raises(ValueError, match=r"Call `fit\(X\)` first"):
        export.potato(Potato(), tmp_path / "potato")
    assert not any(tmp_path.iterdir())
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not a SavedModel"):
        export.potato(Potato(), tmp_path / "notes")  # this check comes before that of the potato
    with pytest.raises(ValueError, match="is not a SavedModel"):
        export.potato(Potato().fit(windows(rng, 9)), tmp_path / "notes")
