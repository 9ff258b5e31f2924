"""Runs ONNX files that `keras_dml.export.onnx` wrote, by ONNX Runtime on one thread.

A model is a folder with one file per signature, such as `embed.onnx` and `distance.onnx`.
"""

import importlib.util
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_dml._typing import Path
from keras_dml.export.litert import median_ms

EMBED = "embed.onnx"  # file that every folder contains
SUFFIX = ".onnx"
PACKAGES = ("onnx", "onnxruntime", "tf2onnx")  # an export needs all, a device needs onnxruntime
FATAL = 4  # lowest severity of messages that ONNX Runtime prints. Errors are raised.


def embed(folder: Path, recordings: Iterable[np.ndarray]) -> np.ndarray:
    """Computes embeddings of recordings, shape `(recordings, ...)`.

    Args:
        folder: Path of the folder.
        recordings: Arrays `(time, channels)`, or other inputs of the model.

    Raises:
        RuntimeError: If ONNX Runtime cannot run the file.
    """
    return _each_recording(folder, "embed", recordings)


def distance(folder: Path, embeddings: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    """Computes distances between embeddings and a gallery.

    Args:
        folder: Path of the folder.
        embeddings: Embeddings, shape `(n, ...)`.
        gallery: Embeddings of the gallery, shape `(m, ...)`.

    Returns:
        Distances, shape `(n, m)`.

    Raises:
        RuntimeError: If ONNX Runtime cannot run the file.
    """
    return _each_embedding(folder, "distance", embeddings, gallery=gallery)


def score(folder: Path, embeddings: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Computes similarities between embeddings and prototypes, shape `(n, m)`.

    Args:
        folder: Path of the folder of a classifier.
        embeddings: Embeddings, shape `(n, features)`.
        prototypes: Prototypes, shape `(m, features)`.

    Raises:
        RuntimeError: If ONNX Runtime cannot run the file, or if the file does not exist.
    """
    return _each_embedding(folder, "score", embeddings, prototypes=prototypes)


def classify(folder: Path, recordings: Iterable[np.ndarray]) -> np.ndarray:
    """Computes class scores, shape `(recordings, classes)`.

    Args:
        folder: Path of the folder of a classifier.
        recordings: Recordings or other inputs of the model, as in `embed`.

    Raises:
        RuntimeError: If ONNX Runtime cannot run the file, or if the file does not exist.
    """
    return _each_recording(folder, "classify", recordings)


def latency_ms(folder: Path, recording: np.ndarray) -> float:
    """Measures the median time of one call of `embed` in milliseconds.

    Args:
        folder: Path of the folder.
        recording: An input of the model.

    Raises:
        RuntimeError: If ONNX Runtime cannot run the file.
    """
    session = _session(pathlib.Path(folder, EMBED))
    arguments = _arguments(session, recording)
    return median_ms(lambda: session.run(None, arguments))


def is_onnx(path: Path) -> bool:
    """Returns whether a path is an ONNX file, or a folder of ONNX files."""
    path = pathlib.Path(path)
    return (path / EMBED).is_file() or path.suffix == SUFFIX and not path.is_dir()


def metadata(path: Path) -> dict[str, str]:
    """Reads the metadata of an ONNX file, or of the file `embed.onnx` of a folder.

    Args:
        path: Path of the file or folder.

    Returns:
        Dict from the names of entries to their texts.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not an ONNX file.
        ImportError: If ONNX Runtime is not installed.
    """
    path = pathlib.Path(path)
    path = path / EMBED if path.is_dir() else path
    require(["onnxruntime"])
    path.stat()  # raises FileNotFoundError
    try:
        session = _session(path)
    except RuntimeError as error:
        raise ValueError(f"{error} Export the model again.") from None
    return session.get_modelmeta().custom_metadata_map


def require(packages: Iterable[str] = PACKAGES) -> None:
    """Raises an error if packages are not installed.

    Args:
        packages: Names of packages. Default: the packages that an export needs.

    Raises:
        ImportError: If a package is missing. The message contains the command that installs it.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"ONNX files need packages that are not installed ({', '.join(missing)}): "
            'pip install "keras-dml[onnx]".'
        )


def _each_recording(folder, name, recordings):
    session = _session(pathlib.Path(folder, name + SUFFIX))
    outputs = [session.run(None, _arguments(session, recording))[0] for recording in recordings]
    return np.concatenate([np.atleast_2d(output) for output in outputs])


def _each_embedding(folder, name, embeddings, **rows):
    session = _session(pathlib.Path(folder, name + SUFFIX))
    return np.stack([session.run(None, {"embedding": z[None], **rows})[0] for z in embeddings])


def _session(file):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a class of errors for each of its status codes
        raise RuntimeError(f"ONNX Runtime cannot load {file.name}: {error}.") from error


def _arguments(session, recording) -> dict[str, Any]:
    """Returns the arguments of a file for an input, such as a recording and its length."""
    array = np.asarray(recording, np.float32)
    names = [argument.name for argument in session.get_inputs()]
    arguments = {names[0]: array[None]}
    if "length" in names:
        arguments["length"] = np.array(len(array), np.int32)
    return arguments
