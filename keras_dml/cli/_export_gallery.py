"""Exports a gallery to a folder for a device, or to a file that another gallery can import."""

import dataclasses
import pathlib

from keras_dml.cli import _console, _exports, _extras, _options

SQLITE = b"SQLite format 3\0"  # first bytes of a SQLite file


def is_gallery(name):
    """Returns True if the name is the path or URL of a gallery. Returns False for a model."""
    path = pathlib.Path(name)
    if not path.is_file():
        return "://" in name
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def name_of(path):
    """Returns the name of a gallery's file or database.

    Names of output files begin with the returned name.
    """
    from keras_dml import gallery as galleries

    if "://" not in path:
        return pathlib.Path(path).stem
    place = galleries.hide_password(path).partition("://")[2].partition("?")[0]
    return pathlib.PurePosixPath(place.partition("/")[2]).name or "gallery"


def write(path, out, quantization, representative, access, *, far, as_json):
    """Exports a gallery to a folder for a device, and prints facts about the exported files.

    Args:
        path: Path of the gallery.
        out: Output folder. Default: `NAME_device` in the current folder.
        quantization: Quantization of the model, as in `keras_dml.export.tflite`.
        representative: Path of an `.npz` file with recordings that calibrate int8 quantization, or
            None.
        far: False accept rate of the exported threshold. Default: the smallest rate for which the
            gallery has a threshold.
        access: Keys of an encrypted gallery, an `_options.Access`.
        as_json: Whether to print a JSON object.
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _galleries

    _extras.require_keras(_exports.SUBJECT)
    out = pathlib.Path(f"{name_of(path)}_device" if out is None else out)
    with (
        _console.stoppable(f"Stopped. {out} is not changed. Run the command again."),
        _answers.spell_errors(_options.GALLERY_NAMES | _exports.NAMES),
    ):
        recordings = None if representative is None else _exports.read_recordings(representative)
        keras = _options.EngineName.keras  # exporting needs TensorFlow
        with _galleries.open_gallery(path, access=access, engine=keras) as gallery:
            with _console.stage(f"write {out} and compare its decisions with the gallery"):
                result = galleries.export_tflite(
                    gallery, out, quantization, far=far, representative=recordings
                )
    if as_json:
        fields = dataclasses.asdict(result)
        fields["model"]["path"] = str(result.model.path)
        _console.print_json({**fields, "path": str(result.path)})
        return
    model = result.model
    facts = [
        ("written", str(result.path)),
        ("people", f"{result.people}, {result.templates} embeddings"),
        ("decides by", result.limit),
        ("weights", model.quantization or "float32"),
        ("size", f"{result.bytes / 1000:,.0f} kB"),
        ("latency", f"{model.latency_ms:.2g} ms for {model.steps} steps"),
        ("scores", f"within {100 * result.difference:.2g} % of the scores of the gallery"),
        ("run", f"python {result.path}/decide.py RECORDING.npy"),
    ]
    _console.print_table((), facts, header=False)
    _console.note(
        "Note: the folder contains unencrypted embeddings and names, which are personal data."
    )


def write_templates(path, out, access, *, as_json):
    """Writes the templates (stored embeddings) of a gallery to a file, and prints their number.

    Args:
        path: Path of the gallery.
        out: Output file. Default: `NAME_templates.npz` in the current folder.
        access: Keys of an encrypted gallery, an `_options.Access`.
        as_json: Whether to print a JSON object.
    """
    from keras_dml import _figures
    from keras_dml.cli import _answers, _galleries

    out = f"{name_of(path)}_templates.npz" if out is None else out
    with (
        _console.stoppable(f"Stopped. {out} is not changed. Run the command again."),
        _answers.spell_messages(),
        _galleries.open_gallery(path, access=access) as gallery,
    ):
        gallery.export_templates(out)
        people = gallery.people()
    if as_json:
        counts = {"people": len(people), "recordings": sum(people.values())}
        _console.print_json({"path": out, **counts})
        return
    recordings = _figures.counted(sum(people.values()), "recording")
    enrolled = _figures.counted(len(people), "person", "people")
    _console.echo(_console.escape(f"{out}: {enrolled}, {recordings}"))
    _console.note(
        "Note: the file contains unencrypted embeddings and names, which are personal data."
    )
