"""Tests that a build which reports success wrote the records that the user asked for."""

import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import samples
from tfds_builders import reading, worker_pool
from tfds_builders.build import app
from tfds_builders.common import checks, code, people
from tfds_builders.common.archive import open_source
from tfds_builders.common.builder import About, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.inventory import inventory

pytestmark = pytest.mark.usefixtures("quiet")
NAME = "ipol_gait/left_foot"
ADDRESSES = ("gs://bucket/data", "s3://bucket/data", "az://bucket", "hdfs://host/data")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", samples.gait_files())


# addresses of remote stores


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("given", ["--data-dir", "--manual-dir", "TFDS_DATA_DIR"])
def test_an_address_is_refused_and_no_folder_is_made(address, given, manual, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = {"--manual-dir": manual, "--data-dir": tmp_path / "d"}
    if given == "TFDS_DATA_DIR":
        del places["--data-dir"]
        monkeypatch.setenv(given, address)
    else:
        places[given] = address
    before = {*tmp_path.rglob("*")}
    result = run(NAME, *(word for pair in places.items() for word in pair))
    told = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2 and given in told and address.partition(":")[0] in told
    arguments = {name.strip("-").replace("-", "_"): place for name, place in places.items()}
    with pytest.raises(ValueError, match=given):
        reading.records(NAME, **arguments)
    with pytest.raises(ValueError, match=given):
        inventory(**arguments)
    assert {*tmp_path.rglob("*")} == before


def test_records_of_a_remote_data_set_are_not_written_here(manual, tmp_path, monkeypatch):
    """TFDS accepts the address of a remote data set, such as `gs://bucket/data`, but writes
    array_record files to a local folder `gs:`.
    """
    monkeypatch.chdir(tmp_path)
    builder = tfds.builder(NAME, data_dir=tmp_path)
    monkeypatch.setattr(type(builder), "data_path", "gs://bucket/data", raising=False)
    before = {*tmp_path.rglob("*")}
    with pytest.raises(ValueError, match="gs://bucket/data"):
        builder.download_and_prepare(file_format="array_record")
    assert {*tmp_path.rglob("*")} == before


def test_a_drive_and_a_folder_with_a_colon_are_folders():
    from tfds_builders.common.places import is_address

    for folder in ("C:/data", "c:\\data", "a:b/c", "/gs:/b", "data", "~/gs:/x", "./gs:/b"):
        assert not is_address(folder)


# changed files of unpacked archives


@pytest.mark.slow
@pytest.mark.parametrize("keeps_time", [False, True])
def test_an_edit_of_the_same_size_gives_new_records(keeps_time, manual, tmp_path):
    before = reading.records(NAME, manual, tmp_path)
    (file, *_) = sorted(manual.rglob("*.csv"))
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    *rows, last = file.read_text().splitlines()
    file.write_text("\n".join([*rows, last.replace("1.", "2.").replace("0.", "1."), ""]))
    assert file.stat().st_size == len("\n".join([*rows, last, ""]))
    if keeps_time:
        os.utime(file, ns=times)
    after = reading.records(NAME, manual, tmp_path)
    assert [len(after[split]) for split in after] == [len(before[split]) for split in before]
    pairs = [(a, b) for split in after for a, b in zip(after[split], before[split], strict=True)]
    changed = [not np.array_equal(a["sequence"], b["sequence"]) for a, b in pairs]
    assert sum(changed) == 1


@pytest.mark.slow
def test_a_copy_of_an_archive_is_the_same_archive(manual, tmp_path, monkeypatch):
    first = reading.prepared(NAME, manual, tmp_path)
    copy = shutil.copytree(manual, tmp_path / "copy", copy_function=shutil.copyfile)
    assert reading.prepared(NAME, copy, tmp_path).data_path == first.data_path
    monkeypatch.setattr(reading, "fingerprint", None)  # an unchanged folder is not read again
    assert reading.prepared(NAME, copy, tmp_path).data_path == first.data_path


def test_an_edit_within_an_inner_archive_is_another_archive(tmp_path):
    marks = set()
    for content in (b"1.01", b"2.01"):
        inner = samples.zipped({"a.txt": content})
        file = samples.write(
            tmp_path / content.decode(), {"outer.zip": samples.zipped({"i.zip": inner})}
        )
        source = open_source(file / "outer.zip", Limits()).nested("i.zip")
        marks.add(checks.fingerprint(source))
    assert len(marks) == 2


# changed code


@pytest.fixture
def other_code(monkeypatch):
    def change():
        monkeypatch.setattr(code, "digest", lambda cls: "other")

    return change


@pytest.mark.slow
@pytest.mark.parametrize("given", ["the archive", "nothing"])
def test_records_of_other_code_are_told(given, manual, tmp_path, caplog, other_code):
    folder = manual if given == "the archive" else None
    reading.records(NAME, manual, tmp_path)
    reading.records(NAME, folder, tmp_path)
    assert "another version of the code" not in caplog.text
    other_code()
    reading.records(NAME, folder, tmp_path)
    assert "ipol_gait/left_foot" in caplog.text and "--overwrite" in caplog.text


@pytest.mark.slow
def test_overwrite_prepares_again_and_parquet_too(manual, tmp_path, caplog, other_code):
    words = (NAME, "--manual-dir", manual, "--data-dir", tmp_path, "--to", "parquet", "--json")
    assert run(*words).exit_code == 0
    other_code()
    assert run(*words).exit_code == 0 and "another version of the code" in caplog.text
    reading.prepared(NAME, manual, tmp_path, overwrite=True)
    result = run(*words)
    assert (
        result.exit_code == 1 and "another version of the code" in result.stderr
    )  # older Parquet files
    result = run(*words, "--overwrite")
    assert result.exit_code == 0, result.stderr
    builder = reading.prepared(NAME, manual, tmp_path)
    assert builder.info.metadata["code"] == "other"
    caplog.clear()
    assert run(*words).exit_code == 0 and "another version of the code" not in caplog.text
    assert not list(tmp_path.rglob("*replaced*")) and not list(tmp_path.rglob("incomplete*"))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
def test_what_was_there_stays_if_overwriting_fails(stop, manual, tmp_path, monkeypatch):
    expected = [one["id"] for one in reading.records(NAME, manual, tmp_path, split="test")]

    def broken(*_, **__):
        raise stop("broken")

    with monkeypatch.context() as patched:
        patched.setattr("tfds_builders.parsers.gait.parse", broken)
        with pytest.raises(stop):
            reading.prepared(NAME, manual, tmp_path, overwrite=True)
    found = reading.records(NAME, None, tmp_path, split="test")
    assert [one["id"] for one in found] == expected and len(expected)
    assert not list(tmp_path.rglob("*replaced*"))


def test_comments_do_not_change_the_digest_of_code_and_statements_do(tmp_path, monkeypatch):
    package = tmp_path / "sets_of_a_test"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    builder = '"""A set."""\nfrom sets_of_a_test import parser\nclass Builder:\n    SIZE = 1\n'

    def digest(builder, parser="LIMIT = 1\n"):
        (package / "builder.py").write_text(builder)
        (package / "parser.py").write_text(parser)
        for name in [name for name in sys.modules if name.startswith(package.name)]:
            del sys.modules[name]
        import importlib

        importlib.invalidate_caches()
        return code.digest(importlib.import_module(f"{package.name}.builder").Builder)

    first = digest(builder)
    assert digest(builder.replace("A set", "One set") + "# a remark\n\n") == first
    assert digest(builder.replace("= 1", "= 2")) != first
    assert digest(builder, "LIMIT = 2\n") != first


@pytest.mark.slow
def test_every_builder_has_a_digest_of_its_own():
    names = tfds_builders.list_builders()
    assert len({code.digest(tfds_builders.builder_cls(name)) for name in names}) == len(names) > 0


# builders of users


class Plain(RecordingsBuilder, skip_registration=True):
    """A builder without configs, without a README and without known releases."""

    ABOUT = About(1, "small", "none", Wanted("plain", ("plain",), "plain.zip", "Record it."))
    name = "plain"
    pkg_dir_path = pathlib.Path(__file__).parent

    def features(self):
        return {"x": np.float32}

    def plan(self, sources):
        (source,) = sources.values()
        walks = source.index(r"(\w+)/walk_(\d+)\.csv")
        read = functools.partial(plain_examples, source=source)
        return Plan({"train": list(walks.items())}, read)


def plain_examples(walk, _, source):
    (person, number), member = walk
    yield f"{person}/{number}", {"x": float(source.read(member)), **people.record(person)}


@pytest.fixture
def plain(monkeypatch, tmp_path):
    original = tfds_builders.builder_cls
    monkeypatch.setitem(tfds_builders._BUILDERS, "plain", ("tests", Plain.pkg_dir_path))
    monkeypatch.setattr(
        tfds_builders,
        "builder_cls",
        lambda name: Plain if name.startswith("plain") else original(name),
    )
    files = {"ann/walk_1.csv": b"1", "ann/walk_2.csv": b"2", "bob/walk_1.csv": b"3"}
    return samples.write(
        tmp_path / "manual", {f"plain/plain/archive/{name}": text for name, text in files.items()}
    )


@pytest.mark.slow
@pytest.mark.parametrize("to", [(), ("--to", "parquet")])
def test_a_builder_without_configs_and_releases_is_prepared(plain, tmp_path, to):
    words = ("plain", "--manual-dir", plain, "--data-dir", tmp_path / "d", "--json", *to)
    for _ in range(2):
        result = run(*words, "--file-format", "array_record", *to)
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout.splitlines()[-1])
        assert found["examples"] == {"train": 3} and found["name"] == "plain/1.0.0"
        assert "tfds.data_source('plain', data_dir=" in found["read_with"]
    values = {
        one["id"]: one["x"] for one in reading.records("plain", plain, tmp_path / "d")["train"]
    }
    assert values == {b"ann/1": 1, b"ann/2": 2, b"bob/1": 3}
    assert inventory(plain, tmp_path / "d")["plain"]["configs"] == {}


