"""Tests that `reading` prepares each archive once and reads its records without TensorFlow."""

import pathlib
import subprocess
import sys
import tarfile

import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.test_registration import ROOT, in_a_new_process
from tfds_builders import builder_cls, list_builders, reading
from tfds_builders.common import archive, lock

pytestmark = pytest.mark.usefixtures("quiet")
NAME = "ipol_gait/left_foot"
VERSION = str(builder_cls(NAME).VERSION)


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", samples.gait_files())


@pytest.mark.slow
def test_records_of_a_split_and_of_all(manual, tmp_path):
    train = reading.records(NAME, manual, tmp_path, split="train")
    assert len(train) == 7 and train[0]["sequence"].shape == (8, 6)
    both = reading.records(NAME, manual, tmp_path)
    assert {split: len(source) for split, source in both.items()} == {
        "train": 7, "validation": 1, "test": 2
    }  # fmt: skip
    assert len(reading.records(NAME, manual, tmp_path, split="train[:3]")) == 3


@pytest.mark.slow
def test_the_second_call_prepares_nothing(manual, tmp_path, monkeypatch):
    reading.records(NAME, manual, tmp_path)
    cls = type(reading.prepared(NAME, manual, tmp_path))
    monkeypatch.setattr(cls, "_generate_examples", None)
    assert len(reading.records(NAME, manual, tmp_path, split="test")) == 2
    assert len(reading.records(NAME, None, tmp_path, split="test")) == 2


@pytest.mark.slow
def test_a_folder_without_the_archive_is_refused_even_after_preparing(manual, tmp_path):
    """If a caller gives a folder that does not exist, reading fails. If the folder is None, the
    prepared data set is read.
    """
    reading.records(NAME, manual, tmp_path)
    with pytest.raises(ValueError, match="gone does not exist"):
        reading.records(NAME, tmp_path / "gone", tmp_path, split="test")
    assert len(reading.records(NAME, None, tmp_path, split="test")) == 2


@pytest.mark.slow
def test_another_archive_gets_its_own_folder_and_the_first_stays(manual, tmp_path, caplog):
    reading.records(NAME, manual, tmp_path)
    more = samples.write(tmp_path / "more", samples.gait_files(range(11, 31)))
    people = reading.records(NAME, more, tmp_path, split="test")
    assert len(people) == 5 and all(int(record["subject"]) > 10 for record in people)
    assert "was prepared from another archive" in caplog.text
    first = reading.records(NAME, manual, tmp_path, split="test")
    assert len(first) == 2 and all(int(record["subject"]) <= 10 for record in first)


@pytest.mark.parametrize(
    ("folder", "data", "file_format"),
    [
        ("manual", "manual", "array_record"),
        ("manual", "manual/new", "tfrecord"),
        ("manual/ipol_gait", "manual", "tfrecord"),
    ],
)
def test_a_data_set_within_its_own_archive_is_refused(folder, data, file_format, tmp_path):
    """A data set inside its own archive would change the archive. Every call would then prepare the
    data set again.
    """
    samples.write(tmp_path / folder, samples.gait_files(folder=""))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="is inside its own archive, the folder .*outside"):
        reading.prepared(NAME, tmp_path / "manual", tmp_path / data, file_format)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.skipif(lock.fcntl is None, reason="this system has no such locks")
