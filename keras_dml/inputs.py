"""Checks the inputs of a model and stacks them to batches. There are three kinds of inputs:
recordings (`Signals`), symmetric matrices (`Matrices`) and images (`Images`).

The three classes need only NumPy. `from_model` creates an object for a Keras model and imports
Keras.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.contract import Contract
from keras_dml.images import check_images

if TYPE_CHECKING:
    from keras_dml._backend import keras

ASYMMETRY = 1e-3  # fraction of the largest entry; a larger asymmetry is not rounding

_DECLARED = weakref.WeakKeyDictionary()  # contracts of models without a layer `InputContract`


def from_model(model: keras.Model) -> Signals | Matrices | Images:
    """Returns an object that checks and batches the inputs of a model.

    Args:
        model: A built `keras.Model` with one input, or a classifier or trainer that contains such a
            model.

    Returns:
        `Signals`, `Matrices` or `Images`, depending on the input of the model's first layer.

    Raises:
        TypeError: If `model` is not a `keras.Model`.
        ValueError: If the model is not built, if it has several inputs, or if the rank of its input
            is not supported.
    """
    model = encoder(model)
    shape = _input_shape(model)
    if len(shape) not in (2, 3):
        raise ValueError(
            f"The model {model.name!r} takes arrays of shape (batch, "
            f"{', '.join(map(str, shape))}). Expected a model of recordings, shape (batch, time, "
            "channels), of matrices, shape (batch, n, n), or of images, shape (batch, height, "
            "width, channels)."
        )
    layers = model._flatten_layers()
    contracts = (getattr(layer, "contract", None) for layer in layers)
    contracts = (contract for contract in contracts if isinstance(contract, Contract))
    values = {
        "contract": next(contracts, _DECLARED.get(model)),
        "ignores_zeros": any(getattr(layer, "ignores_zeros", False) for layer in layers),
        "rates_hz": [layer.rate_hz for layer in layers if hasattr(layer, "rate_hz")],
        "model": model,
    }
    if len(shape) == 3:
        return Images(shape, **values)
    return (Matrices if _begins_with_matrices(model) else Signals)(shape, **values)


def encoder(model: keras.Model) -> keras.Model:
    """Returns the part of a model that computes embeddings: the encoder of a classifier or a
    trainer, or any other model unchanged.
    """
    return getattr(model, "encoder", model)


def declare(model: keras.Model, contract: Contract) -> None:
    """Sets the input contract of a model that has no layer `InputContract`. The contract may come
    from the model's card, for example.

    Args:
        model: `keras.Model` that gets the contract.
        contract: `keras_dml.contract.Contract`.
    """
    _DECLARED[model] = contract


class _Input:
    """Base class of objects that check and batch inputs.

    Args:
        shape: Shape of one input. An entry None stands for any size.
        contract: `keras_dml.contract.Contract`, or None if neither a layer nor a card has a
            contract.
        ignores_zeros: Whether a layer removes zeros, so that padding does not change embeddings.
        rates_hz: Sampling rates that layers of the model store, in time steps per second. They are
            used if the contract has no rate.
        model: `keras.Model` that takes the inputs, or None if the inputs are for an exported file.

    Attributes:
        name: Name of one input in error messages.
        axes: Text for the shape of one input in error messages.
        arguments: Names of the arguments that exported functions take for a batch.
    """

    name: str | None = None
    axes: str | None = None
    arguments: tuple[str, ...] = ()

    def __init__(
        self,
        shape: tuple[int | None, ...],
        contract: Contract | None = None,
        *,
        ignores_zeros: bool = False,
        rates_hz: Iterable[float] = (),
        model: keras.Model | None = None,
    ) -> None:
        self.shape: tuple[int | None, ...] = tuple(shape)
        self.contract: Contract | None = contract
        self.ignores_zeros: bool = ignores_zeros
        self.model: keras.Model | None = model
        self._rates_hz = set(rates_hz)

    def read(self, recordings: ArrayLike | Recordings, *, warns: bool = True) -> list[np.ndarray]:
        """Checks inputs of the model, and converts them to float32 arrays.

        Args:
            recordings: Recordings, matrices or images.
            warns: Whether the method emits a `UserWarning` if the magnitude of most recordings is
                outside the range that the contract states for the training data.

        Returns:
            List of NumPy arrays.

        Raises:
            TypeError: If an input does not hold real numbers.
            ValueError: If the list is empty, or if the model does not accept an input. The error
                message contains the index of the input.
        """
        recordings = _as_list(recordings)
        if not recordings:
            raise ValueError(
                f"`recordings` is empty. Pass at least one array of shape {self.axes}."
            )
        arrays = [real(f"{self.name} {i}", x, np.float32) for i, x in enumerate(recordings)]
        self._check(arrays, recordings)
        if warns:
            self._warn(arrays)
        return arrays

    def _warn(self, arrays):
        """Warns of inputs that are valid but unusual."""

    def check_rate(self, rate_hz: float) -> None:
        """Checks that a sampling rate equals the rate of the model.

        Raises:
            ValueError: If the two rates differ, or if the model has no rate.
        """
        if self.contract is not None and self.contract.rate_hz is not None:
            self.contract.check_rate(rate_hz)
            return
        if not self._rates_hz:
            raise ValueError(
                f"Received rate_hz={rate_hz!r}, but this model has no layer that stores its rate "
                "(`InputContract` or `LogMel`). See the model's card for the rate, and leave "
                "`rate_hz` out."
            )
        if self._rates_hz != {rate_hz}:
            expected = " and ".join(f"{rate:g}" for rate in sorted(self._rates_hz))
            raise ValueError(
                f"The model takes audio of {expected} Hz. Received rate_hz={rate_hz!r}. Resample "
                "the recordings, for example by `scipy.signal.resample_poly`."
            )

    def single(self, array: np.ndarray, steps: int | None = None) -> dict[str, np.ndarray]:
        """Returns the arguments of an exported function for a batch of one input.

        Args:
            array: A recording, a matrix or an image.
            steps: Number of steps to which a recording is padded with zeros. Default: no padding.
        """
        return self.batch([array])

    def batch(self, arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the arguments of an exported function for a batch of inputs."""
        (name,) = self.arguments
        return {name: np.stack(arrays).astype(np.float32)}

    def length(self, array: np.ndarray) -> int | None:
        """Returns the number of steps of a recording or the number of rows of a matrix, or None for
        an image."""
        return len(array)


