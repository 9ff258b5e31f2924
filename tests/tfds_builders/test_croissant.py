"""Tests that each `croissant.json` is up to date and valid and agrees with the README."""

import json
import logging
import re

import numpy as np
import pytest
import tensorflow_datasets as tfds
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import inertial, samples
from tfds_builders import croissant, parquet, reading
from tfds_builders.common.checks import RELEASES
from tfds_builders.common.page import Page

NAMES = tfds_builders.list_builders()


def run(*arguments):
    return CliRunner().invoke(croissant.app, arguments)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def described(name):
    return json.loads(croissant.path_of(name).read_text("utf-8"))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Makes the command write its files to a temporary folder, which the fixture returns."""
    monkeypatch.setattr(croissant, "path_of", lambda name: tmp_path / f"{name}.json")
    return tmp_path


@pytest.mark.slow
def test_the_committed_file_is_what_the_command_would_write(name):
    written = croissant.path_of(name).read_text("utf-8")
    assert written == croissant.text_of(name), "run python -m tfds_builders.croissant --all"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # mlcroissant calls rdflib
def test_mlcroissant_finds_no_fault(name, caplog):
    mlcroissant = pytest.importorskip("mlcroissant")
    with caplog.at_level(logging.ERROR):
        metadata = mlcroissant.Dataset(jsonld=croissant.path_of(name)).metadata
    assert not metadata.ctx.issues.errors
    warned = [re.search('"(.*)" is recommended', text)[1] for text in metadata.ctx.issues.warnings]
    assert warned == ["https://schema.org/datePublished"]  # no source states a date
    assert metadata.personal_sensitive_information and metadata.data_collection


def test_each_config_is_a_record_set_with_all_its_features(name, described, tmp_path):
    sets = {records["@id"]: records for records in described["recordSet"]}
    for config in tfds_builders.builder_cls(name).builder_configs:
        features = tfds.builder(f"{name}/{config}", data_dir=tmp_path).info.features
        fields = {field["name"]: field for field in sets[config]["field"]}
        assert {*fields} == {*features, "split"} and all(f["description"] for f in fields.values())
        for key, feature in features.items():
            if isinstance(feature, tfds.features.ClassLabel):
                rows = sets[f"{config}/{key}/classes"]["data"]
                assert [[*row.values()] for row in rows] == [*map(list, enumerate(feature.names))]


def test_license_consent_and_collection_are_those_of_the_page(name, described):
    page = " ".join((croissant.folder_of(name) / "README.md").read_text("utf-8").split())
    told = [
        described["rai:dataCollection"],
        described["rai:personalSensitiveInformation"][0],
        *described["rai:dataLimitations"],
    ]
    assert all(text[1:] in page for text in told)  # the first letter may be a capital
    assert "@" in described["citeAs"] and described["url"].startswith("https://")


def test_no_archive_of_others_is_distributed(name, described):
    configs = tfds_builders.builder_cls(name).builder_configs
    files = described["distribution"]
    assert [one["@type"] for one in files] == ["cr:FileSet"] * len(configs) != []
    text = json.dumps(described)
    assert not {"sha256", "md5", "contentUrl"} & {key for one in files for key in one}
    assert not [known for known in RELEASES[name] if known.sha256 in text]


def test_the_license_is_an_address(name, described):
    assert re.fullmatch(r"https://[^ ]+", described["license"])
    page = " ".join((croissant.folder_of(name) / "README.md").read_text("utf-8").split())
    spdx = re.fullmatch(r"https://spdx\.org/licenses/(.*)-(.*)\.html", described["license"])
    if spdx is None:
        assert described["license"] == described["url"]
    else:
        words = spdx[1].replace("CC-BY", "CC BY").replace("ODC-By", "Open Data Commons Attribution")
        assert f"License: {words} {spdx[2]}" in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("name", "config", "files"),
    [
        ("ipol_gait", "left_foot", samples.gait_files()),
        ("gaitauth_walks", "walks", inertial.walk_files()),
    ],
)
def test_records_are_read_by_the_description(name, config, files, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    builder = reading.prepared(
        f"{name}/{config}", samples.write(tmp_path / "manual", files), tmp_path / "d"
    )
    parquet.write(builder, tmp_path / "p")
    described = tmp_path / "p" / name / croissant.FILE
    found = {
        row[f"{config}/id"]: row for row in mlcroissant.Dataset(jsonld=described).records(config)
    }
    splits = {split: builder.as_data_source(split=split) for split in builder.info.splits}
    assert len(found) == sum(map(len, splits.values())) > 0
    for split, records in splits.items():
        for record in records:
            row = found[record["id"]]
            assert row[f"{config}/split"] == split.encode()
            for key, value in record.items():
                np.testing.assert_array_equal(np.asarray(row[f"{config}/{key}"]), value)


def test_kinds_and_shapes_are_those_of_the_features():
    fields = {
        field["@id"]: field
        for records in croissant.description("gaitauth_walks")["recordSet"]
        for field in records["field"]
    }
    assert fields["walks/sequence"]["dataType"] == "cr:Float32"
    assert fields["walks/sequence"]["cr:arrayShape"] == "-1,3"
    assert fields["walks/time_ms"]["dataType"] == "cr:Int64"
    assert fields["walks/subject"]["dataType"] == "sc:Text"
    assert "m/s²" in fields["uniform50/sequence"]["description"]


@pytest.mark.slow
def test_it_writes_what_is_not_current_and_check_only_tells(elsewhere):
    told = run("ipol_gait", "uci_eeg", "--check")
    assert told.exit_code == 1 and not list(elsewhere.iterdir())
    assert "python -m tfds_builders.croissant ipol_gait uci_eeg" in told.stderr
    assert run("ipol_gait", "uci_eeg").stdout.split() == [
        str(elsewhere / "ipol_gait.json"), str(elsewhere / "uci_eeg.json")
    ]  # fmt: skip
    again = run("ipol_gait", "uci_eeg", "--check")
    assert again.exit_code == 0 and run("ipol_gait").stdout == again.output == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ipol_gate",), "Did you mean 'ipol_gait'"),
        ((), "give --all"),
        (("uci_eeg", "--all"), "--"),
    ],
)
def test_wrong_use_is_told(words, message, elsewhere):
    result = run(*words)
    assert result.exit_code == 2 and message in result.output and not list(elsewhere.iterdir())


PAGE = """# x