def test_a_pattern_with_folders_is_compared_with_whole_names(tmp_path):
    names = ("set/ann/walk_1.csv", "set/bob/walk_1.csv", "set/readme/walk.txt", "walk_9.csv")
    source = open_source(samples.write(tmp_path / "x", dict.fromkeys(names, b"1")), Limits())
    assert source.index(r"(\w+)/walk_(\d+)\.csv") == {
        ("ann", "1"): names[0],
        ("bob", "1"): names[1],
    }
    assert source.index(r"set/(\w+)/walk_1\.csv") == {("ann",): names[0], ("bob",): names[1]}
    assert source.index(r"walk\.(\w+)") == {("txt",): names[2]}
    with pytest.raises(ArchiveError, match="the same recording twice"):
        source.index(r"walk_(1)\.csv")
    assert source.only(r"bob/walk_\d\.csv").names == (names[1],)


# signals


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_stops_a_build_as_ctrl_c_does(name, manual, tmp_path):
    program = (
        "import sys, time\n"
        "from tfds_builders.parsers import gait\n"
        "def slow(*_, **__):\n"
        "    print('at work', file=sys.stderr, flush=True)\n"
        "    time.sleep(100)\n"
        "gait.parse = slow\n"
        "from tfds_builders.build import app\n"
        "app(sys.argv[1:])\n"
    )
    words = ("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    words = (*words, "--file-format", "array_record")
    number = getattr(signal, name)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has its children ignore some signals.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    told = ""
    while "at work" not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    process.send_signal(number)
    told += process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number and "The unfinished files were removed" in told
    assert not (tmp_path / "d").exists()


# messages


def test_nothing_is_said_to_be_downloaded(manual, tmp_path):
    result = run(NAME, "--manual-dir", manual, "--data-dir", tmp_path)
    assert result.exit_code == 0
    assert "Unknown size" not in result.output and "Downloading" not in result.output
    assert "Preparing ipol_gait/left_foot" in result.stderr


def test_what_is_prepared_is_named_where_something_else_is_asked_for(manual, tmp_path):
    (default, *_, name) = tfds_builders.builder_cls("ipol_gait").builder_configs
    data = tmp_path / "d"
    result = run(f"ipol_gait/{name}", "--manual-dir", manual, "--data-dir", data)
    assert result.exit_code == 0, result.stderr
    with pytest.raises(ArchiveError, match=rf"tfds.load\('ipol_gait/{name}'") as caught:
        tfds.load("ipol_gait", data_dir=data)
    assert str(data) in str(caught.value) and f"ipol_gait/{default}" in str(caught.value)


def test_files_of_the_other_kind_are_named(manual, tmp_path):
    result = run(
        NAME, "--manual-dir", manual, "--data-dir", tmp_path / "d", "--file-format", "array_record"
    )
    assert result.exit_code == 0
    expected = f"tfds.data_source('ipol_gait/left_foot', data_dir='{tmp_path}/d/array_record')"
    for read in (tfds.load, tfds.data_source):
        with pytest.raises(ArchiveError) as caught:
            read("ipol_gait", data_dir=tmp_path / "d")
        assert expected in str(caught.value)
    assert len(tfds.data_source(NAME, data_dir=tmp_path / "d/array_record", split="test")) == 2


# Beam's worker pool


def test_a_pool_of_workers_starts_the_running_interpreter(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    worker_pool.set_path()
    assert os.path.samefile(shutil.which("python"), sys.executable)
    alone = tmp_path / "bin" / "python3"
    alone.parent.mkdir()
    alone.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(alone))
    with pytest.raises(FileNotFoundError, match="python3"):
        worker_pool.set_path()


# splits that share no people


@pytest.mark.slow
def test_the_way_of_the_page_keeps_people_apart(manual, tmp_path):
    """If TFDS slices a split by percent, two slices have people in common. The two parts in the
    README's example have no people in common.
    """
    page = (pathlib.Path(tfds_builders.__file__).parent / "README.md").read_text("utf-8")
    (example,) = [part for part in page.split("```python\n") if "is_first" in part]
    program = example.partition("```")[0].replace("DIR", repr(str(manual)))
    program = program.replace("OUT", repr(str(tmp_path / "d")))
    found = {}
    exec(program, found)
    first, second = found["first"], found["second"]
    both = reading.records(NAME, manual, tmp_path / "d", split="train")
    assert len(first) + len(second) == len(both) and first and second
    assert not {one["subject"] for one in first} & {one["subject"] for one in second}
