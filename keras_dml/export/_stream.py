"""Exports a model as a .tflite file that receives a recording in blocks."""

import functools
import pathlib

import numpy as np

from keras_dml import inference, inputs, quality
from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import size, staged
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.export import (
    _contract,
    edge_metadata,
    litert,
    operators,
    parity,
    signatures,
    streaming,
)
from keras_dml.export._convert import convert
from keras_dml.export.result import Export
from keras_dml.export.trials import Trials, examples
from keras_dml.zoo import reading

QUANTIZATIONS = (None, "float16")


def stream(
    model: keras.Model | Path,
    path: Path,
    *,
    window: int,
    block: int,
    quantization: str | None = None,
    gallery: int | None = None,
) -> Export:
    """Writes a model as one .tflite file that receives a recording in blocks of a fixed size.

    A device then computes an embedding while the recording is still being made, with a memory of
    fixed size, and no step is processed twice. The file has three signatures:

    - `step(signal, state)` receives a float32 array `signal` (1, block, channels) and a float32
      vector `state`, and returns the next `state`. The first state is a vector of zeros.
    - `read(state)` returns the `embedding` (1, ...) of the recording so far. The state does not
      change, so a device may read an embedding after each block.
    - `distance(embedding, gallery)` is the same as in the file that `tflite` writes.

    For a recording of at most `window` steps, the embedding is the embedding that the model
    computes from the whole recording, up to rounding. For longer recordings, there are two kinds of
    models:

    - If the model ends in a `QuantileLayer`, the embedding describes the last `window` steps. The
      convolutions still see the steps before the window. Therefore the embedding differs from the
      embedding of the window alone, and the file contains thresholds that were measured with
      streams.
    - If the model computes lagged correlations or means, the embedding describes all steps since
      the state was zeros. To embed windows, begin each window with a state of zeros. The embedding
      is then the embedding of the window, and the thresholds of the model card apply.

    If a block holds NaN or infinity, the embedding is NaN. In a model that ends in a
    `QuantileLayer`, the embedding is finite again as soon as it no longer depends on the block. For
    other models, begin again with a state of zeros. The embedding is also NaN as long as the
    recording is shorter than the smallest length that the model accepts.

    Before the file replaces an existing file at `path`, LiteRT runs it in a separate process on
    recordings of several lengths, on silence and on a constant recording. The file must agree with
    Keras on these recordings.

    Args:
        model: A `keras.Model` with one input `(batch, time, channels)` of any length, or the name
            or path of a saved model.
        path: Path of the file to write.
        window: Number of steps that an embedding describes, a multiple of `block`. The error rates
            of a model card hold for recordings of about the length of its training windows.
        block: Number of steps per call of `step`, a multiple of the number of steps that the model
            averages (8 for `gait_qp_wl`).
        quantization: Type of the weights: `None` (float32) or `"float16"`, which has half of the
            size.
        gallery: Number of rows of `gallery`. Default: any number.

    Returns:
        `Export` with path, size, drift, notes, and the latency of one call of `step`.

    Raises:
        StreamError: If a layer of the model needs the whole recording, or if the model does not
            take recordings of any length. The error contains the name of the layer.
        ValueError: If a layer has a name that TensorFlow does not accept, or computes in another
            dtype than float32. If `window`, `block` or `quantization` has an invalid value, or if
            the model has no distance. If the file does not agree with Keras, the error is a
            `parity.ParityError`.
        TypeError: If `window`, `block` or `gallery` is not an integer.
        RuntimeError: If Keras does not run on TensorFlow, or if LiteRT cannot run the file.
        OSError: If the file cannot be written.
        ImportError: If LiteRT is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            Message(
                "{quantization} is {value!r}, but it must be one of {expected}.",
                value=quantization,
                expected=QUANTIZATIONS,
            )
        )
    tensorflow()
    litert.require()
    window, block = whole("window", window, 1), whole("block", block, 1)
    gallery = gallery if gallery is None else whole("gallery", gallery, 1)
    with staged(path) as candidate:
        encoder, classifier = signatures.parts(model)
        signatures.check_names(encoder)
        signatures.check_precision(encoder)
        kind, card = inputs.from_model(encoder), reading.card_of(encoder)
        if not isinstance(kind, inputs.Signals):
            raise streaming.error("it does not take recordings (time, channels)")
        if not kind.has_any_length:
            raise streaming.error(f"it takes recordings of {kind.shape[0]} steps only")
        streamed = streaming.Stream(encoder, window, block)
        if classifier is not None:
            raise streaming.error("it is a classifier, but only encoders can be streamed")
        metric = signatures.own_metric(encoder)
        _check_sizes(streamed, signatures.limits(kind))
        module = signatures.for_stream(streamed, kind, metric, gallery)
        trials = _trials(encoder, kind, streamed)
        knots = trials.embeddings[0, -1] if metric.name == "wasserstein" else None
        metadata = edge_metadata.entries(
            encoder,
            metric,
            inference.fingerprint(encoder, metric),
            knots,
            quality.gate_of(encoder),
            stream=streamed,
        )
        own_window = window if streamed.has_window else None
        contract = _contract.contract_json(kind, metric.name, card, window=own_window)
        if contract is not None:
            metadata[_contract.METADATA] = contract
        (blob,) = convert(module, kind, quantization, metadata=metadata)
        candidate.write_bytes(blob)
        operators.check_builtin(candidate)
        functions = {
            "embed": functools.partial(litert.stream, candidate),
            "distance": functools.partial(litert.distance, candidate),
        }
        drift = parity.check(candidate, functions, trials, metric, parity.BOUNDS[quantization])
        note = _contract.missing_thresholds(metric.name, card, own_window)
        total_bytes = size(candidate)
        latency_ms = litert.step_ms(candidate, trials.timed)
    return Export(
        path=pathlib.Path(path),
        format="tflite",
        quantization=quantization,
        bytes=total_bytes,
        drift=drift,
        latency_ms=latency_ms,
        steps=block,
        notes=() if note is None else (note,),
    )


def _check_sizes(streamed, lengths):
    """Checks the number of steps of a window and of a block."""
    if streamed.block % streamed.stride:
        raise ValueError(
            Message(
                "{block} is {value}, but the model averages groups of {stride} steps. Set {block} "
                "to a multiple of {stride}.",
                value=streamed.block,
                stride=streamed.stride,
            )
        )
    if streamed.window % streamed.block:
        raise ValueError(
            Message(
                "{window} is {value}, which is not a multiple of {block}={steps}. Set {window} to "
                "{multiple}, for example.",
                value=streamed.window,
                steps=streamed.block,
                multiple=-(-streamed.window // streamed.block) * streamed.block,
            )
        )
    if not lengths.least <= streamed.window <= (lengths.most or streamed.window):
        most = "more" if lengths.most is None else lengths.most
        raise ValueError(
            Message(
                "{window} is {value}, but the model takes recordings of {least} to {most} steps.",
                value=streamed.window,
                least=lengths.least,
                most=most,
            )
        )


def _trials(model, kind, streamed):
    """Returns recordings with the embeddings that the file must return.

    If the embeddings of the stream have a window, the longest recording is longer than the window.
    """
    window, block, least = streamed.window, streamed.block, signatures.limits(kind).least
    generated, extremes = examples(kind, 2 * window if streamed.has_window else window)
    recordings = [x[: len(x) // block * block] for x in (*generated, *extremes)]
    long = [x for x in recordings if len(x) >= least]
    embeddings = [streaming.by_keras(model, x[None], window) for x in long]
    return Trials(long, np.concatenate(embeddings), len(long), long[0][:block])