```
tree
```

What it
is.

| feature | what |
|---|---|
| `a`, `b` | two |
| `c` | one |

| config | records |
|---|---|
| `d` | all |

- A remark
  of two lines.

License: none is
stated.
"""


def test_a_page_is_read_part_by_part():
    page = Page(PAGE, title="x/README.md")
    assert page.summary == "What it is." and page.remarks == ["A remark of two lines."]
    assert page.feature("b") == "`a`, `b`: two" and page.feature("c") == "one"
    assert page.paragraph("License") == "none is stated."


def test_what_a_page_lacks_is_told():
    page = Page(PAGE, title="x/README.md")
    with pytest.raises(ValueError, match="x/README.md has no row for the feature `d`"):
        page.feature("d")
    with pytest.raises(ValueError, match="x/README.md has no paragraph `Personal data: …`"):
        page.paragraph("Personal data")
    with pytest.raises(ValueError, match="has no table `| feature | what |`"):
        Page("# x\n", title="x/README.md")


def test_a_page_that_lacks_a_part_is_one_line_of_the_command(elsewhere, monkeypatch):
    (elsewhere / "README.md").write_text("# uci_eeg\n")
    monkeypatch.setattr(croissant, "folder_of", lambda name: elsewhere)
    result = run("uci_eeg")
    assert result.exit_code == 1 and result.stderr.startswith("Error: uci_eeg/README.md has no")


def test_a_file_that_cannot_be_written_is_one_line_of_the_command(elsewhere):
    (elsewhere / "uci_eeg.json").mkdir()
    result = run("uci_eeg")
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and f"{elsewhere}/uci_eeg.json" in result.stderr
