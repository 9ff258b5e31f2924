"""Defines the command `python -m zoo.papers NAME`. Run the command from a checkout."""

import contextlib
import enum
import json
import os
import pathlib
import sys
import traceback
import warnings
from typing import Annotated

import typer

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow reads it when it is imported

from zoo.papers import potato, prototypes, wasserstein  # noqa: E402
from zoo.papers.settings import with_options  # noqa: E402

PROGRAM = "python -m zoo.papers"
# Types of errors whose messages users can understand.
USER_ERRORS = (ImportError, OSError, RuntimeError, TypeError, ValueError)
ERROR, STOPPED = 2, 130  # exit statuses; a shell reports 130 for a program stopped by Ctrl-C

DataDir = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Folder where the prepared data set is stored.",
        show_default="the folder of TensorFlow Datasets, ~/tensorflow_datasets",
    ),
]
Out = Annotated[
    pathlib.Path, typer.Option("--out", metavar="DIR", help="Folder for tables, figures and runs.")
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the figures as one JSON object on stdout. All other text is printed on stderr.",
    ),
]

app = typer.Typer(
    help="Repeat the experiments of three papers on public data. Each command writes tables, "
    "pictures and a report page.\n\n"
    f"Example: {PROGRAM} potato --manual-dir ~/Downloads --scale smoke",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
)


def manual_dir_option(help):
    """Returns the option `--manual-dir`, which names the folder of the archives."""
    return typer.Option("--manual-dir", metavar="DIR", help=help)


class Domain(enum.StrEnum):
    """Kinds of recordings, such as walks or EEG."""

    eyes = "eyes"
    gait = "gait"
    eeg = "eeg"
    phone = "phone"


@app.callback()
def _group(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error.")
    ] = False,
):
    pass


@app.command("potato")
@with_options(potato.Settings, potato.SCALES)
def potato_command(
    settings,
    manual_dir: Annotated[pathlib.Path, manual_dir_option("Folder that holds HDM05_cut_amc.")],
    out: Out = pathlib.Path("keras-dml-potato"),
    data_dir: DataDir = None,
    as_json: AsJson = False,
):
    """Compare the potato ranking loss with eight others: Table I and Figures 2 to 5 of Kim et al.
    (2020).

    Every loss trains the same SPD network on covariance matrices of motions. The settings of a loss
    are chosen on one actor, and the loss is tested on the motions of another actor. The network is
    trained on neither of the two actors. Finished runs are stored in DIR/runs, so a stopped command
    can be resumed.

    The public archive (HDM05, CC BY-SA 3.0, https://resources.mpi-inf.mpg.de/HDM05/) is not
    included. Put HDM05_cut_amc.zip or the unpacked folder into a folder of your choice. The first
    run prepares the data, which takes a minute.

    Example: python -m zoo.papers potato --manual-dir ~/Downloads --scale smoke
    """
    with _running(out, as_json):
        potato.run(manual_dir, out, settings, data_dir=data_dir)


@app.command("prototypes")
@with_options(prototypes.Settings, prototypes.SCALES)
def prototypes_command(
    settings,
    manual_dir: Annotated[
        pathlib.Path, manual_dir_option("Folder that holds the four files of MNIST.")
    ],
    out: Out = pathlib.Path("keras-dml-prototypes"),
    as_json: AsJson = False,
):
    """Attack prototypical classifiers and AT, ALP, TLA and TRADES on MNIST: Table 1 of Monteiro et
    al. (2020).

    All networks are trained by the same recipe. The first filters of the networks are initialized
    as thresholds for pixels, except in the row with the LeNet of the paper. The attacks use raw
    logits and are stronger than the attacks of the paper. Under these attacks, networks without a
    defense classify no image correctly. Trained epochs and finished attacks are stored in DIR/runs,
    so a stopped command can be resumed.

    MNIST (commonly stated as CC BY-SA 3.0, http://yann.lecun.com/exdb/mnist/) is not included. Put
    train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the two files of t10k into a folder
    of your choice.

    Example: python -m zoo.papers prototypes --manual-dir ~/Downloads --scale smoke
    """
    with _running(out, as_json):
        prototypes.run(manual_dir, out, settings)


@app.command("wasserstein")
@with_options(wasserstein.Settings, wasserstein.SCALES)
def wasserstein_command(
    settings,
    manual_dir: Annotated[pathlib.Path, manual_dir_option("Folder that holds the archives.")],
    domain: Annotated[
        Domain | None,
        typer.Option(
            "--domain",
            help="Kind of recordings. The data sets are DIEM or GazeCom for eyes, LTMM or the gait "
            "archive for gait, the EEG archive of UCI with 122 or 20 people for eeg, and GaitAuth "
            "for phone. If there are two data sets, the first one whose archive is found is used.",
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
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
):
    """Compare the Wasserstein loss on quantile embeddings with four other methods: Table 1 and
    Figures 2 to 8 of Abdelwahab and Landwehr (2019).

    Every method is trained on half of the people, with the settings that were best on a fifth of
    them. The method is tested on the other half with one to five observed recordings. The tests
    measure verification, identification, and the rejection of imposters. QP-WL's embeddings are
    also compared by Kullback-Leibler and Jensen-Shannon divergences. DIR/runs contains the finished
    runs and the checkpoints of unfinished runs, so a stopped or killed command can be resumed.

    The archives are not included. Put one archive for each domain into a folder of your choice.
    `keras-dml datasets` lists the archives. The page report.html names the domains for which no
    archive was found, and says how the data of each domain differ from the data of the paper.

    Example: python -m zoo.papers wasserstein --manual-dir ~/Downloads --domain gait --scale smoke
    """
    domain = None if domain is None else domain.value
    if out is None:
        out = pathlib.Path(f"keras-dml-wasserstein-{domain}" if domain else "keras-dml-wasserstein")
    with _running(out, as_json):
        wasserstein.run(manual_dir, out, settings, domain=domain, data_dir=data_dir)


@contextlib.contextmanager
def _running(out, as_json):
    """Context manager around an experiment. If `as_json` is true, the figures in `figures.json` are
    printed on stdout at the end.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            yield
    except KeyboardInterrupt:
        print(
            f"Stopped. Finished runs are stored in {out}. To continue, run the command again.",
            file=sys.stderr,
        )
        raise typer.Exit(STOPPED) from None
    if as_json:
        figures = json.loads((out / "figures.json").read_text(encoding="utf-8"))
        print(json.dumps({**figures, "path": str(out)}))


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line.

    The exit status is 0 when the command is done, 2 after an error and 130 if it is stopped. With
    `--json` an error is also printed on stdout as a JSON object, `{"error": {"type", "message"}}`.

    Args:
        arguments: Words of the command line. Default: the words with which the process was started.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    words = [word for word in arguments if word != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    is_debugging, is_json = len(words) < len(arguments), "--json" in words
    quiet = contextlib.nullcontext() if is_debugging else warnings.catch_warnings(action="ignore")
    try:
        with quiet:
            app(words, prog_name=PROGRAM)
    except Exception as error:
        name = type(error).__name__
        message = str(error) or name
        if not isinstance(error, USER_ERRORS):
            message = f"{name}: {message}"
        if is_debugging:
            traceback.print_exc()
        elif not is_json:
            print(f"Error: {message}\n(--debug shows the traceback.)", file=sys.stderr)
        if is_json:
            print(json.dumps({"error": {"type": name, "message": message}}))
        sys.exit(ERROR)


if __name__ == "__main__":
    main()
