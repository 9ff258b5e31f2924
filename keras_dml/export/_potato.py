"""An online detector of artifacts as a SavedModel, whose state moves as it is called."""

import os
import pathlib

import numpy as np

from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import saved_model_place, staged
from keras_dml.export._graphs import writing
from keras_dml.export._quiet import quiet
from keras_dml.geometry import spd
from keras_dml.geometry.spd import potato as geometry
from keras_dml.geometry.spd.potato_float64 import SINGULAR
from keras_dml.potato import MIN_STDDEV


def potato(potato, path: str | os.PathLike) -> pathlib.Path:
    """Writes a fitted `keras_dml.potato.Potato` as a SavedModel that goes on learning.

    - `update(matrix)`: matrix (n, n) float64. Gives `z`, the score before the update, and
      `accepted`; an accepted matrix moves the statistics, as `Potato.update` does.
    - `z_score(matrix)`: the same answers, and nothing moves.

    The statistics are variables of the loaded object: `center`, `mean`, `stddev`, `count`. Its
    state is kept by `tf.train.Checkpoint(potato=loaded).write(file)` and comes back by `.read`. It
    needs TensorFlow alone: `tf.saved_model.load(path).signatures["update"](matrix=...)["z"]`.

    Args:
        potato: A fitted potato.
        path: The folder to write; a SavedModel there is replaced.

    Returns:
        The folder.

    Raises:
        ValueError: If the potato is not fitted, or `path` is a folder that holds something else.
        RuntimeError: If Keras does not run on TensorFlow.
        OSError: If the folder cannot be written.
    """
    with staged(path, saved_model_place) as candidate:
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
    state = {
        "center": potato.center_,
        "mean": potato.mean_,
        "stddev": potato.stddev_,
        "count": potato.count_,
    }
    for name, value in state.items():
        setattr(module, name, tf.Variable(np.asarray(value, np.float64), name=name))
    geometric = potato.scale == "geometric"

    def score(matrix):
        matrix = tf.where(tf.reduce_all(tf.math.is_finite(matrix)), matrix, 0.0)
        whitener = spd.whitening(tf.convert_to_tensor(module.center))
        white = whitener @ spd.symmetric(matrix) @ tf.transpose(whitener)
        values = tf.linalg.eigvalsh(spd.symmetric(white))
        definite = values[0] > SINGULAR * values[-1]
        distance = tf.norm(tf.math.log(tf.where(definite, values, 1.0)))
        value = geometry.log_distance(distance) if geometric else distance
        z = geometry.z_score(value, module.mean, module.stddev, MIN_STDDEV)
        return value, tf.where(definite, z, np.inf)

    def answer(z):
        return {"z": z, "accepted": z < potato.threshold}

    def z_score(matrix):
        return answer(score(matrix)[1])

    def update(matrix):
        value, z = score(matrix)
        variables = [getattr(module, name) for name in state]
        label = tf.where(answer(z)["accepted"], 0, -1)
        after = geometry.update(
            geometry.Statistics(*(variable[None] for variable in variables)),
            matrix[None],
            label[None],
            value[None],
            potato.update_rate,
        )
        for variable, new in zip(variables, after, strict=True):
            variable.assign(new[0])
        return answer(z)

    n = len(potato.center_)
    signature = [tf.TensorSpec((n, n), tf.float64, "matrix")]
    for name, function in (("update", update), ("z_score", z_score)):
        traced = tf.function(function, autograph=False, input_signature=signature)
        setattr(module, name, traced)
    return module