def test_runs_at_once_make_one_data_set_and_all_go_on(manual, tmp_path):
    """The first process prepares the data set. The other processes wait for the first process and
    read the same files.
    """
    config = tmp_path / "data" / "array_record" / NAME
    running = samples.write(config / f"incomplete.ABC123_{VERSION}", {"half": b""})
    code = (
        "import sys\n"
        "from tfds_builders import reading\n"
        "print(len(reading.records(*sys.argv[1:], split='train')))\n"
    )
    command = [sys.executable, "-c", code, NAME, str(manual), str(tmp_path / "data")]
    with lock.alone(config / f".{VERSION}.lock", "is this test"):
        runs = [
            subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for process in runs:
            while "This run waits until that run ends" not in (line := process.stderr.readline()):
                assert line
        assert running.exists()
    told = [process.communicate(timeout=60) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], told
    assert [out for out, _ in told] == ["7\n", "7\n"]
    assert [path.name for path in config.iterdir()] == [VERSION]


def test_what_a_killed_run_left_is_cleared_by_the_next(manual, tmp_path):
    config = tmp_path / "array_record" / NAME
    samples.write(config, {f".{VERSION}.lock": b"", f"incomplete.ABC123_{VERSION}/half": b""})
    reading.records(NAME, manual, tmp_path)
    assert [path.name for path in config.iterdir()] == [VERSION]


@pytest.mark.slow
def test_another_archive_prepared_meanwhile_is_not_taken_for_this_one(
    manual, tmp_path, monkeypatch, caplog
):
    more = samples.write(tmp_path / "more", samples.gait_files(range(11, 31)))
    sources = builder_cls(NAME).sources

    def slow(builder, folder):  # another run prepares the data set meanwhile
        monkeypatch.setattr(builder_cls(NAME), "sources", sources)
        reading.records(NAME, more, tmp_path)
        return sources(builder, folder)

    monkeypatch.setattr(builder_cls(NAME), "sources", slow)
    people = reading.records(NAME, manual, tmp_path, split="test")
    assert all(int(record["subject"]) <= 10 for record in people)
    assert "was prepared from another archive" in caplog.text


@pytest.mark.slow
def test_a_prepared_set_is_read_without_unpacking_its_archive(tmp_path, monkeypatch):
    """Unpacking takes three seconds for the real archive and minutes for the largest archive."""
    loose = samples.write(tmp_path / "loose", samples.gait_files())
    manual = tmp_path / "manual"
    manual.mkdir()
    with tarfile.open(manual / "GaitData.tar.xz", "w:xz") as packed:
        packed.add(loose / "GaitData", "GaitData")
    reading.records(NAME, manual, tmp_path)

    def unpacked(_):
        raise AssertionError("the archive is unpacked")

    monkeypatch.setattr(archive._Tar, "_unpack", unpacked)
    assert len(reading.records(NAME, manual, tmp_path, split="test")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("file", ["dataset_info.json", "metadata.json"])
@pytest.mark.parametrize("left", [0.0, 0.1, 0.5, 0.99, None])
def test_a_damaged_prepared_set_is_named_with_its_folder(file, left, manual, tmp_path):
    path = pathlib.Path(reading.prepared(NAME, manual, tmp_path).data_path) / file
    content = path.read_bytes().rstrip()
    path.unlink()
    if left is not None:
        path.write_bytes(content[: int(left * len(content))])
    for folder in (manual, None):
        with pytest.raises(ValueError, match="is damaged .*Delete that folder and run") as error:
            reading.records(NAME, folder, tmp_path)
        assert str(path.parent) in str(error.value) and str(error.value).isprintable()


@pytest.mark.slow
@pytest.mark.parametrize("left", [0.0, 0.3, 0.999, None])
def test_a_file_of_records_that_is_cut_or_missing_is_named(left, manual, tmp_path):
    builder = reading.prepared(NAME, manual, tmp_path)
    (path,) = map(pathlib.Path, builder.info.splits["test"].filepaths)
    content = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(content[: int(left * len(content))])
    told = "is missing" if left is None else "does not have 2 records"
    with pytest.raises(ValueError, match=f"damaged .{path.name} {told}.*Delete that folder and"):
        reading.records(NAME, None, tmp_path, split="train")


def test_a_missing_tfrecord_file_is_named(manual, tmp_path):
    builder = reading.prepared(NAME, manual, tmp_path, "tfrecord")
    (path,) = map(pathlib.Path, builder.info.splits["test"].filepaths)
    path.unlink()
    with pytest.raises(ValueError, match=f"{path.name} is missing"):
        reading.prepared(NAME, manual, tmp_path, "tfrecord")


def test_the_folder_is_that_of_the_environment_by_default(manual, tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "mine"))
    reading.records(NAME, manual)
    assert (tmp_path / "mine" / "array_record" / "ipol_gait" / "left_foot" / VERSION).is_dir()


def test_a_split_that_there_is_not_is_told(manual, tmp_path):
    with pytest.raises(ValueError, match="no split 'dev'. It has train, validation, test"):
        reading.records(NAME, manual, tmp_path, split="dev")


def test_an_unknown_name_is_told(tmp_path):
    with pytest.raises(ValueError, match="Did you mean 'ipol_gait'"):
        reading.records("ipol_gate", None, tmp_path)
    with pytest.raises(ValueError, match="^ipol_gait has no config 'left'. There are: trials, "):
        reading.records("ipol_gait/left", None, tmp_path)


@pytest.mark.slow
def test_preparing_and_reading_load_no_tensorflow(manual, tmp_path):
    printed = in_a_new_process(
        "import sys, tensorflow_datasets as tfds, tfds_builders\n"
        "from tfds_builders import reading\n"
        "manual, data = sys.argv[1:]\n"
        "reading.records('ipol_gait', manual, data)\n"
        "people = tfds.data_source('ipol_gait', data_dir=data + '/array_record', split='test')\n"
        "print(len(people), people[0]['sequence'].shape)\n"
        "print([m for m in ('tensorflow', 'keras', 'jax') if m in sys.modules])",
        manual,
        tmp_path / "data",
    )
    assert printed.splitlines() == ["2 (8, 16)", "[]"]


@pytest.mark.slow
def test_every_data_set_without_images_is_prepared_and_read_without_tensorflow(tmp_path):
    printed = in_a_new_process(
        "import pathlib, sys, tensorflow_datasets as tfds, tfds_builders\n"
        "from tfds_builders import reading\n"
        "here = pathlib.Path(tfds_builders.__file__).parent\n"
        "for name in tfds_builders.list_builders():\n"
        "    features = tfds.builder(name, data_dir=sys.argv[1]).info.features.values()\n"
        "    if any(isinstance(one, tfds.features.Image) for one in features):\n"
        "        continue\n"
        "    config = {'uci_eeg': 'uci_eeg/large'}.get(name, name)  # of which dummy_data is\n"
        "    reading.records(config, here / name / 'dummy_data', sys.argv[1])\n"
        "    splits = tfds.data_source(config, data_dir=sys.argv[1] + '/array_record')\n"
        "    print(name, *(split[0]['id'].decode() != '' for split in splits.values()))\n"
        "print([m for m in ('tensorflow', 'keras', 'jax') if m in sys.modules])",
        tmp_path,
    )
    *read, loaded = printed.splitlines()
    names = {*list_builders()} - {"mini_imagenet_ravi", "pacs_images"}
    assert {line.split()[0] for line in read} == names
    assert loaded == "[]" and "False" not in printed


def test_a_pipe_gets_a_line_of_progress_every_ten_seconds(capsys, monkeypatch):
    from tfds_builders.common import progress

    ticks = iter(range(0, 1000, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(ticks)))
    assert list(progress.track(range(7), "walks")) == list(range(7))
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "walks: 2 of 7, 0.2/s, 30 s left" and len(told) == 2
