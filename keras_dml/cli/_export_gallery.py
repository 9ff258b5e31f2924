"""`keras-dml export GALLERY`: people who are decided on by a device, or go to another gallery."""

import dataclasses
import pathlib

from keras_dml.cli import _console, _words

SQLITE = b"SQLite format 3\0"  # how the file of a gallery begins


def is_gallery(name):
    """Whether a name is the path of a gallery, and not a model."""
    path = pathlib.Path(name)
    if not path.is_file():
        return "://" in name
    with open(path, "rb") as opened:
        return opened.read(len(SQLITE)) == SQLITE


def _name(path):
    """Returns the name of a gallery's file or database, for files that are written of it."""
    from keras_dml import gallery as galleries

    if "://" not in path:
        return pathlib.Path(path).stem
    place = galleries.hide_password(path).partition("://")[2].partition("?")[0]
    return pathlib.PurePosixPath(place.partition("/")[2]).name or "gallery"


def write(path, out, quantization, representative, access, *, far, as_json):
    """Writes a gallery for a device, and prints what was written.

    Args:
        path: Path of the gallery.
        out: The folder; None: that of the gallery's name, here.
        quantization: Weights of the model's file.
        representative: Path of recordings for int8, or None.
        far: Rate of the threshold, or None.
        access: `_options.Access`.
        as_json: Whether to print a JSON object.
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _galleries
    from keras_dml.cli.export import read_recordings

    out = pathlib.Path(f"{_name(path)}_device" if out is None else out)
    with (
        _console.stoppable(f"Stopped; {out} is as it was. Run the command again."),
        _words.of_commands(_words.EXPORT | _words.GALLERY),
    ):
        recordings = None if representative is None else read_recordings(representative)
        with _galleries.opened(path, access=access) as gallery:
            with _console.stage(f"write {out} and compare its decisions with the gallery's"):
                written = galleries.export_tflite(
                    gallery, out, quantization, far=far, representative=recordings
                )
    if as_json:
        found = dataclasses.asdict(written)
        found["model"]["path"] = str(written.model.path)
        _console.json_object({**found, "path": str(written.path)})
        return
    model = written.model
    facts = [
        ("written", str(written.path)),
        ("people", f"{written.people}, {written.templates} embeddings"),
        ("decides by", written.limit),
        ("weights", model.quantization or "float32"),
        ("size", f"{written.bytes / 1000:,.0f} kB"),
        ("latency", f"{model.latency_ms:.2g} ms for {model.steps} steps"),
        ("scores", f"within {100 * written.difference:.2g} % of the gallery's"),
        ("run", f"python {written.path}/decide.py RECORDING.npy"),
    ]
    _console.table((), facts, header=False)
    _console.note("Note: the folder holds embeddings and names in clear: personal data.")


def write_templates(path, out, access, *, as_json):
    """Writes the embeddings of a gallery to a file, and prints what was written.

    Args:
        path: Path of the gallery.
        out: The file; None: `NAME_templates.npz` of the gallery's name, here.
        access: `_options.Access`.
        as_json: Whether to print a JSON object.
    """
    from keras_dml.cli import _answers, _galleries

    out = f"{_name(path)}_templates.npz" if out is None else out
    with (
        _console.stoppable(f"Stopped; {out} is as it was. Run the command again."),
        _answers.answered(),
        _galleries.opened(path, access=access) as gallery,
    ):
        gallery.export_templates(out)
        people = gallery.people()
    if as_json:
        counts = {"people": len(people), "recordings": sum(people.values())}
        _console.json_object({"path": out, **counts})
        return
    _console.echo(_console.plain(f"{out}: {len(people)} people, {sum(people.values())} recordings"))
    _console.note("Note: the file holds embeddings and names in clear: personal data.")