class Signals(_Input):
    """Checks and batches recordings of shape `(time, channels)`. A batch also holds the lengths of
    the recordings."""

    name: str | None = "Recording"
    axes: str | None = "(time, channels)"
    arguments: tuple[str, ...] = ("signal", "length")

    @property
    def has_any_length(self) -> bool:
        """True if the model takes recordings of any number of steps."""
        return self.shape[0] is None

    def _check(self, signals, _):
        for i, signal in enumerate(signals):
            self._check_one(i, signal)

    def _warn(self, signals):
        if self.contract is not None:
            self.contract.warn_of_magnitudes(signals)

    def _check_one(self, i, signal):
        steps, channels = self.shape
        if signal.ndim != 2:
            raise ValueError(
                f"Recording {i} must have shape (time, channels). Received shape {signal.shape}. "
                "Pass a single recording as a list with one element."
            )
        if signal.shape[1] != channels:
            expected = f"{channels}. The model's card lists the channels in order."
            if self.contract is not None and len(self.contract.channels) == channels:
                expected = f"{self.contract.named_channels()}, in this order."
            raise ValueError(
                f"Recording {i} has {signal.shape[1]} channels, but the model takes {expected}"
            )
        if len(signal) == 0:
            raise ValueError(f"Recording {i} has no time steps. Leave the recording out.")
        if steps is not None and len(signal) != steps:
            raise ValueError(
                f"Recording {i} has {len(signal)} steps, but the model takes {steps}. Cut windows "
                f"of this length, `recording[start : start + {steps}]`, and embed each window."
            )
        if not np.isfinite(signal).all():
            step, channel = np.argwhere(~np.isfinite(signal))[0]
            raise ValueError(
                f"Recording {i} holds NaN or infinity, first at step {step}, channel {channel}. "
                "Interpolate such steps or leave the recording out."
            )
        if self.contract is not None:
            self.contract.check(i, signal, self.ignores_zeros)

    def single(self, signal: np.ndarray, steps: int | None = None) -> dict[str, np.ndarray]:
        arguments = self.batch([signal], steps)
        return {"signal": arguments["signal"], "length": arguments["length"][0]}

    def batch(self, signals: list[np.ndarray], steps: int | None = None) -> dict[str, np.ndarray]:
        """Returns the arguments of an exported function for recordings of different lengths.

        Args:
            signals: Arrays of shape `(time, channels)`.
            steps: Number of steps to which recordings are padded with zeros. The default is the
                length of the longest recording.

        Returns:
            Dictionary with `signal` `(batch, time, channels)` and `length` `(batch,)`.
        """
        lengths = np.array([len(signal) for signal in signals], np.int32)
        shape = (len(signals), steps or lengths.max(), self.shape[1])
        padded = np.zeros(shape, np.float32)
        for row, signal in zip(padded, signals, strict=True):
            row[: len(signal)] = signal
        return {"signal": padded, "length": lengths}


