"""`keras-dml demo`: enroll people, verify, identify and reject them, on real recordings."""

import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _options

app = typer.Typer(
    help="Enroll people, then verify, identify and reject them, on real recordings.\n\n"
    "Takes less than half a minute. Without a subcommand: walkers with a watch on the wrist, on "
    "recordings that the package carries, of people whom the model has not seen.\n\n"
    "Example: keras-dml demo --out my-demo",
    invoke_without_command=True,
)
Out = Annotated[
    pathlib.Path | None,
    _options.folder(
        "--out", "Folder for the picture, the gallery, recordings and the TFLite file."
    ),
]


@app.callback()
def watch(context: typer.Context, out: Out = None, as_json: _options.AsJson = False):
    if context.invoked_subcommand is None:
        _run("watch_lda", "walks", out or pathlib.Path("keras-dml-demo"), as_json)
    else:
        context.obj = out, as_json


@app.command()
def gait(
    context: typer.Context,
    manual_dir: Annotated[
        pathlib.Path | None, _options.folder("--manual-dir", "Folder that holds GaitData.zip.")
    ] = None,
    out: Out = None,
    data_dir: _options.DataDir = None,
    as_json: _options.AsJson = False,
):
    """Walkers, by one foot's sensor, on people whom the model was not trained on.

    The public archive (CC BY-NC-SA, https://doi.org/10.5201/ipol.2019.265) is not carried; put
    GaitData.zip into a folder of your choice. The first run prepares it, which takes some minutes
    and needs the packages of `pip install "keras-dml\\[data]"`.

    Example: keras-dml demo gait --manual-dir ~/Downloads
    """
    from keras_dml.cli import _extras

    _extras.require_data("The gait archive")
    if manual_dir is None:
        raise typer.BadParameter(
            "name the folder that holds GaitData.zip (https://doi.org/10.5201/ipol.2019.265).",
            param_hint="--manual-dir",
        )
    first_out, is_json = context.obj
    out = out or first_out or pathlib.Path("keras-dml-demo-gait")
    _run("gait_qp_wl", "gait", out, as_json or is_json, manual_dir, data_dir)


def _run(model, recordings, out, as_json, *arguments):
    from keras_dml.cli import _console, _demo_recordings, _demo_tour, _output_folder

    message = f"Stopped. What was written to {out} is whole; run the command again for the rest."
    with (
        _console.stoppable(message),
        _output_folder.created(out),
        _console.text_hidden(as_json),
    ):
        figures = _demo_tour.show(
            model, lambda card: getattr(_demo_recordings, recordings)(card, out, *arguments), out
        )
    if as_json:
        _console.json_object(figures)
