"""Makes the files of one model for all targets, and measures one file in a separate process.

`export/targets.py` runs this module as `python -m export.cells STEP ...`. The files of a model are
in one folder, together with its recordings and the outputs of Keras.
"""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Iterator

import numpy as np

from export import agreement
from export.agreement import Outputs, Reference
from export.runtimes import KNOTS, RUNTIMES, TRUNK

ABOUT = "about.json"  # facts about the recordings of a model
MISSING_DATA = "missing data"  # key of the reason why a model has no recordings
RECORDINGS = "recordings.npz"
FEATURES = "features.npz"  # recordings for TensorFlow Lite Micro: normalized features as int8
ANY_LENGTH, FIXED, ONNX = "any_length.tflite", "fixed.tflite", "onnx"
C, C_WITH_TRUNK, SAVED_MODEL = "c", "c_with_trunk", "saved_model"
FILES = {  # file or folder of each target
    "litert": ANY_LENGTH,
    "litert-js": FIXED,
    "onnx": ONNX,
    "onnx-web": ONNX,
    "tflite-micro": C_WITH_TRUNK,
    "c": C,
    "saved-model": SAVED_MODEL,
}


class Recordings:
    """Recordings in a file. Each recording is read when it is needed.

    Args:
        path: Path of an `.npz` file.
    """

    def __init__(self, path: pathlib.Path):
        self._path = path

    def __iter__(self) -> Iterator[np.ndarray]:
        with np.load(self._path) as arrays:
            for i in range(len(arrays.files)):
                yield arrays[str(i)]

    def longest(self) -> np.ndarray:
        """Returns the longest recording."""
        return max(self, key=len)


def read_about(folder: pathlib.Path) -> dict:
    """Reads the facts about the recordings of a model.

    Returns:
        Dict with these entries:

        - `recordings`: Number of recordings.
        - `steps`: Number of time steps of the longest recording. None for images.
        - `most`: Largest number of recordings that was allowed.
    """
    return json.loads((folder / ABOUT).read_text())


def write_about(folder: pathlib.Path, signals: list[np.ndarray], most: int) -> None:
    """Writes the facts that `read_about` reads.

    Args:
        folder: Folder of the model.
        signals: Recordings or images.
        most: Largest number of recordings that was allowed.
    """
    steps = None if signals[0].ndim == 3 else max(map(len, signals))
    facts = {"recordings": len(signals), "steps": steps, "most": most}
    (folder / ABOUT).write_text(json.dumps(facts))


def read_reference(folder: pathlib.Path, target: str) -> Reference:
    """Reads the outputs of Keras with which the file of a target is compared."""
    with np.load(folder / _reference_file(target)) as arrays:
        outputs = Outputs(arrays["embeddings"], arrays["scores"])
        return Reference(outputs, bool(arrays["is_classifier"]), tuple(arrays["thresholds"]))


def read_outputs(folder: pathlib.Path, target: str) -> Outputs:
    """Reads the outputs of a file, which `measure_agreement` wrote."""
    with np.load(folder / f"{target}.npz") as arrays:
        return Outputs(arrays["embeddings"], arrays["scores"])


def write_files(folder: pathlib.Path, name: str, most: int, targets: list[str]) -> dict:
    """Writes the files of a model, its recordings, and the outputs of Keras.

    Args:
        folder: Folder of the model, which may contain the files of other targets.
        name: Name of the model in the zoo.
        most: Largest number of recordings.
        targets: Keys of `FILES`.

    Returns:
        Dict from each target to the size of its file, `{"bytes": size}`, or to the reason of a
        refusal, `{"refused": reason}`. If the recordings are not available, the dict is
        `{MISSING_DATA: reason}`.
    """
    from keras_dml import zoo
    from tfds_builders.common.errors import MissingArchiveError

    card = zoo.card(name)
    has_reference = (folder / ABOUT).is_file()
    if not has_reference:
        try:
            signals = _find_recordings(card, most)
        except (OSError, MissingArchiveError) as error:  # no folder, no file or no download
            return {MISSING_DATA: str(error)}
    model = zoo.load(name)
    if not has_reference:
        folder.mkdir(parents=True, exist_ok=True)
        _write_reference(folder, model, card, signals)
        write_about(folder, signals, most)
    signals = list(Recordings(folder / RECORDINGS))
    sizes = {}
    for file in dict.fromkeys(FILES[target] for target in targets):  # two targets may share a file
        try:
            sizes[file] = {"bytes": _write(file, model, folder / file, signals)}
        except (ValueError, RuntimeError) as error:
            sizes[file] = {"refused": str(error)}
    return {target: sizes[FILES[target]] for target in targets}


