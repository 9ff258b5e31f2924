"""Command `python -m tfds_builders.croissant NAME...`, which writes the file `croissant.json` into
the folder of each builder.

The file describes the data set for search engines and other programs, in the format MLCommons
Croissant 1.0 with the fields for responsible AI. The contents of the file come from the builder's
info, README.md, CITATIONS.bib and TAGS.txt. The file describes the records of the Parquet files
that `build --to parquet` writes. This command also copies `croissant.json` next to the Parquet
files, so that programs can read the records. The description does not contain addresses of the
archives, because only a few archives may be downloaded by everybody.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
from typing import Annotated, NoReturn

import numpy as np
import tensorflow_datasets as tfds
import typer

import tfds_builders
from tfds_builders.common.page import Page

FILE = "croissant.json"
SPLIT = (
    "split"  # field with the split, taken from the file name; no builder has a feature of this name
)
CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
PERSONAL = frozenset(
    "subject session day sex gender age weight group is_control nationality ratings".split()
)
app = typer.Typer(add_completion=False, rich_markup_mode=None)


def folder_of(name: str) -> pathlib.Path:
    """Returns the folder that contains the builder and the README of a data set."""
    return pathlib.Path(__file__).parent / name


def path_of(name: str) -> pathlib.Path:
    """Returns the path of the Croissant description of a data set."""
    return folder_of(name) / FILE


def text_of(name: str) -> str:
    """Returns the Croissant description of a data set as JSON text."""
    return json.dumps(description(name), indent=1, ensure_ascii=False) + "\n"


def description(name: str) -> dict:
    """Describes a data set in the format MLCommons Croissant 1.0.

    Raises:
        ImportError: If mlcroissant is not installed.
        ValueError: If the name is unknown, if the README has no row for a feature, or if the README
            lacks one of the paragraphs `License:`, `Personal data:` and `Checked on real files:`.
    """
    mlc = _mlcroissant()
    cls = tfds_builders.builder_cls(name)
    page = Page((folder_of(name) / "README.md").read_text("utf-8"), title=f"{name}/README.md")
    builders = [_builder(f"{name}/{config}") for config in cls.builder_configs]
    personal = [row for row in page.features if PERSONAL & {*row.names}]
    limitations = [
        f"License: {page.paragraph('License')}",
        *page.remarks,
        f"Checked on real files: {page.paragraph('Checked on real files')}",
    ]
    metadata = mlc.Metadata(
        name=name,
        description=page.summary,
        version=str(cls.VERSION),
        url=cls.HOMEPAGE,
        license=[builders[0].license.url],
        cite_as=builders[0].info.citation,
        keywords=[line.split("#")[0].strip() for line in _lines(name, "TAGS.txt")],
        data_collection=page.summary,
        data_limitations=limitations,
        personal_sensitive_information=[
            _sentence(page.paragraph("Personal data")),
            *map(str, personal),
        ],
        distribution=[_file_set(builder) for builder in builders],
        record_sets=[each for builder in builders for each in _record_sets(builder, page)],
    )
    # mlcroissant writes only the first address of `CONFORMS_TO`, but the metadata must state both
    return metadata.to_json() | {"conformsTo": [*CONFORMS_TO]}


def _mlcroissant():
    try:
        import mlcroissant
    except ImportError as error:
        raise ImportError(
            f"Croissant descriptions need mlcroissant: pip install mlcroissant ({error})."
        ) from error
    return mlcroissant


def _builder(name: str) -> tfds.core.DatasetBuilder:
    # an empty folder, because TFDS would otherwise read the info of a data set prepared earlier
    with tempfile.TemporaryDirectory() as empty:
        return tfds.builder(name, data_dir=empty)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _lines(name: str, file: str) -> list[str]:
    lines = (folder_of(name) / file).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _file_set(builder: tfds.core.DatasetBuilder):
    """Returns the description of a config's Parquet files. The files are in folders next to
    `croissant.json`.
    """
    mlc, config = _mlcroissant(), builder.builder_config.name
    return mlc.FileSet(
        id=_id_of_files(config),
        name=_id_of_files(config),
        description="Written from the archives by `python -m tfds_builders.build "
        f"{builder.name}/{config} --to parquet`. {builder.MANUAL_DOWNLOAD_INSTRUCTIONS}",
        encoding_formats=["application/x-parquet"],
        includes=[f"{config}/{builder.version}/*.parquet"],
    )


def _id_of_files(config: str) -> str:
    return f"{config}-files"


def _record_sets(builder: tfds.core.DatasetBuilder, page: Page) -> list:
    """Returns the description of a config's records, and of the class names of each label."""
    mlc, config, features = _mlcroissant(), builder.builder_config, builder.info.features
    fields = [_field(config.name, key, feature) for key, feature in features.items()]
    records = mlc.RecordSet(
        id=config.name,
        name=config.name,
        description=f"{config.description} Made from the archives by "
        f"`python -m tfds_builders.build {builder.name}/{config.name}`.",
        key=f"{config.name}/id",
        fields=[*fields, _split_field(config.name)],
    )
    classes = [
        _classes(f"{config.name}/{key}", feature.names)
        for key, feature in features.items()
        if isinstance(feature, tfds.features.ClassLabel)
    ]
    return [records, *classes]


