"""`keras-dml reproduce NAME`: a paper's comparison, run again on public data."""

import contextlib
import enum
import json
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

STOPPED = "Stopped. Finished runs are kept in {}; run the command again for the rest."

Out = Annotated[pathlib.Path, _options.folder("--out", "Folder for tables, figures and runs.")]

app = typer.Typer(
    help="A paper's comparison, run again on public recordings: tables and figures.\n\n"
    "Example: keras-dml reproduce potato --manual-dir ~/Downloads --scale smoke",
    no_args_is_help=True,
)


class Size(enum.StrEnum):
    """How much is run."""

    smoke = "smoke"
    full = "full"


PotatoScale = Annotated[
    Size,
    typer.Option(
        "--scale",
        help="smoke: all losses, few steps, some minutes. full: everybody held out in turn, "
        "five seeds, about an hour.",
    ),
]
PrototypesScale = Annotated[
    Size,
    typer.Option(
        "--scale",
        help="smoke: all rows on few digits, some minutes. full: trained on all of MNIST by three "
        "seeds, attacked on 2,000 test images, about a day of one core.",
    ),
]


class Domain(enum.StrEnum):
    """What is recorded of people."""

    eyes = "eyes"
    gait = "gait"
    eeg = "eeg"
    phone = "phone"


class SizeOfPaper(enum.StrEnum):
    """How much is run, the paper's own size among them."""

    smoke = "smoke"
    full = "full"
    paper = "paper"


class Precision(enum.StrEnum):
    """Keras's policies of a training."""

    float32 = "float32"
    mixed_bfloat16 = "mixed_bfloat16"


@app.callback()
def _group():
    pass


@app.command()
def potato(
    manual_dir: Annotated[
        pathlib.Path, _options.folder("--manual-dir", "Folder that holds HDM05_cut_amc.")
    ],
    out: Out = pathlib.Path("keras-dml-potato"),
    scale: PotatoScale = Size.full,
    seeds: Annotated[
        int | None, _options.count("--seeds", 1, "Random seeds of every network.", "1 or 5")
    ] = None,
    data_dir: _options.DataDir = None,
    as_json: _options.AsJson = False,
):
    """The potato ranking loss against eight others: Table I, Figures 2 to 5 of Kim et al. (2020).

    Every loss trains the same SPD network on covariance matrices of motions, with the settings that
    were best on another actor, and is tested on the motions of an actor that it has never seen. A
    stopped command resumes: finished runs are kept in DIR/runs.

    The public archive (HDM05, CC BY-SA 3.0, https://resources.mpi-inf.mpg.de/HDM05/) is not
    carried; put HDM05_cut_amc.zip or the unpacked folder into a folder of your choice. The first
    run prepares it, which takes a minute.

    Example: keras-dml reproduce potato --manual-dir ~/Downloads --scale smoke
    """
    from keras_dml.cli import _reproduce_potato

    with _reproducing(out, as_json):
        _reproduce_potato.show(manual_dir, data_dir, out, scale.value, seeds)


@app.command()
def prototypes(
    manual_dir: Annotated[
        pathlib.Path, _options.folder("--manual-dir", "Folder that holds the four files of MNIST.")
    ],
    out: Out = pathlib.Path("keras-dml-prototypes"),
    scale: PrototypesScale = Size.full,
    seeds: Annotated[
        int | None, _options.count("--seeds", 1, "Trainings of each kind.", "1 or 3")
    ] = None,
    images: Annotated[
        int | None,
        _options.count(
            "--images",
            1,
            "Test images to attack, the first ones; 1,000 leave an uncertainty of 2 to 3 points.",
            "128 or 2,000",
        ),
    ] = None,
    precision: Annotated[
        Precision,
        typer.Option(
            "--precision",
            help="Policy of the training; mixed_bfloat16 takes half the time on a processor that "
            "multiplies in it (AMX). Attacks are on float32 in either.",
        ),
    ] = Precision.float32,
    as_json: _options.AsJson = False,
):
    """Prototypical classifiers under attack beside AT, ALP, TLA and TRADES on MNIST: Table 1 of
    Monteiro et al. (2020).

    All rows have one recipe; their first filters start as thresholds of pixels, but for one row on
    the paper's LeNet. Attacks use raw logits and are stronger than the paper's: undefended networks
    fall to 0. A stopped command resumes: trained epochs and finished attacks are kept in DIR/runs.

    MNIST (commonly stated as CC BY-SA 3.0, http://yann.lecun.com/exdb/mnist/) is not carried; put
    train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the two of t10k into a folder of your
    choice.

    Example: keras-dml reproduce prototypes --manual-dir ~/Downloads --scale smoke
    """
    from keras_dml.cli import _reproduce_prototypes

    with _reproducing(out, as_json):
        _reproduce_prototypes.show(
            manual_dir, out, scale.value, seeds=seeds, images=images, precision=precision.value
        )