def measure_agreement(folder: pathlib.Path, target: str) -> dict:
    """Runs a file on all recordings, and writes its outputs.

    Returns:
        Dict with the peak memory of the process before and after, in bytes, and the version of the
        program.
    """
    runtime = RUNTIMES[target]().load(folder / FILES[target])
    try:
        is_classifier = read_reference(folder, target).is_classifier
        result = agreement.by_runtime(runtime, _recordings(folder, target), is_classifier)
        memory = {"memory": runtime.memory(), "before": runtime.before}
        np.savez(folder / f"{target}.npz", **dataclasses.asdict(result))
        return {**memory, "version": runtime.version()}
    finally:
        runtime.close()


def measure_milliseconds(folder: pathlib.Path, target: str) -> dict:
    """Measures the time of one embedding of the longest recording, in milliseconds."""
    runtime = RUNTIMES[target]().load(folder / FILES[target])
    try:
        return {"ms": runtime.milliseconds(_recordings(folder, target).longest())}
    finally:
        runtime.close()


def _recordings(folder, target):
    return Recordings(folder / (FEATURES if target == "tflite-micro" else RECORDINGS))


def _reference_file(target):
    return f"keras_{'saved_model' if target == 'saved-model' else 'device'}.npz"


def _find_recordings(card, most):
    signals = agreement.recordings_of(card, most)
    if signals is None:
        raise FileNotFoundError(
            f"The recordings of {card['name']} are not available. The docstring of "
            "zoo/recordings.py says where they must be."
        )
    return signals


def _write_reference(folder, model, card, signals):
    np.savez(folder / RECORDINGS, **{str(i): signal for i, signal in enumerate(signals)})
    for target in ("litert", "saved-model"):
        by_keras = agreement.by_keras(model, card, signals, on_device=target == "litert")
        np.savez(
            folder / _reference_file(target),
            **dataclasses.asdict(by_keras.outputs),
            is_classifier=by_keras.is_classifier,
            thresholds=by_keras.thresholds,
        )


def _write(file, model, path, signals):
    """Writes one of the files in `FILES`, and returns its size in bytes."""
    from keras_dml import export, inputs

    encoder, _ = export.signatures.parts(model)
    steps = max(map(len, signals))
    if file == ANY_LENGTH:
        return export.tflite(model, path, None).bytes
    if file == FIXED:
        kind = inputs.from_model(encoder)
        is_flexible = isinstance(kind, inputs.Signals) and kind.has_any_length
        fixed = {"steps": steps if is_flexible else None, "gallery": len(signals)}
        return export.tflite(model, path, None, **fixed).bytes
    if file == SAVED_MODEL:
        return export.saved_model(model, path).bytes
    if file == ONNX:
        return export.onnx(model, path).bytes
    result = export.microcontroller(model, path, steps=steps, tflm=file == C_WITH_TRUNK)
    if export.signatures.metric_of(encoder).name == "wasserstein":
        (z,) = encoder(signals[0][None], training=False)
        np.save(path.parent / KNOTS, np.asarray(z)[-1])
    if file == C:
        return result.flash_bytes
    if len(set(map(len, signals))) > 1:
        raise ValueError(
            "The recordings have different numbers of time steps, but `trunk.tflite` takes "
            "recordings of one number of time steps."
        )
    _write_features(path / TRUNK, encoder, signals, path.parent / FEATURES)
    return (path / TRUNK).stat().st_size


def _write_features(trunk_file, encoder, signals, path):
    """Writes the inputs of `trunk.tflite` for all recordings."""
    from ai_edge_litert.interpreter import Interpreter

    from keras_dml.export._microcontroller import network, trunk

    interpreter = Interpreter(model_path=str(trunk_file))
    interpreter.allocate_tensors()
    (details,) = interpreter.get_input_details()
    features = network.read(encoder).front.features
    arrays = [
        trunk.to_int8(np.asarray(features(signal[None], training=False))[0], details)
        for signal in signals
    ]
    np.savez(path, **{str(i): array for i, array in enumerate(arrays)})


def main(step: str, folder: str, *arguments: str) -> None:
    """Runs one step, and prints its result as JSON on the last line.

    Args:
        step: `"export"`, `"agreement"` or `"milliseconds"`.
        folder: Folder of the model.
        arguments: The target. For `"export"`, the name of the model, the largest number of
            recordings, and the targets.
    """
    path = pathlib.Path(folder)
    if step == "export":
        name, most, *targets = arguments
        result = write_files(path, name, int(most), targets)
    else:
        (target,) = arguments
        measure = {"agreement": measure_agreement, "milliseconds": measure_milliseconds}[step]
        result = measure(path, target)
    print(f"\n{json.dumps(result)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
