"""Command `python -m tfds_builders.build NAME...`, which prepares data sets.

`tfds build` does the same, but needs Apache Beam.
"""

from __future__ import annotations

import contextlib
import enum
import importlib.util
import json
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from tensorflow_datasets.core import constants

import tfds_builders
from tfds_builders import reading
from tfds_builders.common.errors import MissingArchiveError, PipelineError
from tfds_builders.common.places import data_folder, local

_EPILOG = (
    f"Data sets: {', '.join(tfds_builders.list_builders())}. Example: python -m "
    "tfds_builders.build ipol_gait/left_foot --manual-dir ~/Downloads"
)

app = typer.Typer(add_completion=False, rich_markup_mode=None)
notes = Console(stderr=True, soft_wrap=True, highlight=False)


class FileFormat(enum.StrEnum):
    """File formats in which TFDS can store a prepared data set."""

    array_record = "array_record"
    tfrecord = "tfrecord"


class Target(enum.StrEnum):
    """Formats in which the records can be written in addition to the files of TFDS."""

    parquet = "parquet"


def _add_packages(packages: list[str] | None) -> list[str]:
    """Adds the data sets of other packages, so that a later check of names finds them."""
    for package in packages or ():
        try:
            tfds_builders.add_package(package)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return packages or []


def _checked(names: list[str] | None) -> list[str]:
    """Returns each name once, in order. Refuses unknown data sets and configs."""
    names = list(dict.fromkeys(names or ()))
    for name in names:
        try:
            tfds_builders.check_config(name)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return names


