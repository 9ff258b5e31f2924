"""What a model takes: recordings, symmetric matrices or images. One object of three classes checks
what is given and stacks it to batches.
"""

import weakref

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras
from keras_dml.contract import Contract
from keras_dml.images import check_images

ASYMMETRY = 1e-3  # of the largest entry; more is not rounding

_DECLARED = weakref.WeakKeyDictionary()  # contracts of models that carry none themselves


def of(model):
    """What a model takes.

    Args:
        model: A built `keras.Model` of one input, or a classifier or a trainer of one.

    Returns:
        `Signals`, `Matrices` (the first layer is one on matrices) or `Images`.

    Raises:
        TypeError: If it is not a `keras.Model`.
        ValueError: If it is not built, has several inputs, or an input of another rank.
    """
    model = encoder(model)
    shape = _input_shape(model)
    if len(shape) == 3:
        return Images(model)
    if len(shape) != 2:
        raise ValueError(
            f"The model {model.name!r} takes arrays of shape (batch, "
            f"{', '.join(map(str, shape))}). Recordings have shape (batch, time, channels), "
            "matrices (batch, n, n), images (batch, height, width, channels)."
        )
    return Matrices(model) if _begins_with_matrices(model) else Signals(model)


def encoder(model):
    """The part of a model that gives embeddings: that of a classifier or a trainer, or the model
    itself."""
    return getattr(model, "encoder", model)


def declare(model, contract):
    """Gives a model the contract of its card, for a model without the layer `InputContract`.

    Args:
        model: A `keras.Model`.
        contract: `keras_dml.contract.Contract`.
    """
    _DECLARED[model] = contract


class _Input:
    """An input of a known kind.

    Attributes:
        model: The model.
        shape: Shape of one array; None is any size.
        arguments: Names of the arguments of a function of such a batch.
        contract: `keras_dml.contract.Contract`; None where neither a layer nor a card has one.
        ignores_zeros: Whether a layer cuts zeros out, so that padding changes nothing.
    """

    name, axes, arguments = None, None, ()

    def __init__(self, model):
        self.model = model
        self.shape = tuple(model.inputs[0].shape[1:])
        carried = (getattr(layer, "contract", None) for layer in model._flatten_layers())
        carried = (found for found in carried if isinstance(found, Contract))
        self.contract = next(carried, _DECLARED.get(model))
        self.ignores_zeros = any(
            getattr(layer, "ignores_zeros", False) for layer in model._flatten_layers()
        )

    def read(self, given):
        """What is given to the model, as float32 arrays that have been checked.

        Args:
            given: Recordings, matrices or images.

        Returns:
            List of NumPy arrays.

        Raises:
            TypeError: If one does not hold real numbers.
            ValueError: If there is none, or the model does not take one; the message names its
                index.
        """
        given = _listed(given)
        if not given:
            raise ValueError(
                f"`recordings` is empty; give at least one array of shape {self.axes}."
            )
        arrays = [real(f"{self.name} {i}", one, np.float32) for i, one in enumerate(given)]
        self._check(arrays, given)
        return arrays

    def check_rate(self, rate_hz):
        """Refuses recordings of another rate than the model's.

        Raises:
            ValueError: If the rates differ, or the model has none.
        """
        if self.contract is not None and self.contract.rate_hz is not None:
            self.contract.check_rate(rate_hz)
            return
        rates = {
            layer.rate_hz for layer in self.model._flatten_layers() if hasattr(layer, "rate_hz")
        }
        if not rates:
            raise ValueError(
                "`rate_hz` is compared with the rate of an `InputContract` or a `LogMel` layer, "
                "and this model has none; its card says what rate it takes. Received "
                f"rate_hz={rate_hz!r}."
            )
        if rates != {rate_hz}:
            expected = " and ".join(f"{rate:g}" for rate in sorted(rates))
            raise ValueError(
                f"The model hears sound of {expected} Hz. Received rate_hz={rate_hz!r}. Resample "
                "the recordings, for example by `scipy.signal.resample_poly`."
            )

    def one(self, array):
        """The arguments of a function of one array, by name."""
        return self.batch([array])

    def batch(self, arrays):
        """The arguments of a function of a batch, by name."""
        (name,) = self.arguments
        return {name: np.stack(arrays).astype(np.float32)}

    def length(self, array):
        """Steps of a recording, rows of a matrix; None of an image."""
        return len(array)


