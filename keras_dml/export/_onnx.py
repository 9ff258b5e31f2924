"""Exports a model as ONNX files, for ONNX Runtime on servers, in browsers and on devices."""

import functools
import pathlib

from keras_dml import inputs
from keras_dml._backend import keras
from keras_dml._backend.tensorflow import tensorflow
from keras_dml._files import replaceable_onnx, size, staged
from keras_dml._typing import Path
from keras_dml.distances import Distance
from keras_dml.export import _contract, _devices, onnx_files, parity, signatures
from keras_dml.export._onnx_convert import convert
from keras_dml.export.result import Export
from keras_dml.export.trials import trials
from keras_dml.zoo import reading


def onnx(
    model: keras.Model | Path, path: Path, *, distance: Distance | str | None = None
) -> Export:
    """Writes a model as a folder of ONNX files with float32 weights and operators of opset 18.

    ONNX files have no signatures. The folder therefore has one file for each signature of a TFLite
    file, with the same arguments and the same results:

    - `embed.onnx`: `embed(signal, length)` receives a float32 array `signal` (1, time, channels)
      and an int32 scalar `length` from 1 to time, and returns `embedding` (1, ...). The time may be
      any number in each call. The graph ignores all time steps after the first `length` steps. A
      model that takes matrices has `embed(matrix)`, and a model that takes images has
      `embed(image)`.
    - `distance.onnx`: `distance(embedding, gallery)` receives an embedding (1, ...) and embeddings
      (n, ...), and returns `distance` (n,). The smaller the distance, the more similar are two
      recordings.
    - `score.onnx` and `classify.onnx` of a `PrototypicalClassifier`, as in
      `keras_dml.export.tflite`. Each file contains all weights that it needs, so an app ships only
      the files that it runs.

    The embedding is NaN if `length` is outside the contract or longer than the signal, or if the
    input holds NaN or infinity within the first `length` steps. The distance is NaN if an embedding
    is NaN. ONNX Runtime raises an error if a batch contains two recordings, or if the number of
    channels is wrong.

    If the model takes matrices, the files use the polynomial solver, because ONNX has no
    eigendecomposition. If the polynomial solver cannot compute the model's distance between
    matrices, the embeddings of the files are tangent vectors, and `distance.onnx` computes the
    log-Euclidean distance, as in a TFLite file.

    Each file stores the input contract and the thresholds as the metadata entry
    `keras_dml.contract`, see `keras_dml.export.contract`. Before the folder replaces an existing
    folder at `path`, ONNX Runtime runs its files on recordings of several lengths, on silence and
    on a constant recording, and the files must agree with Keras. The files must also return NaN for
    a recording that holds NaN.

    Args:
        model: A `keras.Model`, a `PrototypicalClassifier`, or the name or path of a saved model. A
            `keras.Model` must have one input: recordings `(batch, time, channels)`, symmetric
            matrices `(batch, n, n)`, or images `(batch, height, width, channels)`.
        path: Path of the folder to write. An existing folder of ONNX files at this path is
            replaced.
        distance: Distance or name of a distance, for models whose last layer defines no distance.

    Returns:
        `Export` with path, size, drift and latency. The latency is measured on one thread.

    Raises:
        ValueError: If a layer has a name that TensorFlow does not accept, or computes in float64.
            If `path` is a folder of other files, if the model has no distance or is not
            built, or if ONNX has no counterpart for an operator of the model. If the files do not
            agree with Keras, the error is a `parity.ParityError`.
        RuntimeError: If Keras does not run on TensorFlow, or if ONNX Runtime cannot load a file.
        OSError: If the folder cannot be written.
        ImportError: If a package of the extra `onnx` is not installed.
    """
    tensorflow()
    onnx_files.require()
    with staged(path, replaceable_onnx) as candidate:
        encoder, classifier = signatures.parts(model)
        signatures.check_names(encoder)
        signatures.check_precision(encoder, ("float16", "float32"))
        kind, card = inputs.from_model(encoder), reading.card_of(encoder)
        metric = signatures.metric_of(classifier or encoder, distance)
        device = _devices.device_model(encoder, metric)
        module = signatures.for_one(device.runs, device.metric, classifier)
        contract = _contract.contract_json(kind, device.distance, card)
        metadata = {} if contract is None else {_contract.METADATA: contract.decode()}
        candidate.mkdir()
        functions = {}
        for name in signatures.names(module):
            graph = convert(module, name, metadata)
            (candidate / (name + onnx_files.SUFFIX)).write_bytes(graph.SerializeToString())
            functions[name] = functools.partial(getattr(onnx_files, name), candidate)
        trial_inputs = trials(device.exact)
        bounds = (parity.BOUNDS_ON_MATRICES if device.on_matrices else parity.BOUNDS)[None]
        drift = parity.check(candidate, functions, trial_inputs, device.metric, bounds, classifier)
        parity.check_invalid(candidate, functions, trial_inputs)
        latency_ms = onnx_files.latency_ms(candidate, trial_inputs.timed)
        total_bytes = size(candidate)
    note = _contract.missing_thresholds(device.distance, card)
    return Export(
        path=pathlib.Path(path),
        format="onnx",
        quantization=None,
        bytes=total_bytes,
        drift=drift,
        latency_ms=latency_ms,
        steps=kind.length(trial_inputs.timed),
        notes=() if note is None else (note,),
    )