@app.command(epilog=_EPILOG)
def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Data sets as NAME or NAME/CONFIG.", callback=_checked),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Prepare all data sets whose archive is in the manual folder. If a data set has "
            "several configs, prepare the first config whose archive exists.",
        ),
    ] = False,
    manual_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="Folder that contains the archive, or a subfolder NAME that contains it. "
            "[default: DATA_DIR/downloads/manual]"
        ),
    ] = None,
    data_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="Folder for prepared data sets. "
            "[default: the environment variable TFDS_DATA_DIR, or else ~/tensorflow_datasets]"
        ),
    ] = None,
    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            help="Format of the files: tfrecord for tfds.load, or array_record for "
            "tfds.data_source, which does not need TensorFlow. "
            "[default: tfrecord if TensorFlow is installed, else array_record]"
        ),
    ] = None,
    to: Annotated[
        Target | None,
        typer.Option(
            help="Also write the records as DATA_DIR/parquet/NAME/CONFIG/VERSION/SPLIT-*.parquet "
            "for programs without TFDS. The command first prepares array_record files."
        ),
    ] = None,
    beam: Annotated[
        bool,
        typer.Option(
            "--beam",
            help="Prepare the data set on Apache Beam. The examples are the same as without Beam. "
            "With --all, the command uses Beam only for the large data sets that support it. "
            'Install Beam with pip install "keras-dml[beam]".',
        ),
    ] = False,
    beam_options: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="Options of Beam, such as runner=FlinkRunner,flink_master=HOST:8081. "
            "[default: one process for each processor of this machine]",
        ),
    ] = None,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PACKAGE",
            help="Python package that contains more data sets, such as tfds_builders/template. The "
            "option may be repeated.",
            callback=_add_packages,
            is_eager=True,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of processes that read recordings or write Parquet files. The records are "
            "the same for any number.",
        ),
    ] = 1,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Prepare an existing data set again, for example after a change of its builder's "
            "code. If the run fails, the existing data set is kept.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one line of JSON for each data set."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Prepare data sets from the archives that you have downloaded.

    The command writes tfrecord files to DATA_DIR, where tfds.load looks for them, and array_record
    files to DATA_DIR/array_record. If a data set was already prepared from the same archive, the
    command does not change it. If one of several data sets fails, the command still prepares the
    others.
    """
    if every == bool(names):
        raise typer.BadParameter("Name at least one data set, or give --all.")
    if to and file_format is FileFormat.tfrecord:
        raise typer.BadParameter("--to parquet needs array_record files. Leave --file-format out.")
    if beam_options is not None and not beam:
        raise typer.BadParameter("--beam-options needs --beam. Give --beam too.")
    _check_local(manual_dir, data_dir)
    pipeline = _pipeline(names, beam_options) if beam else None
    file_format = FileFormat.array_record if to else file_format or _default_format()
    sys.stdout.reconfigure(errors="backslashreplace")  # names that the terminal cannot show
    missing, failed = [], []
    for name in names or tfds_builders.list_builders():
        try:
            configs = tfds_builders.builder_cls(name).builder_configs if every else ()
            wanted = [f"{name}/{config}" for config in configs] or [name]
            options = pipeline if _on_beam(name) else None
            with _stopped_by_signals():
                place = manual_dir, data_dir
                builder = _first_prepared(
                    wanted, *place, file_format.value, options, overwrite, jobs
                )
                folder = _parquet(builder, overwrite, jobs) if to else None
            show = _print_json if as_json else _print_table
            show(builder, file_format, folder)
        except (ImportError, OSError, PipelineError, ValueError) as error:
            if every and isinstance(error, MissingArchiveError):
                missing.append(name)
                continue
            if debug:
                raise
            _print_error(name, error, file_format)
            failed.append(name)
        except KeyboardInterrupt as stop:
            notes.print("Stopped. The unfinished files were removed. Run the same command again.")
            number = stop.number if isinstance(stop, _Terminated) else signal.SIGINT
            raise typer.Exit(128 + number) from None
    if missing:
        notes.print(
            f"Found no archive of {', '.join(missing)}{_where(manual_dir)}. To see how to get the "
            "archive of a data set, run python -m tfds_builders.build NAME.",
            markup=False,
        )
    if failed or len(missing) == len(tfds_builders.list_builders()):
        raise typer.Exit(1)


class _Terminated(KeyboardInterrupt):
    """Exception for a signal that ends the process, for example a signal from `kill`."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP stop the work as Ctrl-C does, so that the command removes its
    unfinished files.
    """

    def stop(number, _):
        for each in previous:
            # otherwise a second signal would interrupt the removal of unfinished files
            signal.signal(each, signal.SIG_IGN)
        raise _Terminated(number)

    # Python lets only the main thread set signal handlers
    in_main = threading.current_thread() is threading.main_thread()
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    numbers = [each for each in numbers if in_main and signal.getsignal(each) == signal.SIG_DFL]
    previous = {each: signal.signal(each, stop) for each in numbers}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)


def _check_local(manual_dir: pathlib.Path | None, data_dir: pathlib.Path | None) -> None:
    """Raises an error if one of the folders is the address of a remote store."""
    try:
        data_folder(data_dir)
        if manual_dir is not None:
            local(manual_dir, "--manual-dir")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _on_beam(name: str) -> bool:
    return getattr(tfds_builders.builder_cls(name), "ON_BEAM", False)


def _pipeline(names: list[str], options: str | None):
    """Parses the options of Beam. Refuses data sets that do not support Beam."""
    cannot = [name for name in names if not _on_beam(name)]
    if cannot:
        can = filter(_on_beam, tfds_builders.list_builders())
        raise typer.BadParameter(
            f"--beam does not support {', '.join(cannot)}. It supports only {', '.join(can)}. "
            "Leave --beam out."
        )
    try:
        from tfds_builders.common import beam_jobs

        return beam_jobs.parse_options(beam_jobs.ALL_PROCESSORS if options is None else options)
    except (ImportError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None


def _where(manual_dir: pathlib.Path | None) -> str:
    if manual_dir is None:
        return ""
    return f" in {manual_dir}" if manual_dir.is_dir() else f": {manual_dir} does not exist"


def _first_prepared(names: list[str], *arguments):
    """Prepares the first data set in `names` whose archive exists. See `reading.prepared`."""
    for name in names[:-1]:
        with contextlib.suppress(MissingArchiveError):
            return reading.prepared(name, *arguments)
    return reading.prepared(names[-1], *arguments)


def _parquet(builder, overwrite: bool, jobs: int) -> pathlib.Path:
    """Writes Parquet files into the folder `parquet`. If the records are in a subfolder
    `from_<digest>`, the Parquet files are in a subfolder with the same name.
    """
    from tfds_builders import parquet  # imports pyarrow, which takes half a second

    root = pathlib.Path(builder.data_dir_root)  # array_record, or array_record/from_<digest>
    base = root if root.name == reading.FORMAT else root.parent
    place = base.with_name("parquet") / root.relative_to(base)
    return parquet.write(builder, place, overwrite=overwrite, jobs=jobs)


def _print_error(name: str, error: Exception, file_format: FileFormat) -> None:
    text = str(error)
    if isinstance(error, ImportError) and file_format is FileFormat.tfrecord:
        text = (
            f'tfrecord needs TensorFlow ({error}): pip install "keras-dml[cpu]", '
            "or use --file-format array_record."
        )
    dataset = tfds_builders.check_name(name)
    prefix = "" if text.startswith(dataset) else f"{dataset}: "
    notes.print(f"Error: {prefix}{text}", markup=False)


def _default_format() -> FileFormat:
    has_tensorflow = importlib.util.find_spec("tensorflow") is not None
    return FileFormat.tfrecord if has_tensorflow else FileFormat.array_record


def _print_json(builder, file_format: FileFormat, parquet: pathlib.Path | None) -> None:
    report = {
        "name": builder.info.full_name,
        "path": str(builder.data_path),
        "bytes": int(builder.info.dataset_size),
        "examples": {name: info.num_examples for name, info in builder.info.splits.items()},
        "license": builder.license and builder.license.url,
        "terms": builder.license and builder.license.terms,
        "archives": builder.info.metadata["archives"],
        "parts": builder.info.metadata.get("parts", []),
        "read_with": _call(builder, file_format),
    }
    if parquet is not None:
        report["parquet"] = str(parquet)
    print(json.dumps(report))


def _print_table(builder, file_format: FileFormat, parquet: pathlib.Path | None) -> None:
    metadata = builder.info.metadata
    kinds = "subjects", "domains", "classes", "videos"
    counted = [kind for kind in kinds if {*builder.info.splits} <= {*metadata.get(kind, ())}]
    table = Table(title=f"{builder.info.full_name} ({int(builder.info.dataset_size) / 1e6:.1f} MB)")
    for column in ("split", "examples", *counted):
        table.add_column(column, justify="left" if column == "split" else "right")
    for split, info in builder.info.splits.items():
        counts = [info.num_examples, *(len(metadata[kind][split]) for kind in counted)]
        table.add_row(split, *(f"{count:,}" for count in counts))
    out = Console(soft_wrap=True, highlight=False)
    out.print(table)
    for archive in metadata["archives"]:
        holds = f": {archive['holds']}" if archive["holds"] else ""
        out.print(f"from {archive['name']}{holds}", markup=False)
    for warning in metadata.get("parts", ()):
        out.print(warning, markup=False)
    out.print(
        "read it with: import tensorflow_datasets as tfds, tfds_builders; "
        f"{_call(builder, file_format)}",
        markup=False,
    )
    if parquet is not None:
        out.print(f"Parquet files: {parquet}", markup=False)


def _call(builder, file_format: FileFormat) -> str:
    """Returns the Python call that reads the data set.

    The call contains the argument `data_dir` unless the data set is in the default folder of TFDS.
    """
    function = "data_source" if file_format is FileFormat.array_record else "load"
    name = builder.info.full_name.rpartition("/")[0]
    root = pathlib.Path(builder.data_dir_root)
    is_default = root == pathlib.Path(constants.get_default_data_dir()).expanduser()
    data_dir = "" if is_default else f", data_dir={str(root)!r}"
    return f"tfds.{function}({name!r}{data_dir})"


if __name__ == "__main__":
    app(prog_name="python -m tfds_builders.build")
