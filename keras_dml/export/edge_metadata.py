"""Reads and writes what `keras_dml.edge` needs to know about the model in a .tflite file.

The metadata is inside the file and not on a card, because files of models without a card
need the same facts, and because a file and its facts cannot be separated. Reading needs only NumPy
and LiteRT.
"""

from __future__ import annotations

import dataclasses
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import inputs
from keras_dml.contract import Contract
from keras_dml.export import _contract, _flatbuffer
from keras_dml.fitted_potato import FittedPotato
from keras_dml.quality import Usual

if TYPE_CHECKING:
    from keras_dml._backend import keras
    from keras_dml.distances import Distance
    from keras_dml.export.streaming import Stream
    from keras_dml.quality import Gate

# names of metadata entries in a .tflite file: JSON, and the file of a potato
METADATA, POTATO = "keras_dml.edge", "keras_dml.potato"


@dataclasses.dataclass(frozen=True)
class EdgeMetadata:
    """Facts about the model in a .tflite file.

    Attributes:
        fingerprint: Fingerprint of the Keras model, see `keras_dml.inference.fingerprint`.
        distance: Name of the distance of the Keras model, or None if the distance has no name.
        embedding: Shape of an embedding of the Keras model. If the model returns SPD matrices, the
            file returns tangent vectors instead.
        knots: Knots of the model's quantile functions, or None if embeddings are not quantile
            functions.
        ignores_zeros: Whether a layer of the model removes zeros, so that padding is allowed.
        steps: Number of time steps to which recordings must be padded, or None if the file needs no
            padding.
        contract: Input contract, or None if the model has no contract.
        usual: `Usual` properties of recordings, or None if the model has no quality gate.
        potato: Potato of the quality gate, or None.
        window: Number of steps of a recording if the file is the file of a stream, or None.
        restarts: Whether the state of the stream must be zeros at the start of each window.
        has_mean: Whether embeddings have a mean, see `keras_dml.distances.Distance`.
    """

    fingerprint: str
    distance: str | None
    embedding: tuple[int, ...]
    knots: np.ndarray | None
    ignores_zeros: bool
    steps: int | None
    contract: Contract | None
    usual: Usual | None
    potato: FittedPotato | None
    window: int | None = None
    restarts: bool = False
    has_mean: bool = False


def entries(
    encoder: keras.Model,
    metric: Distance,
    fingerprint: str,
    knots: np.ndarray | None,
    gate: Gate | None,
    steps: int | None = None,
    stream: Stream | None = None,
) -> dict[str, bytes]:
    """Returns the metadata entries of a file, `{name: data}`.

    Args:
        encoder: Model that computes embeddings.
        metric: Distance of the model.
        fingerprint: Fingerprint of the model.
        knots: Knots of the model's quantile functions, shape `(knots,)`, or None.
        gate: Quality gate of the model, or None.
        steps: Number of time steps to which the file's recordings are padded, or None.
        stream: Streamed form of the model, or None if the file has the signature `embed`.
    """
    about = {
        "fingerprint": fingerprint,
        "distance": metric.name,
        "has_mean": metric.has_mean,
        "embedding": encoder.output_shape[1:],
        "knots": None if knots is None else knots.tolist(),
        "ignores_zeros": inputs.from_model(encoder).ignores_zeros,
        "steps": steps,
        "quality": None if gate is None else dataclasses.asdict(gate.usual),
    }
    if stream is not None:
        about["stream"] = {"window": stream.window, "restarts": not stream.has_window}
    potato = {}
    if gate is not None and gate.potato is not None:
        file = io.BytesIO()
        gate.potato.write(file)
        potato = {POTATO: file.getvalue()}
    return {METADATA: json.dumps(about, ensure_ascii=False).encode(), **potato}


def read(blob: bytes, name: str) -> EdgeMetadata:
    """Reads the metadata of a .tflite file.

    Args:
        blob: Bytes of the file.
        name: Name of the file in error messages.

    Raises:
        ValueError: If the file has no metadata for `keras_dml.edge`, or is damaged.
    """
    try:
        text, potato, contract = (
            _flatbuffer.metadata(blob, entry) for entry in (METADATA, POTATO, _contract.METADATA)
        )
        about = None if text is None else json.loads(text)
        contract = {} if contract is None else json.loads(contract)
        if about is not None:
            return _metadata(about, contract, potato, name)
    except Exception as error:  # a damaged FlatBuffer raises any error of struct and NumPy
        raise ValueError(
            f"{name} is damaged, or is not a .tflite file ({str(error) or repr(error)}). Export "
            "the model again."
        ) from error
    raise ValueError(
        f"{name} was not written by this version of `keras_dml.export.tflite`, so it does not say "
        "how to compare embeddings. Export the model again."
    )


def _metadata(about: dict[str, Any], contract: dict[str, Any], potato: bytes | None, name: str):
    quality = about["quality"]
    if quality is not None:
        lists = {key: tuple(value) for key, value in quality.items() if isinstance(value, list)}
        quality = Usual(**{**quality, **lists})
    names = [field.name for field in dataclasses.fields(Contract)]
    described = {key: contract[key] for key in names if key in contract}
    return EdgeMetadata(
        fingerprint=about["fingerprint"],
        distance=about["distance"],
        embedding=tuple(about["embedding"]),
        knots=None if about["knots"] is None else np.array(about["knots"]),
        ignores_zeros=about["ignores_zeros"],
        steps=about["steps"],
        contract=Contract(**described) if described else None,
        usual=quality,
        potato=None if potato is None else FittedPotato.read(io.BytesIO(potato), name),
        has_mean=about.get("has_mean", False),
        **about.get("stream", {}),
    )