def _field(config: str, key: str, feature):
    mlc = _mlcroissant()
    is_array = bool(feature.shape) and not isinstance(feature, tfds.features.Image)
    shape = ",".join("-1" if size is None else str(size) for size in feature.shape)
    references = None
    if isinstance(feature, tfds.features.ClassLabel):
        references = mlc.Source(field=f"{config}/{key}/classes/index")
    return mlc.Field(
        id=f"{config}/{key}",
        name=key,
        description=feature.doc.desc,
        data_types=[_data_type(feature)],
        is_array=is_array or None,
        repeated=is_array or None,
        array_shape=shape if is_array else None,
        references=references,
        source=mlc.Source(file_set=_id_of_files(config), extract=mlc.Extract(column=key)),
    )


def _split_field(config: str):
    mlc = _mlcroissant()
    return mlc.Field(
        id=f"{config}/{SPLIT}",
        name=SPLIT,
        description="Split of the record, taken from the name of the record's file.",
        data_types=[mlc.DataType.TEXT],
        source=mlc.Source(
            file_set=_id_of_files(config),
            extract=mlc.Extract(file_property=mlc.FileProperty.filename),
            transforms=[mlc.Transform(regex=r"^(\w+)-\d+-of-\d+\.parquet$")],
        ),
    )


def _data_type(feature) -> str:
    types = _mlcroissant().DataType
    if isinstance(feature, tfds.features.Image):
        return types.IMAGE_OBJECT
    if isinstance(feature, tfds.features.Text):
        return types.TEXT
    name = np.dtype(feature.np_dtype).name
    return types.BOOL if name == "bool" else getattr(types, name.upper())


def _classes(prefix: str, names: list[str]):
    mlc, set_id = _mlcroissant(), f"{prefix}/classes"
    return mlc.RecordSet(
        id=set_id,
        name=set_id,
        data_types=["https://schema.org/Enumeration"],
        key=f"{set_id}/index",
        fields=[
            mlc.Field(id=f"{set_id}/index", name="index", data_types=[mlc.DataType.INTEGER]),
            mlc.Field(id=f"{set_id}/name", name="name", data_types=[mlc.DataType.TEXT]),
        ],
        data=[{f"{set_id}/index": i, f"{set_id}/name": text} for i, text in enumerate(names)],
    )


def _checked(names: list[str] | None) -> list[str]:
    """Returns the names of data sets. Refuses unknown names and names of configs."""
    for name in names or ():
        if "/" in name:
            raise typer.BadParameter(
                f"{name} names a config, but the file describes all configs of a data set. Give "
                "only the name of the data set."
            )
    try:
        return [tfds_builders.check_name(name) for name in names or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def croissant(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets.", callback=_checked)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every data set.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write no file. Exit with status 1 if a file is outdated."),
    ] = False,
) -> None:
    """Write the Croissant description of each data set into the folder of its builder."""
    if every == bool(names):
        raise typer.BadParameter("Name at least one data set, or give --all.")
    stale = []
    for name in names or tfds_builders.list_builders():
        try:
            path, text = path_of(name), text_of(name)
            if path.is_file() and path.read_bytes() == text.encode():
                continue
            stale.append(name)
            if not check:
                path.write_text(text, "utf-8")
                print(path)
        except (ImportError, OSError, ValueError) as error:
            _fail(str(error))
    if check and stale:
        _fail(f"{FILE} is outdated. Run python -m tfds_builders.croissant {' '.join(stale)}")


def _fail(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="python -m tfds_builders.croissant")
