"""Tests that Parquet files contain the records that `reading` reads. After an interruption, a file
is either complete or absent.
"""

import io
import json
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import tensorflow_datasets as tfds
from PIL import Image
from pyarrow import dataset
from pyarrow import parquet as files
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import samples
from tests.tfds_builders.test_registration import in_a_new_process
from tfds_builders import parquet, reading
from tfds_builders.build import app

pytestmark = pytest.mark.usefixtures("quiet")
KINDS = {
    "aalto_keystrokes/new_sentences": "sequence",
    "gaitauth_walks/uniform50": "sequence",
    "gazecom_gaze": "sequence",
    "afew_spd": "matrix",
    "uci_eeg/large_spd64": "matrix",
    "hyke_voice": "audio",
    "ravdess_speech/speech16k": "audio",
    "pacs_images": "image",
    "japanese_vowels_lpc": "sequence",
}


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def hand_made(name):
    return pathlib.Path(tfds_builders.__file__).parent / name.partition("/")[0] / "dummy_data"


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", samples.gait_files())


@pytest.fixture
def gait(manual, tmp_path):
    return reading.prepared("ipol_gait/left_foot", manual, tmp_path / "d")


def restored(value, told):
    """Returns a value of a Parquet column as an array with the shape from the metadata."""
    if told["feature"] == "Image":
        return np.asarray(Image.open(io.BytesIO(value)))
    if told["feature"] == "Text":
        return value.encode()
    sizes = [-1 if size is None else size for size in told["shape"]]
    return np.reshape(value, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_pyarrow_reads_back_what_reading_reads(name, tmp_path):
    result = run(name, "--to", "parquet", "--manual-dir", hand_made(name), "--data-dir", tmp_path)
    assert result.exit_code == 0, result.output
    builder = reading.prepared(name, None, tmp_path)
    folder = tmp_path / "parquet" / builder.data_path.relative_to(tmp_path / "array_record")
    assert f"Parquet files: {folder}" in result.stdout
    for split, source in builder.as_data_source().items():
        table = dataset.dataset([*folder.glob(f"{split}-*.parquet")]).to_table()
        told = json.loads(table.schema.metadata[b"tfds_builders"])
        assert told["name"] == builder.info.full_name and KINDS[name] in told["features"]
        assert table.num_rows == len(source)
        for row, record in zip(table.to_pylist(), source, strict=True):
            assert {*row} == {*record} == {*told["features"]}
            for key, value in record.items():
                found = restored(row[key], told["features"][key])
                np.testing.assert_array_equal(found, value, err_msg=key)
                if isinstance(value, np.ndarray):
                    assert found.shape == value.shape


@pytest.mark.slow
def test_numbers_keep_their_kind_and_axes_their_size(gait):
    schema = parquet.schema_of(gait)
    assert schema.field("sequence").type.value_type == pa.list_(
        pa.field("item", pa.float32(), nullable=False), 6
    )
    assert schema.field("trial").type == pa.int32() and schema.field("id").type == pa.string()


def test_the_metadata_name_features_shapes_classes_and_channels(tmp_path):
    builder = reading.prepared("hyke_voice", hand_made("hyke_voice"), tmp_path)
    told = json.loads(parquet.schema_of(builder).metadata[b"tfds_builders"])
    audio = told["features"]["audio"]
    assert (audio["feature"], audio["shape"]) == ("Tensor", [None])
    assert told["features"]["sex"]["names"] == builder.info.features["sex"].names
    assert told["metadata"]["subjects"] == builder.info.metadata["subjects"]


def test_license_and_descriptions_of_features_are_metadata(gait):
    schema = parquet.schema_of(gait)
    content = json.loads(schema.metadata[b"tfds_builders"])
    assert content["license"] == gait.HOMEPAGE  # SPDX does not list the license
    assert "Commercial use is not allowed" in content["terms"]
    assert gait.info.redistribution_info.license.endswith(content["terms"])
    for field in schema:
        text = field.metadata[b"description"].decode()
        assert text and content["features"][field.name]["description"] == text


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_shards_hold_all_records_in_order(jobs, gait, tmp_path, monkeypatch):
    whole = parquet.write(gait, tmp_path / "whole")
    monkeypatch.setattr(parquet, "SHARD_BYTES", gait.info.splits["train"].num_bytes // 3)
    folder = parquet.write(gait, tmp_path / "shards", jobs=jobs)
    assert parquet.write(gait, tmp_path / "shards") == folder  # the files exist already
    for split in gait.info.splits:
        shards = sorted(folder.glob(f"{split}-*.parquet"))
        assert len(shards) == int(shards[0].stem[-5:])
        (single,) = whole.glob(f"{split}-*.parquet")
        tables = pa.concat_tables([files.read_table(path) for path in shards])
        assert tables.equals(files.read_table(single))
    assert len([*folder.glob("train-*")]) >= 3
    next(folder.glob("train-00001-of-*")).unlink()
    with pytest.raises(ValueError, match="train-00001-of-.* is not a Parquet file"):
        parquet.write(gait, tmp_path / "shards")


@pytest.mark.parametrize("shape", [(), (None,), (3,), (None, 3), (2, None), (None, None), (2, 3)])
def test_any_shape_comes_back(shape):
    feature = tfds.features.Tensor(shape=shape, dtype=np.float64, encoding="bytes")
    rng = np.random.default_rng(0)
    known = [[rng.integers(4) if size is None else size for size in shape] for _ in range(5)]
    arrays = [rng.normal(size=sizes) for sizes in known]
    column = parquet._column(arrays, feature)
    column.validate(full=True)
    for found, array in zip(column.to_pylist(), arrays, strict=True):
        np.testing.assert_array_equal(np.reshape(found, array.shape), array)


@pytest.mark.slow
def test_records_are_written_in_groups_of_bounded_size(gait, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    folder = parquet.write(gait, tmp_path / "p")
    assert files.ParquetFile(folder / "train-00000-of-00001.parquet").num_row_groups == 7


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_run_that_fails_leaves_nothing(error, gait, tmp_path, monkeypatch):
    def failed(*_):
        raise error("stopped")

    monkeypatch.setattr(parquet, "_column", failed)
    with pytest.raises(error):
        parquet.write(gait, tmp_path / "p")
    assert not (tmp_path / "p").exists()


@pytest.mark.slow
def test_a_killed_run_leaves_no_half_files_and_the_next_clears_up(gait, manual, tmp_path):
    code = (
        "import os, sys\n"
        "from tfds_builders import parquet, reading\n"
        "builder = reading.prepared('ipol_gait/left_foot', None, sys.argv[1])\n"
        "column, parquet.GROUP_BYTES, calls = parquet._column, 1, []\n"
        "def killed(*given):\n"
        "    calls.append(given)\n"
        "    return column(*given) if len(calls) < 30 else os._exit(9)\n"
        "parquet._column = killed\n"
        "parquet.write(builder, __import__('pathlib').Path(sys.argv[1]) / 'parquet')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "d")]
    done = subprocess.run(command, cwd=pathlib.Path(tfds_builders.__file__).parents[1])
    config = tmp_path / "d/parquet/ipol_gait/left_foot"
    version = str(gait.version)
    assert done.returncode == 9
    assert len([*config.glob(f"incomplete.*_{version}/train-*.parquet")]) == 1
    assert not (config / version).exists()
    arguments = ("--to", "parquet", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert run("ipol_gait/left_foot", *arguments).exit_code == 0
    assert [path.name for path in config.iterdir()] == [version]


def test_files_that_are_there_stay_and_those_of_another_archive_are_told(gait, manual, tmp_path):
    root = tmp_path / "d" / "parquet"
    folder = parquet.write(gait, root)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert parquet.write(gait, root) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    more = samples.write(tmp_path / "more", samples.gait_files(range(11, 31)))
    other = reading.prepared("ipol_gait/left_foot", more, tmp_path / "other")
    with pytest.raises(ValueError, match="made from another archive. .*--overwrite"):
        parquet.write(other, root)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["absent", "cut", "foreign"])
def test_a_folder_that_is_not_whole_is_told(damage, gait, tmp_path):
    folder = parquet.write(gait, tmp_path / "p")
    (file,) = folder.glob("test-*")
    file.unlink()
    if damage == "cut":
        file.write_bytes(b"PA")
    if damage == "foreign":
        files.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(ValueError, match="test-.* is not a Parquet file .*--overwrite"):
        parquet.write(gait, tmp_path / "p")


@pytest.mark.slow
def test_another_archive_gets_its_own_folder(gait, tmp_path):
    more = samples.write(tmp_path / "more", samples.gait_files(range(11, 31)))
    arguments = ("--to", "parquet", "--manual-dir", more, "--data-dir", tmp_path / "d", "--json")
    report = json.loads(run("ipol_gait/left_foot", *arguments).stdout)
    assert f"{tmp_path}/d/parquet/from_" in report["parquet"]
    assert files.read_table(report["parquet"]).num_rows == sum(report["examples"].values())


def test_tfrecord_is_wrong_use(manual, tmp_path):
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--file-format", "tfrecord")
    result = run("ipol_gait", "--to", "parquet", *arguments)
    assert result.exit_code == 2 and "Leave --file-format out" in result.output


@pytest.mark.slow
def test_without_pyarrow_the_error_names_the_extra_and_tensorflow_is_not_needed(manual, tmp_path):
    printed = in_a_new_process(
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "try:\n"
        "    from tfds_builders import parquet\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "del sys.modules['pyarrow']\n"
        "from tfds_builders import parquet, reading\n"
        "import pathlib\n"
        "manual, data = sys.argv[1:]\n"
        "parquet.write(reading.prepared('ipol_gait', manual, data), pathlib.Path(data) / 'p')\n"
        "print('tensorflow' in sys.modules)",
        manual,
        tmp_path / "d",
    )
    assert 'pip install "keras-dml[data]"' in printed and printed.endswith("False\n")