@app.command()
def wasserstein(
    manual_dir: Annotated[
        pathlib.Path, _options.folder("--manual-dir", "Folder that holds the archives.")
    ],
    domain: Annotated[
        Domain | None,
        typer.Option(
            "--domain",
            help="eyes: DIEM, or GazeCom. gait: LTMM, or the gait archive. eeg: UCI's EEG, of 122 "
            "or 20 people. phone: GaitAuth. The first of two whose archive is there.",
            show_default="eyes, gait and eeg, on one page",
        ),
    ] = None,
    out: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for tables, figures and runs.",
            show_default="keras-dml-wasserstein[-DOMAIN]",
            autocompletion=_completion.paths,
        ),
    ] = None,
    scale: Annotated[
        SizeOfPaper,
        typer.Option(
            "--scale",
            help="smoke: 16 people, few steps, some minutes. full: everybody, a compact encoder, "
            "1,500 steps, five seeds, some hours of one core. paper: its encoder, 50,000 steps, "
            "for a GPU.",
        ),
    ] = SizeOfPaper.full,
    seeds: Annotated[
        int | None, _options.count("--seeds", 1, "Random seeds of every network.", "1 or 5")
    ] = None,
    data_dir: _options.DataDir = None,
    as_json: _options.AsJson = False,
):
    """The Wasserstein loss on quantile embeddings against four others: Table 1, Figures 2 to 8 of
    Abdelwahab and Landwehr (2019).

    Every method trains on half of the people by the settings that were best on a fifth of them, and
    is tested on the other half: verification, identification, imposters, one to five recordings
    observed. QP-WL's embeddings are compared by Kullback-Leibler and Jensen-Shannon divergences
    too. A stopped or killed command resumes where it was: DIR/runs has finished runs, and the
    checkpoints of unfinished ones.

    The archives are not carried; put one of each domain into a folder of your choice (`keras-dml
    datasets` names them). The page report.html says of which domain there is none, and whether a
    domain's is the paper's own data, a part of it or a relative.

    Example: keras-dml reproduce wasserstein --manual-dir ~/Downloads --domain gait --scale smoke
    """
    from keras_dml.cli import _reproduce_wasserstein

    domain = None if domain is None else domain.value
    if out is None:
        out = pathlib.Path(f"keras-dml-wasserstein-{domain}" if domain else "keras-dml-wasserstein")
    with _reproducing(out, as_json):
        _reproduce_wasserstein.show(manual_dir, data_dir, out, domain, scale.value, seeds=seeds)


@contextlib.contextmanager
def _reproducing(out, as_json):
    """Runs an experiment that writes `figures.json` into a folder, and prints that for programs."""
    from keras_dml.cli import _console, _output_folder

    with (
        _console.stoppable(STOPPED.format(out)),
        _output_folder.created(out),
        _console.text_hidden(as_json),
    ):
        yield
    if as_json:
        figures = json.loads((out / "figures.json").read_text(encoding="utf-8"))
        _console.json_object({**figures, "path": str(out)})
