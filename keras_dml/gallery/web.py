"""Exports galleries and models to a static web page that enrolls and decides in the browser."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _files, export, inference, scoring
from keras_dml._arrays import whole
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.export import edge_metadata, litert, parity, trials
from keras_dml.gallery import litert_js
from keras_dml.gallery.calibration import choose_threshold, provisional
from keras_dml.gallery.gallery import Gallery
from keras_dml.gallery.keras_model import KerasModel, keras_model_of
from keras_dml.gallery.results import Threshold
from keras_dml.gallery.server import sensors
from keras_dml.gallery.tries import DEFAULT

if TYPE_CHECKING:
    from keras_dml._backend import keras

PAGE = pathlib.Path(__file__).with_name("web_page")
SHARED = pathlib.Path(__file__).with_name("server") / "page"
# Files of the page of `serve`
SHARED_FILES = (
    "elements.js",
    "page.css",
    "recorder.js",
    "sensors.js",
    "trace.js",
    "worklet.js",
)
SITE, FILES, LITERT, MODELS = "site.json", "files.js", "litert", "models"
MODEL, ABOUT, GOLDEN = "model.tflite", "about.json", "golden.bin"
ROWS = 64  # embeddings that one call of a file compares
SECONDS, SECONDS_OF_SOUND = 60, 10  # longest recording by default
STEPS = 2000  # largest number of steps by default if the rate is unknown
GOLDEN_STEPS = 1024  # time steps of the longest test recording, unless the model needs more
TOLERANCE = 1e-3  # largest relative difference between a browser and Keras
SOUND = ("sound",)  # channels of models of audio


@dataclasses.dataclass(frozen=True)
class WebSite:
    """A static web page that was exported.

    Attributes:
        path: Path of the folder.
        models: The `keras_dml.export.Export` of each model's file, by the name of the model's
            folder.
        thresholds: Threshold with which each model decides by default, by the name of the model's
            folder. The value is None if the model has no threshold.
        bytes: Total size of all files, in bytes.
    """

    path: pathlib.Path
    models: dict[str, export.Export]
    thresholds: dict[str, Threshold | None]
    bytes: int


def export_web(
    sources: Gallery | keras.Model | Path | list[Gallery | keras.Model | Path],
    folder: Path,
    *,
    far: float | None = None,
    steps: int | None = None,
    packages: Path | None = None,
) -> WebSite:
    """Exports galleries or models to a folder with a web page that decides in the browser.

    The folder contains `index.html`, its scripts and styles, LiteRT.js, and a folder for each model
    with these files:

    - `model.tflite`: the model with float32 weights, a fixed number of time steps and masked
      padding.
    - `about.json`: the input contract, the thresholds and the properties of usual recordings.
    - `golden.bin`: two test recordings and the embeddings that Keras computed. The page compares
      its own embeddings with these embeddings, and makes no decisions if they differ.

    People enroll in the page by files (CSV or WAV), by motion sensors or by the microphone. The
    page decides with the rules and the thresholds of the gallery, or of the model card if the
    source is a model or if nothing was calibrated. Rejected claims cause the same pauses as in the
    gallery. Templates and counts of rejected claims stay in the database of the browser
    (IndexedDB), so a person who controls the browser can delete the counts. The page can save
    templates to a file, which `Gallery.merge` reads, and load a file that
    `Gallery.export_templates` wrote.

    The folder contains no templates and no names of people, so it can be published. Serve it over
    HTTPS, or at localhost, because browsers allow sensors and offline use only there. The server
    must send `.wasm` files as `application/wasm`. After loading, the page sends no requests, and a
    content security policy forbids requests to other servers.

    Args:
        sources: An open `Gallery`, a `keras.Model`, the name or path of a model, or a list of
            these. The page of several sources has a menu.
        folder: Path of the folder to write. A folder that this function wrote is replaced.
        far: False accept rate that selects the threshold. Default: the page offers all thresholds,
            and begins with the threshold that `Gallery.verify` uses by default.
        steps: Largest number of time steps of a recording. A call takes as long as for a recording
            of `steps` time steps. Default: 60 s, or 10 s for models of audio.
        packages: Folder in which `npm install @litertjs/core` ran. Default: npm downloads
            LiteRT.js.

    Returns:
        The exported `WebSite`.

    Raises:
        FileNotFoundError: If npm is not installed, or if `packages` does not contain LiteRT.js.
        TypeError: If a source is neither a gallery, a model nor a name, or if a gallery is a
            `keras_dml.edge.Gallery`.
        ValueError: If a model does not take recordings, if its embeddings are SPD matrices, if
            there is no threshold for `far`, if a gallery has another scoring than `nearest`, if two
            sources have the same name, or if `folder` exists and this function did not write it.
            See also `keras_dml.export.tflite`.
        RuntimeError: If npm cannot download LiteRT.js, or if Keras does not run on TensorFlow.
        OSError: If the folder cannot be written.
        ImportError: If LiteRT is not installed.
    """
    litert.require()
    litert_js.check(packages)
    _place(folder)
    steps = None if steps is None else whole("steps", steps, 1)
    sources = [_Source(source, far, steps) for source in _as_list(sources)]
    names = [source.folder for source in sources]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            Message(
                "{sources} have the names {names}, but there must be one or more sources with "
                "different names.",
                names=", ".join(names) or "()",
            )
        )
    with _files.staged(folder, _place) as candidate:
        shutil.copytree(PAGE, candidate)
        for name in SHARED_FILES:
            shutil.copyfile(SHARED / name, candidate / name)
        litert_js.copy(candidate / LITERT, packages)
        (candidate / MODELS).mkdir()
        models = {source.folder: source.write(candidate / MODELS) for source in sources}
        titles = [{"folder": source.folder, "title": source.title} for source in sources]
        _write_json(candidate / SITE, {"models": titles})
        _write_list_of_files(candidate)
        size = _files.size(candidate)
    path = pathlib.Path(folder)
    return WebSite(
        path,
        {
            name: dataclasses.replace(model, path=path / MODELS / name / MODEL)
            for name, model in models.items()
        },
        {source.folder: next(iter(source.thresholds), None) for source in sources},
        size,
    )


def _as_list(sources):
    return list(sources) if isinstance(sources, list | tuple) else [sources]


def _place(path):
    members = [file.name for file in PAGE.iterdir()]
    members += [*SHARED_FILES, SITE, FILES, LITERT, MODELS, f"{MODELS}/*"]
    members += [f"{LITERT}/{name}" for name in litert_js.FILES]
    return _files.replaceable_folder(path, "web page", SITE, members)


class _Source:
    """A model of the page, with its thresholds.

    Args:
        source: A `Gallery`, a `keras.Model`, or the name or path of a model.
        far: False accept rate that selects the threshold, or None.
        steps: Largest number of time steps, or None.
    """

    def __init__(self, source, far, steps):
        is_gallery = isinstance(source, Gallery)
        self._gallery = source if is_gallery else None
        self._model = keras_model_of(source) if is_gallery else KerasModel(source)
        self._contract = self._model.inputs.contract
        name = pathlib.Path(self._model.name)
        self._name = name.parent.name if name.suffix == ".keras" else name.name
        self.title = pathlib.Path(str(source.path)).stem if is_gallery else self._name
        self.folder = re.sub(r"[^\w-]+", "_", self.title, flags=re.ASCII) or "model"
        if type(self._model.inputs).__name__ != "Signals" or self._model.inputs.shape[0]:
            raise ValueError(
                f"The model {self._name} does not take recordings of any length, so it cannot be "
                "used in a web page. Export a model of sequences or sound."
            )
        if self._model.distance.device_distance is not None:
            raise ValueError(
                f"The model {self._name} compares SPD matrices, which a web page cannot do. Export "
                "a model whose embeddings are quantile functions or vectors."
            )
        if is_gallery and source.scoring != scoring.DEFAULT:
            raise ValueError(
                f"The gallery {source.path} has the scoring {source.scoring!r}, but a web page "
                f"decides by the scoring {scoring.DEFAULT!r}. Enroll the recordings in a gallery "
                "with this scoring, or export a folder for a device."
            )
        self._calibrated = source.thresholds if is_gallery else {}
        self._card = scoring.card_for(
            self._model.card, source.scoring if is_gallery else scoring.DEFAULT
        )
        from_card = provisional(self._card)
        rows = self._calibrated or from_card
        self.thresholds: list[Threshold] = []
        if rows or far is not None:
            first = choose_threshold(self._calibrated, far, from_card)
            rest = [row for row in rows.values() if row != first]
            self.thresholds = [first] if far is not None else [first, *rest]
        self._steps = self._default_steps() if steps is None else steps

    def _default_steps(self):
        contract = self._contract
        if contract is None or contract.rate_hz is None:
            return STEPS
        seconds = SECONDS_OF_SOUND if contract.channels == SOUND else SECONDS
        steps = max(round(seconds * contract.rate_hz), 2 * contract.min_steps)
        return steps if contract.max_steps is None else min(steps, contract.max_steps)

    def write(self, parent: pathlib.Path) -> export.Export:
        """Writes the folder of the model, and returns the export of the model's file."""
        folder = parent / self.folder
        folder.mkdir()
        result = export.tflite(
            self._model.model, folder / MODEL, None, steps=self._steps, gallery=ROWS
        )
        metadata = edge_metadata.read((folder / MODEL).read_bytes(), MODEL)
        recordings, embeddings, distance = self._golden(folder / MODEL)
        arrays = [np.asarray(x, "<f4").tobytes() for x in [*recordings, *embeddings]]
        (folder / GOLDEN).write_bytes(b"".join(arrays))
        about = self._about(metadata)
        about["golden"] = {
            "steps": [len(recording) for recording in recordings],
            "distance": distance,
            "tolerance": TOLERANCE,
        }
        _write_json(folder / ABOUT, about)
        return result

    def _golden(self, path):
        """Returns two test recordings of different lengths, their embeddings by Keras, and the
        distance between the embeddings. Compares them with the file.

        The recordings are noise in the units of the model, because galleries store no recordings.
        """
        least = 1 if self._contract is None else self._contract.min_steps
        longest = min(self._steps, max(2 * least, GOLDEN_STEPS))
        typical, _ = trials.examples(self._model.inputs, longest)
        recordings = (2 * sorted(typical, key=len))[-2:]
        embeddings = inference.embed(self._model.model, recordings, progress=False)
        distance = float(self._model.distances(embeddings[:1], embeddings[1:])[0, 0])
        drift = parity.relative_rms(litert.embed(path, recordings), embeddings)
        if not drift <= TOLERANCE:
            raise parity.ParityError(
                f"The file of {self._name} computes other embeddings than Keras: they differ by "
                f"{drift:.2g} of their RMS, but at most {TOLERANCE:g} is allowed. Nothing was "
                "written."
            )
        return recordings, embeddings, distance

    def _about(self, metadata: edge_metadata.EdgeMetadata) -> dict[str, Any]:
        """Returns the content of `about.json`."""
        contract, count = self._contract, self._model.inputs.shape[-1]
        usual = None if metadata.usual is None else dataclasses.asdict(metadata.usual)
        names = contract.channels if contract else [str(i) for i in range(1, count + 1)]
        limits = [threshold.value for threshold in self._calibrated.values()]
        imposters = (self._card or {}).get("imposters")
        return {
            "title": self.title,
            "task": (self._model.card or {}).get("task"),
            "model": self._name if self._gallery is None else self._gallery._about["model"],
            "fingerprint": metadata.fingerprint,
            "distance": metadata.distance,
            "embedding": metadata.embedding,
            "channels": names,
            "channels_count": count,
            "units": contract and contract.units,
            "rate_hz": contract and contract.rate_hz,
            "events": contract is not None and contract.events,
            "min_steps": contract.min_steps if contract else 1,
            "stddev_range": contract and contract.stddev_range,
            "ignores_zeros": metadata.ignores_zeros,
            "is_sound": tuple(names) == SOUND,
            "sensor": sensors.sensor(contract),
            "steps": self._steps,
            "rows": ROWS,
            "usual": usual,
            "reading": {} if self._gallery is None else self._gallery.reading,
            "thresholds": [_threshold(threshold) for threshold in self.thresholds],
            "outlier_limit": max(limits, default=None),
            "tries": self._tries(),
            "distance_to_others": None if imposters is None else imposters["mean"],
        }

    def _tries(self):
        """Returns the limits on rejected claims, or None if the gallery does not count claims."""
        tries = DEFAULT if self._gallery is None else self._gallery._claims.tries
        if tries is None:
            return None
        return {**dataclasses.asdict(tries), "kept": tries.seconds_kept}


def _threshold(threshold):
    fields = ("far", "value", "tar", "people", "enrolled", "provisional", "extrapolated", "margin")
    return {name: getattr(threshold, name) for name in fields}


def _write_json(path, content):
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    path.write_text(text, encoding="utf-8")


def _write_list_of_files(folder):
    """Writes the list of all files for the service worker, with hashes (subresource integrity).

    The version changes with the files. A browser that downloads while the files change on the
    server therefore never keeps files of two versions.
    """
    hashes = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest = base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
        hashes[path.relative_to(folder).as_posix()] = f"sha256-{digest}"
    version = hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16]
    del hashes["sw.js"]
    files = {"./": hashes["index.html"], **hashes}
    site = json.dumps({"version": version, "files": files}, indent=1)
    (folder / FILES).write_text(f"self.SITE = {site};\n", encoding="utf-8")
