"""Runs a model in a .tflite file."""

import os
import threading
from typing import Any

import numpy as np

from keras_dml import embeddings, inputs, quality
from keras_dml._arrays import real
from keras_dml._redirection import redirected
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.contract import Contract
from keras_dml.edge import _spd
from keras_dml.export import edge_metadata
from keras_dml.geometry import potato_scores

AFFINE_INVARIANT = "affine_invariant"  # distance between SPD matrices that NumPy computes
TWO_COVARIANCE = "two_covariance"
# distances for which the average of (unit) vectors or quantile functions is the mean embedding
AVERAGED = ("cosine", "euclidean", TWO_COVARIANCE, "wasserstein")
# Bytes of the embeddings that one call of a file compares. With `gait_qp_wl`, 10,000 distances take
# 70 ms in blocks of 2**17 bytes. Blocks of 2**20 bytes take 80 ms and 15 MB more memory.
BLOCK_BYTES = 2**17
KINDS = {"signal": inputs.Signals, "matrix": inputs.Matrices, "image": inputs.Images}


class Model:
    """Model in a .tflite file, which LiteRT runs on one thread. `keras_dml.edge.load` returns it.

    Several threads may use a model at the same time. LiteRT cannot run a file in two threads at
    once, so one thread waits for the other. Load the model again in each thread to run in parallel.

    Args:
        blob: Bytes of a .tflite file that `keras_dml.export.tflite` wrote.
        name: Name or path of the model.
        card: Model card, or None if the model has no card.

    Attributes:
        name: Name or path of the model.
        distance_name: Name of the distance between embeddings, or None if the distance has no name.
        has_mean: Whether embeddings have a mean that NumPy can compute.
        embedding_shape: Shape of an embedding, the same as for the Keras model.
        fingerprint: Fingerprint of the Keras model, which a gallery stores, see
            `keras_dml.inference.fingerprint`.
        contract: `keras_dml.contract.Contract` of the recordings, or None if the model has none.
        inputs: Object that checks inputs of the model, see `keras_dml.inputs`.
        gate: Quality gate of the model, see `keras_dml.quality`, or None.
        card: Model card, or None if the model has no card.

    Raises:
        ValueError: If the file is damaged, was not written by `keras_dml.export.tflite`, or NumPy
            cannot compute the distance of the model.
    """

    _signature = "embed"  # signature that takes recordings

    def __init__(self, blob: bytes, name: str, card: dict[str, Any] | None = None):
        about = edge_metadata.read(blob, name)
        self._blob, self._lock = blob, threading.Lock()
        try:
            self._interpreter = _interpreter(blob)
            runners = self._interpreter.get_signature_list()
            self._runners = {key: self._interpreter.get_signature_runner(key) for key in runners}
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"LiteRT cannot read {name}: {error} Export the model again."
            ) from error
        if self._signature not in self._runners:
            function = "load_stream" if self._signature == "embed" else "load"
            raise ValueError(
                f"{name} has no signature `{self._signature}`. Its signatures are "
                f"{', '.join(sorted(runners))}. Read it with `keras_dml.edge.{function}`."
            )
        # number of rows that `distance` compares in one call, or None for any number
        self._gallery_rows: int | None = _sizes(self._runners["distance"], "gallery")[0]
        is_same_embedding = _shape(self._runners["distance"], "embedding") == about.embedding
        if not is_same_embedding and about.distance != AFFINE_INVARIANT:
            raise ValueError(
                f"{name} compares matrices by the distance {about.distance!r}, which "
                "`keras_dml.edge` does not compute. Use the Keras model, or train a model with the "
                f"distance {AFFINE_INVARIANT!r}."
            )
        self.name: str = name
        self.distance_name: str | None = about.distance
        self.has_mean: bool = about.distance in AVERAGED and (
            about.has_mean or about.distance != "wasserstein"
        )
        self.embedding_shape: tuple[int, ...] = about.embedding
        self.fingerprint: str = about.fingerprint
        self.contract: Contract | None = about.contract
        self._knots = about.knots
        self._steps = about.steps
        self.inputs: inputs.Signals | inputs.Matrices | inputs.Images = self._kind(about)
        self.card: dict[str, Any] | None = card
        self.gate: quality.Gate | None = None
        self._window = about.window, about.restarts
        if about.usual is not None:
            self.gate = quality.Gate(about.usual, about.potato, self._covariances)

    def embed(self, recordings: ArrayLike | Recordings) -> np.ndarray:
        """Computes embeddings, one embedding per recording.

        The function checks recordings in the same way as `keras_dml.embed`.

        Args:
            recordings: Arrays of shape `(time, channels)` in the units of the model's contract, one
                per recording, or a single array. If the model takes matrices or images, pass arrays
                of shape `(n, n)` or `(height, width, channels)`.

        Returns:
            Embeddings in the order of the recordings, float32, shape `(recordings, ...)`.

        Raises:
            TypeError: If a recording does not hold real numbers.
            ValueError: If `recordings` is empty, a recording is invalid, or an embedding is not
                finite, see `keras_dml.embed`. The message contains the index of the recording.

        Warns:
            UserWarning: If the magnitude of most recordings is outside the range that the contract
                states for the training data.
        """
        arrays = self.inputs.read(self._as_list(recordings))
        result = self.embed_unchecked(arrays)
        embeddings.check_embedded(result, np.arange(len(arrays)), arrays)
        return result

    def embed_unchecked(self, arrays: np.ndarray | Recordings) -> np.ndarray:
        """Computes embeddings of inputs that were checked before or that need no checks.

        Args:
            arrays: Inputs of the model, float32 arrays.

        Returns:
            Embeddings, float32, shape `(inputs, ...)`. An embedding is NaN if its input is not
            finite or has a length that the model does not accept.
        """
        result = self._run("embed", arrays)
        if self.distance_name == AFFINE_INVARIANT:
            result = _spd.matrices(result, self.embedding_shape[0]).astype(np.float32)
        return result

    def distance(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Computes the distance of each embedding in `x` to each embedding in `y`.

        Args:
            x: Embeddings, shape `(n, ...)`.
            y: Embeddings of the same model, shape `(m, ...)`.

        Returns:
            Distances, shape `(n, m)`. Embeddings that are more alike have smaller distances.

        Raises:
            TypeError: If the embeddings are not real numbers.
            ValueError: If the embeddings are not finite, do not have the shape of the model's
                embeddings, or come from another model.
        """
        x, y = self.checked("x", x), self.checked("y", y)
        result = np.empty((len(x), len(y)), np.float32)
        if self.distance_name == AFFINE_INVARIANT:
            for row, embedding in zip(result, x.astype(np.float64), strict=True):
                row[:] = potato_scores.distances(embedding, y.astype(np.float64))
            return result
        fixed = self._gallery_rows
        rows = fixed or max(1, BLOCK_BYTES // max(1, y[:1].nbytes))
        for start in range(0, len(y), rows):
            block = y[start : start + rows]
            count = len(block)
            if fixed is not None:  # a row of zeros would not be a quantile function
                block = np.concatenate([block, np.repeat(block[:1], fixed - count, axis=0)])
            for row, embedding in zip(result, x, strict=True):
                output = self._call("distance", embedding=embedding[None], gallery=block)
                row[start : start + rows] = output["distance"][:count]
        return result

    def unfit(self, recordings: ArrayLike | Recordings) -> dict[int, str]:
        """Returns `{index: reason}` for recordings that are too poor to be compared.

        The result is empty if the model has no quality gate, see `keras_dml.quality`.

        Args:
            recordings: The same recordings as for `embed`.

        Raises:
            TypeError: If a recording does not hold real numbers.
            ValueError: If `recordings` is empty, or the model does not accept a recording.
        """
        recordings = self._as_list(recordings)
        self.inputs.read(recordings, warns=False)  # `embed` emits one warning for all
        return {} if self.gate is None else self.gate.refused(recordings)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what `pickle` and `copy` need, because LiteRT cannot copy an interpreter."""
        return type(self), (self._blob, self.name, self.card)

    def _call(self, signature, **arguments):
        """Runs a signature. Two threads that run it at the same time would end the process."""
        with self._lock:
            return self._runners[signature](**arguments)

    def _kind(self, about):
        """Returns an object that checks inputs in the same way as for the Keras model."""
        runner = self._runners[self._signature]
        (argument,) = runner.get_input_details().keys() & KINDS.keys()
        kind, shape = KINDS[argument], _shape(runner, argument)
        if self._steps is not None or about.window is not None:
            shape = (None, *shape[1:])
        return kind(shape, about.contract, ignores_zeros=about.ignores_zeros)

    def _as_list(self, recordings):
        is_single = isinstance(recordings, np.ndarray) and recordings.ndim == len(self.inputs.shape)
        return [recordings] if is_single else recordings

    def _run(self, signature, arrays):
        """Returns the outputs of a signature for inputs of the model, shape `(inputs, ...)`."""
        outputs = []
        for array in arrays:
            (output,) = self._call(signature, **self.inputs.single(array, self._steps)).values()
            outputs.append(output)
        return np.concatenate(outputs)

    def _covariances(self, recordings):
        return self._run("covariance", [np.asarray(x, np.float32) for x in recordings])

    def checked(self, name: str, values: ArrayLike) -> np.ndarray:
        """Converts embeddings to a float32 array, and checks that this model computed them.

        Args:
            name: Name of the argument in error messages.
            values: Embeddings, shape `(n, ...)`.

        Raises:
            TypeError: If the embeddings are not real numbers.
            ValueError: If the embeddings are not finite, or come from another model.
        """
        array = real(f"`{name}`", values, np.float32)
        embeddings.check_finite(name, array)
        embeddings.check_shape(name, array, self.embedding_shape, self.name)
        if self._knots is not None:
            embeddings.check_knots(name, array, self._knots, self.name)
        if self.distance_name == TWO_COVARIANCE:
            embeddings.check_variances(name, array)
        return array


def _interpreter(blob):
    """Creates an interpreter for a file.

    In the first call of a process, LiteRT writes to standard error that it uses XNNPACK. No setting
    of LiteRT turns this message off, so the function redirects standard error.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=blob, num_threads=1)
    with open(os.devnull, "wb") as sink, redirected(sink, 2):
        interpreter.allocate_tensors()
    return interpreter


def _shape(runner, argument):
    """Returns the shape of one row of a signature's argument."""
    return _sizes(runner, argument)[1:]


def _sizes(runner, argument):
    """Returns the shape of a signature's argument. An entry None stands for any size."""
    details = runner.get_input_details()[argument]
    sizes = details["shape_signature"] if len(details["shape_signature"]) else details["shape"]
    return tuple(None if size < 0 else int(size) for size in sizes)
