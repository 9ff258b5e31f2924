"""Exports the Riemannian potato, an online detector of artifacts, as a SavedModel with state."""

import pathlib
from typing import TYPE_CHECKING

from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import replaceable_saved_model, staged
from keras_dml._typing import Path
from keras_dml.export._quiet import quiet
from keras_dml.export.signatures import writing
from keras_dml.geometry.spd import potato as geometry

if TYPE_CHECKING:
    from keras_dml.potato import Potato


def potato(potato: "Potato", path: Path) -> pathlib.Path:
    """Writes a fitted `keras_dml.potato.Potato` as a SavedModel that continues learning.

    The SavedModel has two signatures:

    - `update(matrix)` receives a float64 matrix (n, n), and returns `z` and `accepted`. `z` is the
      score before the update. If the matrix is accepted, the signature updates the statistics, as
      in `Potato.update`.
    - `z_score(matrix)` returns the same outputs and does not change the statistics.

    The statistics are the variables `center`, `mean`, `stddev` and `count` of the loaded object.
    `tf.train.Checkpoint(potato=loaded).write(file)` saves the statistics, and `.read` restores
    them. The SavedModel needs only TensorFlow:
    `tf.saved_model.load(path).signatures["update"](matrix=...)["z"]`.

    Args:
        potato: A fitted `Potato`.
        path: Path of the folder to write. An existing SavedModel at this path is replaced.

    Returns:
        Path of the folder.

    Raises:
        ValueError: If `potato` is not fitted, or if `path` is a folder that is not a SavedModel.
        RuntimeError: If Keras does not run on TensorFlow.
        OSError: If the folder cannot be written.
    """
    with staged(path, replaceable_saved_model) as candidate:
        module = _module(potato)
        functions = {"update": module.update, "z_score": module.z_score}
        with quiet():
            traced = {name: f.get_concrete_function() for name, f in functions.items()}
            with writing():
                tensorflow().saved_model.save(module, str(candidate), signatures=traced)
    return pathlib.Path(path)


def _module(potato):
    tf = tensorflow()
    module = tf.Module()
    for name, value in potato.statistics_._asdict().items():
        setattr(module, name, tf.Variable(value, name=name))

    def step(matrix):
        names = geometry.Statistics._fields
        before = geometry.Statistics(*(getattr(module, name).read_value() for name in names))
        z, after = geometry.online_step(
            before, matrix, potato.threshold, potato.update_rate, potato.scale
        )
        return {"z": z, "accepted": z < potato.threshold}, after

    def z_score(matrix):
        return step(matrix)[0]

    def update(matrix):
        outputs, after = step(matrix)
        for name, value in after._asdict().items():
            getattr(module, name).assign(value)
        return outputs

    n = len(potato.center_)
    signature = [tf.TensorSpec((n, n), tf.float64, "matrix")]
    for name, function in (("update", update), ("z_score", z_score)):
        traced = tf.function(function, autograph=False, input_signature=signature)
        setattr(module, name, traced)
    return module
