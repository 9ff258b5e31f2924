"""`keras-dml demo`: enroll people, then verify and identify them, on real recordings."""

import pathlib
from typing import Annotated

from keras_dml.cli import _options


def run(
    out: Annotated[
        pathlib.Path,
        _options.folder("--out", "Folder for gallery, recordings, picture, TFLite file."),
    ] = pathlib.Path("keras-dml-demo"),
    as_json: _options.AsJson = False,
):
    """Enroll three people, then verify and identify them, on real recordings.

    The package contains walks of four people, recorded by a watch. The model has not seen them. The
    demo prints the commands that do the same, and takes less than half a minute.

    Example: keras-dml demo --out my-demo
    """
    from keras_dml.cli import _console, _demo, _output_folder

    stopped = f"Stopped. All files in {out} are complete. Run the command again for the others."
    with _console.stoppable(stopped), _output_folder.created(out), _console.text_hidden(as_json):
        figures = _demo.run(out)
    if as_json:
        _console.json_object(figures)
