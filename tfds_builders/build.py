"""`python -m tfds_builders.build NAME` prepares a data set; `tfds build` would ask for Beam."""

from __future__ import annotations

import enum
import pathlib
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tfds_builders
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError

_EPILOG = (
    f"Data sets: {', '.join(tfds_builders.list_builders())}. Example: python -m "
    "tfds_builders.build ipol_gait/left_foot --manual-dir ~/data"
)
app = typer.Typer(add_completion=False, rich_markup_mode=None)
notes = Console(stderr=True, soft_wrap=True, highlight=False)


class FileFormat(enum.StrEnum):
    """The formats that a prepared data set can have."""

    array_record = "array_record"
    tfrecord = "tfrecord"


def _known(name: str) -> str:
    try:
        tfds_builders.check_config(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return name


@app.command(epilog=_EPILOG)
def build(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Data set, or data set/config.", callback=_known)
    ],
    manual_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="Folder with the archive, or with a folder NAME with it. "
            "[default: DATA_DIR/downloads/manual]"
        ),
    ] = None,
    data_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="Where prepared data sets are kept. "
            "[default: TFDS_DATA_DIR, else ~/tensorflow_datasets]"
        ),
    ] = None,
    file_format: Annotated[
        FileFormat,
        typer.Option(
            help="array_record for tfds.data_source, without TensorFlow; tfrecord for tfds.load."
        ),
    ] = FileFormat.array_record,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error arose.")
    ] = False,
) -> None:
    """Prepare a data set from the archive that you have downloaded.

    The files go to DATA_DIR/FILE_FORMAT/; a data set that is there already, from the same archive,
    is left as it is.
    """
    sys.stdout.reconfigure(errors="backslashreplace")  # names that the terminal cannot show
    try:
        builder = reading.prepared(name, manual_dir, data_dir, file_format.value)
        _report(builder, file_format)
    except (ArchiveError, FormatError, ImportError, OSError, ValueError) as error:
        if debug:
            raise
        raise _failed(error, file_format) from None
    except KeyboardInterrupt:
        notes.print("Stopped. Nothing half written was kept; run the same command again.")
        raise typer.Exit(130) from None


def _failed(error: Exception, file_format: FileFormat) -> typer.Exit:
    text = str(error)
    if isinstance(error, ImportError) and file_format is FileFormat.tfrecord:
        text = (
            f'tfrecord needs TensorFlow ({error}): pip install "keras-dml[cpu]", '
            "or use --file-format array_record."
        )
    notes.print(f"Error: {text}", markup=False)
    return typer.Exit(1)


def _report(builder, file_format: FileFormat) -> None:
    metadata = builder.info.metadata
    held = "subjects" if "subjects" in metadata else "domains"
    table = Table(title=f"{builder.info.full_name} ({int(builder.info.dataset_size) / 1e6:.1f} MB)")
    for column in ("split", "examples", held):
        table.add_column(column, justify="left" if column == "split" else "right")
    for split, info in builder.info.splits.items():
        table.add_row(split, f"{info.num_examples:,}", f"{len(metadata[held][split]):,}")
    out = Console(soft_wrap=True, highlight=False)
    out.print(table)
    for archive in metadata["archives"]:
        holds = f": {archive['holds']}" if archive["holds"] else ""
        out.print(f"from {archive['name']}{holds}", markup=False)
    call = "tfds.data_source" if file_format is FileFormat.array_record else "tfds.load"
    name, config = builder.name, builder.builder_config.name
    root = builder.data_path.parents[2]  # above name/config/version
    out.print(
        f"read it with: import tfds_builders; {call}('{name}/{config}', data_dir='{root}')",
        markup=False,
    )


if __name__ == "__main__":
    app(prog_name="python -m tfds_builders.build")
