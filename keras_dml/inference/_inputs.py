"""What a model is given: which kind it takes, and arrays of that kind, checked one by one."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras
from keras_dml.layers.log_mel import LogMel
from keras_dml.layers.matrices import MatrixLayer
from keras_dml.models import images as image_checks

ASYMMETRY = 1e-3  # of the greatest entry; more is no rounding


def takes_images(model):
    """Whether a model is given images, `(batch, height, width, channels)`."""
    return len(model.inputs[0].shape) == 4


def takes_matrices(model):
    """Whether a model is given symmetric matrices: its first layer is one on matrices."""
    layer = model
    while isinstance(layer, keras.Model):
        inner = [x for x in layer.layers if not isinstance(x, keras.layers.InputLayer)]
        layer = inner[0] if inner else None
    return isinstance(layer, MatrixLayer)


def check_model(model):
    """Refuses what is no model that recordings can go through.

    Raises:
        TypeError: If it is no `keras.Model`.
        ValueError: If it is not built, or has several inputs.
    """
    if not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a keras.Model or the name of a zoo model. Received "
            f"{type(model).__name__}."
        )
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise ValueError(
            f"The model {model.name!r} is not built, so it is not known what it takes. Begin it "
            "with `keras.Input((None, channels))`, or call it once on a batch."
        )
    if len(inputs) > 1:
        raise ValueError(
            f"The model {model.name!r} has {len(inputs)} inputs; recordings go through models of "
            "one."
        )


def check_rate(model, rate_hz):
    """Refuses sound of another rate than the model hears at.

    Raises:
        ValueError: If the rates differ, or the model has none.
    """
    rates = {layer.rate for layer in model._flatten_layers() if isinstance(layer, LogMel)}
    if not rates:
        raise ValueError(
            "`rate_hz` is compared with the rate of a `LogMel` layer, and this model has none; its "
            f"card says what rate it takes. Received rate_hz={rate_hz!r}."
        )
    if rates != {rate_hz}:
        wanted = " and ".join(f"{rate:g}" for rate in sorted(rates))
        raise ValueError(
            f"The model hears sound of {wanted} Hz. Received rate_hz={rate_hz!r}. Resample the "
            "recordings, for example by `scipy.signal.resample_poly`."
        )


def checked(model, given):
    """What is given to a model, as a list of float32 arrays of its kind.

    Args:
        model: A built `keras.Model` of one input.
        given: Recordings, matrices or images.

    Raises:
        TypeError: If one does not hold real numbers.
        ValueError: If there is none, or one is not of the model's shape, not finite, not symmetric,
            or outside [0, 1]; the message names its place.
    """
    shape = model.inputs[0].shape[1:]
    if takes_images(model):
        return _images(given, shape)
    return _matrices(given, shape[0]) if takes_matrices(model) else _signals(given, *shape)


def _signals(recordings, steps, channels):
    signals = _arrays(recordings, "Recording", "(time, channels)")
    for i, signal in enumerate(signals):
        if signal.ndim != 2:
            raise ValueError(
                f"Recording {i} must have shape (time, channels). Received shape {signal.shape}. "
                "A single recording goes in as a list of one."
            )
        if signal.shape[1] != channels:
            raise ValueError(
                f"Recording {i} has {signal.shape[1]} channels, the model takes {channels}. The "
                "model's card names them in order."
            )
        if len(signal) == 0:
            raise ValueError(f"Recording {i} has no steps; leave it out.")
        if steps is not None and len(signal) != steps:
            raise ValueError(
                f"Recording {i} has {len(signal)} steps, the model takes {steps}. Cut windows of "
                f"that length, `recording[start : start + {steps}]`, and embed each."
            )
        if not np.isfinite(signal).all():
            step, channel = np.argwhere(~np.isfinite(signal))[0]
            raise ValueError(
                f"Recording {i} holds NaN or infinity, first at step {step}, channel {channel}. "
                "Interpolate such steps or leave the recording out."
            )
    return signals


def _matrices(matrices, n):
    matrices = _arrays(matrices, "Matrix", "(n, n)")
    for i, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise ValueError(
                f"Matrix {i} must have shape ({n}, {n}). Received shape {matrix.shape}. A single "
                "matrix goes in as a list of one; the model's card names the channels in order."
            )
        if not np.isfinite(matrix).all():
            row, column = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(
                f"Matrix {i} holds NaN or infinity, first at row {row}, column {column}. Leave it "
                "out, or estimate it again without the steps that are missing."
            )
        if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
            raise ValueError(
                f"Matrix {i} is not symmetric, so it is no covariance matrix. Give "
                "`numpy.cov(recording, rowvar=False)` of a recording (time, channels)."
            )
    return matrices


def _images(images, shape):
    images = _listed(images)
    arrays = _arrays(images, "Image", "(height, width, channels)")
    image_checks.check_images(images, shape)
    return arrays


def _arrays(given, name, shape):
    given = _listed(given)
    if not given:
        raise ValueError(f"`recordings` is empty; give at least one array of shape {shape}.")
    return [real(f"{name} {i}", one, np.float32) for i, one in enumerate(given)]


def _listed(given):
    try:
        return list(given)
    except TypeError:
        raise TypeError(
            "`recordings` must be a list of arrays, one a recording. Received "
            f"{type(given).__name__}."
        ) from None
