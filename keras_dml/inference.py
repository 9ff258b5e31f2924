"""Recordings of any length, matrices and images through any model, and the distances of what comes
out."""

import itertools
import warnings

import numpy as np

from keras_dml import progress as bars
from keras_dml import zoo
from keras_dml._keras import keras, ops
from keras_dml.layers._matrices import MatrixLayer
from keras_dml.layers.audio import LogMel
from keras_dml.models import _images as image_checks
from keras_dml.models import _parts as parts

LENGTHS_PER_OCTAVE = (
    8  # padded lengths a batch may have: few enough to compile once, padding below 13 %
)
ASYMMETRY = 1e-3  # of the greatest entry; more is no rounding


def embed(model, recordings, batch_size=32, *, rate_hz=None, progress=True):
    """Embeddings of recordings of any lengths, in their order.

    Recordings of similar length are padded to one batch under a mask, which leaves every embedding
    as it is alone; in a model with a layer that drops masks, as `keras.layers.Conv1D` does, only
    recordings of equal length share a batch. Nothing is cut: one recording, one embedding.

    Args:
        model: A `keras.Model`, or the name of a zoo model; of a `PrototypicalClassifier` its
            encoder is asked.
        recordings: Arrays of shape `(time, channels)` in the units of the model's card, one a
            recording; for a model that begins with a layer on matrices, such as `BiMap`, symmetric
            arrays of shape `(n, n)`; for a model of images floats in [0, 1] of shape `(height,
            width, channels)`.
        batch_size: Recordings in a batch.
        rate_hz: Samples a second of recordings of sound, to be compared with the rate that the
            model hears at; None: not compared.
        progress: Whether to report progress on stderr when it takes more than two seconds.

    Returns:
        NumPy array, shape `(recordings, ...)`.

    Raises:
        ValueError: If there are no recordings, or one is empty, not of shape `(time, channels)`,
            has another number of channels than the model, another length than a model of fixed
            length takes, or holds NaN or infinity (in float32), or a matrix is not symmetric, or an
            image has another size or values outside [0, 1]; the message names its place in the
            list. Also for sound of another rate than the model's.
    """
    if batch_size < 1:
        raise ValueError(f"`batch_size` must be at least 1. Received batch_size={batch_size}.")
    model = parts.encoder(_model(model))
    if rate_hz is not None:
        _check_rate(model, rate_hz)
    check = _checked_matrices if takes_matrices(model) else _checked
    check = _checked_images if takes_images(model) else check
    signals = check(recordings, *model.inputs[0].shape[1:])
    lengths = np.array([len(signal) for signal in signals])
    order = np.argsort(lengths, kind="stable")
    borders = [0, len(order)] if _passes_masks(model) else _changes(lengths[order])
    batches = [
        order[i : min(i + batch_size, end)]
        for start, end in itertools.pairwise(borders)
        for i in range(start, end, batch_size)
    ]
    embeddings = None
    for rows in bars.track(batches, "embedding") if progress else batches:
        batch = _embed_batch(model, [signals[row] for row in rows])
        if embeddings is None:
            embeddings = np.empty((len(signals), *batch.shape[1:]), batch.dtype)
        embeddings[rows] = batch
    return embeddings


def distance(model, x, y, *, max_bytes=64 * 2**20):
    """Distances between two sets of embeddings, as the model's head defines them: small is near.

    Args:
        model: A `keras.Model` whose last layer names its `distance`, the name of a zoo model, or a
            distance.
        x: Embeddings, shape `(n, ...)`.
        y: Embeddings of the same model, shape `(m, ...)`.
        max_bytes: Memory that a block of pairs may take.

    Returns:
        NumPy array, shape `(n, m)`.

    Raises:
        ValueError: If the model names no distance, or the embeddings are of different models.
    """
    metric = (
        model
        if callable(model) and not isinstance(model, keras.Model)
        else head_distance(_model(model))
    )
    x, y = np.asarray(x), np.asarray(y)
    pair = getattr(metric, "bytes_per_pair", max(1, y[:1].nbytes))
    rows = max(1, int(max_bytes // (pair * max(1, len(y)))))
    blocks = [_numpy(metric(x[i : i + rows], y)) for i in range(0, len(x), rows)]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(y)), x.dtype)


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


def _check_rate(model, rate_hz):
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


def head_distance(model):
    """The distance that the model's head names.

    Raises:
        ValueError: If the last layer names none.
    """
    if hasattr(model, "distance"):
        return model.distance
    head = model.layers[-1]
    if not hasattr(head, "distance"):
        raise ValueError(
            f"The last layer of {model.name!r}, {type(head).__name__} {head.name!r}, names no "
            "distance. End the model in a head of `keras_dml.layers`, or pass a distance such as "
            "`keras_dml.distances.Cosine()`."
        )
    return head.distance


def _model(model):
    return zoo.load(model) if isinstance(model, str) else model


def _checked(recordings, steps, channels):
    signals = _arrays(recordings, "(time, channels)")
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


def _checked_matrices(recordings, n, _columns):
    matrices = _arrays(recordings, "(n, n)")
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


def _checked_images(recordings, *shape):
    recordings = list(recordings)
    images = _arrays(recordings, "(height, width, channels)")
    image_checks.check_images(recordings, shape)
    return images


def _arrays(recordings, shape):
    with np.errstate(over="ignore"):  # beyond float32 is infinity, which is refused later
        arrays = [np.asarray(recording, np.float32) for recording in recordings]
    if not arrays:
        raise ValueError(f"`recordings` is empty; give at least one array of shape {shape}.")
    return arrays


def _passes_masks(model):
    """Whether every operation hands masks on; what a model without a graph does with them cannot be
    known."""
    operations = (
        model.layers if isinstance(model, keras.Sequential) else getattr(model, "operations", None)
    )
    if operations is None:
        return False
    return all(
        _passes_masks(operation)
        if isinstance(operation, keras.Model)
        else getattr(operation, "supports_masking", False)
        for operation in operations
        if not isinstance(operation, keras.layers.InputLayer)
    )


def _changes(values):
    """Where ascending values change, with both ends: [7, 7, 9] -> [0, 2, 3]."""
    return [0, *np.flatnonzero(np.diff(values)) + 1, len(values)]


def _embed_batch(model, signals):
    lengths = np.array([len(signal) for signal in signals])
    if (lengths == lengths[0]).all():  # always so for images and matrices
        return _numpy(model(np.stack(signals), training=False))
    batch = np.zeros((len(signals), _padded(lengths.max()), signals[0].shape[1]), np.float32)
    for row, signal in zip(batch, signals, strict=True):
        row[: len(signal)] = signal
    mask = np.arange(batch.shape[1]) < lengths[:, None]  # (batch, time)
    with warnings.catch_warnings():
        # Keras says of every model, as a layer, that it drops masks; its layers take this one
        warnings.filterwarnings("ignore", "[\\s\\S]*was passed an input with a mask", UserWarning)
        return _numpy(model(batch, mask=ops.convert_to_tensor(mask), training=False))


def _padded(length):
    """The next of few lengths, so that a compiling backend compiles few times."""
    step = max(1, 2 ** (int(length).bit_length() - 1) // LENGTHS_PER_OCTAVE)
    return -(-int(length) // step) * step


def _numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)