class Signals(_Input):
    """Recordings of shape `(time, channels)`, which come with their lengths."""

    name, axes, arguments = "Recording", "(time, channels)", ("signal", "length")

    @property
    def has_any_length(self):
        """Whether the model takes recordings of any number of steps."""
        return self.shape[0] is None

    def _check(self, signals, given):
        for i, signal in enumerate(signals):
            self._check_one(i, signal)
        if self.contract is not None:
            self.contract.warn_of_magnitudes(signals)

    def _check_one(self, i, signal):
        steps, channels = self.shape
        if signal.ndim != 2:
            raise ValueError(
                f"Recording {i} must have shape (time, channels). Received shape {signal.shape}. "
                "A single recording goes in as a list of one."
            )
        if signal.shape[1] != channels:
            named = f"{channels}. The model's card names them in order."
            if self.contract is not None and len(self.contract.channels) == channels:
                named = f"{self.contract.named_channels()}, in this order."
            raise ValueError(
                f"Recording {i} has {signal.shape[1]} channels, the model takes {named}"
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
        if self.contract is not None:
            self.contract.check(i, signal, self.ignores_zeros)

    def one(self, signal):
        return {"signal": signal[None], "length": np.array(len(signal), np.int32)}

    def batch(self, signals, steps=None):
        """The arguments of a function of recordings of several lengths, by name.

        Args:
            signals: Arrays of shape `(time, channels)`.
            steps: Length to pad to with zeros; None: the largest.

        Returns:
            Dict of `signal`, shape `(batch, time, channels)`, and `length`, shape `(batch,)`.
        """
        lengths = np.array([len(signal) for signal in signals], np.int32)
        shape = (len(signals), steps or lengths.max(), self.shape[1])
        padded = np.zeros(shape, np.float32)
        for row, signal in zip(padded, signals, strict=True):
            row[: len(signal)] = signal
        return {"signal": padded, "length": lengths}


class Matrices(_Input):
    """Symmetric matrices of shape `(n, n)`."""

    name, axes, arguments = "Matrix", "(n, n)", ("matrix",)
    has_any_length = False

    def _check(self, matrices, given):
        n = self.shape[0]
        for i, matrix in enumerate(matrices):
            if matrix.shape != (n, n):
                raise ValueError(
                    f"Matrix {i} must have shape ({n}, {n}). Received shape {matrix.shape}. A "
                    "single matrix goes in as a list of one; the model's card names the channels "
                    "in order."
                )
            if not np.isfinite(matrix).all():
                row, column = np.argwhere(~np.isfinite(matrix))[0]
                raise ValueError(
                    f"Matrix {i} holds NaN or infinity, first at row {row}, column {column}. Leave "
                    "it out, or estimate it again without the steps that are missing."
                )
            if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
                raise ValueError(
                    f"Matrix {i} is not symmetric, so it is no covariance matrix. Give "
                    "`numpy.cov(recording, rowvar=False)` of a recording (time, channels)."
                )


class Images(_Input):
    """Images of shape `(height, width, channels)`, floats in [0, 1]."""

    name, axes, arguments = "Image", "(height, width, channels)", ("image",)
    has_any_length = False

    def _check(self, images, given):
        check_images(given, self.shape)  # as they were given: bytes are refused

    def length(self, array):
        return None


def _input_shape(model):
    if not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a keras.Model, or the name or path of one. Received "
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
    return tuple(inputs[0].shape[1:])


def _begins_with_matrices(model):
    layer = model
    while isinstance(layer, keras.Model):
        inner = (x for x in layer.layers if not _only_passes(x))
        layer = next(inner, None)
    return getattr(layer, "takes_matrices", False)


def _only_passes(layer):
    return isinstance(layer, keras.layers.InputLayer) or hasattr(layer, "contract")


def _listed(given):
    try:
        return list(given)
    except TypeError:
        raise TypeError(
            "`recordings` must be a list of arrays, one a recording. Received "
            f"{type(given).__name__}."
        ) from None
