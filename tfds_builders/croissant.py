"""`python -m tfds_builders.croissant NAME...` writes `croissant.json` beside each builder.

The file describes the data set to search engines and programs (MLCommons Croissant 1.0, with the
fields of responsible AI). All of it comes from the builder: its info, README.md, CITATIONS.bib and
TAGS.txt. It describes the records of the Parquet files that `build --to parquet` writes: that
command copies it next to them, and programs read the records by it. Archives are not part of the
distribution: few of them have an address that everybody may use.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import tempfile
from typing import Annotated, NoReturn

import numpy as np
import tensorflow_datasets as tfds
import typer

import tfds_builders
from tfds_builders.common.page import Page

FILE = "croissant.json"
SPLIT = "split"  # field that no builder has: it stands in the name of a file
LICENSES = {  # by the first words of the paragraph `License:`
    r"CC BY 4\.0": "CC-BY-4.0",
    r"CC BY-SA 3\.0": "CC-BY-SA-3.0",
    r"CC BY-NC-SA 3\.0": "CC-BY-NC-SA-3.0",
    r"CC BY-NC-SA 4\.0": "CC-BY-NC-SA-4.0",
    r"Open Data Commons Attribution 1\.0": "ODC-By-1.0",
}
PERSONAL = frozenset(
    "subject session day sex gender age weight group is_control nationality ratings".split()
)
_CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
_ID = "Key of the record: no other record of the data set has it."
_TERMS = """
arrayShape citeAs column equivalentProperty extract field fileObject fileProperty fileSet format
includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated
replace samplingRate separator source subField transform
"""
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}
_KINDS = {"bool": "sc:Boolean", "uint8": "cr:UInt8"} | {
    kind: f"cr:{kind.capitalize()}"
    for kind in ("int8", "int16", "int32", "int64", "float32", "float64")
}
app = typer.Typer(add_completion=False, rich_markup_mode=None)


def folder_of(name: str) -> pathlib.Path:
    """Where a builder and its pages are kept."""
    return pathlib.Path(__file__).parent / name


def path_of(name: str) -> pathlib.Path:
    """Where the description of a data set is kept."""
    return folder_of(name) / FILE


def text_of(name: str) -> str:
    """Returns the description of a data set, as the file holds it."""
    return json.dumps(description(name), indent=1, ensure_ascii=False) + "\n"


def description(name: str) -> dict:
    """Describes a data set by MLCommons Croissant 1.0.

    Raises:
        ValueError: On an unknown name; when the README says nothing of license, personal data or
            checks, or does not describe a feature.
    """
    cls = tfds_builders.builder_cls(name)
    page = Page((folder_of(name) / "README.md").read_text("utf-8"), title=f"{name}/README.md")
    builders = {config: _builder(f"{name}/{config}") for config in cls.builder_configs}
    info = next(iter(builders.values())).info
    personal = [row for row in page.features if PERSONAL & {*row.names}]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": page.summary,
        "conformsTo": list(_CONFORMS_TO),
        "version": str(cls.VERSION),
        "url": info.homepage,
        "license": _license(page.paragraph("License"), info.homepage),
        "citeAs": info.citation,
        "keywords": [line.split("#")[0].strip() for line in _lines(name, "TAGS.txt")],
        "rai:dataCollection": page.summary,
        "rai:dataLimitations": [
            f"License: {page.paragraph('License')}",
            *page.remarks,
            f"Checked on real files: {page.paragraph('Checked on real files')}"
        ],
        "rai:personalSensitiveInformation": [
            _sentence(page.paragraph("Personal data")), *map(str, personal)
        ],
        "distribution": [_files(builder) for builder in builders.values()],
        "recordSet": [
            record_set
            for config, builder in builders.items()
            for record_set in _record_sets(config, builder, page)
        ],
    }  # fmt: skip


def _builder(name: str) -> tfds.core.DatasetBuilder:
    with tempfile.TemporaryDirectory() as empty:  # what was prepared before is not described
        return tfds.builder(name, data_dir=empty)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _lines(name: str, file: str) -> list[str]:
    lines = (folder_of(name) / file).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _license(terms: str, homepage: str) -> str:
    """Address of the license by SPDX; of the page of the source where its terms are no such
    license."""
    for start, name in LICENSES.items():
        if re.match(start, terms):
            return f"https://spdx.org/licenses/{name}.html"
    return homepage


def _files(builder: tfds.core.DatasetBuilder) -> dict:
    """The Parquet files of a config, in folders next to the description."""
    config = builder.builder_config.name
    return {
        "@type": "cr:FileSet",
        "@id": _id_of_files(config),
        "name": _id_of_files(config),
        "description": "Written from the archives by `python -m tfds_builders.build "
        f"{builder.name}/{config} --to parquet`. {builder.MANUAL_DOWNLOAD_INSTRUCTIONS}",
        "encodingFormat": "application/x-parquet",
        "includes": f"{config}/{builder.version}/*.parquet",
    }


def _id_of_files(config: str) -> str:
    return f"{config}-files"


def _record_sets(config: str, builder: tfds.core.DatasetBuilder, page: Page) -> list[dict]:
    """The records of a config, and the names of its classes."""
    features = builder.info.features
    records = {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"{builder.builder_config.description} Made from the archives by "
        f"`python -m tfds_builders.build {builder.name}/{config}`.",
        "key": {"@id": f"{config}/id"},
        "field": [
            *(_field(config, key, feature, page) for key, feature in features.items()),
            _split(config),
        ],
    }
    return [
        records,
        *(
            _classes(f"{config}/{key}", feature.names)
            for key, feature in features.items()
            if isinstance(feature, tfds.features.ClassLabel)
        ),
    ]


def _field(config: str, key: str, feature, page: Page) -> dict:
    field = {
        "@type": "cr:Field",
        "@id": f"{config}/{key}",
        "name": key,
        "description": _ID if key == "id" else page.feature(key),
        "dataType": _data_type(feature),
        "source": {"fileSet": {"@id": _id_of_files(config)}, "extract": {"column": key}},
    }
    if feature.shape and not isinstance(feature, tfds.features.Image):
        sizes = [-1 if size is None else size for size in feature.shape]
        shape = ",".join(map(str, sizes))
        field |= {"repeated": True, "isArray": True, "arrayShape": shape}
    if isinstance(feature, tfds.features.ClassLabel):
        field["references"] = {"field": {"@id": f"{config}/{key}/classes/index"}}
    return field


def _split(config: str) -> dict:
    return {
        "@type": "cr:Field",
        "@id": f"{config}/{SPLIT}",
        "name": SPLIT,
        "description": "Split that the record is in, from the name of its file.",
        "dataType": "sc:Text",
        "source": {
            "fileSet": {"@id": _id_of_files(config)},
            "extract": {"fileProperty": "filename"},
            "transform": {"regex": r"^(\w+)-\d+-of-\d+\.parquet$"},
        },
    }


def _data_type(feature) -> str:
    if isinstance(feature, tfds.features.Image):
        return "sc:ImageObject"
    if isinstance(feature, tfds.features.Text):
        return "sc:Text"
    return _KINDS[np.dtype(feature.np_dtype).name]


def _classes(prefix: str, names: list[str]) -> dict:
    own = f"{prefix}/classes"
    return {
        "@type": "cr:RecordSet",
        "@id": own,
        "name": own,
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{own}/index"},
        "field": [
            {"@type": "cr:Field", "@id": f"{own}/index", "name": "index", "dataType": "sc:Integer"},
            {"@type": "cr:Field", "@id": f"{own}/name", "name": "name", "dataType": "sc:Text"},
        ],
        "data": [{f"{own}/index": index, f"{own}/name": name} for index, name in enumerate(names)],
    }


def _known(names: list[str] | None) -> list[str]:
    for name in names or ():
        if "/" in name:
            raise typer.BadParameter(f"{name}: a file describes all configs; name the set alone.")
    try:
        return [tfds_builders.check_name(name) for name in names or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def croissant(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets.", callback=_known)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every data set.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit with 1 where a file is not current."),
    ] = False,
) -> None:
    """Write the Croissant description of data sets beside their builders."""
    if every == bool(names):
        raise typer.BadParameter("Name one data set or more, or give --all.")
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
        except (OSError, ValueError) as error:
            _fail(str(error))
    if check and stale:
        _fail(f"{FILE} is not current: run python -m tfds_builders.croissant {' '.join(stale)}")


def _fail(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="python -m tfds_builders.croissant")
