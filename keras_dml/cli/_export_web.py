"""Exports a gallery or a model to a web page."""

import contextlib
import pathlib

from keras_dml.cli import _console, _exports, _extras, _options


def write(name, out, options, is_gallery, *, as_json):
    """Exports a gallery or a model to a folder with a web page, and prints facts about the folder.

    Args:
        name: Path of a gallery, or name or path of a model.
        out: Output folder. Default: `NAME_web` in the current folder.
        options: `FormatOptions` that `_export_formats.check` accepts.
        is_gallery: Whether `name` is a gallery.
        as_json: Whether to print a JSON object.
    """
    from keras_dml.cli import _answers, _export_gallery

    _extras.require_keras(_exports.SUBJECT)
    stem = _export_gallery.name_of(name) if is_gallery else pathlib.Path(name).stem
    out = pathlib.Path(f"{stem}_web" if out is None else out)
    with (
        _console.stoppable(f"Stopped. {out} is not changed. Run the command again."),
        _answers.spell_errors(_options.GALLERY_NAMES | _exports.NAMES),
        _opened(name, options.access, is_gallery) as source,
    ):
        from keras_dml import gallery as galleries

        with _console.stage(f"write {out} and compare the model with Keras"):
            result = galleries.export_web(
                source, out, far=options.far, steps=options.steps, packages=options.npm_packages
            )
    ((folder, model),) = result.models.items()
    threshold = result.thresholds[folder]
    if as_json:
        _console.print_json(
            {
                "path": str(result.path),
                "bytes": result.bytes,
                "steps": model.steps,
                "far": threshold and threshold.far,
                "threshold": threshold and threshold.value,
            }
        )
        return
    limit = "no threshold, so the page cannot decide"
    if threshold is not None:
        origin = ", provisional: from the model's card" if threshold.provisional else ""
        limit = f"threshold {threshold.value:.4g} for FAR {100 * threshold.far:g} %{origin}"
    facts = [
        ("written", str(result.path)),
        ("decides by", limit),
        ("recordings", f"up to {model.steps:,} steps"),
        ("size", f"{result.bytes / 1e6:.1f} MB"),
        ("open", f"python -m http.server --directory {result.path}, then http://localhost:8000"),
    ]
    _console.print_table((), facts, header=False)
    _console.note("Note: the folder contains no people. They enroll in the page.")


@contextlib.contextmanager
def _opened(name, access, is_gallery):
    """Yields the open gallery, or the model's name or path."""
    from keras_dml.cli import _galleries, _models

    if not is_gallery:
        yield _models.resolve(name)
        return
    keras = _options.EngineName.keras  # exporting needs TensorFlow
    with _galleries.open_gallery(name, access=access, engine=keras) as gallery:
        yield gallery