class Matrices(_Input):
    """Checks and batches symmetric matrices of shape `(n, n)`."""

    name: str | None = "Matrix"
    axes: str | None = "(n, n)"
    arguments: tuple[str, ...] = ("matrix",)
    has_any_length = False

    def _check(self, matrices, _):
        n = self.shape[0]
        for i, matrix in enumerate(matrices):
            if matrix.shape != (n, n):
                raise ValueError(
                    f"Matrix {i} must have shape ({n}, {n}). Received shape {matrix.shape}. "
                    "Pass a single matrix as a list with one element. The model's card names the "
                    "channels in order."
                )
            if not np.isfinite(matrix).all():
                row, column = np.argwhere(~np.isfinite(matrix))[0]
                raise ValueError(
                    f"Matrix {i} holds NaN or infinity, first at row {row}, column {column}. Leave "
                    "it out, or estimate it again without the missing steps."
                )
            if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
                raise ValueError(
                    f"Matrix {i} is not symmetric, so it is not a covariance matrix. Give "
                    "`numpy.cov(recording, rowvar=False)` of a recording (time, channels)."
                )


class Images(_Input):
    """Checks and batches images of shape `(height, width, channels)`, floats in [0, 1]."""

    name: str | None = "Image"
    axes: str | None = "(height, width, channels)"
    arguments: tuple[str, ...] = ("image",)
    has_any_length = False

    def _check(self, _, images):
        check_images(images, self.shape)  # before the conversion to float32, so that bytes fail

    def length(self, array: np.ndarray) -> None:
        return None


def _input_shape(model):
    from keras_dml._backend import keras

    if not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a keras.Model, or the name or path of a saved model. Received "
            f"{type(model).__name__}."
        )
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise ValueError(
            f"The model {model.name!r} is not built, so the shape of its input is unknown. Begin "
            "the model with `keras.Input((None, channels))`, or call it once on a batch."
        )
    if len(inputs) > 1:
        raise ValueError(
            f"The model {model.name!r} has {len(inputs)} inputs. Expected a model with one input. "
            "Pass a model that takes only recordings."
        )
    return tuple(inputs[0].shape[1:])


def _begins_with_matrices(model):
    from keras_dml._backend import keras

    layer = model
    while isinstance(layer, keras.Model):
        inner = (
            x
            for x in layer.layers
            if not isinstance(x, keras.layers.InputLayer) and not hasattr(x, "contract")
        )
        layer = next(inner, None)
    return getattr(layer, "takes_matrices", False)


def _as_list(recordings):
    try:
        return list(recordings)
    except TypeError:
        raise TypeError(
            "`recordings` must be a list of arrays, one per recording. Received "
            f"{type(recordings).__name__}."
        ) from None
