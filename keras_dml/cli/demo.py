"""Implements the command `keras-dml demo`, which enrolls, verifies and identifies people from real
recordings.
"""

import pathlib
from typing import Annotated

from keras_dml.cli import _options


def run(
    out: Annotated[
        pathlib.Path,
        _options.folder("--out", "Folder for the gallery, recordings, picture and TFLite file."),
    ] = pathlib.Path("keras-dml-demo"),
    as_json: _options.AsJson = False,
) -> None:
    """Enroll three people, then verify and identify them, with real recordings.

    The package contains walks of four people, recorded by a watch. The model was not trained on
    these people. The demo prints the equivalent commands, and takes less than half a minute.

    Example: keras-dml demo --out my-demo
    """
    from keras_dml.cli import _console, _demo, _output_folder

    stopped = (
        f"Stopped. All files in {out} are complete. Run the command again for the missing files."
    )
    with _console.stoppable(stopped), _output_folder.create(out), _console.hide_text(as_json):
        figures = _demo.run(out)
    if as_json:
        _console.print_json(figures)
