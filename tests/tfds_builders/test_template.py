"""Tests that the data set in `template/` can be prepared, also from a copy of the package."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import samples
from tfds_builders import reading
from tfds_builders.build import app
from tfds_builders.inventory import inventory

pytestmark = pytest.mark.usefixtures("quiet")
TEMPLATE = pathlib.Path(tfds_builders.__file__).parent / "template"
ROOT = "my_walks/my_walks"
FILES = {
    f"{ROOT}/{person}/day{day}_1.csv": "".join(
        f"{step},{day},{number}\n" for step in range(4)
    ).encode()
    for number, person in enumerate(("ann", "ben", "cem", "dua", "eli"))
    for day in range(2)
}


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", FILES)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(tfds_builders, "_BUILDERS", dict(tfds_builders._BUILDERS))
    return tfds_builders.add_package("tfds_builders.template")


def test_the_template_builds_with_license_and_descriptions(added, manual, tmp_path):
    assert added == ["my_walks"] and "my_walks" in tfds_builders.list_builders()
    builder = reading.prepared("my_walks", manual, tmp_path / "data")
    assert {split: info.num_examples for split, info in builder.info.splits.items()} == {
        "train": 6, "validation": 2, "test": 2,
    }  # fmt: skip
    record = builder.as_data_source(split="test")[0]
    assert record["sequence"].shape == (4, 3) and record["session"] == record["day"]
    assert "spdx.org/licenses/CC-BY-4.0" in builder.info.redistribution_info.license
    assert all(feature.doc.desc for feature in builder.info.features.values())
    assert inventory(manual, tmp_path / "data")["my_walks"]["configs"]["walks"]["prepared"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--jobs", "2", "--to", "parquet")])
def test_a_package_elsewhere_is_prepared_by_the_command(words, manual, tmp_path):
    shutil.copytree(TEMPLATE, tmp_path / "my_package")
    command = ("-m", "tfds_builders.build", "my_walks", "--imports", "my_package", "--json")
    folders = ("--manual-dir", manual, "--data-dir", tmp_path / "data")
    root = str(TEMPLATE.parents[1])
    run = subprocess.run(
        [sys.executable, *command, *map(str, folders), *words],
        cwd=tmp_path, env={"PYTHONPATH": root, "PATH": ""}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert sum(report["examples"].values()) == len(FILES)
    assert report["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert report["terms"] == "CC BY 4.0."


def test_a_builder_of_the_template_has_at_most_100_lines():
    files = [*TEMPLATE.glob("*/*_dataset_builder.py")]
    assert files and all(len(file.read_text().splitlines()) <= 100 for file in files)


@pytest.mark.parametrize("package", ["no_such_package", "json"])
def test_a_package_without_data_sets_is_refused(package):
    result = CliRunner().invoke(app, ["ipol_gait", "--imports", package])
    assert result.exit_code == 2 and package in result.output


def test_a_data_set_with_a_name_that_exists_is_refused(tmp_path, monkeypatch):
    samples.write(
        tmp_path,
        {"a_package/__init__.py": b"", "a_package/ipol_gait/ipol_gait_dataset_builder.py": b""},
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="ipol_gait"):
        tfds_builders.add_package("a_package")


@pytest.mark.slow
def test_records_of_several_processes_are_those_of_one(tmp_path):
    manual = samples.write(tmp_path / "gait", samples.gait_files())
    one, two = (
        reading.prepared("ipol_gait", manual, tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2)
    )
    assert dict(one.info.metadata) == dict(two.info.metadata)
    for split, records in one.as_data_source().items():
        ids = [record["id"] for record in records]
        assert [record["id"] for record in two.as_data_source(split)] == ids != []


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["copy", "cut"])
def test_errors_of_other_processes_are_those_of_one(damage, added, tmp_path):
    change = {
        "copy": {f"{ROOT}/ben/day0_1.csv": FILES[f"{ROOT}/ann/day0_1.csv"]},
        "cut": {f"{ROOT}/ben/day0_1.csv": b"1,2\n"},
    }[damage]
    manual = samples.write(tmp_path / "manual", FILES | change)
    messages = []
    for jobs in (1, 2):
        with pytest.raises(ValueError, match="ben") as caught:
            reading.prepared("my_walks", manual, tmp_path / "data", jobs=jobs)
        messages.append((type(caught.value), str(caught.value)))
        assert not (tmp_path / "data").exists()
    assert messages[0] == messages[1]
