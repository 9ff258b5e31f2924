"""`keras-dml demo`: enroll people, verify, identify and reject them, on real recordings."""

import pathlib
from typing import Annotated

import typer

DEFAULT = pathlib.Path("keras-dml-demo")

app = typer.Typer(
    help="Enroll people, then verify, identify and reject them, on real recordings.\n\n"
    "Takes less than a minute. Without a subcommand: speakers, by one vowel, on recordings that "
    "the package carries.\n\n"
    "Example: keras-dml demo --out my-demo",
    invoke_without_command=True,
)
Out = Annotated[
    pathlib.Path,
    typer.Option("--out", metavar="DIR", help="Folder for pictures, figures and the TFLite file."),
]


@app.callback()
def vowels(context: typer.Context, out: Out = DEFAULT):
    if context.invoked_subcommand is None:
        _run("vowels_qp_wl", "vowels", out)
    else:
        context.obj = out


@app.command()
def gait(
    context: typer.Context,
    manual_dir: Annotated[
        pathlib.Path,
        typer.Option("--manual-dir", metavar="DIR", help="Folder that holds GaitData.zip."),
    ],
    out: Annotated[
        pathlib.Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for pictures, figures and TFLite file."),
    ] = None,
    data_dir: Annotated[
        pathlib.Path | None,
        typer.Option("--data-dir", metavar="DIR", help="Where the prepared data set is kept."),
    ] = None,
):
    """Walkers, by one foot's sensor, on people whom the model was not trained on.

    The public archive (CC BY-NC-SA, https://doi.org/10.5201/ipol.2019.265) is not carried; put
    GaitData.zip into a folder of your choice. The first run prepares it, which takes some minutes.

    Example: keras-dml demo gait --manual-dir ~/Downloads
    """
    _run("gait_qp_wl", "gait", out or context.obj, manual_dir, data_dir)


def _run(model, recordings, out, *arguments):
    from keras_dml.cli import _console, _demo, _folder, _recordings

    told = f"Stopped. What was written to {out} is whole; run the command again for the rest."
    with _console.stoppable(told), _folder.made(out):
        _demo.show(model, lambda people: getattr(_recordings, recordings)(people, *arguments), out)
